"""Until when bytes are kept and what more of it costs: pure."""

from __future__ import annotations

from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.retention.model import BadDays
from choir.foundation.clock import MICROSECONDS

_DAY_S = 86_400
_MONTH_DAYS = 30
_MB = 1_000_000


def until_us(closed_us: int, kept_until_us: int | None, policy: MarketPolicy, bazaar: BazaarPolicy) -> int:
    """When the bytes of a closed job may go: never before the last time at which somebody may dispute it."""
    least_s = max(policy.retention_s, bazaar.security_dispute_s + _DAY_S)
    return max(closed_us + least_s * MICROSECONDS, kept_until_us or 0)


def price(size: int, days: int, policy: MarketPolicy) -> int:
    """What keeping so many bytes for so many days more costs; a started milli-satoshi counts whole."""
    if not 1 <= days <= policy.keep_days_max:
        raise BadDays(most=policy.keep_days_max, days=days)
    exact = size * days * policy.keep_msat_mb_month
    return max(policy.keep_msat_min, -(-exact // (_MB * _MONTH_DAYS)))


def later_us(from_us: int, days: int) -> int:
    return from_us + days * _DAY_S * MICROSECONDS
