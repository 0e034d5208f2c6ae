"""The node's time, as seen from a machine whose own clock may be off.

Deadlines, trajectories and signed requests are judged by the node's clock. So the difference is measured, told when it
matters, and added: a provider with a wrong clock works all the same.

Guarantees: a difference below a second counts as none, for that is how exact asking over a network is; what comes out
never depends on anything but the machine's clock and the last measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from choir.foundation.clock import MICROSECONDS, parse_time

_NOISE_US = MICROSECONDS


class NodeClock:
    """The machine's clock and what the node's is ahead of it."""

    def __init__(self, ask: Callable[[], str], own_us: Callable[[], int] | None = None) -> None:
        self._ask = ask
        self._own_us = own_us or (lambda: time.time_ns() // 1_000)
        self.ahead_us = 0

    def now_us(self) -> int:
        return self._own_us() + self.ahead_us

    def now_s(self) -> float:
        """For signing requests."""
        return self.now_us() / MICROSECONDS

    def measure(self) -> float:
        """Ask the node for its time; returns by how many seconds it is ahead of this machine."""
        before = self._own_us()
        told_us = parse_time(self._ask())
        after = self._own_us()
        ahead_us = told_us - (before + after) // 2
        noise_us = _NOISE_US + max(0, after - before)
        if abs(ahead_us) <= noise_us:
            ahead_us = 0
        if abs(ahead_us - self.ahead_us) > noise_us:
            self.ahead_us = ahead_us
        return self.ahead_us / MICROSECONDS

    def left_s(self, deadline_at: str) -> float:
        """Seconds until a time that the node named."""
        return (parse_time(deadline_at) - self.now_us()) / MICROSECONDS
