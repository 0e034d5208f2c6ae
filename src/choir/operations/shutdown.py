"""A flag that a signal handler may raise while the same thread waits for it.

`threading.Event` must not be used for that: a handler runs between two steps of the main thread, also while
that thread holds the event's own lock, and then waits for itself for ever. The kernel may well send the same
signal twice, as it does to the children of a process whose threads end one after the other.
"""

from __future__ import annotations

import queue


class StopFlag:
    """Raised once and for all; one thread may wait for it."""

    def __init__(self) -> None:
        self._raised = False
        self._wakeup: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put is safe inside a signal handler

    def set(self) -> None:
        """Raise the flag."""
        self._raised = True
        self._wakeup.put(None)

    def is_set(self) -> bool:
        return self._raised

    def wait(self, limit_s: float | None = None) -> bool:
        """Whether it was raised, at the latest after the limit."""
        if not self._raised:
            try:
                self._wakeup.get(timeout=limit_s)
            except queue.Empty:
                return self._raised
        return True
