"""The node's time, as seen from a machine whose own clock may be off.

Deadlines and trajectories are judged by the node's clock. (So are signed requests; for those the SDK cares.) So the
difference is noted whenever the node says its time, told when it matters, and added: a provider with a wrong clock
works all the same.

Guarantees: a difference that the way to the node explains counts as none; what comes out never depends on anything but
the machine's clock and the last difference that was noted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from choir.doors.sdk.errors import NodeError
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.errors import Invalid

_NOISE_US = MICROSECONDS


class NodeClock:
    """The machine's clock and what the node's is ahead of it."""

    def __init__(self, own_us: Callable[[], int] | None = None) -> None:
        self.own_us = own_us or (lambda: time.time_ns() // 1_000)
        self.ahead_us = 0

    def now_us(self) -> int:
        return self.own_us() + self.ahead_us

    @property
    def ahead_s(self) -> float:
        return self.ahead_us / MICROSECONDS

    def note(self, told: str, asked_us: int) -> bool:
        """The node said its time, on a question of that moment; whether the difference is another than before."""
        heard_us = self.own_us()
        ahead_us = _read(told) - (asked_us + heard_us) // 2
        return self._note(ahead_us, _NOISE_US + max(0, heard_us - asked_us))

    def note_ahead(self, seconds: float) -> bool:
        """The same by the date of an answer, which is less exact."""
        return self._note(int(seconds * MICROSECONDS), 3 * _NOISE_US)

    def _note(self, ahead_us: int, noise_us: int) -> bool:
        ahead_us = 0 if abs(ahead_us) <= noise_us else ahead_us
        if abs(ahead_us - self.ahead_us) <= noise_us:
            return False
        self.ahead_us = ahead_us
        return True

    def left_s(self, deadline_at: str) -> float:
        """Seconds until a time that the node named."""
        return (_read(deadline_at) - self.now_us()) / MICROSECONDS


def _read(told: str) -> int:
    """A time that the node named; what is none is a fault of the node's and may pass."""
    try:
        return parse_time(told)
    except (Invalid, OverflowError):
        raise NodeError(detail="The node sent an invalid time.") from None
