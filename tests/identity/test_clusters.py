"""Who is taken for one."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.identity.clusters import ClusterLink, Reason
from choir.identity.model import agent_owner, person_owner
from choir.identity.phrases import new_phrase
from choir.storage.database import Database
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


def test_odd_owners_and_reasons_are_refused(agency: Agency) -> None:
    a, b = owners(agency, 2)
    with agency.tx() as tx:
        for wrong in ("", "treasury:main", "person:", "person:x", a.upper(), a.replace("person", "agent:"), "x" * 9999):
            with pytest.raises(Invalid):
                agency.clusters.join(tx, a, wrong, Reason.PAYOUT, "x")
            with pytest.raises(Invalid):
                agency.clusters.cluster_of(tx, wrong)
        for reason in (Reason.OWNER, Reason.KEY):
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


@settings(max_examples=20)
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
