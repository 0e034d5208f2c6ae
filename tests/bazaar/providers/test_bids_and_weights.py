"""Bids below the book, and weights that a buyer brings."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import rules, selection_rules
from choir.bazaar.providers.model import BadBid, BadCriteria, NotOffered
from choir.bazaar.providers.selection_rules import Weights, criteria_from, criteria_json, weights_from
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.clock import MICROSECONDS
from choir.storage.database import Database
from tests.bazaar.hall import TERMS, Hall, verdict
from tests.bazaar.providers.stalls import PATCH, RUN

POLICY = ProvidersPolicy(qualification_required=0, newcomer_share_bps=0)
NAMES = ("price", "reputation", "capacity", "isolation", "geography")
HOUR = 3_600 * MICROSECONDS


@pytest.fixture
def market(database: Database) -> Hall:
    return Hall(database, providers=POLICY)


def bid(hall: Hall, provider: UUID, bps: int, seconds: int = 3_600, type_: JobType = PATCH) -> None:
    until_us = hall.clock.now_us() + seconds * MICROSECONDS
    with hall.tx() as tx:
        hall.providers.bid(tx, hall.stalls[provider].who, type_, bps, until_us)


def test_the_lower_bid_is_chosen_and_is_what_is_paid(market: Hall) -> None:
    first, second = market.provider(), market.provider()
    bid(market, second, 2_500)
    buyer = market.person(20_000)
    job = market.order(buyer, attempts=1)
    [attempt] = market.assign(job)
    assert attempt.provider == second
    assert (attempt.base, attempt.per_unit, attempt.cap) == (2_250_000, 75_000, 15_000_000)
    market.hand_in(attempt)
    assert market.judge(attempt, verdict(units_milli=2_000)).paid == 2_400_000
    with market.tx() as tx:
        [why] = [step.data["why"] for step in market.access.steps(tx, buyer, job.id) if step.what == "offered"]
    shown = {one["provider"]: one.get("bid_bps") for one in why["candidates"]}
    assert sorted(shown.values(), key=str) == [2_500, None]
    assert first != second
    market.check()


def test_a_bid_ends_by_itself_and_by_hand_and_what_is_assigned_keeps_its_price(market: Hall) -> None:
    provider = market.provider()
    who = market.stalls[provider].who
    bid(market, provider, 1_000, seconds=60)
    with market.tx() as tx:
        assert market.providers.quote(tx, provider, PATCH, market.clock.now_us()).base == 2_700_000
    [early] = market.assign(market.order(market.person(20_000), attempts=1))
    market.wait(60)
    [late] = market.assign(market.order(market.person(20_000), attempts=1))
    assert (early.base, late.base) == (2_700_000, TERMS.base)
    bid(market, provider, 1_000)
    with market.tx() as tx:
        assert market.providers.end_bid(tx, who, PATCH).bid_bps == 0
        assert market.providers.quote(tx, provider, PATCH, market.clock.now_us()) == TERMS


def test_a_bid_brings_a_provider_within_a_budget(market: Hall) -> None:
    provider = market.provider()
    job = market.order(market.person(20_000), satoshi=2_400, attempts=1)
    assert market.assign(job) == []
    bid(market, provider, 3_000)
    market.wait(40)
    [attempt] = market.assign(job)
    assert attempt.base == 2_100_000
    assert attempt.ceiling == 2_400_000


@pytest.mark.parametrize(("bps", "seconds"), [(0, 60), (9_001, 60), (100, 0), (100, -1), (100, 31 * 86_400)])
def test_bids_that_cannot_be_are_refused(market: Hall, bps: int, seconds: int) -> None:
    provider = market.provider()
    with pytest.raises(BadBid):
        bid(market, provider, bps, seconds)


def test_a_type_that_is_not_sold_has_no_bid(market: Hall) -> None:
    provider = market.provider()
    with pytest.raises(NotOffered):
        bid(market, provider, 100, type_=JobType.TEXT_GEN)


@given(
    terms=st.builds(Terms, st.integers(0, 10**11), st.integers(0, 10**8), st.integers(0, 10**11)),
    bps=st.integers(0, 10_000), units=st.integers(0, 10**9),
)  # fmt: skip
def test_a_bid_is_never_above_the_book(terms: Terms, bps: int, units: int) -> None:
    assert rules.price(rules.bid_terms(terms, bps), units) <= rules.price(terms, units)


# Weights


@given(given_=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 10_000), min_size=1))
def test_weights_come_to_ten_thousand_and_stay_so(given_: dict[str, int]) -> None:
    if not any(given_.values()):
        with pytest.raises(BadCriteria):
            weights_from(given_)
        return
    found = weights_from(given_)
    assert sum(found.as_json().values()) == 10_000
    assert weights_from(found.as_json()) == found
    for name, each in given_.items():
        if each == 0:
            assert getattr(found, name) == 0


@pytest.mark.parametrize(
    "asked",
    [{}, [], 7, {"price": -1}, {"price": 10_001}, {"price": 0}, {"stake": 1}, {"bond": 5}, {"price": 1.5}],
)
def test_weights_that_cannot_be_are_refused(asked: Any) -> None:
    with pytest.raises(BadCriteria):
        criteria_from(PATCH, 10**9, {"weights": asked})


def test_criteria_with_weights_survive_being_written_down() -> None:
    found = criteria_from(PATCH, 10**9, {"weights": {"price": 1, "reputation": 2}})
    assert found.weights == Weights(3_333, 6_667, 0, 0, 0)
    assert criteria_from(PATCH, 10**9, criteria_json(found)) == found
    assert "weights" not in criteria_json(criteria_from(PATCH, 10**9, {}))


def test_a_buyer_who_looks_at_the_price_alone_gets_the_cheapest_and_sees_why(market: Hall) -> None:
    cheap = market.provider(Terms(2_000_000, 0, 2_000_000))
    known = market.provider()
    with market.tx() as tx:
        tx.run("update provider_market set reputation_bps = 10000 where provider = %s", known)
    buyer = market.person(60_000)
    [usual] = market.assign(market.order(buyer, attempts=1))
    assert usual.provider == known
    job = market.order(buyer, attempts=1, criteria={"weights": {"price": 10_000}})
    [own] = market.assign(job)
    assert own.provider == cheap
    with market.tx() as tx:
        [why] = [step.data["why"] for step in market.access.steps(tx, buyer, job.id) if step.what == "offered"]
    assert why["own_weights"]
    assert [part["weight_bps"] for part in why["candidates"][0]["components"]] == [10_000, 0, 0, 0, 0]
    assert sum(part["points"] for part in why["candidates"][0]["components"]) == why["candidates"][0]["total"]


@pytest.mark.parametrize("weights", [None, {"price": 10_000}, {"capacity": 1, "geography": 3}, {"reputation": 1}])
def test_the_database_orders_as_the_rules_explain(market: Hall, weights: dict[str, int] | None) -> None:
    for n in range(6):
        provider = market.provider(Terms(1_000_000 + n * 300_000, 1_000 * n, 4_000_000))
        bid(market, provider, 500 * n + 1)
    asked = {} if weights is None else {"weights": weights}
    criteria = criteria_from(PATCH, 10**9, asked | {"near": "eu-west", "units_milli": 3_000})
    with market.tx() as tx:
        found = market.providers.selection.select(tx, criteria, market.clock.now_us(), b"seed")
    number = selection_rules.seed_number(b"seed")
    assert len(found.ranked) == 6
    assert list(found.ranked) == sorted(found.ranked, key=lambda one: selection_rules.order_key(one, number))


def test_no_money_of_a_provider_moves_it_in_the_order(market: Hall) -> None:
    """Neither a balance nor a bond is an input."""
    poor, rich = market.provider(), market.provider()
    criteria = criteria_from(RUN, 10**9, {})
    with market.tx() as tx:
        before = market.providers.selection.select(tx, criteria, market.clock.now_us(), b"s").as_json()
    market.endow(rich, 1_000_000)
    with market.tx() as tx:
        who = market.stalls[rich].who
        market.bazaar.bonds.add(tx, who, market.providers.get(tx, rich), 500_000_000, "all")
    with market.tx() as tx:
        after = market.providers.selection.select(tx, criteria, market.clock.now_us(), b"s").as_json()
    assert after == before
    assert poor != rich
