"""How a server process ends: in order while there is time, and in any case by a deadline.

Guarantees: once it is told to stop, nothing in it waits for a database that may never answer, and it is gone
after a bounded time. A process whose node was killed has no one left to serve for, and the node's successor
wants its address: it ends within seconds. Ending hard is safe, because an acceptance is durable before it is
told and keys make a retry safe: to the journal it is like any other kill.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from choir.operations.shutdown import StopFlag

_ORPHAN_REQUESTS_S = 1  # what requests under way get when the node is gone
_ORPHAN_HARD_S = 2.0
_REQUESTS_S = 10  # what they get when the node stops in order
_DATABASE_S = 2.0  # how long they may then still wait for a free connection
_HARD_S = 14.0  # before the supervisor ends it by force
_LOOK_S = 0.05


class Shutdown:
    """Watches over the end of this process."""

    def __init__(self, stop_waiting: Callable[[], None]) -> None:
        self._stop_waiting = stop_waiting
        self._parent = os.getppid()
        self._begun = StopFlag()
        threading.Thread(target=self._watch, name="ending", daemon=True).start()

    @property
    def orphaned(self) -> bool:
        """Whether the node that started this process is gone."""
        return os.getppid() != self._parent

    @property
    def begun(self) -> bool:
        """Whether this process is to end."""
        return self._begun.is_set()

    def begin(self) -> int:
        """Start to end; says how many seconds requests under way have. May be called by a signal handler."""
        self._begun.set()
        return _ORPHAN_REQUESTS_S if self.orphaned else _REQUESTS_S

    def _watch(self) -> None:
        self._begun.wait()
        began = time.monotonic()
        waiting = True
        while True:
            elapsed = time.monotonic() - began
            orphaned = self.orphaned  # asked again: the signal can be here before the parent is quite gone
            if elapsed >= (_ORPHAN_HARD_S if orphaned else _HARD_S):
                os._exit(1)  # threads that wait for the database would keep a normal exit waiting too
            if waiting and (orphaned or elapsed >= _DATABASE_S):
                waiting = False
                threading.Thread(target=self._stop_waiting, name="stop-waiting", daemon=True).start()
            time.sleep(_LOOK_S)
