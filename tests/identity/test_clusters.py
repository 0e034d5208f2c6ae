"""Who is taken for one."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.foundation.money import Asset
from choir.identity.clusters.service import ClusterLink, Reason
from choir.identity.keys.phrases import new_phrase
from choir.identity.model import TooMany, agent_owner, person_owner
from choir.ledger import holds, queries
from choir.ledger.model import Draft, Leg, hold_account
from choir.storage.database import Database
from tests.depth import times
from tests.identity.agency import Agency, session


def owners(agency: Agency, count: int) -> list[str]:
    return [person_owner(agency.person()) for _ in range(count)]


def independence(agency: Agency, a: str, b: str) -> int:
    with agency.tx() as tx:
        forth, back = agency.clusters.independence(tx, a, b), agency.clusters.independence(tx, b, a)
    assert forth == back
    return forth


def test_strangers_are_independent_and_nobody_is_of_themselves(agency: Agency) -> None:
    a, b = owners(agency, 2)
    assert independence(agency, a, b) == 10_000
    assert independence(agency, a, a) == 0
    with agency.tx() as tx:
        alone = agency.clusters.cluster_of(tx, a)
    assert alone.members == {a}
    assert not alone.reasons
    assert alone.complete


def test_a_person_and_all_their_agents_are_one(agency: Agency) -> None:
    person, other = agency.person(), agency.person()
    one, two = (agent_owner(agency.agent(person).id) for _ in range(2))
    assert independence(agency, one, two) == 0
    assert independence(agency, person_owner(person), one) == 0
    assert independence(agency, agent_owner(agency.agent(other).id), one) == 10_000
    with agency.tx() as tx:
        cluster = agency.clusters.cluster_of(tx, two)
        assert tx.value("select count(*) from cluster_links") == 0  # what follows is not stored
    assert cluster.members == {person_owner(person), one, two}
    assert {link.reason for link in cluster.reasons} == {Reason.OWNER}


def test_keys_of_one_phrase_join_their_owners(agency: Agency) -> None:
    people = [agency.person() for _ in range(3)]
    phrase = new_phrase(agency.entropy)
    with agency.tx() as tx:
        for account, person in enumerate(people[:2]):
            agency.keys.restore(tx, session(person), person_owner(person), phrase, account)
        agency.keys.create(tx, session(people[2]), person_owner(people[2]))
    a, b, c = (person_owner(person) for person in people)
    assert independence(agency, a, b) == 0
    assert independence(agency, a, c) == 10_000


def test_noted_links_join_with_their_reasons_and_can_be_taken_back(agency: Agency) -> None:
    a, b, c = owners(agency, 3)
    with agency.tx() as tx:
        agency.clusters.join(tx, b, a, Reason.PAYOUT, "sha256:1")
        agency.clusters.join(tx, a, b, Reason.PAYOUT, "sha256:2")  # noted once
        agency.clusters.join(tx, b, c, Reason.INSTRUMENT, "card-hash")
        agency.clusters.join(tx, a, a, Reason.PAYOUT, "self")
        cluster = agency.clusters.cluster_of(tx, a)
    low, high = sorted((a, b))
    assert cluster.members == {a, b, c}
    assert ClusterLink(low, high, Reason.PAYOUT, "sha256:1") in cluster.reasons
    assert len(cluster.reasons) == 2
    assert independence(agency, a, c) == 0
    with agency.tx() as tx:
        assert agency.clusters.part(tx, a, b, Reason.PAYOUT)
        assert not agency.clusters.part(tx, a, b, Reason.PAYOUT)
    assert independence(agency, a, c) == 10_000


def test_funding_joins_from_a_share_on(agency: Agency) -> None:
    a, b = owners(agency, 2)
    with agency.tx() as tx:
        assert not agency.clusters.funded(tx, a, b, 4_999, "entry")
    assert independence(agency, a, b) == 10_000
    with agency.tx() as tx:
        assert agency.clusters.funded(tx, a, b, 5_000, "entry")
    assert independence(agency, a, b) == 0


def test_owners_of_one_home_are_one_by_their_own_word(agency: Agency) -> None:
    a, b, c = owners(agency, 3)
    with agency.tx() as tx:
        for owner, home in ((a, b"h" * 32), (b, b"h" * 32), (b, b"h" * 32), (c, b"i" * 32)):
            agency.clusters.declare_home(tx, owner, home)
        cluster = agency.clusters.cluster_of(tx, a)
        with pytest.raises(Invalid):
            agency.clusters.declare_home(tx, a, b"short")
        with pytest.raises(Invalid):
            agency.clusters.declare_home(tx, "operator", b"h" * 32)
    assert cluster.members == {a, b}
    assert {link.reason for link in cluster.reasons} == {Reason.HOME}
    assert independence(agency, a, b) == 0
    assert independence(agency, a, c) == 10_000


def test_nobody_has_any_number_of_homes(agency: Agency) -> None:
    agency.policy = replace(agency.policy, homes_per_owner_max=2)
    agency.__post_init__()
    [owner] = owners(agency, 1)
    with agency.tx() as tx:
        for home in (b"1" * 32, b"2" * 32, b"1" * 32):
            agency.clusters.declare_home(tx, owner, home)
        with pytest.raises(TooMany):
            agency.clusters.declare_home(tx, owner, b"3" * 32)


WORLD = "world:lightning/external/SAT"


def pay(agency: Agency, from_: str, to: str, amount: int) -> None:
    source, target = (name if "/" in name else f"{name}/available/SAT" for name in (from_, to))
    with agency.tx() as tx:
        agency.accounts.open(tx, [source, target], reason="a test", source="test")
        seq = queries.head(tx).seq
        agency.ledger.post(tx, Draft("transfer", "a test", "test", f"pay {seq}", (Leg(source, target, amount),)))


def test_funding_is_seen_in_the_journal_and_parts_again(agency: Agency) -> None:
    agency.open_books()
    a, b, c = owners(agency, 3)
    pay(agency, WORLD, a, 10_000_000)
    pay(agency, a, b, 999_999)  # all that b has, but too little to matter
    with agency.tx() as tx:
        agency.clusters.note_funding(tx, b)
    assert independence(agency, a, b) == 10_000
    pay(agency, a, b, 1_000_001)
    pay(agency, WORLD, b, 2_000_000)
    pay(agency, WORLD, c, 9_000_000)
    pay(agency, a, c, 1_000_000)  # a tenth
    with agency.tx() as tx:
        for owner in (a, b, c):
            agency.clusters.note_funding(tx, owner)
        reasons = agency.clusters.cluster_of(tx, b).reasons
    assert (independence(agency, a, b), independence(agency, a, c)) == (0, 10_000)
    assert [(link.reason, link.evidence) for link in reasons] == [(Reason.FUNDING, "5000 basis points of what came in")]
    with agency.tx() as tx:
        assert agency.clusters.review_funding(tx, None, 20) is None
    assert independence(agency, a, b) == 0  # still so
    pay(agency, WORLD, b, 1)
    with agency.tx() as tx:
        link = agency.clusters.review_funding(tx, None, 1)
        assert link == (min(a, b), max(a, b))
        assert agency.clusters.review_funding(tx, link, 1) is None
    assert independence(agency, a, b) == 10_000


def test_what_comes_back_from_a_hold_or_is_earned_is_no_funding(agency: Agency) -> None:
    agency.open_books()
    buyer, seller = owners(agency, 2)
    pay(agency, WORLD, buyer, 10_000_000)
    pay(agency, WORLD, seller, 1)
    id_ = holds.placed_id("test", "place")
    paid = (Leg(hold_account(id_, Asset.SAT), f"{seller}/available/SAT", 4_000_000),)
    later_us = agency.clock.now_us() + 1_000_000
    with agency.tx() as tx:
        place = holds.place(
            f"{buyer}/available/SAT",
            5_000_000,
            expires_us=later_us,
            captures=1,
            key="place",
            reason="a test",
            source="test",
        )
        agency.ledger.post(tx, place)
        agency.ledger.post(tx, holds.capture(id_, paid, final=True, key="pay", reason="a test", source="test"))
        for owner in (buyer, seller):
            agency.clusters.note_funding(tx, owner)
        assert queries.received(tx, f"{buyer}/available/SAT", 10) == [(WORLD, 10_000_000)]
        assert queries.received(tx, f"{seller}/available/SAT", 10) == [(WORLD, 1)]
    assert independence(agency, buyer, seller) == 10_000


def test_odd_owners_and_reasons_are_refused(agency: Agency) -> None:
    a, b = owners(agency, 2)
    with agency.tx() as tx:
        for wrong in ("", "treasury:main", "person:", "person:x", a.upper(), a.replace("person", "agent:"), "x" * 9999):
            with pytest.raises(Invalid):
                agency.clusters.join(tx, a, wrong, Reason.PAYOUT, "x")
            with pytest.raises(Invalid):
                agency.clusters.cluster_of(tx, wrong)
        for reason in (Reason.OWNER, Reason.KEY, Reason.HOME):
            with pytest.raises(Invalid):
                agency.clusters.join(tx, a, b, reason, "x")
        for evidence in ("", "x" * 201):
            with pytest.raises(Invalid):
                agency.clusters.join(tx, a, b, Reason.PAYOUT, evidence)


def test_a_huge_cluster_is_bounded_and_fails_on_the_safe_side(database: Database) -> None:
    agency = Agency(database)
    agency.policy = replace(agency.policy, cluster_members_max=20)
    agency.__post_init__()
    crowd = [person_owner(UUID(int=n + 1)) for n in range(60)]
    other, stranger, far = (person_owner(UUID(int=n)) for n in (1000, 1001, 1002))
    with agency.tx() as tx:
        for one in crowd[1:]:
            agency.clusters.join(tx, crowd[0], one, Reason.PAYOUT, "x")
        agency.clusters.join(tx, other, stranger, Reason.PAYOUT, "x")
        huge = agency.clusters.cluster_of(tx, crowd[7])
    assert not huge.complete
    assert independence(agency, crowd[3], far) == 10_000  # from the other side it is clear
    assert independence(agency, crowd[3], other) == 10_000
    with agency.tx() as tx:
        for n in range(30):
            agency.clusters.join(tx, other, person_owner(UUID(int=2000 + n)), Reason.PAYOUT, "x")
    assert independence(agency, crowd[3], stranger) == 0  # both too large to tell
    assert independence(agency, crowd[3], crowd[50]) == 0


@settings(max_examples=times(8, 20))
@given(links=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15))
def test_clusters_are_the_connected_components(database: Database, links: list[tuple[int, int]]) -> None:
    agency = Agency(database)
    names = [person_owner(UUID(int=n + 1)) for n in range(10)]
    component = list(range(10))
    with agency.tx() as tx:
        tx.run("delete from cluster_links")
        for a, b in links:
            agency.clusters.join(tx, names[a], names[b], Reason.PAYOUT, "x")
            old, new = component[a], component[b]
            component = [new if value == old else value for value in component]
        for n in range(10):
            expected = {names[m] for m in range(10) if component[m] == component[n]}
            assert agency.clusters.cluster_of(tx, names[n]).members == expected
