"""Bells: what waits in this process is woken as soon as a transaction that concerns it has committed.

A bell only saves the time until the next look. Whatever it rings for is also found by a look from time to time,
so a ring that is lost (the process dies, nobody listens, another process is asked) costs a moment and nothing else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from choir.foundation.errors import ChoirError

log = logging.getLogger(__name__)

Listener = Callable[[str, UUID | None], None]  # the bell, and what it rang for; must not block
_ITEMS_MAX = 10_000  # remembered for one bell; what is beyond that waits for the next look


class Bells:
    """The bells of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, list[Listener]] = {}

    def listen(self, names: Iterable[str], listener: Listener) -> None:
        """Be told when one of these bells rings."""
        with self._lock:
            for name in names:
                self._listeners.setdefault(name, []).append(listener)

    def leave(self, listener: Listener) -> None:
        with self._lock:
            for listeners in self._listeners.values():
                if listener in listeners:
                    listeners.remove(listener)

    def ring(self, name: str, item: UUID | None = None) -> None:
        with self._lock:
            listeners = tuple(self._listeners.get(name, ()))
        for listener in listeners:
            listener(name, item)


class Attendant:
    """A thread that does something whenever a bell has rung, with all that it rang for since the last time."""

    def __init__(self, bells: Bells, handlers: Mapping[str, Callable[[set[UUID]], None]]) -> None:
        self._bells = bells
        self._handlers = handlers
        self._rung: dict[str, set[UUID]] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._bells.listen(self._handlers, self._hear)
        self._thread = threading.Thread(target=self._loop, name="attendant", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 10.0) -> None:
        self._bells.leave(self._hear)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(wait_s)

    def _hear(self, name: str, item: UUID | None) -> None:
        with self._changed:
            items = self._rung.setdefault(name, set())
            if item is not None and len(items) < _ITEMS_MAX:
                items.add(item)
            self._changed.notify_all()

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._rung or self._stopped)
                if self._stopped:
                    return
                name = next(iter(self._rung))
                items = self._rung.pop(name)
            try:
                self._handlers[name](items)
            except ChoirError as error:  # the next look finds what was to be done
                log.warning("a bell was not answered", extra={"bell": name, "error": error.code})
            except Exception:
                log.exception("answering a bell failed", extra={"bell": name})
