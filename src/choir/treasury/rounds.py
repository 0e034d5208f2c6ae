"""What a node does for its treasury: rates that are due, grants that vest, payments that are owed.

Guarantees: each thing is gone on with in a transaction of its own, and one that fails keeps no other waiting; every
round is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from choir.feature import Base
from choir.foundation.errors import ChoirError
from choir.storage.database import Tx
from choir.storage.tasks import Task
from choir.treasury.accounts import Treasury
from choir.treasury.oracle.service import Oracle
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.rates.service import CitationRates
from choir.treasury.vesting.service import Vesting

log = logging.getLogger(__name__)

_AT_ONCE = 200
T = TypeVar("T")


class TreasuryRounds:
    """The handlers of the treasury's tasks."""

    def __init__(self, node: Base) -> None:
        self._node = node
        self._vesting = node.of(Vesting)
        self._payouts = node.of(CitationPayouts)

    def fix_rate(self, tx: Tx, _: Task) -> None:
        """Note the price, and fix the rate of a month that has begun; nothing before there is a treasury."""
        if self._node.of(Treasury).genesis(tx) is None:
            return
        self._node.of(Oracle).note(tx)
        self._node.of(CitationRates).now(tx)

    def go_on(self, _: Task) -> None:
        """Release what has vested, then pay what is owed, who came first, first."""
        with self._node.read() as tx:
            due = self._vesting.due(tx, _AT_ONCE)
        for id_ in due:
            if self._done(lambda tx, id_=id_: self._vesting.vest(tx, id_), str(id_)) is None:  # type: ignore[misc]
                self._done(lambda tx, id_=id_: self._vesting.postpone(tx, id_), str(id_))  # type: ignore[misc]
        with self._node.read() as tx:
            owed = self._payouts.payable(tx, _AT_ONCE)
        for n in owed:
            if self._done(lambda tx, n=n: self._payouts.pay_owed(tx, n), f"share {n}") == 0:  # type: ignore[misc]
                return  # the pool is empty, or somebody else is at it

    def _done(self, work: Callable[[Tx], T], what: str) -> T | None:
        """One that fails must not keep the others waiting; None then."""
        try:
            return self._node.write(work)
        except ChoirError as error:
            log.warning("something in the treasury could not go on", extra={"id": what, "error": error.code})
        except Exception:
            log.exception("something in the treasury could not go on", extra={"id": what})
        return None
