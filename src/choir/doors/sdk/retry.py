"""When a request is sent again.

Guarantees: a call is repeated only if that is harmless: it reads, it carries an idempotency key, or it
never left this machine; never after a refusal, but once where a signature was made by another clock than the
node's; never sooner than the node asked for with `Retry-After`;
never beyond the caller's patience. Both clients ask here, so they agree.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

_PAUSE_S = 0.1
_PAUSE_S_MAX = 2.0
_SIGN_AGAIN_MAX = 2
_ASK_AGAIN = frozenset({429, 502, 503, 504})
_NOT_SOON = frozenset({"node.disk_low", "storage.write_disk_full"})  # nothing changes before somebody acts
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_HOPELESS = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


class Attempts:
    """The tries of one call, and how much patience is left."""

    def __init__(
        self,
        *,
        repeatable: bool,
        patience_s: float,
        connect_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._repeatable = repeatable
        self._now = now
        began = now()
        self._give_up_at = began + patience_s
        self._connect_until = began + min(connect_s, patience_s)
        self._pause_s = _PAUSE_S
        self._signed_again = 0

    def sign_again(self) -> bool:
        """Whether a call that was refused for its signature's time is sent with another; nothing was done by it.

        Twice: a node whose clock is moved just now may tell the old time with its first refusal.
        """
        self._signed_again += 1
        return self._signed_again <= _SIGN_AGAIN_MAX

    def after_answer(self, answer: httpx.Response) -> float | None:
        """Seconds to wait before the next try; None: this answer is the one."""
        if answer.status_code not in _ASK_AGAIN or not self._repeatable or code_of(answer) in _NOT_SOON:
            return None
        return self._pause(self._give_up_at, at_least_s=_asked_for(answer))

    def after_error(self, error: httpx.TransportError) -> float | None:
        """Seconds to wait before the next try; None: it is over."""
        if isinstance(error, _HOPELESS):
            return None
        if isinstance(error, _NEVER_SENT):
            return self._pause(self._connect_until)
        return self._pause(self._give_up_at) if self._repeatable else None

    def _pause(self, until: float, at_least_s: float = 0.0) -> float | None:
        pause_s = max(at_least_s, self._pause_s * (0.5 + random.random()))  # noqa: S311 - only spreads retries
        self._pause_s = min(self._pause_s * 2, _PAUSE_S_MAX)
        return pause_s if self._now() + pause_s <= until else None


def code_of(answer: httpx.Response) -> str:
    """The code of a problem; empty where there is none."""
    try:
        return str(answer.json()["code"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _asked_for(answer: httpx.Response) -> float:
    """`Retry-After` in seconds (RFC 9110): a number of them, or a date."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isdecimal() and text.isascii():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
