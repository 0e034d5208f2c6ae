"""The owner of a job's state. What every step has in common: lock, change, note, announce, and settle the rest.

Guarantees: a step happens with the job's row locked and is noted with its time and actor; it is announced to the
buyer and to the provider whose try it is about, and tells no provider about another; when a job is over, its hold
is empty in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from choir.bazaar import events
from choir.bazaar.attempts.model import Attempt, AttemptState, attempt_id
from choir.bazaar.disputes.model import dispute_id
from choir.bazaar.jobs import rules, store
from choir.bazaar.jobs.model import LIVE_JOB, SOURCE, Job, JobState, UnknownJob, job_id
from choir.bazaar.jobs.store import Step
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.providers.market import Market
from choir.bazaar.seconds import store as seconds_store
from choir.bazaar.settlement import extras
from choir.bazaar.settlement.debts import DebtPart
from choir.bazaar.settlement.pricing import NOBODY, Sharers, Shares
from choir.bazaar.settlement.service import Settlement
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

VERIFY = "bazaar.verify"
FOLLOW = "bazaar.follow"  # a task: have a review followed by one with planted defects
_GOOD = frozenset({AttemptState.PASSED, AttemptState.LOST})


@dataclass(frozen=True, slots=True)
class PaymentDue:
    """What an attempt is paid for its verdict."""

    attempt: Attempt
    shares: Shares
    receipt: ObjectHash
    extras: int = 0
    sharers: Sharers = NOBODY

    @property
    def total(self) -> int:
        return self.shares.total + self.extras


class JobLifecycle:
    """Shared by the services of buyers, providers and the verifier."""

    def __init__(
        self,
        market: Market,
        settlement: Settlement,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: BazaarPolicy,
        market_policy: MarketPolicy,
    ) -> None:
        self.market_policy = market_policy
        self.market = market
        self.settlement = settlement
        self.outbox = outbox
        self.clock = clock
        self.entropy = entropy
        self.policy = policy

    def new_id(self) -> UUID:
        random = self.entropy.bytes(8)
        return uuid7(self.clock.now_us(), int.from_bytes(random[6:]), random[:6])

    @staticmethod
    def lock(tx: Tx, id_: UUID) -> Job:
        found = store.job(tx, id_, lock=True)
        if found is None:
            raise UnknownJob(job=job_id(id_))
        return found

    @staticmethod
    def enter(tx: Tx, job: Job, summary: str) -> bool:
        """A new job and a line about it; False if its buyer has one by that key."""
        return store.insert_job(tx, job, summary)

    @staticmethod
    def add_attempt(tx: Tx, attempt: Attempt) -> None:
        """Somebody is to try the job, which is locked."""
        store.insert_attempt(tx, attempt)

    @staticmethod
    def call_off(tx: Tx, job: Job, now_us: int) -> Job:
        """Its buyer does not want it any more; `go_on` says what follows."""
        job = replace(job, cancelled_us=now_us)
        store.save_job(tx, job)
        return job

    @staticmethod
    def set_disputed(tx: Tx, job: Job) -> None:
        """Its outcome is disputed."""
        store.save_job(tx, replace(job, state=JobState.DISPUTED))

    @staticmethod
    def set_resolved(tx: Tx, job: Job) -> None:
        """The dispute about its outcome is decided."""
        store.save_job(tx, replace(job, state=JobState.RESOLVED))

    def note(self, tx: Tx, job: Job, what: str, actor: str, **more: Any) -> None:
        """Keep a `step` in the job's history and tell whom it concerns."""
        store.add_steps(tx, job.id, self.clock.now_us(), [self.step(job, what, actor, **more)])

    def step(
        self,
        job: Job,
        what: str,
        actor: str,
        *,
        attempt: Attempt | None = None,
        others: Sequence[str] = (),
        why: dict[str, Any] | None = None,
        **data: Any,
    ) -> Step:
        """Something that happened, for `note`, or for `go_on` to note together with what follows from it.

        It concerns the buyer, whose try it is, and `others`. `why` is for the buyer, who can look it up in the history;
        it is not announced.
        """
        assert what in events.STEPS, what
        if attempt is not None:
            data["attempt"] = attempt_id(attempt.id)
        kept = data if why is None else {**data, "why": why}
        concerned = {job.buyer, job.actor, *others} | ({attempt.owner} if attempt is not None else set())
        id_ = self.outbox.new_id(self.clock.now_us())
        return Step(id_, what, actor, kept, data, sorted(concerned - {SOURCE}))

    def end_attempt(
        self, tx: Tx, job: Job, attempt: Attempt, state: AttemptState, reason: str, *, paid: int = 0
    ) -> Attempt:
        """An attempt is over: its slot is free, and the provider's record says how it went."""
        ended = self.leave(tx, job, replace(attempt, state=state, reason=reason, paid=paid))
        store.save_attempt(tx, ended)
        return ended

    def leave(self, tx: Tx, job: Job, attempt: Attempt) -> Attempt:
        """The same for an attempt that the caller saves: with how it ended, but not yet when."""
        now_us = self.clock.now_us()
        ended = replace(attempt, ended_us=now_us)
        # The record first: it locks several providers in the order of their ids, and the slot is one of these locks.
        if ended.state is not AttemptState.CANCELLED:
            self.market.record(tx, job, ended, passed=ended.state in _GOOD, at_us=now_us)
        elif job.qualifies is not None:
            self.market.put_off(tx, job, ended)
        self.market.let_go(tx, job, ended)
        return ended

    def go_on(
        self,
        tx: Tx,
        job: Job,
        actor: str = SOURCE,
        due: PaymentDue | None = None,
        *,
        attempts: Sequence[Attempt] | None = None,
        changed: Attempt | None = None,
        steps: Sequence[Step] = (),
    ) -> Job:
        """Bring the job to where its attempts are. Money moves last, because the ledger's head is the last lock.

        If the job is over, whoever is still at work is called off and the hold is emptied. `attempts` are its attempts
        if they are known, `changed` one that is not saved yet, and `steps` what led here and is not noted yet.
        """
        attempts = store.attempts(tx, job.id) if attempts is None else attempts
        if changed is not None:
            attempts = [changed if attempt.id == changed.id else attempt for attempt in attempts]
        working = [attempt.owner for attempt in rules.live(attempts)]
        now_us = self.clock.now_us()
        noted = list(steps)
        if job.winner is not None or job.cancelled_us is not None or now_us >= job.expires_us:
            attempts = self._call_off(tx, job, attempts, actor, noted)
        # What is held matters only where nobody is at work: else there is somebody to wait for.
        spent = not rules.live(attempts) and self._is_spent(tx, job, attempts, due, now_us)
        state = rules.next_state(job, attempts, now_us, no_more_tries=spent)
        over = rules.is_over(state, attempts)
        before, job = job, replace(job, state=state, closed_us=now_us if over else None)
        if state is JobState.OPEN:
            offer_us = rules.offer_us(job, attempts, now_us, self.policy)
            job = replace(job, offer_us=offer_us, ready_us=rules.ready_us(before, now_us, self.policy))
        if state is not before.state and state is not JobState.PAID:  # that it is paid is noted with the verdict
            noted.append(self.step(job, state.value, actor, others=() if state in LIVE_JOB else working))
        unneeded = seconds_store.release_held(tx, job.id, now_us) if over else []
        store.advance(tx, job, changed, now_us, noted)
        if due is not None:
            taken = self.settlement.pay(
                tx, job, due.attempt, due.shares, due.receipt, final=over, extras=due.extras, sharers=due.sharers
            )
            self.tell_debts(tx, taken)
        elif over:  # a final payment has given the rest back
            self.settlement.give_back(tx, job)
        self.settlement.release_all(tx, job, unneeded)
        return job

    def _is_spent(self, tx: Tx, job: Job, attempts: Sequence[Attempt], due: PaymentDue | None, now_us: int) -> bool:
        """Whether nobody will be asked again: for want of money, or by the job's strategy."""
        if job.winner is not None or job.cancelled_us is not None:
            return False  # it is decided already
        held = self.settlement.held(tx, job) - (due.total if due is not None else 0) - extras.reserved(job, attempts)
        return held < self.policy.budget_msat_min or self.market.gives_up(job, attempts, now_us)

    def tell_debts(self, tx: Tx, taken: Sequence[DebtPart]) -> None:
        """Both sides hear that something of what was owed has been paid."""
        for one in taken:
            self.outbox.announce(
                tx,
                events.DEBT_PAID,
                subject=dispute_id(one.debt.dispute),
                actor=SOURCE,
                data={"amount": str(one.amount), "left": str(one.left)},
                audience=[account.partition("/")[0] for account in (one.debt.debtor, one.debt.creditor)],
            )

    def _call_off(self, tx: Tx, job: Job, attempts: Sequence[Attempt], actor: str, noted: list[Step]) -> list[Attempt]:
        """Nobody need work on it any longer; what was handed in is still checked."""
        after: list[Attempt] = []
        for attempt in attempts:
            if attempt in rules.at_work(attempts):
                reason = "bazaar.another_was_first" if job.winner is not None else "bazaar.called_off"
                after.append(self.end_attempt(tx, job, attempt, AttemptState.CANCELLED, reason))
                noted.append(self.step(job, "called_off", actor, attempt=attempt, reason=reason))
            else:
                after.append(attempt)
        return after
