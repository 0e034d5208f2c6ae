"""Between jobs and providers: who shall try a job, and what came of it.

Guarantees: whoever is chosen has a slot reserved for the job in the same transaction; every choice can be
explained and made again from the job's id and the number of tries before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import NODE_AWAY, NOT_ASKED_AGAIN, Attempt, AttemptState
from choir.bazaar.bonds.service import Bonds
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import Job, JobType
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.providers import fallback, selection_rules
from choir.bazaar.providers.assignment import Assignments
from choir.bazaar.providers.fallback import FallbackLimits, GiveUp, Race, Strategy, Try, TryState
from choir.bazaar.providers.model import ONE_BPS, OutcomeRecord
from choir.bazaar.providers.service import Providers
from choir.bazaar.seconds import store as seconds_store
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.clock import MICROSECONDS
from choir.storage.database import Tx

_MILLI = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A provider with a slot reserved for the job."""

    provider: UUID
    owner: str
    terms: Terms
    explanation: dict[str, Any]


class Market:
    """Providers, as far as jobs see them; all inside the caller's transaction."""

    def __init__(self, providers: Providers, bonds: Bonds, policy: BazaarPolicy) -> None:
        self._providers = providers
        self._bonds = bonds
        self._assignments = Assignments(providers)
        self._limits = FallbackLimits(policy.attempts_max, policy.backoff_s * MICROSECONDS, policy.race_max)

    def strategy(self, asked: dict[str, Any]) -> Strategy:
        """A strategy as it was asked for; refuses one that cannot be."""
        return fallback.strategy_from(asked, self._limits)

    def racing(self, job: Job) -> int:
        """How many providers may try the job at one time."""
        return fallback.racing(self.strategy(job.strategy))

    def check(self, job: Job) -> None:
        """Raise unless the job's strategy and criteria can be followed."""
        self.strategy(job.strategy)
        selection_rules.criteria_from(job.type, job.budget, job.criteria)

    def gives_up(self, job: Job, attempts: Sequence[Attempt], now_us: int) -> bool:
        """Whether nobody will be asked again, whoever may come."""
        found = fallback.next_assignments(self.strategy(job.strategy), _history(attempts), (), now_us)
        return isinstance(found, GiveUp)

    def choose(self, tx: Tx, job: Job, attempts: Sequence[Attempt], ceiling: int, now_us: int) -> list[Choice]:
        """Reserve slots of those who shall try now; nobody, if nobody fits at the moment."""
        sides = self._sides(tx, job)
        excluded = self._providers.in_clusters_of(tx, sides)
        criteria = selection_rules.criteria_from(job.type, ceiling, job.criteria, excluded)
        seed = job.id.bytes + len(attempts).to_bytes(4)
        strategy = self.strategy(job.strategy)
        drawn_from = (lambda one: self._providers.is_independent(tx, one.candidate.owner, sides)) if sides else None
        assigned = self._assignments.assign(
            tx, job.id, criteria, strategy, _history(attempts), now_us, seed, drawn_from=drawn_from
        )
        explained = assigned.explanation.as_json()
        return [
            Choice(scored.candidate.provider, scored.candidate.owner, scored.candidate.terms, explained)
            for scored in assigned.chosen
        ]

    @staticmethod
    def _sides(tx: Tx, job: Job) -> tuple[str, ...]:
        """Of a second review, whose work it is about and who ordered that: nobody who is one with them may review."""
        row = seconds_store.of_review(tx, job.id) if job.is_second else None
        if row is None or row.attempt is None:
            return ()
        about, attempt = job_store.job(tx, row.job), job_store.attempt(tx, row.attempt)
        assert about is not None
        assert attempt is not None
        return about.buyer, attempt.owner

    def tries(self, job: Job) -> int:
        """How many tries there may be at a job."""
        strategy = self.strategy(job.strategy)
        return strategy.count if isinstance(strategy, Race) else strategy.attempts

    def review_price(self, job: Job, request: Mapping[str, Any]) -> int:
        """What a second review costs at most: as much as the first, or of a patch by default prices for its files."""
        if job.type is JobType.CODE_REVIEW:
            return job.budget
        return self._providers.default_price(JobType.CODE_REVIEW, int(request.get("files_max", 1)) * _MILLI)

    def let_go(self, tx: Tx, job: Job, attempt: Attempt) -> None:
        """Give the attempt's slot back."""
        self._providers.release(tx, attempt.provider, job.id)

    def record(self, tx: Tx, job: Job, attempt: Attempt, *, passed: bool, at_us: int) -> None:
        """Note what came of an attempt; told differently later, it is a correction."""
        sides = self._sides(tx, job)
        told = OutcomeRecord(
            job=job.id,
            type=job.type,
            buyer=sides[0] if sides else job.buyer,  # who pays for a second review
            passed=passed,
            price=attempt.paid,
            latency_us=max(0, (attempt.ended_us or at_us) - attempt.assigned_us),
            at_us=at_us,
            reason=attempt.reason,
            attempt=attempt.n,
            qualification=job.qualifies is not None,
            planted=job.is_own,
            # Whoever has orders of their own placed with themselves shall not rise by what follows them.
            independence_bps=0 if job.is_own and passed else ONE_BPS,
        )
        self._providers.record_outcome(tx, attempt.provider, told)

    def use_bond(self, tx: Tx, provider: UUID, wanted: int) -> int:
        """Take so much of a provider's bond, or what there is; the caller posts it."""
        return self._bonds.use(tx, provider, wanted)

    def put_off(self, tx: Tx, job: Job, attempt: Attempt) -> None:
        """A qualification came to nothing, and that was not the provider's doing."""
        self._providers.put_off_qualification(tx, attempt.provider, job.type, job.id)

    def types_of(self, tx: Tx, providers: Collection[UUID]) -> list[JobType]:
        """What these providers can be asked for."""
        return self._providers.types_of(tx, providers)

    def result_key(self, tx: Tx, attempt: Attempt) -> bytes:
        """The key that signs what the provider hands in now."""
        return self._providers.get(tx, attempt.provider).result_key

    def result_keys(self, tx: Tx, attempt: Attempt) -> list[bytes]:
        """Every key that the provider of this attempt may have signed it with, also before it took another."""
        return self._providers.keys(tx, attempt.provider)

    def gone(self, tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
        """Of these, the providers that no longer answer."""
        return self._providers.gone(tx, providers, now_us) if providers else set()


def _history(attempts: Sequence[Attempt]) -> list[Try]:
    """The tries so far; one that the node itself cut off is none."""
    tried = [attempt for attempt in attempts if attempt.reason != NODE_AWAY]
    return [Try(attempt.provider, _try_state(attempt), attempt.ended_us or 0) for attempt in tried]


def _try_state(attempt: Attempt) -> TryState:
    if attempt.ended_us is None:
        return TryState.AT_WORK
    if attempt.state is AttemptState.PASSED:
        return TryState.PASSED
    return TryState.REFUSED if attempt.state in NOT_ASKED_AGAIN else TryState.LOST
