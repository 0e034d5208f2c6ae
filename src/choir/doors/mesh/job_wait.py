"""Waiting for a job: woken by the node's events, looking now and then all the same.

Guarantees: never busy; a node that is away, restarts or tells no events only makes it slower; it ends when the job
is where it was waited for, when the time is over (a second later at most, also if the node hangs), or when somebody
asks it to stop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from choir.doors.jobs.shapes import JobOut
from choir.doors.mesh.model import NotDoneYet
from choir.doors.sdk.deadlines import within
from choir.foundation.errors import Unavailable

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_PAUSE_S_FIRST = 0.3
_PAUSE_S_MAX = 5.0
_PAUSE_GROWS = 1.6
_SILENT_STATE = "unknown"

OnChange = Callable[[JobOut], None]


class JobSignal:
    """Rings when something happened to a job, or to any of one's own; where no stream can be had it is silent."""

    def __init__(self, client: Client, job: str | None) -> None:
        self.woken = threading.Event()
        self._client = client.twin()  # its connection can be cut without cutting the others
        self._job = job
        self._thread = threading.Thread(target=self._listen, name="choir-waiting", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._client.close()

    def _listen(self) -> None:
        with suppress(Exception):  # it only makes waiting shorter; closing it while it reads has many faces
            for _ in self._client.events(type_="bazaar.job", subject=self._job):
                self.woken.set()


def wait_for(
    client: Client,
    job: str,
    done: Callable[[JobOut], bool],
    *,
    timeout_s: float | None = None,
    on_change: OnChange | None = None,
    stop: threading.Event | None = None,
) -> JobOut:
    """The job once it is `done`; `on_change` sees it each time that it was looked at."""
    began = time.monotonic()
    wakeup = JobSignal(client, job)
    pause_s = _PAUSE_S_FIRST
    state = _SILENT_STATE
    try:
        while True:
            left_s = None if timeout_s is None else began + timeout_s - time.monotonic()
            with suppress(Unavailable), within(left_s):  # a node that hangs does not hold whoever waits
                found = client.jobs.get(job)
                state = found.state
                if on_change is not None:
                    on_change(found)
                if done(found):
                    return found
            left_s = None if timeout_s is None else began + timeout_s - time.monotonic()
            if (left_s is not None and left_s <= 0) or (stop is not None and stop.is_set()):
                raise NotDoneYet(job=job, state=state, seconds=int(time.monotonic() - began))
            woken = wakeup.woken.wait(pause_s if left_s is None else min(pause_s, left_s))
            wakeup.woken.clear()
            pause_s = _PAUSE_S_FIRST if woken else min(pause_s * _PAUSE_GROWS, _PAUSE_S_MAX)
    finally:
        wakeup.close()
