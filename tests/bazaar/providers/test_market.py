"""The market as jobs see it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from choir.bazaar.market import Chosen, Market, Outcome, Wanted
from choir.bazaar.model import JobType
from choir.bazaar.providers.market import ProviderMarket
from choir.bazaar.providers.model import BadCriteria, BadStrategy, provider_id
from choir.foundation.clock import SeededEntropy
from choir.foundation.policy import BazaarPolicy
from tests.bazaar.providers.stalls import RUN, Stalls, owner


@pytest.fixture
def market(stalls: Stalls) -> Market:
    return ProviderMarket(stalls.providers, SeededEntropy(3), BazaarPolicy())


def wanted(stalls: Stalls, *tried: UUID, strategy: dict[str, Any] | None = None, **criteria: Any) -> Wanted:
    return Wanted(stalls.new_job(), RUN, owner(90), 10**9, strategy or {}, criteria, tried, 0)


def choose(stalls: Stalls, market: Market, asked: Wanted) -> list[Chosen]:
    with stalls.tx() as tx:
        return market.choose(tx, asked, stalls.clock.now_us())


def test_a_choice_has_a_slot_terms_and_an_explanation(stalls: Stalls, market: Market) -> None:
    made, asked = stalls.stall(1, capacity=1), wanted(stalls)
    (chosen,) = choose(stalls, market, asked)
    assert (chosen.provider, chosen.owner, chosen.terms.base) == (made.id, owner(1), 200_000)
    assert chosen.explanation["total"] == sum(part["points"] for part in chosen.explanation["components"])
    assert choose(stalls, market, wanted(stalls)) == []
    with stalls.tx() as tx:
        market.let_go(tx, made.id, asked.job)
        market.let_go(tx, made.id, asked.job)
    assert len(choose(stalls, market, wanted(stalls))) == 1


def test_nobody_is_asked_twice_for_one_job(stalls: Stalls, market: Market) -> None:
    a, b = stalls.stall(1).id, stalls.stall(2).id
    assert [one.provider for one in choose(stalls, market, wanted(stalls, a))] == [b]
    assert choose(stalls, market, wanted(stalls, a, b)) == []
    assert choose(stalls, market, wanted(stalls, providers=[provider_id(a)])) != []


def test_races_and_odd_wishes(stalls: Stalls, market: Market) -> None:
    for n in (1, 2, 3):
        stalls.stall(n)
    race = {"kind": "race", "count": 2}
    assert (market.racing(race), market.racing({})) == (2, 1)
    assert len(choose(stalls, market, wanted(stalls, strategy=race))) == 2
    with pytest.raises(BadStrategy):
        market.racing({"kind": "luck"})
    with pytest.raises(BadCriteria):
        choose(stalls, market, wanted(stalls, luck=1))


def test_outcomes_are_recorded_and_overturned(stalls: Stalls, market: Market) -> None:
    made, job = stalls.stall(1).id, stalls.new_job()
    now_us = stalls.clock.now_us()
    with stalls.tx() as tx:
        market.record(tx, Outcome(job, JobType.SANDBOX_RUN, made, owner(90), True, 500, 7, now_us, ""))
        assert stalls.providers.view(tx, made).market.success_bps == 10_000
        market.overturn(tx, made, job, passed=False, at_us=now_us + 1)
        market.overturn(tx, made, UUID(int=999), passed=False, at_us=now_us + 1)
        seen = stalls.providers.view(tx, made)
        assert (seen.jobs, seen.raw_volume, seen.market.success_bps) == (1, 500, 0)
        market.overturn(tx, made, job, passed=True, at_us=now_us + 2)
        assert stalls.providers.view(tx, made).market.success_bps == 10_000
        assert market.gone(tx, [made], now_us + 10**9) == {made}
    assert not stalls.rebuild(made)
