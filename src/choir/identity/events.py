"""What identity announces."""

from __future__ import annotations

from choir.storage.outbox import EventType

SIGNED_UP = EventType("identity.person.signed_up", "A person has signed up. The subject is the person.")
ERASED = EventType("identity.person.erased", "A person and all data that names them was erased.")

ALL = (SIGNED_UP, ERASED)
