"""Hearing from the node that something happened to a job, so that work begins at once and not with the next beat.

What is heard is only a reason to look; nothing is believed of it. If it cannot be heard, the beats still find all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from choir.doors.provider.model import Tell
from choir.doors.provider.retry import PAUSE_S, longer, passes, spread
from choir.doors.sdk.client import Client
from choir.foundation.errors import ChoirError

_JOBS = "bazaar.job"
_OWN_DOING = frozenset({f"{_JOBS}.started", f"{_JOBS}.handed_in"})  # what this provider itself has told the node


class Listener:
    """A thread that listens until it is closed."""

    def __init__(
        self, client: Callable[[], Client], wake: Callable[[str | None], None], deaf: Callable[[], None], tell: Tell
    ) -> None:
        self._make = client
        self._wake = wake
        self._deaf = deaf  # called when the node will not tell us anything
        self._tell = tell
        self._closed = threading.Event()
        self._client: Client | None = None
        self._thread = threading.Thread(target=self._listen, name="choir-provider-events", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop; the thread ends when its connection notices."""
        self._closed.set()
        if self._client is not None:
            self._client.close()

    def _listen(self) -> None:
        pause_s = PAUSE_S
        while not self._closed.is_set():
            try:
                self._client = self._make()
                with self._client as client:
                    for event in client.events(type_=_JOBS):
                        pause_s = PAUSE_S
                        if event.type not in _OWN_DOING:
                            self._wake(None if event.missed else event.subject)
            except ChoirError as error:
                if not passes(error) and not self._closed.is_set():
                    self._tell("deaf", why=str(error))
                    self._deaf()
                    return
            except Exception as error:
                if self._closed.is_set():
                    return  # the connection was closed under it
                self._tell("deaf_for_now", why=type(error).__name__)
            self._wake(None)  # something may have been missed
            self._closed.wait(spread(pause_s))
            pause_s = longer(pause_s)
