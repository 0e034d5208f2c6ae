"""`choir job watch` on a terminal: all of one's open jobs, drawn again whenever something happens to one of them.

Guarantees: a job that was seen open stays in the picture after its end, so that nobody misses how it went; a node that
is away only leaves the picture as it was, and that is said.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from choir.doors.cli import output
from choir.doors.jobs.commands.lookup import lines_of
from choir.foundation.errors import Unavailable
from choir.foundation.words import clock, count

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import JobOut
    from choir.doors.sdk.client import Client

_LOOKED_AT = 100  # the newest of one's jobs; older ones that are still open are in `choir job ls`
_LOOK_S = 2.0
_PER_SECOND = 4


class OpenJobs:
    """What is open now, and what was when we began to look."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shown: dict[str, JobOut] = {}
        self._away = False
        self._began = time.monotonic()

    def look(self) -> None:
        """Ask the node."""
        try:
            mine = list(itertools.islice(self._client.jobs.mine(limit=_LOOKED_AT), _LOOKED_AT))
        except Unavailable:
            self._away = True
            return
        self._away = False
        found = {job.id: job for job in mine if job.closed_at is None or job.id in self._shown}
        self._shown = found | {id_: job for id_, job in self._shown.items() if id_ not in found}

    def draw(self) -> RenderableType:
        still = sum(job.closed_at is None for job in self._shown.values())
        passed = clock(time.monotonic() - self._began)
        head = f"{count(still, 'open job')} at {self._client.url}  {passed}; Ctrl-C ends the view, not the jobs."
        parts: list[RenderableType] = [Text(head, style="dim")]
        if self._away:
            parts.append(Text("The node does not answer; this is its last known state.", style="red"))
        if self._shown:
            parts += output.cut_lines(lines_of(list(self._shown.values()), output.width()))
        return Group(*parts)


def watch_open(client: Client, timeout_s: float | None) -> None:
    """Show them until Ctrl-C, or until the time is over."""
    from choir.doors.mesh.job_wait import JobSignal

    until = None if timeout_s is None else time.monotonic() + timeout_s
    jobs, wakeup = OpenJobs(client), JobSignal(client, None)
    jobs.look()
    screen = Live(get_renderable=jobs.draw, console=Console(highlight=False), refresh_per_second=_PER_SECOND)
    try:
        with screen, suppress(TimeoutError):
            while True:
                wakeup.woken.wait(_left_s(until))
                wakeup.woken.clear()
                jobs.look()
    finally:
        wakeup.close()


def _left_s(until: float | None) -> float:
    left_s = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
    if left_s <= 0:
        raise TimeoutError
    return left_s
