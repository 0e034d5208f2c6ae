"""A time limit for all that is asked of a node inside a block.

    with within(30):
        client.jobs.get(job)

Guarantees: no request inside waits longer for an answer, or is repeated for longer, than there is time left; but each
gets a moment (`LEAST_S`), so that who has no time left can still look once. Other threads are not limited by it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LEAST_S = 1.0

_ends: ContextVar[float | None] = ContextVar("choir_sdk_ends", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Limit what is asked in here; None does not. A limit around it still holds."""
    before = _ends.get()
    asked = None if seconds is None else time.monotonic() + seconds
    token = _ends.set(min((end for end in (before, asked) if end is not None), default=None))
    try:
        yield
    finally:
        _ends.reset(token)


def limited(seconds: float) -> float:
    """So many seconds, or what is left."""
    ends = _ends.get()
    return seconds if ends is None else min(seconds, max(LEAST_S, ends - time.monotonic()))
