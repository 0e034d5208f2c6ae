"""Asking a node again that is away or busy, for as long as an answer is worth something."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from choir.doors.sdk.errors import NodeError
from choir.doors.shapes import TooManyStreams
from choir.foundation.errors import ChoirError, Unavailable
from choir.identity.model import TooManyTries

T = TypeVar("T")
PAUSE_S = 0.5
PAUSE_S_MAX = 5.0
_TICK_S = 0.1


def passes(error: ChoirError) -> bool:
    """Whether the same request may succeed later."""
    return isinstance(error, Unavailable | NodeError | TooManyTries | TooManyStreams)


def longer(pause_s: float) -> float:
    """The pause after this one."""
    return min(pause_s * 2, PAUSE_S_MAX)


def spread(pause_s: float) -> float:
    """A pause of about that length, so that not everybody comes back at the same moment."""
    return pause_s * (0.5 + random.random())  # noqa: S311 - only spreads retries


def patiently(ask: Callable[[], T], deadline: float, over: Callable[[], bool] = lambda: False) -> T:
    """The answer, asked for again until the deadline (by `time.monotonic`), or until it is over."""
    pause_s = PAUSE_S
    while True:
        try:
            return ask()
        except ChoirError as error:
            if not passes(error) or over() or time.monotonic() >= deadline:
                raise
        until = min(time.monotonic() + spread(pause_s), deadline)
        while time.monotonic() < until and not over():
            time.sleep(_TICK_S)
        pause_s = longer(pause_s)
