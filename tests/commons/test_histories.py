"""Random lives of articles, with crashes in the middle, doubles and races: CHIP is conserved."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import State
from choir.commons.challenges import store as challenge_store
from choir.commons.challenges.model import Ground, UnknownChallenge
from choir.commons.publication import store as publication_store
from choir.commons.publication.model import PublicationState
from choir.commons.publication.service import REFEREE
from choir.commons.revisions import store as revision_store
from choir.foundation.errors import ChoirError
from choir.identity.model import Principal, Role
from choir.ledger import queries
from choir.ledger.verification import verify_database
from choir.storage.database import Tx
from tests.commons.desk import CHIP, DAY_S, Desk, markdown
from tests.depth import times

EXAMPLES = times(6, 40)
ways = st.sampled_from(["once", "once", "twice", "together", "killed"])
places = st.integers(0, 5)
GENESIS = 5_000_000 * CHIP


class Killed(Exception):
    """The process dies before it commits."""


class Histories(RuleBasedStateMachine):
    """Steps of authors, challengers, operators and the scheduler, in any order, each done once or badly."""

    desk: ClassVar[Desk]

    @initialize(rich=st.integers(100, 500), poor=st.integers(40, 120))
    def people_come(self, rich: int, poor: int) -> None:
        desk = self.desk
        self.people: list[Principal] = [
            desk.person(chip=rich),
            desk.person(starter=50),
            desk.person(chip=poor, starter=50),
            desk.person(chip=300),
        ]
        self.keys = 0
        self.drafts: list[tuple[Principal, UUID]] = []
        self.publications: set[UUID] = set()
        self.challenges: set[UUID] = set()
        self.revisions: set[UUID] = set()

    # How a step is made

    def step(self, work: Callable[[Tx], object], how: str) -> None:
        """Do the work once, twice, at the same time as itself, or die just before the commit and do it again."""
        if how == "killed":
            try:
                with self.desk.tx() as tx:
                    work(tx)
                    raise Killed  # noqa: TRY301 - this is where it dies
            except (Killed, ChoirError):
                pass
        if how == "together":
            with ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(self._do, work) for _ in range(2)]:
                    done.result()
            return
        for _ in range(2 if how == "twice" else 1):
            self._do(work)

    def _do(self, work: Callable[[Tx], object]) -> None:
        try:
            self.desk.write(work)
        except ChoirError:
            return  # a refusal writes nothing, which the invariants look at

    def key(self) -> str:
        self.keys += 1
        return f"k{self.keys}"

    def who(self, n: int) -> Principal:
        return self.people[n % len(self.people)]

    # Authors

    @rule(n=places, title=st.integers(0, 10**6))
    def write_article(self, n: int, title: int) -> None:
        who = self.who(n)
        source = self.desk.source(who, title=f"Survey {title % 4}")  # some share their evidence
        self.drafts.append((who, self.desk.draft(who, markdown(source.hash, title=f"Title {title}")).id))

    @rule(n=places, how=ways)
    def publish(self, n: int, how: str) -> None:
        if not self.drafts:
            return
        who, article = self.drafts[n % len(self.drafts)]
        key, examined = self.key(), self.desk.examine(who, article)

        def work(tx: Tx) -> None:
            found, _ = self.desk.commons.publications.publish(tx, who, examined, key)
            self.publications.add(found.id)

        self.step(work, how)

    @rule(n=places, how=ways)
    def retract(self, n: int, how: str) -> None:
        if self.drafts:
            who, article = self.drafts[n % len(self.drafts)]
            self.step(lambda tx: self.desk.commons.publications.retract(tx, who, article, "a mistake"), how)

    @rule(n=places, title=st.integers(0, 10**6), days=st.sampled_from([0, 8, 40]), how=ways)
    def a_whole_life(self, n: int, title: int, days: int, how: str) -> None:
        """From the draft to the window and beyond, so that later states are reached often."""
        self.write_article(n, title)
        self.publish(len(self.drafts) - 1, how)
        self.review("once")
        if days:
            self.time_passes(days, how)

    @rule(n=places, m=places, upheld=st.booleans(), how=ways)
    def a_whole_quarrel(self, n: int, m: int, upheld: bool, how: str) -> None:
        before = set(self.challenges)
        self.challenge(n, m, Ground.OTHER, how)
        self.judge(how)
        for id_ in sorted(self.challenges - before):
            self.rule_on(sorted(self.challenges).index(id_), upheld, how)

    # The node

    @rule(how=ways)
    def review(self, how: str) -> None:
        desk, publications = self.desk, self.desk.commons.publications
        with desk.tx() as tx:
            waiting = publication_store.to_review(tx, 20)
        for id_ in waiting:
            with desk.tx() as tx:
                case = publications.case(tx, id_)
            if case is not None:
                look = publications.evidence.look(desk.tx, REFEREE, case)
                self.step(lambda tx, id_=id_, case=case, look=look: publications.conclude(tx, id_, case, look), how)  # type: ignore[misc]

    @rule(days=st.integers(1, 40), how=ways)
    def time_passes(self, days: int, how: str) -> None:
        desk, commons = self.desk, self.desk.commons
        desk.clock.advance(days * DAY_S)
        with desk.tx() as tx:
            over, due = commons.publications.due(tx, 50)
            late = commons.revisions.late(tx, 50)
        for ids, work in (
            (over, commons.publications.promote),
            (due, commons.publications.return_stake),
            (late, commons.revisions.expire),
        ):
            for id_ in ids:
                self.step(lambda tx, id_=id_, work=work: work(tx, id_), how)  # type: ignore[misc]

    @rule(how=ways)
    def judge(self, how: str) -> None:
        challenges = self.desk.commons.challenges
        for id_ in sorted(self.challenges):
            try:
                findings = challenges.examine(self.desk.node.read, id_)
            except UnknownChallenge:  # its process was killed
                continue
            self.step(lambda tx, id_=id_, findings=findings: challenges.judge(tx, id_, findings), how)  # type: ignore[misc]

    # Others

    @rule(n=places, m=places, ground=st.sampled_from(list(Ground)), how=ways)
    def challenge(self, n: int, m: int, ground: Ground, how: str) -> None:
        desk, key = self.desk, self.key()
        with desk.tx() as tx:
            there = self._there(tx)
        if not there:
            return
        publication = desk.publication(there[n % len(there)])
        targets = [desk.synthesis(publication), *desk.bindings(publication)]
        target = targets[m % len(targets)].hash

        def work(tx: Tx) -> None:
            found, _ = desk.commons.challenges.open(tx, self.who(m), target, ground, "It is wrong.", (), key)
            self.challenges.add(found.id)

        self.step(work, how)

    @rule(n=places, upheld=st.booleans(), how=ways)
    def rule_on(self, n: int, upheld: bool, how: str) -> None:
        if self.challenges:
            id_ = sorted(self.challenges)[n % len(self.challenges)]
            operator = Principal(Role.OPERATOR, "operator")
            challenges = self.desk.commons.challenges
            self.step(lambda tx: challenges.rule(tx, operator, id_, upheld=upheld, reasoning="so"), how)

    @rule(n=places, m=places, how=ways)
    def revise(self, n: int, m: int, how: str) -> None:
        if not self.drafts:
            return
        _, article = self.drafts[n % len(self.drafts)]
        who, key, desk = self.who(m), self.key(), self.desk
        source = desk.source(who)
        read = desk.commons.articles.read(markdown(source.hash, title="Revised", more=f"Note {key}."), None, None)

        def work(tx: Tx) -> None:
            found, _ = desk.commons.revisions.propose(tx, who, article, read, "better", key)
            self.revisions.add(found.id)

        self.step(work, how)

    @rule(n=places, m=places, accepts=st.booleans(), how=ways)
    def vote(self, n: int, m: int, accepts: bool, how: str) -> None:
        if self.revisions:
            id_ = sorted(self.revisions)[n % len(self.revisions)]
            who = self.who(m)
            self.step(lambda tx: self.desk.commons.revisions.vote(tx, who, id_, accepts=accepts), how)

    @rule(n=places, m=places, how=ways)
    def boost(self, n: int, m: int, how: str) -> None:
        if self.drafts:
            _, article = self.drafts[n % len(self.drafts)]
            who, key = self.who(m), self.key()
            self.step(lambda tx: self.desk.commons.revisions.boost(tx, who, article, key), how)

    # What holds whatever happened

    @invariant()
    def what_is_held_is_what_is_at_stake(self) -> None:
        with self.desk.tx() as tx:
            staked = tx.value("select coalesce(sum(amount), 0)::bigint from stakes where state = 'held'")
        assert self.desk.held() == staked

    @invariant()
    def chip_is_conserved(self) -> None:
        with self.desk.tx() as tx:
            lines = [line for line in queries.trial_balance(tx) if line.asset == "CHIP"]
        assert sum(line.balance for line in lines) == 0
        assert all(line.balance >= 0 for line in lines if line.role not in ("issuance", "external"))

    @invariant()
    def a_version_is_at_stake_exactly_while_it_can_fall(self) -> None:
        with self.desk.tx() as tx:
            for id_ in self._there(tx):
                found = publication_store.get(tx, id_)
                assert found is not None
                held = self.desk.commons.stakes.is_held(tx, found.stake)
                under_way = found.state in (PublicationState.IN_REVIEW, PublicationState.IN_WINDOW)
                assert held == (under_way or found.stake_due_us is not None), found

    @invariant()
    def nothing_is_promoted_without_attestation_stake_and_window(self) -> None:
        with self.desk.tx() as tx:
            rows = tx.rows("select t.atom, t.evidence from atom_transitions t where t.after = 'PROMOTED'")
            for _, evidence in rows:
                assert set(evidence["shown"]) == {"staked", "attested", "window over", "unchallenged"}
            promoted = tx.rows("select id from atoms where state = 'PROMOTED' and kind = 'SYNTHESIS'")
            for (atom,) in promoted:
                assert tx.value(
                    "select count(*) from publications where synthesis = %s and promoted_us is not null", atom
                )

    @invariant()
    def what_was_promoted_brought_nothing_that_was_not(self) -> None:
        with self.desk.tx() as tx:
            missing = tx.rows(
                "select p.id, a.atom from publications p join publication_atoms a on a.publication = p.id"
                " where p.promoted_us is not null and not exists"
                " (select from atom_transitions t where t.atom = a.atom and t.after = 'PROMOTED')"
            )
        assert missing == []

    @invariant()
    def retracted_stays_retracted(self) -> None:
        with self.desk.tx() as tx:
            rows = tx.rows("select atom from atom_transitions where after = 'RETRACTED'")
            for (atom,) in rows:
                assert atom_store.by_id(tx, atom).state is State.RETRACTED

    @invariant()
    def an_open_challenge_or_revision_has_its_stake(self) -> None:
        with self.desk.tx() as tx:
            for id_ in sorted(self.challenges):
                challenge = challenge_store.get(tx, id_)
                if challenge is not None:
                    held = self.desk.commons.stakes.is_held(tx, challenge.stake)
                    assert held == (challenge.decided_us is None)
            for id_ in sorted(self.revisions):
                revision = revision_store.get(tx, id_)
                if revision is not None:
                    assert self.desk.commons.stakes.is_held(tx, revision.stake) == (revision.decided_us is None)

    def teardown(self) -> None:
        """When everything is reviewed, ruled on and over, nothing is held any more."""
        if not hasattr(self, "people"):
            return
        self.review("once")
        self.judge("once")
        for n in range(len(self.challenges)):
            self.rule_on(n, n % 2 == 0, "once")
        for _ in range(2):
            self.time_passes(60, "once")
        with self.desk.tx() as tx:
            held = tx.rows("select purpose, owner from stakes where state = 'held'")
        assert held == []
        assert self.desk.held() == 0

    def _there(self, tx: Tx) -> list[UUID]:
        """Those that were really published: what a killed process did is not."""
        return [id_ for id_ in sorted(self.publications) if publication_store.get(tx, id_) is not None]


def machine_at(desk: Desk) -> type[Histories]:
    return type("Machine", (Histories,), {"desk": desk})


def check(desk: Desk) -> None:
    with desk.tx() as tx:
        report = verify_database(tx, desk.node.keys)
        assert report.good, report.differences


def test_random_lives(desk: Desk) -> None:
    run_state_machine_as_test(
        machine_at(desk),
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    check(desk)


@pytest.mark.parametrize("how", ["once", "twice", "together", "killed"])
def test_everything_that_matters_most(desk: Desk, how: str) -> None:
    """One history with every outcome in it, every step made in the same bad way."""
    machine = machine_at(desk)()
    machine.people_come(500, 400)
    for n in range(4):
        machine.a_whole_life(n, n, 0, how)
    machine.a_whole_quarrel(0, 2, True, how)
    machine.a_whole_quarrel(1, 3, False, how)
    machine.time_passes(8, how)
    machine.revise(3, 0, how)
    machine.vote(0, 3, True, how)
    machine.boost(3, 3, how)
    machine.retract(1, how)
    machine.time_passes(40, how)
    for check_now in (
        machine.what_is_held_is_what_is_at_stake,
        machine.chip_is_conserved,
        machine.a_version_is_at_stake_exactly_while_it_can_fall,
        machine.nothing_is_promoted_without_attestation_stake_and_window,
        machine.what_was_promoted_brought_nothing_that_was_not,
        machine.retracted_stays_retracted,
        machine.an_open_challenge_or_revision_has_its_stake,
    ):
        check_now()
    machine.teardown()
    check(desk)
    with desk.tx() as tx:
        assert {row[0] for row in tx.rows("select distinct state from stakes")} == {"returned", "slashed"}
        assert {row[0] for row in tx.rows("select distinct state from publications")} >= {"promoted", "demoted"}
        assert {row[0] for row in tx.rows("select distinct state from atom_challenges")} >= {"won", "lost"}
        assert tx.value("select count(*) from boosts") == 1
        assert {row[0] for row in tx.rows("select distinct state from revisions")} == {"accepted"}
