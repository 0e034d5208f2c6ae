"""The oracle: one price of CHIP for everything that needs one.

Guarantees: a price is the median of what fresh sources say, those left out that jump; where none is left, the last
valid one, marked as stale; never a guess. What was valid is noted, so that it can be told later.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.foundation.clock import Clock
from choir.storage.database import Tx
from choir.treasury.oracle import rules, store
from choir.treasury.oracle.model import Price, PriceSource
from choir.treasury.policy import TreasuryPolicy


class Oracle:
    """All inside the caller's transaction."""

    def __init__(self, sources: Sequence[PriceSource], clock: Clock, policy: TreasuryPolicy) -> None:
        self._sources = tuple(sources)
        self._clock = clock
        self._policy = policy

    def price(self, tx: Tx, at_us: int) -> Price | None:
        """What one CHIP counted for at a moment; None: nobody ever said."""
        said = [source.quote(tx, at_us) for source in self._sources]
        quotes = [quote for quote in said if quote is not None]
        return rules.price_of(quotes, store.noted(tx, at_us), at_us, self._policy)

    def note(self, tx: Tx) -> None:
        """Keep the price of now, if it is valid."""
        now_us = self._clock.now_us()
        price = self.price(tx, now_us)
        if price is not None and not price.stale:
            store.note(tx, price.micro_usdc, now_us)
