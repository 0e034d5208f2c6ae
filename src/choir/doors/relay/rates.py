"""How often something may happen, for many names, in bounded memory.

Guarantees: a name gets at most so many in a minute, beyond a burst of the same size; the number of names that are
remembered is bounded, and one that is forgotten starts anew.
"""

from __future__ import annotations

from collections import OrderedDict

_NAMES_MAX = 20_000
_MINUTE_S = 60.0


class Rate:
    """A bucket for each name, which fills up over a minute."""

    def __init__(self, per_minute: int) -> None:
        self._most = float(per_minute)
        self._of: OrderedDict[object, tuple[float, float]] = OrderedDict()  # what is left, and since when

    def take(self, name: object, now: float) -> bool:
        """Whether it may happen once more; if so, it is counted."""
        left, since = self._of.pop(name, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / _MINUTE_S)
        good = left >= 1
        self._of[name] = (left - 1 if good else left, now)
        if len(self._of) > _NAMES_MAX:
            self._of.popitem(last=False)
        return good
