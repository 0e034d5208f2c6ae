"""The buyer's side: ordering work, cancelling it, and seeing what became of it.

Guarantees: an order exists exactly when its budget is held; the same key and order give the same job; what a
provider handed in before a cancellation is still checked, and paid its part if it passes the visible checks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import NODE_AWAY, Attempt, AttemptState
from choir.bazaar.contracts.terms import SecondReview
from choir.bazaar.jobs import overview_store, rules, store
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import (
    SOURCE,
    BuyerNeeded,
    Job,
    JobEvent,
    JobOver,
    JobState,
    JobType,
    KeyOfAnotherJob,
    TooManyJobs,
    UnknownJob,
    job_id,
)
from choir.bazaar.jobs.summaries import summary_of
from choir.bazaar.seconds import rules as seconds_rules
from choir.bazaar.seconds import store as seconds_store
from choir.bazaar.seconds.rules import SecondHold
from choir.bazaar.settlement import extras
from choir.bazaar.settlement import service as settlement
from choir.bazaar.skills import store as skill_store
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS
from choir.identity.model import OperatorNeeded, Principal, Role, Scope, agent_owner, person_owner
from choir.ledger import queries
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.tasks import schedule


@dataclass(frozen=True, slots=True)
class Order:
    """What a buyer asks for. The request is checked by its contract before it comes here."""

    type: JobType
    request: dict[str, Any]
    budget: int
    time_limit_s: int
    inputs: Mapping[str, ObjectHash] = field(default_factory=dict)
    hidden: ObjectHash | None = None
    strategy: dict[str, Any] = field(default_factory=dict)
    criteria: dict[str, Any] = field(default_factory=dict)
    extras: int = 0  # what its stronger checks cost on top of the work
    skill: UUID | None = None
    second_review: SecondReview = SecondReview.NONE


LOOK = "bazaar.look"  # a task: go on with a job
EXAMINE = "bazaar.examine"  # a task: see whether an order can be verified against at all
EXAMINED = frozenset({JobType.PATCH_GEN, JobType.CODE_REVIEW, JobType.REPO_INDEX})  # what is not offered before
_FOR_ALL = frozenset({"opened", "cancel_asked", "closed", "expired", "cancelled"})  # what every provider of it may see


class Jobs:
    """Use cases of buyers, and the assignment of their jobs; all inside the caller's transaction."""

    def __init__(self, lifecycle: JobLifecycle, objects: Objects) -> None:
        self._lifecycle = lifecycle
        self._objects = objects

    def open(self, tx: Tx, who: Principal, order: Order, key: str) -> Job:
        """Order work: its budget is held from now on. The same key and order give the same job.

        It is offered to providers by `assign`, in a transaction of its own: slots come before the ledger's head. An
        order that has to be examined is offered by `examined`.
        """
        return self.open_or_find(tx, who, order, key)[0]

    def open_or_find(self, tx: Tx, who: Principal, order: Order, key: str) -> tuple[Job, bool]:
        """The same, and whether the job is new."""
        buyer = buyer_of(who)
        who.must(Scope.BUY)
        policy = self._lifecycle.policy
        rules.check_budget(order.budget, policy)
        known = store.job_by_key(tx, buyer, key)
        request = self._objects.put_atom(tx, order.request, buyer).hash
        if known is not None:
            return _same(known, order, request), False
        rules.check_extras(order.budget, order.extras, policy)
        job = replace(self._new_job(tx, buyer, who.source, order, request, key), delegation=who.delegation)
        self._lifecycle.market.check(job)
        inserted = self._lifecycle.enter(tx, job, summary_of(order.type, order.request))
        if not inserted:  # somebody sent the same order at the same time, and has committed
            known = store.job_by_key(tx, buyer, key)
            if known is None:  # the credential has ordered with this key, and somebody else pays for it now
                raise KeyOfAnotherJob(key=key)
            return _same(known, order, request), False
        live = store.live_jobs(tx, buyer)
        if live > policy.open_jobs_per_buyer_max:
            raise TooManyJobs(limit=policy.open_jobs_per_buyer_max)
        self._enter(tx, job, live)
        if order.skill is not None:
            skill_store.note_use(tx, job.id, order.skill)
        seconds = self._second_holds(tx, who, job, order) if order.second_review else []
        self._lifecycle.settlement.hold(tx, who, job, policy.captures_max, [hold.draft for hold in seconds])
        return job, True

    def _second_holds(self, tx: Tx, who: Principal, job: Job, order: Order) -> list[SecondHold]:
        """The money for a second reviewer of each try that there may be, set aside with the budget."""
        tries = self._lifecycle.market.tries(job)
        amount = self._lifecycle.market.review_price(job, order.request)
        made = [seconds_rules.hold(who.source, job, n, amount) for n in range(1, tries + 1)]
        seconds_store.insert(tx, job.id, [(hold.id, amount) for hold in made])
        return made

    @staticmethod
    def is_known(tx: Tx, who: Principal, key: str) -> bool:
        """Whether something was ordered with this key before."""
        return store.job_by_key(tx, buyer_of(who), key) is not None

    def open_own(self, tx: Tx, order: Order, key: str) -> Job:
        """An order of the node's own, which the platform pays. The same key gives the same job."""
        policy = self._lifecycle.policy
        known = store.job_by_key(tx, SOURCE, key)
        if known is not None:
            return known
        request = self._objects.put_atom(tx, order.request, None).hash
        job = self._new_job(tx, SOURCE, SOURCE, order, request, key)
        self._lifecycle.market.check(job)
        inserted = self._lifecycle.enter(tx, job, summary_of(order.type, order.request))
        if not inserted:  # another process was quicker, and has committed
            known = store.job_by_key(tx, SOURCE, key)
            assert known is not None
            return known
        self._enter(tx, job, store.live_jobs(tx, SOURCE))
        self._lifecycle.settlement.hold_own(tx, job, policy.captures_max)
        return job

    def open_second(self, tx: Tx, order: Order, key: str, hold: UUID, held_until_us: int, expires_us: int) -> Job:
        """A second review, which the node orders with what a buyer set aside for it. The same key gives the same job.

        Its diff was delivered and verified, so it is offered at once.
        """
        known = store.job_by_key(tx, SOURCE, key)
        if known is not None:
            return known
        request = self._objects.put_atom(tx, order.request, None).hash
        made = self._new_job(tx, SOURCE, SOURCE, order, request, key)
        job = replace(
            made, hold=hold, held_until_us=held_until_us, expires_us=expires_us,
            offer_us=made.created_us, ready_us=made.created_us,
        )  # fmt: skip
        self._lifecycle.market.check(job)
        inserted = self._lifecycle.enter(tx, job, summary_of(order.type, order.request))
        assert inserted, "the job that it belongs to is locked"
        self._enter(tx, job, 0)
        return job

    def _enter(self, tx: Tx, job: Job, live: int) -> None:
        """What a new order needs before its money is set aside."""
        self._objects.refer_all(tx, f"bazaar:{job_id(job.id)}", {job.request, *job.inputs.values()})
        self._lifecycle.note(tx, job, "opened", job.actor, type=job.type.value, budget=str(job.budget))
        if job.type in EXAMINED and not job.is_second:
            # Behind deliveries, which are somebody's work, and behind the orders of who has fewer of them.
            yields_us = live * self._lifecycle.policy.verify_turn_s * MICROSECONDS
            schedule(tx, EXAMINE, str(job.id), job.created_us, yields_us=yields_us)

    def _new_job(self, tx: Tx, buyer: str, actor: str, order: Order, request: ObjectHash, key: str) -> Job:
        policy = self._lifecycle.policy
        now_us = self._lifecycle.clock.now_us()
        time_limit_s = min(order.time_limit_s, policy.time_limit_s_max)
        examine_s = policy.examine_s_max if order.type in EXAMINED else 0
        if order.type is JobType.PATCH_GEN and order.request.get("environment"):
            examine_s += policy.examine_setup_s_max
        offer_us = now_us + examine_s * MICROSECONDS
        expires_us = rules.job_expires_us(now_us, time_limit_s, policy)
        return Job(
            id=self._lifecycle.new_id(),
            buyer=buyer,
            actor=actor,
            delegation=None,
            key=key,
            type=order.type,
            state=JobState.OPEN,
            request=request,
            inputs=dict(order.inputs),
            hidden=order.hidden,
            budget=order.budget,
            hold=settlement.hold_of(actor, key),
            strategy=order.strategy,
            criteria=order.criteria,
            time_limit_s=time_limit_s,
            created_us=now_us,
            expires_us=expires_us,
            offer_us=offer_us,
            ready_us=offer_us,
            held_until_us=queries.time_us(tx, now_us) + rules.hold_us(expires_us - now_us, policy),
            extras=order.extras,
        )

    def to_examine(self, tx: Tx, id_: UUID) -> Job | None:
        """The job, if it is still waiting to be examined."""
        job = store.job(tx, id_)
        if job is None or job.state is not JobState.OPEN or store.attempts(tx, id_):
            return None
        return job

    def examined(self, tx: Tx, id_: UUID, reason: str = "", said: str = "") -> Job:
        """The order was looked at: it is offered now, or called off because nothing could pass. Twice is once."""
        job = self._lifecycle.lock(tx, id_)
        if job.state is not JobState.OPEN or job.cancelled_us is not None or store.attempts(tx, id_):
            return job
        now_us = self._lifecycle.clock.now_us()
        if reason:
            self._lifecycle.note(tx, job, "unverifiable", SOURCE, reason=reason, said=said)
            return self._lifecycle.go_on(tx, replace(job, cancelled_us=now_us))
        self._lifecycle.note(tx, job, "examined", SOURCE)
        return self._assign(tx, replace(job, offer_us=now_us, ready_us=now_us))

    def cancel(self, tx: Tx, who: Principal, id_: UUID) -> Job:
        """Call the work off. Whoever is at work gets nothing; what was handed in is still checked."""
        who.must(Scope.BUY)
        found = store.job(tx, id_)
        if found is None or found.buyer not in owners_of(who):
            raise UnknownJob(job=job_id(id_))
        job = self._lifecycle.lock(tx, id_)
        if job.cancelled_us is not None:
            return job
        if not job.is_live:
            raise JobOver(job=job_id(job.id), state=job.state.value)
        job = replace(job, cancelled_us=self._lifecycle.clock.now_us())
        self._lifecycle.note(tx, job, "cancel_asked", who.source)
        return self._lifecycle.go_on(tx, job, who.source)

    def assign(self, tx: Tx, id_: UUID) -> Job:
        """Offer an open job to providers; if nobody fits now, it is tried again soon."""
        job = self._lifecycle.lock(tx, id_)
        return self._assign(tx, job) if job.state is JobState.OPEN else job

    def _assign(self, tx: Tx, job: Job) -> Job:
        lifecycle = self._lifecycle
        now_us = lifecycle.clock.now_us()
        attempts = store.attempts(tx, job.id)
        racing = lifecycle.market.racing(job)
        held = lifecycle.settlement.held(tx, job) - extras.reserved(job, attempts)
        ceiling = rules.ceiling(max(0, held), racing, len(rules.handed_in(attempts)), lifecycle.policy)
        chosen = lifecycle.market.choose(tx, job, attempts, ceiling, now_us)
        steps: list[store.Step] = []
        for n, choice in enumerate(chosen, len(attempts) + 1):
            attempt = Attempt(
                id=lifecycle.new_id(),
                job=job.id,
                n=n,
                provider=choice.provider,
                owner=choice.owner,
                state=AttemptState.ASSIGNED,
                base=choice.terms.base,
                per_unit=choice.terms.per_unit,
                cap=choice.terms.cap,
                ceiling=ceiling,
                assigned_us=now_us,
                deadline_us=now_us + job.time_limit_s * MICROSECONDS,
            )
            lifecycle.add_attempt(tx, attempt)
            attempts.append(attempt)
            why = choice.explanation
            steps.append(lifecycle.step(job, "offered", SOURCE, attempt=attempt, why=why))
        return lifecycle.go_on(tx, job, attempts=attempts, steps=steps)

    def to_offer(self, tx: Tx, limit: int) -> list[UUID]:
        """Open jobs whose turn it is."""
        return store.to_offer(tx, self._lifecycle.clock.now_us(), limit)

    def waiting_for(self, tx: Tx, providers: Collection[UUID], limit: int) -> list[UUID]:
        """Open jobs that these providers may be able to take now, the longest waiting first."""
        now_us = self._lifecycle.clock.now_us()
        types = self._lifecycle.market.types_of(tx, providers)
        found = [one for type_ in types for one in store.waiting(tx, type_, now_us, limit)]
        return [id_ for _, id_ in sorted(found)[:limit]]

    def to_look_at(self, tx: Tx, limit: int) -> list[UUID]:
        """Jobs of which some time is over, or whose provider no longer answers."""
        now_us = self._lifecycle.clock.now_us()
        policy = self._lifecycle.policy
        verify_us = policy.verify_s_max * policy.verify_tries_max * MICROSECONDS
        late = store.to_look_at(tx, now_us, verify_us, limit)
        return sorted({*late, *store.at_work_unheard(tx, now_us, limit)})

    def excuse(self, tx: Tx) -> int:
        """The node itself was away: what could not be handed in or verified then counts against nobody."""
        return store.resume(tx, self._lifecycle.clock.now_us())

    @staticmethod
    def live_until(tx: Tx, until_us: int) -> int:
        """How many jobs are given up by then if nothing comes of them."""
        return store.live_until(tx, until_us)

    def put_off(self, tx: Tx, since_us: int, by_us: int) -> None:
        """What was still to come then comes so much later, for as long as the budget is held; sooner, if below zero."""
        store.put_off(tx, since_us, by_us, rules.verify_us(self._lifecycle.policy))

    def turn_back(self, tx: Tx, since_us: int, by_us: int) -> None:
        """The clock was at the one time and is so much earlier now: everybody keeps the time that was left."""
        self.put_off(tx, since_us, -by_us)
        store.turn_back(tx, since_us, by_us)

    def look(self, tx: Tx, id_: UUID) -> Job:
        """See whether a time is over or a provider has vanished, and go on accordingly."""
        job = self._lifecycle.lock(tx, id_)
        if job.closed_us is not None:
            return job
        now_us = self._lifecycle.clock.now_us()
        working = rules.at_work(store.attempts(tx, id_))
        gone = self._lifecycle.market.gone(tx, [attempt.provider for attempt in working], now_us)
        for attempt in working:
            if now_us >= attempt.deadline_us and rules.is_excused(attempt, self._lifecycle.policy):
                self._lifecycle.end_attempt(tx, job, attempt, AttemptState.CANCELLED, NODE_AWAY)
                self._lifecycle.note(tx, job, "excused", SOURCE, attempt=attempt, reason=NODE_AWAY)
                continue
            if now_us >= attempt.deadline_us:
                state, reason = AttemptState.TIMED_OUT, "bazaar.timed_out"
            elif attempt.provider in gone:
                state, reason = AttemptState.GONE, "bazaar.provider_gone"
            else:
                continue
            self._lifecycle.end_attempt(tx, job, attempt, state, reason)
            self._lifecycle.note(tx, job, state.value, SOURCE, attempt=attempt)
        self._end_unverifiable(tx, job, now_us)
        return self._lifecycle.go_on(tx, job)

    def _end_unverifiable(self, tx: Tx, job: Job, now_us: int) -> None:
        """What the node itself could not verify in time counts for nobody and against nobody."""
        for attempt in rules.handed_in(store.attempts(tx, job.id)):
            if now_us >= rules.verify_until_us(job, attempt, self._lifecycle.policy):
                self._lifecycle.end_attempt(tx, job, attempt, AttemptState.CANCELLED, "bazaar.not_verified_in_time")
                self._lifecycle.note(tx, job, "not_verified", SOURCE, attempt=attempt)

    def forget(self, tx: Tx, owner: str) -> None:
        """The owner is erased: their orders are called off, and what they were working on goes to others.

        Only what must be said now is said now; the node goes on with each of these jobs right after the commit.
        """
        now_us = self._lifecycle.clock.now_us()
        for id_ in store.live_of(tx, owner, self._lifecycle.policy.open_jobs_per_buyer_max):
            job = self._lifecycle.lock(tx, id_)
            if job.closed_us is None and job.cancelled_us is None:
                job = self._lifecycle.call_off(tx, job, now_us)
                self._lifecycle.note(tx, job, "cancel_asked", SOURCE, reason="bazaar.buyer_erased")
            schedule(tx, LOOK, str(id_), now_us)
        for attempt in store.at_work_of_owner(tx, owner):
            schedule(tx, LOOK, str(attempt), now_us)
        store.erase_summaries(tx, owner)

    # Seeing

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Job:
        """A job, for its buyer, for providers who were asked, and for operators."""
        found = store.job(tx, id_)
        if found is None or not may_see(who, found, lambda: store.attempts(tx, id_)):
            raise UnknownJob(job=job_id(id_))
        return found

    def of_buyer(self, tx: Tx, who: Principal, *, before: UUID | None = None, limit: int | None = None) -> list[Job]:
        """One's own orders, newest first."""
        who.must(Scope.READ)
        most = self._lifecycle.policy.page_rows_max
        return store.jobs_of(tx, buyer_of(who), before=before, limit=min(limit or most, most))

    def in_state(
        self, tx: Tx, who: Principal, state: JobState, *, before: UUID | None = None, limit: int | None = None
    ) -> list[Job]:
        """Everybody's jobs in a state, newest first, for operators."""
        _must_be_operator(who)
        most = self._lifecycle.policy.page_rows_max
        found = overview_store.ids_in(tx, state, before=before, limit=min(limit or most, most))
        return [job for id_ in found if (job := store.job(tx, id_)) is not None]

    @staticmethod
    def counts(tx: Tx, who: Principal, most: int) -> dict[JobState, int]:
        """How many jobs are in each state, counted up to a number, for operators."""
        _must_be_operator(who)
        return overview_store.counts(tx, JobState, most)

    @staticmethod
    def attempts_made(tx: Tx, jobs: Sequence[Job]) -> dict[UUID, int]:
        """How many attempts there were at each of these; for who may see them whole."""
        return store.attempts_made(tx, [job.id for job in jobs])

    @staticmethod
    def summaries(tx: Tx, jobs: Sequence[Job]) -> dict[UUID, str]:
        """What was ordered, in a line each; for who may read these orders."""
        return store.summaries(tx, [job.id for job in jobs])

    def held(self, tx: Tx, job: Job) -> int:
        """What is still set aside for a job; for who may see it whole."""
        return self._lifecycle.settlement.held(tx, job)


def may_see(who: Principal, job: Job, attempts: Callable[[], Sequence[Attempt]]) -> bool:
    """Whether somebody is the buyer, was asked to do it, or is an operator; `attempts` are looked up if needed."""
    if who.role is Role.OPERATOR:
        return True
    mine = owners_of(who)
    if Scope.READ in who.scopes and job.buyer in mine:
        return True
    sees_work = bool(who.scopes & {Scope.READ, Scope.SELL})
    return sees_work and any(attempt.owner in mine for attempt in attempts())


def buyer_of(who: Principal) -> str:
    """Who pays: the person behind the credential, or an agent that stands alone."""
    if who.person is not None:
        return person_owner(who.person)
    if who.agent is None:
        raise BuyerNeeded
    return agent_owner(who.agent)


def owners_of(who: Principal) -> set[str]:
    """The owners in whose name a credential may look."""
    owners = set()
    if who.person is not None:
        owners.add(person_owner(who.person))
    if who.agent is not None:
        owners.add(agent_owner(who.agent))
    return owners


def concerns(event: JobEvent, mine: Collection[str]) -> bool:
    """Whether a step is for a provider with these attempts: about one of them, or about the job as all see it."""
    about = event.data.get("attempt")
    return about in mine if about is not None else event.what in _FOR_ALL


def _same(known: Job, order: Order, request: ObjectHash) -> Job:
    before = (known.type, known.request, known.budget, known.inputs, known.hidden, known.strategy, known.criteria)
    asked = (order.type, request, order.budget, dict(order.inputs), order.hidden, order.strategy, order.criteria)
    if before != asked:
        raise KeyOfAnotherJob(key=known.key)
    return known


def _must_be_operator(who: Principal) -> None:
    if who.role is not Role.OPERATOR:
        raise OperatorNeeded
