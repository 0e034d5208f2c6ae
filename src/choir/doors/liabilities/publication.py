"""Having a node say what it owes, and waiting until it has counted.

Guarantees: it ends with what was signed after all entries that there were when it was asked for, or with an error; a
node that is away for a moment is asked again; what was begun goes on when nobody waits any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from choir.doors.liabilities.shapes import LiabilitiesOut, LiabilitiesUnderWayOut
from choir.foundation.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

WAIT_S = 900.0
_AWAY_S_MAX = 60.0  # how long the node may be away meanwhile
_PAUSE_S_MIN = 0.2

OnWait = Callable[[LiabilitiesUnderWayOut], None]


class NotPublishedYet(Unavailable):
    """The time to wait is over; the node goes on."""

    code = "sdk.liabilities_not_published"
    sentence = "After {seconds} seconds the node is still computing its liabilities after entry {size}; it continues."
    hint = (
        "Check later with `choir ledger liabilities --latest`, or wait again with `choir ledger liabilities`, "
        "which also reports errors."
    )


def published(client: Client, *, timeout_s: float = WAIT_S, on_wait: OnWait | None = None) -> LiabilitiesOut:
    """What the node owes after all entries so far, signed; `on_wait` is told once if it takes long."""
    began = time.monotonic()
    answer = client.liabilities.publish().root
    if isinstance(answer, LiabilitiesOut):
        return answer
    if on_wait is not None:
        on_wait(answer)
    pause_s = max(_PAUSE_S_MIN, answer.interval_s)
    heard_at = time.monotonic()
    while True:
        try:
            latest = _latest(client)
            heard_at = time.monotonic()
            if latest is not None and latest.size >= answer.size:
                return latest
        except Unavailable:
            if time.monotonic() > heard_at + _AWAY_S_MAX:
                raise
        waited_s = time.monotonic() - began
        if waited_s >= timeout_s:
            raise NotPublishedYet(seconds=int(waited_s), size=answer.size)
        time.sleep(min(pause_s, timeout_s - waited_s))


def _latest(client: Client) -> LiabilitiesOut | None:
    with suppress(NotFound):  # nothing was ever signed here
        return client.liabilities.latest()
    return None
