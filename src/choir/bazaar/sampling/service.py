"""Planted reviews: orders of the node's own, by which it sees whether reviewers really read what they are paid for.

One in so many reviews that were paid for is followed, some time later, by one for the same provider whose diff has
defects that the node put there. It is much like the order that it follows and is worked on, verified, paid and
disputed like any other; its provider learns whose it was when any buyer would be named, with the verdict.

Guarantees: the platform pays for it out of its fees, and where these do not suffice there is none; one order is
followed by one at most, however often it is asked for. Nobody gains by ordering from themselves what is then
followed: it pays what the order it follows has cost, rounded up by a tenth at most, and the fees of twenty are twice
as much; and passing counts for nothing in a provider's record. Failing does count.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, attempt_id
from choir.bazaar.contracts import CodeReviewRequest, Terms
from choir.bazaar.jobs import store
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import DIFF, HIDDEN, REPOSITORY, SOURCE, Job, JobType
from choir.bazaar.jobs.service import Jobs, Order
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.providers.fallback import PinnedProvider, strategy_json
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.sampling import defects as planting
from choir.bazaar.sampling.defects import PlantedDiff
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.clock import MICROSECONDS, Entropy
from choir.objects.service import Objects
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class FollowedReview:
    """The order after which one with planted defects comes, and who was asked to do it."""

    job: Job
    attempt: Attempt
    request: CodeReviewRequest


class PlantedReviews:
    """Orders planted reviews."""

    def __init__(self, lifecycle: JobLifecycle, jobs: Jobs, objects: Objects, policy: VerificationPolicy) -> None:
        self._lifecycle = lifecycle
        self._jobs = jobs
        self._objects = objects
        self._policy = policy

    def followed(self, tx: Tx, id_: UUID) -> FollowedReview | None:
        """What an attempt was about; None if it has been followed already."""
        attempt = store.attempt(tx, id_)
        job = None if attempt is None else store.job(tx, attempt.job)
        if attempt is None or job is None or store.job_by_key(tx, SOURCE, _key(attempt)) is not None:
            return None
        request = CodeReviewRequest.from_json(self._objects.get_atom(tx, job.request), self._policy)
        return FollowedReview(job, attempt, request)

    def made(self) -> PlantedDiff | None:
        """A diff with defects; touches no database."""
        return planting.make(self._lifecycle.entropy)

    def order(self, tx: Tx, after: FollowedReview, made: PlantedDiff) -> Job | None:
        """Have the provider of an attempt do a planted review; None if the platform cannot pay for it."""
        budget = self._budget(tx, after)
        if budget is None:
            return None
        contents = {DIFF: made.diff, HIDDEN: made.planted.to_bytes()}
        commit = ""
        if REPOSITORY in after.job.inputs:  # who sends a folder sends the changed files whole
            bundle = bundle_of({made.path: made.content})
            contents[REPOSITORY], commit = bundle.data, bundle.commit
        request = CodeReviewRequest(
            diff=bytes_hash(made.diff),
            terms=Terms(budget, after.job.time_limit_s, _random_key(self._lifecycle.entropy)),
            head_commit=commit,
            focus=after.request.focus,
            depth=after.request.depth,
        )
        order = Order(
            type=JobType.CODE_REVIEW,
            request=request.to_json(),
            budget=budget,
            time_limit_s=after.job.time_limit_s,
            inputs=self._keep(tx, contents),
            strategy=strategy_json(self._pinned(after.attempt.provider)),
        )
        return self._jobs.open_own(tx, order, _key(after.attempt))

    def _keep(self, tx: Tx, contents: dict[str, bytes]) -> dict[str, ObjectHash]:
        return {name: self._objects.put_blob(tx, [data], None).hash for name, data in contents.items()}

    def _budget(self, tx: Tx, after: FollowedReview) -> int | None:
        """About what the order has cost, as a person would say it; None if the platform has less."""
        budget = min(after.job.budget, _rounded_up(after.attempt.paid))
        enough = self._lifecycle.policy.budget_msat_min <= budget <= self._lifecycle.settlement.fees(tx)
        return budget if enough else None

    def _pinned(self, provider: UUID) -> PinnedProvider:
        policy = self._lifecycle.policy
        return PinnedProvider(provider, policy.attempts_max, policy.backoff_s * MICROSECONDS)


def _rounded_up(amount: int) -> int:
    """To two digits."""
    unit = int("1" + "0" * max(0, len(str(amount)) - 2))
    return -(-amount // unit) * unit


def _key(attempt: Attempt) -> str:
    return f"after:{attempt_id(attempt.id)}"


def _random_key(entropy: Entropy) -> str:
    """As buyers' clients make them."""
    return entropy.bytes(16).hex()
