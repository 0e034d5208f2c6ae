"""What of a job is for everybody once its buyer made it public: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.hall.model import Figure, Place
from choir.bazaar.jobs.model import Job

# What programs are started with often holds secrets; the key is the buyer's own business.
PRIVATE_FIELDS = frozenset({"environment", "stdin", "idempotency_key"})

SAME_MOMENT_MAX = 1_000  # more jobs than can be ordered in one microsecond


def for_everybody(job: Job) -> Job:
    """Without inputs, hidden checks, whom the buyer prefers, and by which credential it was ordered."""
    return replace(job, inputs={}, hidden=None, strategy={}, criteria={}, actor="", delegation=None, key="")


def attempt_for_everybody(attempt: Attempt, *, shared: bool, won: bool) -> Attempt:
    """Hashes of what can be read, and of nothing else: what is small could be guessed from its hash."""
    return replace(
        attempt,
        artifact=attempt.artifact if won else None,
        claimed=None,
        result=None,
        trajectory=attempt.trajectory if shared else None,
    )


def request_for_everybody(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what may hold secrets."""
    return {name: value for name, value in request.items() if name not in PRIVATE_FIELDS}


def next_place(shown: Sequence[Figure], began: Place) -> Place:
    """Where the page behind these begins."""
    last_us = shown[-1].created_us
    same = sum(item.created_us == last_us for item in shown)
    return Place(last_us, same + (began.skipped if began.at_us == last_us else 0))
