"""What the treasury announces."""

from __future__ import annotations

from choir.storage.outbox import EventType

PRICE_PROPOSED = EventType("treasury.price.proposed", "An operator proposes a governed price; another must approve.")
PRICE_CHANGED = EventType("treasury.price.changed", "The governed price of CHIP was changed or confirmed.")
RATE_FIXED = EventType("treasury.rate.fixed", "The citation rate of a month was fixed, with its inputs.")
GRANTED = EventType("treasury.grant.made", "Something was granted to an owner and begins to vest.")
VESTED = EventType("treasury.grant.vested", "A part of a grant has vested and belongs to its owner.")
CLAWED_BACK = EventType("treasury.grant.clawed_back", "What had not vested of a grant was taken back.")
OWED = EventType("treasury.payout.owed", "A citation payout exceeds the pool's funds; the rest is owed.")

ALL = (PRICE_PROPOSED, PRICE_CHANGED, RATE_FIXED, GRANTED, VESTED, CLAWED_BACK, OWED)
