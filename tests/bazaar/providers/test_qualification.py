"""Newcomers pass a qualification job for each type before they get real ones."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers.model import NotOffered, NotQualifying, Offer, OutcomeRecord, Qualification
from choir.storage.database import Database
from tests.bazaar.providers.stalls import PATCH, RUN, TEXT, Stalls, owner, principal, wants


def offer(stalls: Stalls, provider: UUID) -> Offer:
    with stalls.tx() as tx:
        return stalls.providers.view(tx, provider).offers[0]


def test_each_type_is_qualified_for_by_itself(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN, PATCH, qualified=False)
    assert stalls.ids(wants(RUN)) == stalls.ids(wants(PATCH)) == []
    with stalls.tx() as tx:
        assert sorted(stalls.providers.to_qualify(tx, 10)) == [(made.id, PATCH), (made.id, RUN)]
    stalls.qualify(made.id, RUN)
    assert (stalls.ids(wants(RUN)), stalls.ids(wants(PATCH))) == ([made.id], [])
    with stalls.tx() as tx:
        assert stalls.providers.to_qualify(tx, 10) == [(made.id, PATCH)]
        seen = stalls.providers.view(tx, made.id)
    assert (seen.jobs, seen.market.reputation_bps) == (0, 0)  # it counts for nothing else


def test_only_those_who_are_there_are_asked(stalls: Stalls) -> None:
    stalls.stall(1, RUN, qualified=False)
    stalls.clock.advance(60)
    with stalls.tx() as tx:
        assert stalls.providers.to_qualify(tx, 10) == []


def test_who_fails_waits_longer_each_time(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN, qualified=False)
    for waits_s in (600, 1200):
        stalls.qualify(made.id, RUN, passed=False)
        assert offer(stalls, made.id).qualification is Qualification.FAILED
        stalls.clock.advance(waits_s - 1)
        stalls.beat(1)
        with stalls.tx() as tx:
            assert stalls.providers.to_qualify(tx, 10) == []
            with pytest.raises(NotQualifying):
                stalls.providers.begin_qualification(tx, made.id, RUN, stalls.new_job())
        stalls.clock.advance(1)
    stalls.qualify(made.id, RUN)
    stalls.beat(1)
    assert stalls.ids(wants()) == [made.id]


def test_only_the_job_that_was_begun_decides_and_only_once(stalls: Stalls) -> None:
    made, job = stalls.stall(1, RUN, qualified=False), stalls.new_job()
    told = OutcomeRecord(job, RUN, "treasury:main", False, 0, 1, stalls.clock.now_us(), qualification=True)
    with stalls.tx() as tx:
        stalls.providers.begin_qualification(tx, made.id, RUN, job)
        assert not stalls.providers.record_outcome(tx, made.id, replace(told, job=stalls.new_job(), passed=True))
        with pytest.raises(NotQualifying):
            stalls.providers.begin_qualification(tx, made.id, RUN, stalls.new_job())
        assert stalls.providers.record_outcome(tx, made.id, told)
        assert not stalls.providers.record_outcome(tx, made.id, replace(told, passed=True))
    assert offer(stalls, made.id).qualification is Qualification.FAILED
    states = [e.data["state"] for e in stalls.events() if e.type == "bazaar.provider.qualification"]
    assert states == ["running", "failed"]


def test_one_that_never_came_back_may_be_begun_again(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN, qualified=False)
    with stalls.tx() as tx:
        stalls.providers.begin_qualification(tx, made.id, RUN, stalls.new_job())
    stalls.clock.advance(3600)
    stalls.beat(1)
    stalls.qualify(made.id, RUN)
    assert stalls.ids(wants()) == [made.id]


def test_there_is_nothing_to_qualify_for_that_is_not_offered(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN)
    with stalls.tx() as tx:
        with pytest.raises(NotOffered):
            stalls.providers.begin_qualification(tx, made.id, TEXT, stalls.new_job())
        with pytest.raises(NotQualifying):
            stalls.providers.begin_qualification(tx, made.id, RUN, stalls.new_job())
        stalls.providers.declare(tx, principal(owner(1)), [], 1)
        with pytest.raises(NotOffered):
            stalls.providers.begin_qualification(tx, made.id, RUN, stalls.new_job())


def test_a_qualification_stays_when_a_type_is_not_offered_for_a_while(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN)
    with stalls.tx() as tx:
        stalls.providers.declare(tx, principal(owner(1)), [], 5)
    assert stalls.ids(wants()) == []
    with stalls.tx() as tx:
        stalls.providers.declare(tx, principal(owner(1)), [RUN], 5)
    assert stalls.ids(wants()) == [made.id]


def test_a_node_may_do_without(database: Database) -> None:
    stalls = Stalls(database, ProvidersPolicy(qualification_required=0))
    made = stalls.stall(1, RUN, qualified=False)
    for _ in range(20):
        stalls.outcome(made.id, owner(50), passed=False)
    assert stalls.ids(wants()) == [made.id]
