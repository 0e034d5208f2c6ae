"""Prices and shares, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement.pricing import Terms

POLICY = BazaarPolicy()


@pytest.mark.parametrize("skill", [False, True])
@pytest.mark.parametrize("referrer", [False, True])
def test_shares_add_up_for_every_small_amount(skill: bool, referrer: bool) -> None:
    for amount in range(100_001):
        shares = pricing.shares(amount, POLICY, skill=skill, referrer=referrer)
        assert shares.total == amount
        assert min(shares.provider, shares.platform, shares.skill, shares.referrer) >= 0
        assert shares.platform >= min(amount, POLICY.platform_msat_min)


@given(
    amount=st.integers(0, 2**53),
    platform=st.integers(0, 10_000),
    skill=st.integers(0, 10_000),
    referrer=st.integers(0, 10_000),
    least=st.integers(0, 10**9),
)
def test_shares_add_up_for_any_split(amount: int, platform: int, skill: int, referrer: int, least: int) -> None:
    policy = BazaarPolicy(platform_bps=platform, skill_bps=skill, referrer_bps=referrer, platform_msat_min=least)
    shares = pricing.shares(amount, policy, skill=True, referrer=True)
    assert shares.total == amount
    assert min(shares.provider, shares.platform, shares.skill, shares.referrer) >= 0


def test_the_usual_split() -> None:
    whole = pricing.shares(10_000_000, POLICY, skill=True, referrer=True)
    assert (whole.provider, whole.skill, whole.platform, whole.referrer) == (7_000_000, 1_500_000, 1_000_000, 500_000)
    alone = pricing.shares(10_000_000, POLICY)
    assert (alone.provider, alone.platform) == (9_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("units_milli", "ceiling", "price"),
    [
        (0, 10**9, 3_000_000),
        (1_000, 10**9, 3_100_000),
        (1_500, 10**9, 3_150_000),
        (170_000, 10**9, 20_000_000),
        (10**9, 10**9, 20_000_000),
        (1_000, 3_050_000, 3_050_000),
    ],
)
def test_a_price_is_never_above_the_book_or_the_ceiling(units_milli: int, ceiling: int, price: int) -> None:
    assert pricing.price(Terms(3_000_000, 100_000, 20_000_000), units_milli, ceiling) == price


@given(held=st.integers(0, 10**12), racing=st.integers(1, 20))
def test_a_race_leaves_room_for_everyone_who_loses(held: int, racing: int) -> None:
    ceiling = pricing.ceiling(held, racing, POLICY)
    for bps in (POLICY.lost_race_bps, POLICY.hidden_fee_bps):
        assert ceiling + (racing - 1) * pricing.part(ceiling, bps) <= held
