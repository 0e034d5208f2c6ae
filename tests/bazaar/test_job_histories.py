"""Random lives of jobs, with crashes in the middle, doubles and races: money is conserved and goes where it should."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from choir.bazaar.attempts.model import AT_WORK, HANDED_IN, Attempt, AttemptState
from choir.bazaar.contracts import SecondReview
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import SOURCE, JobType
from choir.bazaar.jobs.service import Order
from choir.bazaar.providers.fallback import PinnedProvider, strategy_json
from choir.bazaar.settlement import store as settlement_store
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.errors import Refusal
from choir.identity.model import Principal, Role
from choir.storage.database import Database, Tx
from tests.bazaar.hall import TRAJECTORY, Hall, strategy, verdict
from tests.depth import times

EXAMPLES = int(os.environ.get("CHOIR_TEST_HISTORIES", times(4, 25)))
places = st.integers(0, 5)
JUDGED = {AttemptState.PASSED, AttemptState.LOST, AttemptState.FAILED}
OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")


class Killed(Exception):
    """The process dies before it commits."""


class Histories(RuleBasedStateMachine):
    """Steps of buyers, providers, the verifier and the scheduler, in any order.

    Steps have no preconditions: which of two that happen together comes first is not the test's to decide, and what
    can be drawn next must not depend on it.
    """

    hall: ClassVar[Hall]

    @initialize(satoshi=st.integers(20_000, 60_000), base=st.sampled_from([0, 1, 9_999, 3_000_000]))
    def people_come(self, satoshi: int, base: int) -> None:
        hall = self.hall
        for stall in hall.stalls.values():  # of the history before
            hall.vanish(stall.id)
        hall.stalls.clear()
        hall.keys_of_providers += 10
        self.buyer: Principal = hall.person(satoshi)
        self.satoshi = satoshi
        self.providers: list[UUID] = [hall.provider(Terms(base, 7, 5_000_000), slots=2) for _ in range(4)]
        self.endowed = sum(hall.endow(provider, 20_000) for provider in self.providers)  # for the deposits of disputes
        self.away = 0  # what providers have spent elsewhere
        self.disputes: list[UUID] = []
        self.jobs: list[UUID] = []
        self.own: set[UUID] = set()  # of these, the node's
        self.passed: set[UUID] = set()  # attempts with a passing verdict while nobody had won or cancelled
        self.fees, self.fund = hall.fees(), hall.fund()
        self.creator, self.referrer = hall.person(), hall.person()  # who have a part in what the buyer pays
        self.skill = hall.skill(self.creator, f"mend-{hall.keys_of_providers}").id
        hall.refer(self.buyer, self.referrer)
        self.bonds = 0

    # How a step is made

    def step(self, work: Callable[[Tx], object], how: str) -> None:
        """Do the work once, twice, at the same time as itself, or die just before the commit and do it again."""
        if how == "killed":
            try:
                with self.hall.tx() as tx:
                    work(tx)
                    raise Killed  # noqa: TRY301 - this is where it dies
            except (Killed, Refusal):
                pass
        if how == "together":
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: self.once(work), range(2)))
            return
        self.once(work)
        if how == "twice":
            self.once(work)

    def once(self, work: Callable[[Tx], object]) -> None:
        try:
            self.hall.agency.database.run(work)
        except Refusal:
            return

    ways = st.sampled_from(["once", "once", "twice", "killed", "together"])

    def attempt(self, place: int, wanted: Collection[AttemptState]) -> Attempt | None:
        """Mostly one in a state where the step has an effect, now and then any."""
        with self.hall.tx() as tx:
            every = [attempt for job in self.jobs for attempt in job_store.attempts(tx, job)]
        found = [attempt for attempt in every if attempt.state in wanted or place == 5]
        return found[-1 - place % len(found)] if found else None

    # What can happen

    @rule(
        budget=st.integers(10, 9_000), race=st.integers(1, 3), attempts=st.integers(1, 3), how=ways,
        extras=st.sampled_from([0, 1, 700_000]), skill=st.booleans(),
        second=st.sampled_from([SecondReview.NONE, SecondReview.NONE, *SecondReview]),
    )  # fmt: skip
    def order(
        self,
        budget: int,
        race: int,
        attempts: int,
        how: str,
        extras: int = 0,
        skill: bool = True,
        second: SecondReview = SecondReview.NONE,
    ) -> None:
        how_to = strategy(race, attempts)
        request = {"n": len(self.jobs), "second_review": second.value}
        named = self.skill if skill else None
        order = Order(
            JobType.PATCH_GEN, request, budget * 1000, 60, strategy=how_to, extras=extras, skill=named,
            second_review=second,
        )  # fmt: skip
        key = f"order {len(self.jobs)} {budget} {race} {attempts}"
        made: list[UUID] = []
        self.step(lambda tx: made.append(self.hall.jobs.open(tx, self.buyer, order, key).id), how)
        with self.hall.tx() as tx:
            job = job_store.job_by_key(tx, self.buyer.source, key)
        if job is not None and job.id not in self.jobs:
            assert made[-1] == job.id
            self.jobs.append(job.id)

    @rule(budget=st.integers(6_000, 9_000), verdicts=st.lists(st.booleans(), min_size=2, max_size=2), how=ways)
    def a_whole_life(self, budget: int, verdicts: list[bool], how: str) -> None:
        """From the order to the verdict, so that the later states are reached often."""
        self.order(budget, 2, 2, "once", 700_000)
        self.offer(0, "once")
        for place in (0, 1):
            self.hand_in(place, b"a", "once")
        for passes in verdicts:
            self.judge(0, True, passes, 1000, how)

    @rule(budget=st.integers(10, 9_000), place=st.integers(0, 3), how=ways)
    def the_node_orders(self, budget: int, place: int, how: str) -> None:
        """As with a planted review: for one provider, paid by the platform as far as it has earned that much."""
        pinned = strategy_json(PinnedProvider(self.providers[place], 1, 0))
        order = Order(JobType.PATCH_GEN, {"n": len(self.jobs)}, budget * 1000, 60, strategy=pinned)
        key = f"after {self.buyer.source} {len(self.jobs)}"
        self.step(lambda tx: self.hall.jobs.open_own(tx, order, key), how)
        with self.hall.tx() as tx:
            job = job_store.job_by_key(tx, SOURCE, key)
        if job is not None and job.id not in self.jobs:
            self.jobs.append(job.id)
            self.own.add(job.id)

    @rule(place=places, how=ways)
    def offer(self, place: int, how: str) -> None:
        if not self.jobs:
            return
        job = self.jobs[-1 - place % len(self.jobs)]
        self.step(lambda tx: self.hall.jobs.assign(tx, job), how)

    @rule(place=places, how=ways)
    def start(self, place: int, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, AT_WORK)
        if attempt is not None:
            who = self.hall.stalls[attempt.provider].who
            self.step(lambda tx: self.hall.attempts.start(tx, who, attempt.id), how)

    @rule(place=places, text=st.sampled_from([b"a", b"b"]), how=ways)
    def hand_in(self, place: int, text: bytes, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, AT_WORK)
        if attempt is None:
            return
        who = self.hall.stalls[attempt.provider].who
        with self.hall.tx() as tx:
            for data in (text, TRAJECTORY):
                self.hall.objects.put_blob(tx, [data], who.source)
        handed = self.hall.handed(attempt.provider, text)
        self.step(lambda tx: self.hall.attempts.hand_in(tx, who, attempt.id, handed), how)

    @rule(place=places, visible=st.booleans(), hidden=st.booleans(), units=st.integers(0, 10**6), how=ways)
    def judge(self, place: int, visible: bool, hidden: bool, units: int, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, HANDED_IN)
        if attempt is None:
            return
        self.once(lambda tx: self.hall.attempts.begin_verifying(tx, attempt.id))
        with self.hall.tx() as tx:
            job = job_store.job(tx, attempt.job)
            now = job_store.attempt(tx, attempt.id)
            waits = self.hall.bazaar.seconds.of_job(tx, attempt.job)
        assert job is not None
        assert now is not None
        found = verdict(visible=visible, hidden=hidden, units_milli=units)
        free = job.winner is None and job.cancelled_us is None and not waits
        if now.state is AttemptState.VERIFYING and found.passed and free:
            self.passed.add(attempt.id)
        self.step(lambda tx: self.hall.attempts.conclude(tx, attempt.id, found), how)

    @rule(place=places, how=ways)
    def cancel(self, place: int, how: str) -> None:
        if not self.jobs:
            return
        job = self.jobs[-1 - place % len(self.jobs)]
        self.step(lambda tx: self.hall.jobs.cancel(tx, self.buyer, job), how)

    @rule(place=places, again=st.booleans(), how=ways)
    def give_back(self, place: int, again: bool, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, AT_WORK)
        if attempt is not None:
            who = self.hall.stalls[attempt.provider].who
            self.step(lambda tx: self.hall.attempts.give_back(tx, who, attempt.id, "no", again=again), how)

    @rule(place=places, reason=st.sampled_from(["", "order.no_tests"]), how=ways)
    def examined(self, place: int, reason: str, how: str) -> None:
        if not self.jobs:
            return
        job = self.jobs[-1 - place % len(self.jobs)]
        self.step(lambda tx: self.hall.jobs.examined(tx, job, reason), how)

    @rule(place=places, how=ways)
    def cannot_be_verified(self, place: int, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, HANDED_IN)
        if attempt is not None:
            self.once(lambda tx: self.hall.attempts.begin_verifying(tx, attempt.id))
            self.step(lambda tx: self.hall.attempts.abandon(tx, attempt.id, "bazaar.not_verified"), how)

    # Bonds

    @rule(place=st.integers(0, 3), satoshi=st.integers(1, 3_000), how=ways)
    def a_bond_is_put_up(self, place: int, satoshi: int, how: str) -> None:
        provider = self.providers[place]
        self.endowed += self.hall.endow(provider, satoshi)
        self.bonds += 1
        self.step(lambda tx: self.add_to_bond(tx, provider, satoshi, f"bond {self.bonds}"), how)

    def add_to_bond(self, tx: Tx, provider: UUID, satoshi: int, key: str) -> None:
        found = self.hall.providers.get(tx, provider)
        self.hall.bazaar.bonds.add(tx, self.hall.stalls[provider].who, found, satoshi * 1000, key)

    @rule(place=st.integers(0, 3), keep=st.booleans(), how=ways)
    def a_bond_is_asked_back(self, place: int, keep: bool, how: str) -> None:
        provider, bonds = self.providers[place], self.hall.bazaar.bonds
        act = bonds.keep if keep else bonds.ask_back
        who = self.hall.stalls[provider].who
        self.step(lambda tx: act(tx, who, self.hall.providers.get(tx, provider)), how)

    @rule(how=ways)
    def a_security_issue(self, how: str) -> None:
        """What was paid is taken back, from the bond first."""
        self.a_whole_life(9_000, [True, True], "once")
        for place in range(4):
            self.a_bond_is_put_up(place, 2_000, "once")
        self.dispute(0, True, Trigger.SECURITY, "once")
        self.look_again(0, True, True, "once")
        self.an_operator_rules(0, Winner.BUYER, how)

    # Disputes, and what is owed after them

    @rule(place=places, by_buyer=st.booleans(), trigger=st.sampled_from(Trigger), how=ways)
    def dispute(self, place: int, by_buyer: bool, trigger: Trigger, how: str) -> None:
        if not self.jobs:
            return
        attempt = self.attempt(place, JUDGED)
        if attempt is None:
            return
        who = self.buyer if by_buyer else self.hall.stalls[attempt.provider].who
        self.step(lambda tx: self.hall.disputes.open(tx, who, attempt.job, attempt.id, trigger, "no"), how)
        with self.hall.tx() as tx:
            found = [item.id for item in self.hall.disputes.of_job(tx, OPERATOR, attempt.job)]
        self.disputes += [id_ for id_ in found if id_ not in self.disputes]

    @rule(by_buyer=st.booleans(), passed=st.booleans(), trigger=st.sampled_from(Trigger), how=ways)
    def a_disputed_life(self, by_buyer: bool, passed: bool, trigger: Trigger, how: str) -> None:
        """A job, its verdict and a doubt, so that disputes are reached often."""
        self.a_whole_life(9_000, [by_buyer, by_buyer], "once")
        self.dispute(0, by_buyer, trigger, "once")
        self.look_again(0, passed, passed, how)

    @rule(how=ways)
    def somebody_owes(self, how: str) -> None:
        """What was paid turns out to be wrong after it was spent."""
        self.a_whole_life(9_000, [True, True], "once")
        self.dispute(0, True, Trigger.TESTS_FAIL, "once")
        for place in range(4):
            self.a_provider_spends_all(place)
        self.look_again(0, False, False, how)

    @rule(place=places, how=ways)
    def answer(self, place: int, how: str) -> None:
        if not self.disputes:
            return
        id_ = self.disputes[-1 - place % len(self.disputes)]
        for who in (self.buyer, *(self.hall.stalls[provider].who for provider in self.providers)):
            self.step(lambda tx, who=who: self.hall.disputes.respond(tx, who, id_, "no"), how)  # type: ignore[misc]

    @rule(place=places, visible=st.booleans(), hidden=st.booleans(), how=ways)
    def look_again(self, place: int, visible: bool, hidden: bool, how: str) -> None:
        if not self.disputes:
            return
        id_ = self.disputes[-1 - place % len(self.disputes)]
        found = verdict(visible=visible, hidden=hidden)
        self.step(lambda tx: self.hall.disputes.reverified(tx, id_, found), how)

    @rule(place=places, winner=st.sampled_from(Winner), how=ways)
    def an_operator_rules(self, place: int, winner: Winner, how: str) -> None:
        if not self.disputes:
            return
        id_ = self.disputes[-1 - place % len(self.disputes)]
        self.step(lambda tx: self.hall.disputes.rule(tx, OPERATOR, id_, winner, "so"), how)

    @rule(place=st.integers(0, 3))
    def a_provider_spends_all(self, place: int) -> None:
        """So that a refund finds nothing, and is owed."""
        self.away += self.hall.spend_all(self.providers[place])

    @rule(seconds=st.sampled_from([0, 1, 1, 2, 30, 61, 5_000, 20_000, 90_000]))
    def time_passes(self, seconds: int) -> None:
        self.hall.wait(seconds)
        self.hall.look()
        with self.hall.tx() as tx:
            silent = self.hall.disputes.unanswered(tx, 100)
        for id_ in silent:
            self.once(lambda tx, id_=id_: self.hall.disputes.default(tx, id_))  # type: ignore[misc]

    @rule(place=st.integers(0, 3))
    def a_provider_vanishes_or_returns(self, place: int) -> None:
        stall = self.hall.stalls[self.providers[place]]
        if stall.alive:
            self.hall.vanish(stall.id)
        else:
            stall.alive = True
            self.hall.beat()

    # What must hold

    @invariant()
    def money_is_where_it_should_be(self) -> None:
        hall = self.hall
        if not hasattr(self, "jobs"):
            return
        paid = held = extras = fees = 0
        with hall.tx() as tx:
            jobs = [job_store.job(tx, job) for job in self.jobs]
            attempts = {job: job_store.attempts(tx, job) for job in self.jobs}
        for job in jobs:
            assert job is not None
            held_now = hall.held(job)
            tries = attempts[job.id]
            spent = sum(attempt.paid + attempt.extras for attempt in tries)
            assert spent <= job.budget
            needed = [a for a in tries if a.state in JUDGED and a.reason != "patch.does_not_apply"]
            assert [a.extras for a in tries if a.extras] == [job.extras] * bool(needed and job.extras)
            extras += sum(attempt.extras for attempt in tries)
            with hall.tx() as tx:
                fees += sum(settlement_store.shares_of(tx, a.id).get("fund", ("", 0))[1] for a in tries)
            assert [a.id for a in tries if a.state is AttemptState.PASSED] == ([job.winner] if job.winner else [])
            if job.closed_us is not None:
                assert held_now == 0
            else:
                assert held_now == job.budget - spent
            if job.id in self.own:
                paid -= held_now  # what the platform pays to others and to itself changes nothing, what it holds does
            else:
                paid += sum(attempt.paid for attempt in tries)
            held += held_now
        earned = sum(hall.has(provider) for provider in self.providers) + hall.fees() - self.fees
        earned += self.away - self.endowed + hall.fund() - self.fund
        earned += hall.has(self.creator) + hall.has(self.referrer)
        bonds = [hall.bond(provider) for provider in self.providers]
        earned += sum(bonds)
        held += hall.second_holds(self.jobs)
        deposits = hall.deposits(self.disputes)
        assert hall.fund() - self.fund >= extras  # once each, and no dispute moves it
        if not self.disputes:  # a ruling may return a fee for a hidden failure
            assert hall.fund() - self.fund == extras + fees
        assert hall.has(self.buyer) + held + deposits + earned == self.satoshi * 1000
        if not self.disputes:
            assert earned == paid + extras
        with hall.tx() as tx:
            kept = [hall.bazaar.bonds.get(tx, provider) for provider in self.providers]
        assert bonds == [0 if bond is None else bond.amount for bond in kept]

    @invariant()
    def what_is_owed_is_what_was_not_taken(self) -> None:
        if getattr(self, "disputes", None):
            with self.hall.tx() as tx:
                found = [self.hall.disputes.get(tx, OPERATOR, id_) for id_ in self.disputes]
                debts = dict(
                    tx.rows(
                        "select dispute, sum(amount - paid)::bigint from dispute_debts"
                        " where dispute = any(%s) group by 1",
                        self.disputes,
                    )
                )
            for dispute in found:
                assert dispute.owed == debts.get(dispute.id, 0)
                assert 0 <= dispute.owed <= dispute.refund

    @invariant()
    def who_passed_was_paid(self) -> None:
        if getattr(self, "passed", None):
            with self.hall.tx() as tx:
                found = [job_store.attempt(tx, id_) for id_ in self.passed]
            assert all(attempt is not None and attempt.state is AttemptState.PASSED for attempt in found)

    def teardown(self) -> None:
        """When all times are over, every job is closed and holds nothing."""
        if not hasattr(self, "jobs"):
            return
        for id_ in self.disputes:  # the next history shall find none that still moves money
            self.once(lambda tx, id_=id_: self.hall.disputes.reverified(tx, id_, verdict(hidden=False)))  # type: ignore[misc]
            self.once(lambda tx, id_=id_: self.hall.disputes.rule(tx, OPERATOR, id_, Winner.SPLIT, "so"))  # type: ignore[misc]
        assert self.hall.deposits(self.disputes) == 0
        self.money_is_where_it_should_be()
        self.hall.wait(10**6)
        self.hall.look()
        with self.hall.tx() as tx:
            jobs = [job_store.job(tx, job) for job in self.jobs]
        for job in jobs:
            assert job is not None
            assert job.closed_us is not None, job
            assert self.hall.held(job) == 0
        assert all(self.hall.in_use(provider) == 0 for provider in self.providers)


def everything_once(how: str) -> None:
    """One history with all that matters most in it."""
    machine = Histories()
    machine.people_come(60_000, 3_000_000)
    machine.a_whole_life(9_000, [False, True], how)
    machine.the_node_orders(4_000, 1, how)
    machine.offer(0, how)
    machine.hand_in(0, b"a", how)
    machine.judge(0, True, False, 1000, how)
    machine.a_disputed_life(True, False, Trigger.TESTS_FAIL, how)
    machine.a_disputed_life(False, True, Trigger.TESTS_FAIL, how)
    machine.a_whole_life(9_000, [True, True], "once")
    machine.dispute(0, True, Trigger.IRRELEVANT, "once")
    machine.answer(0, "once")
    machine.an_operator_rules(0, Winner.PROVIDER, how)
    machine.money_is_where_it_should_be()
    machine.a_security_issue(how)
    for place in range(4):
        machine.a_bond_is_asked_back(place, False, how)
    machine.order(5_000, 1, 2, how, skill=True, second=SecondReview.BEST_EFFORT)
    machine.offer(0, how)
    machine.hand_in(0, b"a", how)
    machine.judge(0, True, True, 1000, how)  # and nobody is there to review it
    machine.money_is_where_it_should_be()
    machine.time_passes(5_000)
    machine.money_is_where_it_should_be()
    machine.somebody_owes(how)
    machine.money_is_where_it_should_be()
    machine.what_is_owed_is_what_was_not_taken()
    machine.who_passed_was_paid()
    machine.teardown()


@pytest.mark.scaled
@pytest.mark.slow
def test_money_is_conserved_in_every_history(database: Database) -> None:
    Histories.hall = hall = Hall(database)
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    for how in ("together", "twice", "killed"):  # what chance may leave out
        everything_once(how)
    with hall.tx() as tx:
        reached = {state for (state,) in tx.rows("select distinct state from job_attempts")}
        fees = tx.value("select count(*) from job_attempts where state = 'failed' and paid > 0")
        ended = {winner for (winner,) in tx.rows("select distinct winner from disputes where state = 'resolved'")}
        owed = tx.value("select count(*) from dispute_debts")
        roles = {role for (role,) in tx.rows("select distinct role from attempt_shares")}
        seconds = {state for (state,) in tx.rows("select distinct state from second_reviews")}
    assert {"passed", "lost", "failed"} <= reached
    assert fees > 0
    assert {"buyer", "provider"} <= ended
    assert owed > 0
    assert {"provider", "platform", "skill", "referrer"} <= roles
    assert {"done", "released"} <= seconds
    hall.check()
