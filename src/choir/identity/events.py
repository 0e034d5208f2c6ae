"""What identity announces."""

from __future__ import annotations

from choir.storage.outbox import EventType

SIGNED_UP = EventType("identity.person.signed_up", "Somebody has signed up. The subject is the person.")
ERASED = EventType("identity.person.erased", "A person was erased, and with them everything that names them.")

ALL = (SIGNED_UP, ERASED)
