"""Telling how a job goes while it is waited for: a line for each change, and one now and then while nothing changes.

    mesh.await_and_verify(order, 600, on_change=Progress(client))

Guarantees: every line begins with the time that was waited; whoever waits for a provider that is not there is told so
at once, and how to call the order off.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from choir.doors.jobs.shapes import JobOut
from choir.foundation.errors import ChoirError
from choir.foundation.words import clock

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_EVERY_S = 30.0


class Progress:
    """To be given to a wait as `on_change`."""

    def __init__(
        self,
        client: Client,
        tell: Callable[[str], None] = print,
        *,
        every_s: float = _EVERY_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._tell = tell
        self._every_s = every_s
        self._now = now
        self._began = self._told_at = now()
        self._state = ""

    def __call__(self, job: JobOut) -> None:
        now = self._now()
        new = job.state != self._state
        if not new and now - self._told_at < self._every_s:
            return
        self._state, self._told_at = job.state, now
        why = _nobody(self._client, job) if job.state == "open" else ""
        self._tell(f"{clock(now - self._began)}  {job.id} is {'' if new else 'still '}{job.state}{why}")


def _nobody(client: Client, job: JobOut) -> str:
    """Why an order waits, if nobody can take it."""
    try:
        why = client.jobs.select(job.type, int(job.budget), job.criteria).explanation
    except ChoirError:  # it only says more
        return ""
    if why.get("candidates"):
        return ""
    known = dict(why.get("nobody_because", {})).get("known", 0)
    who = "no provider here sells this type of work" if not known else f"none of {known} providers of this type can"
    until = f"waiting until {job.expires_at[11:16]} UTC"
    return f": no provider can take it now ({who}); {until}; cancel it with: choir job cancel {job.id}"
