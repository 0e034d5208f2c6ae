"""Giving back what is left in holds whose time is over.

Guarantees: a hold expires once, in the caller's transaction; one that cannot expire now is named in the log, keeps no
other waiting, and is tried again a minute later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import Refusal
from choir.ledger import holds, queries
from choir.ledger.model import Draft, hold_id
from choir.ledger.rules import Outcome
from choir.storage.database import Tx

log = logging.getLogger(__name__)

_AT_ONCE = 200
_AGAIN_S = 60
_STUCK_MAX = 2000  # above it the oldest are tried every time, as if they were new

Settle = Callable[[Tx, Sequence[Sequence[Draft]]], list[Outcome]]


class HoldExpiry:
    """What one server process does about holds that are over."""

    def __init__(self, clock: Clock, settle: Settle, *, at_once: int = _AT_ONCE) -> None:
        self._clock = clock
        self._settle = settle
        self._at_once = at_once
        self._stuck: dict[UUID, int] = {}  # holds that could not expire, and until when others come first

    def round(self, tx: Tx) -> None:
        """End as many as there are, up to a number that a transaction is not too long with."""
        now_us = self._clock.now_us()
        self._stuck = {id_: until_us for id_, until_us in self._stuck.items() if until_us > now_us}
        due = queries.expired_holds(tx, queries.time_us(tx, now_us), self._at_once, self._stuck)
        if not due:
            return
        for id_, outcome in zip(due, self._settle(tx, [[holds.expire(id_)] for id_ in due]), strict=True):
            if isinstance(outcome, Refusal):
                log.warning("a hold could not expire", extra={"hold": hold_id(id_), "why": str(outcome)})
                if len(self._stuck) < _STUCK_MAX:
                    self._stuck[id_] = now_us + _AGAIN_S * MICROSECONDS
