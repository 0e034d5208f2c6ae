"""What stronger checks cost the buyer on top of the work: the whole suite, mutation, a high level. Pure.

Guarantees: the price of an order's extras is fixed when it is ordered; it is due once per job, with the first verdict
that needed them: one whose visible checks all passed. Until then so much of what is held stays reserved for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.contracts import PatchGenRequest, Request
from choir.bazaar.jobs.model import Job, Level, Verdict
from choir.bazaar.policy import BazaarPolicy


def lines(request: Request, policy: BazaarPolicy) -> list[tuple[str, int]]:
    """The extras that an order asks for, each with its price; what costs nothing is none."""
    if not isinstance(request, PatchGenRequest):
        return []
    return named(request.level, policy, whole_suite=request.whole_suite, mutation=request.mutation)


def named(level: Level, policy: BazaarPolicy, *, whole_suite: bool, mutation: bool) -> list[tuple[str, int]]:
    """The same for who has no request yet."""
    by_level = {Level.V3: policy.level_v3_msat, Level.V4: policy.level_v4_msat}
    asked = [
        ("the whole suite", policy.extra_suite_msat * whole_suite),
        ("mutation", policy.extra_mutation_msat * mutation),
        (f"level {level}", by_level.get(level, 0)),
    ]
    return [(what, amount) for what, amount in asked if amount]


def price(request: Request, policy: BazaarPolicy) -> int:
    """What all of an order's extras cost together."""
    return sum(amount for _, amount in lines(request, policy))


def reserved(job: Job, attempts: Sequence[Attempt]) -> int:
    """What of the hold is for extras that were not paid yet."""
    return 0 if any(attempt.extras for attempt in attempts) else job.extras


def due(job: Job, attempts: Sequence[Attempt], verdict: Verdict) -> int:
    """What this verdict makes due: all that is reserved, if it looked at more than what failed in the open."""
    return reserved(job, attempts) if verdict.visible_passed else 0
