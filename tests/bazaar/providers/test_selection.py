"""Who is chosen: criteria, weights, ties, newcomers, and the explanation."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promises, rules, selection_rules, selection_store
from choir.bazaar.providers.model import BadCriteria, Claims, Isolation, provider_id
from choir.bazaar.providers.selection_rules import Candidate, Criteria, criteria_from, order_key, score, seed_number
from choir.bazaar.settlement.pricing import Terms
from choir.storage.database import Database
from tests.bazaar.providers.stalls import PATCH, RUN, SAT, TEXT, Stalls, owner, principal, wants
from tests.depth import times

POLICY = ProvidersPolicy(bond_msat=0)  # what a bond changes is in test_bonds
CANDIDATE = Candidate(
    UUID(int=1), owner(1), "eu-west", 2, 0, 5, 0, None, 0, True, 7, 1, rules.default_terms(RUN, POLICY)
)


def seed(newcomer: bool) -> bytes:
    """A seed that says what is wanted of it."""
    drawn = (n.to_bytes(2) for n in range(1000))
    return next(one for one in drawn if selection_rules.is_newcomers_turn(one, POLICY) is newcomer)


OLD, NEW = seed(False), seed(True)


def scores(candidate: Candidate, criteria: Criteria) -> dict[str, int]:
    return {part.name: part.score for part in score(candidate, criteria, POLICY).components}


def test_weights_are_the_specs() -> None:
    weights = {part.name: part.weight_bps for part in score(CANDIDATE, wants(), POLICY).components}
    assert weights == {"price": 2500, "reputation": 3500, "capacity": 1500, "isolation": 1500, "geography": 1000}


@pytest.mark.parametrize(
    ("change", "criteria", "name", "expected"),
    [
        ({"terms": Terms(0, 0, 0)}, {}, "price", 10_000),
        ({"terms": Terms(240 * SAT, 0, 10**9)}, {}, "price", 0),  # the most that any tier may ask
        ({"terms": Terms(120 * SAT, 0, 10**9)}, {}, "price", 5000),
        ({}, {}, "price", 1666),
        ({"reputation_bps": 7777}, {}, "reputation", 7777),
        ({"in_use": 2}, {}, "capacity", 6000),
        ({"isolation": 1}, {}, "isolation", 0),
        ({"isolation": 2}, {}, "isolation", 10_000),
        ({"isolation": 5}, {}, "isolation", 10_000),  # more is claimed easily
        ({"isolation": 1}, {"min_isolation": Isolation.LOCAL}, "isolation", 10_000),
        ({}, {"near": ""}, "geography", 10_000),
        ({}, {"near": "eu-west"}, "geography", 10_000),
        ({}, {"near": "eu-north"}, "geography", 5000),
        ({}, {"near": "us-west"}, "geography", 0),
    ],
)
def test_components(change: dict[str, Any], criteria: dict[str, Any], name: str, expected: int) -> None:
    assert scores(replace(CANDIDATE, **change), wants(**criteria))[name] == expected


def test_where_nothing_costs_anything_all_prices_are_best() -> None:
    assert scores(replace(CANDIDATE, terms=Terms(0, 0, 0)), wants(TEXT))["price"] == 10_000


def test_hard_criteria(stalls: Stalls) -> None:
    plain = stalls.stall(1, RUN, PATCH)
    strong = stalls.stall(2, claims=Claims("b", "us-east", "", Isolation.MICROVM))
    stalls.stall(3, TEXT)
    stalls.stall(4, RUN, qualified=False)
    with stalls.tx() as tx:
        stalls.providers.publish(tx, principal(owner(2)), RUN, Terms(100 * SAT, 0, 100 * SAT))
    both = {plain.id, strong.id}

    def found(**criteria: Any) -> set[UUID]:
        return set(stalls.ids(wants(**criteria)))

    assert found() == both
    assert found(max_price=200 * SAT) == both
    assert found(max_price=200 * SAT - 1) == {strong.id}
    assert found(max_price=200 * SAT, units_milli=2) == {strong.id}
    assert found(max_price=0) == set()
    assert found(min_isolation=Isolation.CONTAINER) == {strong.id}
    assert found(regions=("us-east",)) == found(regions=("us",)) == {strong.id}
    assert found(regions=("us-west",)) == set()
    assert found(regions=("us", "eu-west")) == both
    assert found(providers=(plain.id,)) == {plain.id}
    assert found(excluded=(plain.id,)) == {strong.id}
    assert found(type_=PATCH) == {plain.id}
    assert found(min_success_bps=1) == set()  # nobody has a record
    stalls.outcome(plain.id, owner(50))
    stalls.outcome(plain.id, owner(50))
    stalls.outcome(plain.id, owner(51), passed=False)
    assert found(min_success_bps=6666) == {plain.id}
    assert found(min_success_bps=6667) == set()


def test_when_nobody_is_found_it_says_why(stalls: Stalls) -> None:
    stalls.stall(1, qualified=False)
    stalls.stall(2)
    told = stalls.select(wants(min_isolation=Isolation.GVISOR)).as_json()
    assert told["candidates"] == []
    assert told["nobody_because"] == {
        "known": 2, "not_qualified": 1, "not_taking": 0, "silent": 0, "full": 0, "isolation": 2, "success": 0,
        "excluded": 0,
    }  # fmt: skip
    with stalls.database.unit_of_work() as tx:  # who sells it no more is not among those who do
        stalls.providers.retire(tx, principal(owner(1)))
        stalls.providers.declare(tx, principal(owner(2)), [PATCH], 1)
    assert set(stalls.select(wants()).as_json()["nobody_because"].values()) == {0}


def test_an_explanation_adds_up(stalls: Stalls) -> None:
    made = [stalls.stall(n, claims=Claims("x", "eu-west", "", Isolation(1 + n % 5))) for n in range(1, 6)]
    stalls.outcome(made[0].id, owner(50))
    told = stalls.select(wants(near="eu-north"), OLD).as_json()
    assert len(told["candidates"]) == 5
    for one in told["candidates"]:
        assert one["total"] == sum(part["points"] for part in one["components"])
        for part in one["components"]:
            assert part["points"] == part["score"] * part["weight_bps"] // 10_000
    totals = [one["total"] for one in told["candidates"]]
    assert totals == sorted(totals, reverse=True)


def test_tier_3_wins_ties_and_the_rest_is_by_lot(stalls: Stalls) -> None:
    made = [stalls.stall(n).id for n in range(1, 7)]
    with stalls.tx() as tx:
        tx.run("update provider_market set tier = 3, slots = 5 where provider = %s", made[3])
        tx.run("update provider_market set tier = 2 where provider = %s", made[4])
    firsts, seconds = set(), set()
    for n in range(40):
        lot = b"lot" + bytes([n])
        order = stalls.select(wants(), lot)
        if order.newcomers_turn:
            continue
        ids = [one.candidate.provider for one in order.ranked]
        assert stalls.ids(wants(), lot) == ids  # the same seed, the same order
        firsts.add(ids[0])
        seconds.add(ids[1])
    assert firsts == {made[3]}
    assert len(seconds) > 2


def test_newcomers_get_their_share_and_no_more(stalls: Stalls) -> None:
    known = stalls.stall(1)
    fresh = {stalls.stall(n).id for n in range(2, 6)}
    with stalls.tx() as tx:
        tx.run(
            "update provider_market set newcomer = false, reputation_bps = 9000, success_bps = 9900"
            " where provider = %s",
            known.id,
        )
    firsts = []
    for n in range(600):
        order = stalls.select(wants(), hashlib.sha256(n.to_bytes(2)).digest())
        assert len(order.ranked) == 5
        first = order.ranked[0]
        assert first.newcomers_turn == order.newcomers_turn == (first.candidate.provider != known.id)
        firsts.append(first.candidate.provider)
    routed = [one for one in firsts if one in fresh]
    assert 35 <= len(routed) <= 90  # a tenth of six hundred
    assert set(routed) == fresh  # and not always the same one
    assert stalls.ids(wants(providers=(known.id,)), NEW) == [known.id]
    assert stalls.ids(wants(min_success_bps=9000), NEW) == [known.id]  # criteria hold for newcomers too


rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(1, 8), st.integers(0, 3), st.integers(0, 10_000), st.integers(1, 5),
        st.sampled_from(["eu-west", "eu-north", "us-west"]), st.integers(0, 240_000), st.integers(0, 600),
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=times(10, 25))
@given(
    rows=rows,
    look_at=st.integers(1, 6),
    units=st.integers(0, 10**7),
    near=st.sampled_from(["", "eu-west", "us-east"]),
    lot=st.binary(),
)
def test_the_database_orders_like_the_rules(
    database: Database, rows: list[tuple[Any, ...]], look_at: int, units: int, near: str, lot: bytes
) -> None:
    stalls = Stalls(database, replace(POLICY, qualification_required=0, newcomer_share_bps=0, look_at=look_at))
    with stalls.tx() as tx:
        tx.run("update provider_market set silent = true")
        base = 1000 * (1 + tx.value("select count(*) from providers"))
    stalls.clock.at_us += base  # ids of another example must not come again
    for n, (tier, slots, used, reputation, isolation, region, price, unit) in enumerate(rows):
        found = stalls.stall(base + n, claims=Claims("x", region, "", Isolation(isolation)), qualified=False)
        with stalls.tx() as tx:
            tx.run(
                "update provider_market set tier = %s, slots = %s, in_use = %s, reputation_bps = %s"
                " where provider = %s",
                tier, slots, used, reputation, found.id,
            )  # fmt: skip
            tx.run("update provider_offers set base = %s, per_unit = %s where provider = %s", price, unit, found.id)
    stalls.promise()
    criteria = wants(max_price=210_000, units_milli=units, near=near)
    with stalls.tx() as tx:
        number, now_us = seed_number(lot), stalls.clock.now_us()
        every = selection_store.best(tx, criteria, now_us, number, 20, stalls.policy, look_at=None)
    scored = [score(candidate, criteria, stalls.policy) for candidate, _ in every]
    assert [one.total for one in scored] == [total for _, total in every]
    assert scored == sorted(scored, key=lambda one: order_key(one, number))
    for most in range(1, 5):  # looking at the highest promises alone finds the same
        with stalls.tx() as tx:
            chosen = stalls.providers.selection.select(tx, criteria, now_us, lot, limit=most)
        assert list(chosen.ranked) == scored[:most]
    expected = sum(
        1
        for tier, slots, used, *_, price, unit in rows
        if used < slots
        and rules.price(rules.charged_terms(Terms(price, unit, 5_000_000), RUN, tier, POLICY), units) <= 210_000
    )
    assert len(scored) == expected


terms = st.builds(Terms, st.integers(0, 240_000), st.integers(0, 600), st.integers(0, 6_000_000))


@given(terms=terms, tier=st.integers(0, 3), units=st.integers(0, 10**9), reputation=st.integers(0, 10_000))
def test_a_promise_is_never_below_what_is_got(terms: Terms, tier: int, units: int, reputation: int) -> None:
    charged = rules.charged_terms(terms, RUN, tier, POLICY)
    got = score(replace(CANDIDATE, terms=charged, reputation_bps=reputation), wants(units_milli=units), POLICY)
    points = sum(part.points for part in got.components if part.name in ("price", "reputation"))
    assert points <= promises.promise([terms], RUN, tier, reputation, POLICY)


def test_promises_of_another_policy_are_noticed_and_made_anew(stalls: Stalls) -> None:
    made = [stalls.stall(n).id for n in range(1, 8)]
    with stalls.tx() as tx:
        tx.run("update provider_market set reputation_bps = 9000 where provider = %s", made[4])
    stalls.promise()
    other = Stalls(stalls.database, replace(POLICY, weight_reputation_bps=9000, look_at=2, newcomer_share_bps=0))
    name = promises.policy_name(other.policy)
    with stalls.tx() as tx:
        assert not selection_store.are_all_promised(tx, RUN, name)
    assert other.ids(wants())[0] == made[4]
    with stalls.tx() as tx:
        assert promises.refresh_round(tx, other.policy, 100) == 7
        assert promises.refresh_round(tx, other.policy, 100) == 0
        assert selection_store.are_all_promised(tx, RUN, name)
    assert other.ids(wants())[0] == made[4]


def test_criteria_from_json() -> None:
    asked = {
        "units_milli": 2000, "min_success_bps": 9000, "min_isolation": "gvisor", "near": "eu-west",
        "providers": [provider_id(UUID(int=5))], "regions": ["eu"],
    }  # fmt: skip
    assert criteria_from(RUN, 10, asked, (UUID(int=6),)) == Criteria(
        RUN, 10, 2000, 9000, Isolation.GVISOR, (UUID(int=5),), ("eu",), "eu-west", (UUID(int=6),)
    )
    assert criteria_from(RUN, 10, {}) == Criteria(RUN, 10)


@pytest.mark.parametrize(
    "asked",
    [
        {"luck": 1},
        {"units_milli": -1},
        {"units_milli": 10**9 + 1},
        {"units_milli": 1.5},
        {"units_milli": True},
        {"min_success_bps": 10_001},
        {"min_isolation": "box"},
        {"near": "Somewhere!"},
        {"regions": ["x y"]},
        {"regions": 7},
        {"providers": ["job_1"]},
        {"providers": ["provider_1"] * 2000},
    ],
)
def test_criteria_that_cannot_be_meant_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(BadCriteria):
        criteria_from(RUN, 10, asked)
