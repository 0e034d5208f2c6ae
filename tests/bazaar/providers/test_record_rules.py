"""Tiers and reputation, as plain arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import record_rules
from choir.bazaar.providers.model import ONE_BPS
from choir.bazaar.providers.record_rules import BuyerSums, Fact, Record
from tests.bazaar.providers.stalls import RUN, TEXT

POLICY = ProvidersPolicy(bond_msat=0)  # what a bond changes is in test_bonds


def record(passed: int, failed: int, buyers: int) -> Record:
    return Record(tier_weight=(passed + failed) * ONE_BPS, tier_passed_weight=passed * ONE_BPS, buyers=buyers)


@pytest.mark.parametrize(
    ("passed", "failed", "buyers", "tier"),
    [
        (0, 0, 0, 0),
        (99, 0, 60, 0),
        (100, 0, 10, 1),
        (100, 11, 10, 1),  # 90.09 %
        (100, 12, 10, 0),  # 89.3 %
        (900, 100, 60, 1),  # exactly 90 %
        (899, 100, 60, 0),
        (100, 0, 9, 0),
        (499, 0, 60, 1),
        (500, 0, 30, 2),
        (500, 26, 30, 2),  # 95.06 %
        (500, 27, 30, 1),  # 94.9 %
        (950, 50, 60, 2),  # exactly 95 %
        (500, 0, 29, 1),
        (999, 0, 60, 2),
        (1000, 0, 60, 3),
        (1000, 10, 60, 3),  # 99.01 %
        (1000, 11, 60, 2),  # 98.9 %
        (990, 10, 60, 2),  # 99 % but not a thousand
        (1980, 20, 60, 3),  # exactly 99 %
        (1000, 0, 59, 2),
        (100_000, 0, 9, 0),
    ],
)
def test_tiers_begin_exactly_where_they_are_said_to(passed: int, failed: int, buyers: int, tier: int) -> None:
    assert record_rules.tier(record(passed, failed, buyers), POLICY) == tier


@given(st.integers(0, 1_200), st.integers(0, 120), st.integers(0, 80))
def test_a_tier_is_reached_when_nothing_of_it_is_missing(passed: int, failed: int, buyers: int) -> None:
    found = record(passed, failed, buyers)
    there = (found.tier_passed_weight, record_rules.success_bps(found), found.buyers)
    missing = {
        number: [need.name for need in record_rules.tier_needs(number, *there, POLICY) if not need.met]
        for number in (1, 2, 3)
    }
    tier = record_rules.tier(found, POLICY)
    assert all(missing[number] for number in (1, 2, 3) if number > tier)
    assert tier == 0 or not missing[tier]


def test_a_ten_thousandth_of_a_job_is_what_is_missing() -> None:
    enough = Record(tier_weight=100 * ONE_BPS, tier_passed_weight=100 * ONE_BPS, buyers=10)
    short = Record(tier_weight=100 * ONE_BPS - 1, tier_passed_weight=100 * ONE_BPS - 1, buyers=10)
    assert (record_rules.tier(enough, POLICY), record_rules.tier(short, POLICY)) == (1, 0)


def of(*facts: Fact, **returned: int) -> Record:
    return record_rules.total(record_rules.summed(facts, returned).values(), POLICY)


def good(cluster: str, n: int = 1, price: int = 100, independence: int = ONE_BPS, type_: JobType = RUN) -> list[Fact]:
    return [Fact(cluster, type_, True, price, independence)] * n


def bad(cluster: str, n: int = 1) -> list[Fact]:
    return [Fact(cluster, RUN, False, 0, ONE_BPS)] * n


def reputation(found: Record) -> int:
    return record_rules.reputation_bps(found, POLICY)


def test_dependent_jobs_show_in_the_raw_numbers_only() -> None:
    found = of(*good("self", 1000, independence=0))
    assert (found.jobs, found.passed, found.volume) == (1000, 1000, 100_000)
    assert (found.tier_passed_weight, found.buyers, found.organic, found.voice) == (0, 0, 0, 0)
    assert record_rules.standing(found, POLICY) == record_rules.standing(Record(), POLICY)


def test_texts_count_for_reputation_and_no_tier() -> None:
    found = of(*(fact for n in range(80) for fact in good(f"b{n}", 20, type_=TEXT)))
    assert record_rules.tier(found, POLICY) == 0
    assert record_rules.success_bps(found) is None
    assert reputation(found) > 8000


def test_reputation_counts_buyers_more_than_jobs() -> None:
    one_buyer = of(*good("a", 1000))
    ten_buyers = of(*(fact for n in range(10) for fact in good(f"b{n}", 5)))
    assert reputation(one_buyer) == 5 * ONE_BPS // 25 == 2000
    assert reputation(ten_buyers) == 50 * ONE_BPS // 70
    assert reputation(Record()) == 0


def test_money_that_goes_back_takes_the_praise_with_it() -> None:
    straight, half, all_back = (of(*good("a", 10), a=back) for back in (0, 500, 1000))
    assert (straight.organic, half.organic, all_back.organic) == (1000, 500, 0)
    assert (straight.good, half.good, all_back.good) == (50_000, 25_000, 0)
    assert (straight.buyers, all_back.buyers) == (1, 0)
    assert all_back.tier_passed_weight == 0
    assert straight.volume == all_back.volume == 1000


def test_complaints_cannot_be_bought_off() -> None:
    for paid in (0, 10, 10**9):
        found = of(*good("a", 3), *bad("a", 3), *bad("b", 4), a=paid, b=paid)
        assert found.voice - found.good == 65_000  # half of five jobs, and four
        assert found.tier_weight - found.tier_passed_weight == 7 * ONE_BPS


facts = st.lists(
    st.builds(
        Fact,
        st.sampled_from("abcde"),
        st.sampled_from(JobType),
        st.booleans(),
        st.integers(0, 10**7),
        st.sampled_from([0, 2500, 5000, ONE_BPS]),
    ),
    max_size=60,
)
returns = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 10**8))


@given(facts, returns, st.randoms())
def test_a_record_is_the_same_in_any_order(found: list[Fact], back: dict[str, int], order: object) -> None:
    mixed = list(found)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    assert of(*mixed, **back) == of(*found, **back)


@given(facts, returns)
def test_all_numbers_stay_within_their_bounds(found: list[Fact], back: dict[str, int]) -> None:
    all_of_it = of(*found, **back)
    assert 0 <= all_of_it.organic <= all_of_it.volume
    assert 0 <= all_of_it.good <= all_of_it.voice <= all_of_it.weight
    assert 0 <= all_of_it.tier_passed_weight <= all_of_it.tier_weight
    assert 0 <= all_of_it.buyers <= 5
    standing = record_rules.standing(all_of_it, POLICY)
    assert 0 <= standing.reputation_bps < ONE_BPS
    assert standing.success_bps is None or 0 <= standing.success_bps <= ONE_BPS


@given(facts, returns, st.sampled_from("abcde"), st.integers(1, 50))
def test_a_passed_job_of_ones_own_never_helps(found: list[Fact], back: dict[str, int], who: str, times: int) -> None:
    before = of(*found, **back)
    after = of(*found, *good("self", times, independence=0), **back)
    assert record_rules.standing(after, POLICY) == record_rules.standing(before, POLICY)


@given(facts, returns, st.sampled_from("abcde"))
def test_paying_a_buyer_back_never_helps(found: list[Fact], back: dict[str, int], who: str) -> None:
    """Whatever is paid to a buyer, the share of what it says for the provider does not grow."""
    sums = record_rules.summed(found, back).get(who, BuyerSums())
    share = record_rules.share(sums, POLICY)
    paid = record_rules.share(sums.plus(BuyerSums(returned=1000)), POLICY)
    assert paid.good <= share.good
    assert paid.organic <= share.organic
    assert paid.tier_passed_weight <= share.tier_passed_weight
    assert paid.voice - paid.good == share.voice - share.good
