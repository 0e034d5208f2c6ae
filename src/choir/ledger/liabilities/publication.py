"""Saying by itself what the node owes, as often as policy says or an operator asks, in a thread of its own.

Guarantees: counting takes long and holds up no other background work; the lease of the task and a lock of the database
see to it that one process counts at a time. A process that is told to stop leaves it to whoever comes next, at once;
where one was killed, another takes it up when the lease is over or the node starts again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from choir.feature import Base
from choir.foundation.clock import MICROSECONDS
from choir.ledger.liabilities.model import WaitsForAnEntry
from choir.ledger.liabilities.service import PUBLISH, Liabilities
from choir.ledger.publication import publish_checkpoint
from choir.storage.database import Tx
from choir.storage.policy import NodePolicy
from choir.storage.tasks import Handlers, Postponed, Scheduler, Task, schedule

log = logging.getLogger(__name__)

_STOP_S = 5.0


class LiabilityPublication:
    """What a server process does about it."""

    def __init__(self, node: Base, stopping: Callable[[], bool] = lambda: False) -> None:
        self._node = node
        self._stopping = stopping
        self._ended = threading.Event()
        handlers = Handlers(quick={}, slow={PUBLISH: self.publish})
        self.scheduler = Scheduler(node.database, handlers, node.clock, node.policy.of(NodePolicy))

    def start(self) -> None:
        self.scheduler.start()

    def halt(self) -> None:
        """Begin nothing more, and leave what is under way to whoever comes next."""
        self.scheduler.halt()
        self._ended.set()

    def stop(self) -> None:
        self.halt()
        self.scheduler.stop(_STOP_S)

    def publish(self, _: Task) -> None:
        """Count and sign what is owed, unless no entry was posted since the last time."""
        try:
            snapshot, new = self._node.of(Liabilities).publish(self._unless_stopping)
        except WaitsForAnEntry as waiting:
            log.info("what is owed is signed with the next entry", extra={"why": str(waiting)})
            return
        publish_checkpoint(self._node.settings.home, snapshot.checkpoint)
        if new:
            log.info("what the node owes was signed", extra={"size": snapshot.size})

    def _unless_stopping(self) -> None:
        if self._ended.is_set() or self._stopping():
            self.scheduler.halt()
            raise Postponed


def schedule_publication(tx: Tx, now_us: int, every_s: int) -> None:
    """Put it on the list as policy says now; the first time is after so many seconds, not when the node starts."""
    every_us = every_s * MICROSECONDS
    if every_us:
        schedule(tx, PUBLISH, "", now_us + every_us, every_us=every_us)
        tx.run(_EVERY, every_us, now_us + every_us, PUBLISH)
    else:
        tx.run(_NOT_DUE, PUBLISH, now_us)
        tx.run("update tasks set every_us = null where name = %s and key = ''", PUBLISH)  # once more: it was asked for


_EVERY = "update tasks set every_us = %s, due_us = least(due_us, %s) where name = %s and key = ''"
_NOT_DUE = "delete from tasks where name = %s and key = '' and every_us is not null and due_us > %s"
