"""How a job's life goes on: pure functions from what is to what follows.

Guarantees: at most one attempt of a job is paid in full; a provider whose result passed the visible checks is
never left with nothing; what is paid stays within what is held; a job that is over holds nothing, except while
results that were handed in before it ended are still being checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choir.bazaar.attempts.model import AT_WORK, HANDED_IN, LIVE_ATTEMPT, Attempt, AttemptState
from choir.bazaar.jobs.model import LIVE_JOB, BadBudget, BudgetBelowExtras, Job, JobState, Verdict
from choir.bazaar.jobs.reasons import names_cheating
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement.pricing import NOBODY, Sharers, Shares, Terms
from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset

_BPS = 10_000
_PROGRESS = (AttemptState.VERIFYING, AttemptState.DELIVERED, AttemptState.RUNNING, AttemptState.ASSIGNED)


@dataclass(frozen=True, slots=True)
class VerdictValue:
    """What a verdict means for the attempt and for the money."""

    state: AttemptState
    shares: Shares | None  # what is paid, and to whom; None: nothing
    reason: str = ""


def check_budget(budget: int, policy: BazaarPolicy) -> None:
    if not policy.budget_msat_min <= budget <= policy.budget_msat_max:
        low, high = policy.budget_msat_min, policy.budget_msat_max
        raise BadBudget(budget=Asset.SAT.format(budget), low=Asset.SAT.format(low), high=Asset.SAT.format(high))


def check_extras(budget: int, extras: int, policy: BazaarPolicy) -> None:
    """Raise unless a budget leaves something for the work beside the extras."""
    low = policy.budget_msat_min
    if extras and budget < extras + low:
        shown = {
            name: Asset.SAT.format(amount) for name, amount in (("budget", budget), ("extras", extras), ("low", low))
        }
        raise BudgetBelowExtras(**shown)


def job_expires_us(now_us: int, time_limit_s: int, policy: BazaarPolicy) -> int:
    """When a job is given up: it may wait for providers, and each of them has its time."""
    return now_us + (policy.open_s + policy.attempts_max * (time_limit_s + policy.backoff_s)) * MICROSECONDS


def hold_us(lasts_us: int, policy: BazaarPolicy) -> int:
    """How long money is held for a job that is given up after that time: until all that was handed in is verified.

    The node may be away meanwhile. Nobody waits for the rest of it: when the job is over, what is left goes back.
    """
    return lasts_us + verify_us(policy) + policy.away_s_max * MICROSECONDS


def verify_us(policy: BazaarPolicy) -> int:
    """What it takes at most to verify what is handed in at the last moment, with some to spare."""
    return (policy.verify_tries_max + 1) * policy.verify_s_max * MICROSECONDS


def settle(
    job: Job,
    attempt: Attempt,
    verdict: Verdict,
    held: int,
    policy: BazaarPolicy,
    *,
    sharers: Sharers = NOBODY,
    fee_to_fund: bool = False,
) -> VerdictValue:
    """What an attempt gets for its verdict, out of what is held.

    Skill creators and referrers have a part in a price that is paid in full. `fee_to_fund`: what a buyer pays because
    only hidden checks failed is not this provider's.
    """
    price = pricing.price(Terms(attempt.base, attempt.per_unit, attempt.cap), verdict.units_milli, attempt.ceiling)
    if not verdict.visible_passed:
        return VerdictValue(AttemptState.FAILED, None, verdict.reason)
    if job.winner is not None or job.cancelled_us is not None:
        consolation = min(held, pricing.part(price, policy.lost_race_bps))
        return VerdictValue(AttemptState.LOST, pricing.shares(consolation, policy), "bazaar.another_was_first")
    if not verdict.passed:
        if any(names_cheating(check.reason) for check in verdict.checks if not check.passed):
            return VerdictValue(AttemptState.FAILED, None, verdict.reason)
        fee = pricing.shares(min(held, pricing.part(price, policy.hidden_fee_bps)), policy)
        return VerdictValue(AttemptState.FAILED, pricing.to_fund(fee) if fee_to_fund else fee, verdict.reason)
    assert price <= held, "an attempt's ceiling leaves room for every other payment"
    return VerdictValue(AttemptState.PASSED, pricing.shared(price, sharers, policy))


def is_hidden_failure(verdict: Verdict) -> bool:
    """Whether only checks failed that were hidden from the provider."""
    return verdict.visible_passed and not verdict.passed


def fee_to_fund(hidden_failures: int, policy: MarketPolicy) -> bool:
    """Whether the fee for a hidden failure goes to the verifier fund.

    `hidden_failures` are those among the provider's last deliveries, this one among them. Up to a fifth of the window
    may be unfair checks, and a newcomer has the same number of them; whoever has more lives on visible tests alone.
    """
    return hidden_failures * _BPS > policy.hidden_window * policy.hidden_failures_bps


def ceiling(held: int, racing: int, handed_in: int, policy: BazaarPolicy) -> int:
    """The highest price for new attempts: what else may become due must stay within what is held."""
    return pricing.ceiling(held, racing + handed_in, policy)


def offer_us(job: Job, attempts: Sequence[Attempt], now_us: int, policy: BazaarPolicy) -> int:
    """When an open job is offered next: after a failed try soon, and the less often the longer nobody came."""
    last_us = max([attempt.ended_us or 0 for attempt in attempts], default=job.created_us)
    waited_us = max(0, now_us - last_us) // 10
    longest_us = policy.offer_s_max * MICROSECONDS
    return now_us + min(longest_us, max(policy.backoff_s * MICROSECONDS, waited_us))


def ready_us(before: Job, now_us: int, policy: BazaarPolicy) -> int:
    """From when an open job may take a slot that comes free: after the pause, if a try has just ended.

    A job that nobody could take now goes behind those that were not tried since.
    """
    if before.state is JobState.OPEN:
        return max(before.ready_us, now_us)
    return now_us + policy.backoff_s * MICROSECONDS


def is_sampled(chance: bytes, one_in: int) -> bool:
    """Whether a random number is one of those that are taken; none, if `one_in` is 0."""
    return one_in > 0 and int.from_bytes(chance) % one_in == 0


def live(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.state in LIVE_ATTEMPT]


def at_work(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.state in AT_WORK]


def handed_in(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.state in HANDED_IN]


def next_state(job: Job, attempts: Sequence[Attempt], now_us: int, *, no_more_tries: bool) -> JobState:
    """Where the job is, by what its attempts are doing."""
    if job.winner is not None:
        return JobState.PAID
    pending = {attempt.state for attempt in live(attempts)}
    for state in _PROGRESS:
        if state in pending:
            return JobState(state.value)
    if job.cancelled_us is not None:
        return JobState.CANCELLED
    if no_more_tries:
        return JobState.CLOSED
    return JobState.EXPIRED if now_us >= job.expires_us else JobState.OPEN


def is_excused(attempt: Attempt, policy: BazaarPolicy) -> bool:
    """Whether the node was away when the attempt's time ended, or had hardly come back."""
    if attempt.resumed_us is None:
        return False
    return attempt.deadline_us < attempt.resumed_us + policy.away_grace_s * MICROSECONDS


def verify_until_us(job: Job, attempt: Attempt, policy: BazaarPolicy) -> int:
    """Until when what was handed in is verified; after an absence of the node anew, for as long as it can be paid."""
    since_us = max(attempt.delivered_us or 0, attempt.resumed_us or 0)
    until_us = since_us + policy.verify_s_max * policy.verify_tries_max * MICROSECONDS
    if job.held_until_us is None:
        return until_us
    return min(until_us, job.held_until_us - policy.verify_s_max * MICROSECONDS)


def is_over(state: JobState, attempts: Sequence[Attempt]) -> bool:
    """Whether nothing more can become due, so that what is left of the hold goes back."""
    return state not in LIVE_JOB and not handed_in(attempts)
