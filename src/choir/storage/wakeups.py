"""Wake-ups: what waits in this process is woken as soon as a transaction that concerns it has committed.

A wake-up only saves the time until the next look. Whatever it is about is also found by a look from time to time, so
one that is lost (the process dies, nobody listens, another process is asked) costs a moment and nothing else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from choir.foundation.errors import ChoirError

log = logging.getLogger(__name__)

Listener = Callable[[str, UUID | None], None]  # its name, and what it is about; must not block
_ITEMS_MAX = 10_000  # remembered for one name; what is beyond that waits for the next look


class Wakeups:
    """The wake-ups of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, list[Listener]] = {}

    def listen(self, names: Iterable[str], listener: Listener) -> None:
        """Be told of every wake-up of these names."""
        with self._lock:
            for name in names:
                self._listeners.setdefault(name, []).append(listener)

    def leave(self, listener: Listener) -> None:
        with self._lock:
            for listeners in self._listeners.values():
                if listener in listeners:
                    listeners.remove(listener)

    def wake(self, name: str, item: UUID | None = None) -> None:
        with self._lock:
            listeners = tuple(self._listeners.get(name, ()))
        for listener in listeners:
            listener(name, item)


class WakeupListener:
    """A thread that does something whenever it is woken, with all that it was woken for since the last time."""

    def __init__(self, wakeups: Wakeups, handlers: Mapping[str, Callable[[set[UUID]], None]]) -> None:
        self._wakeups = wakeups
        self._handlers = handlers
        self._woken: dict[str, set[UUID]] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._wakeups.listen(self._handlers, self._hear)
        self._thread = threading.Thread(target=self._loop, name="wakeups", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 10.0) -> None:
        self._wakeups.leave(self._hear)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(wait_s)

    def _hear(self, name: str, item: UUID | None) -> None:
        with self._changed:
            items = self._woken.setdefault(name, set())
            if item is not None and len(items) < _ITEMS_MAX:
                items.add(item)
            self._changed.notify_all()

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._woken or self._stopped)
                if self._stopped:
                    return
                name = next(iter(self._woken))
                items = self._woken.pop(name)
            try:
                self._handlers[name](items)
            except ChoirError as error:  # the next look finds what was to be done
                log.warning("a wake-up was not handled", extra={"wakeup": name, "error": error.code})
            except Exception:
                log.exception("handling a wake-up failed", extra={"wakeup": name})
