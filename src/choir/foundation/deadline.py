"""How long the caller of this code still waits, and how to stop what it no longer waits for.

A door sets a deadline for each request. Whoever is about to wait, in whichever thread the request is served,
looks how much time remains; whoever waits for something that can be interrupted says how. When the door has
given up, all of it is interrupted, so that no thread works for a caller who is gone.

Guarantees: an interruption reaches only what is still under way: letting go of it waits for one that has begun.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Interrupt = Callable[[], None]


class Deadline:
    """The deadline of one request."""

    def __init__(self, limit_s: float) -> None:
        self._at = time.monotonic() + limit_s
        self._lock = threading.Lock()
        self._interrupts: set[Interrupt] = set()
        self._expired = False

    @property
    def remaining_s(self) -> float:
        return 0.0 if self._expired else max(0.0, self._at - time.monotonic())

    @property
    def expired(self) -> bool:
        """Whether the caller is gone."""
        return self._expired

    def lift(self) -> None:
        """There is no end any more: the answer has become a stream."""
        self._at = float("inf")

    @contextmanager
    def holds(self) -> Iterator[None]:
        """Make it the deadline of this context and of the threads it starts work in."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def interrupting(self, interrupt: Interrupt) -> Iterator[None]:
        """While the block runs, `interrupt` is called (in another thread) if the time is over."""
        with self._lock:
            self._interrupts.add(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.discard(interrupt)

    def expire(self) -> None:
        """The caller is gone: interrupt what is under way, in a thread, because that may take a moment."""
        self._expired = True
        if self._interrupts:
            threading.Thread(target=self._interrupt, name="interrupting", daemon=True).start()

    def _interrupt(self) -> None:
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current() -> Deadline | None:
    """The deadline of whoever this code works for, if there is one."""
    return _current.get()
