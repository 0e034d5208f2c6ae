"""The citation rate: the arithmetic, what it is computed from, and that it is fixed once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.ledger.model import Draft, Leg
from choir.treasury import months
from choir.treasury.accounts import DEBT, HOLDINGS
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates import explanation, store
from choir.treasury.rates.model import NoRate, RateInputs, RateNotYet
from choir.treasury.rates.rules import PPM, figures_of
from tests.treasury.vault import DAY_S, USDC, Vault, at, task

CHIP = 1_000_000
_P = TreasuryPolicy()
BASE = RateInputs(
    as_of_us=0,
    holdings_chip=5_000_000 * CHIP,
    price=500_000,
    price_at_us=0,
    price_source="governed",
    price_stale=False,
    debt=0,
    owed=0,
    last_month_ppm=0,
    months_ppm=0,
    months=0,
    capacity_bps=_P.capacity_bps,
    citation_budget_bps=_P.citation_budget_bps,
    impact_budget_bps=_P.impact_budget_bps,
    stale_price_bps=_P.stale_price_bps,
    citations_floor=_P.citations_floor,
    rate_cap=_P.rate_cap,
)


@pytest.mark.parametrize(
    ("holdings", "price", "citations"),
    [(5_000_000, 500_000, 1_500), (10_000_000, 2_500_000, 15_000), (25_000_000, 10_000_000, 150_000)],
)
def test_the_three_cases(holdings: int, price: int, citations: int) -> None:
    inputs = replace(BASE, holdings_chip=holdings * CHIP, price=price, last_month_ppm=citations * PPM)
    assert figures_of(inputs).rate == 5 * USDC


@pytest.mark.parametrize(
    ("changes", "rate"),
    [
        ({}, 5_000_000),
        ({"price": 0}, 0),
        ({"price": None}, 0),
        ({"holdings_chip": 0}, 0),
        ({"price_stale": True}, 4_000_000),
        ({"debt": 750_000 * USDC}, 0),
        ({"debt": 900_000 * USDC}, 0),
        ({"debt": 375_000 * USDC}, 2_500_000),
        ({"owed": 7_500 * USDC}, 0),
        ({"owed": 9_000 * USDC}, 0),
        ({"owed": 1}, 4_999_999),
        ({"price": 50_000_000}, 20_000_000),
        ({"last_month_ppm": 1_499 * PPM}, 5_000_000),
        ({"last_month_ppm": 3_000 * PPM}, 2_500_000),
        ({"months_ppm": 9_000 * PPM, "months": 3}, 2_500_000),
        ({"months_ppm": 9_000 * PPM, "months": 2}, 1_666_666),
        ({"months_ppm": 9_000 * PPM, "months": 3, "last_month_ppm": 6_000 * PPM}, 1_250_000),
        ({"last_month_ppm": 1_500 * PPM + 1}, 4_999_999),
    ],
)
def test_each_input_counts(changes: dict[str, int], rate: int) -> None:
    assert figures_of(replace(BASE, **changes)).rate == rate  # type: ignore[arg-type]


def test_the_impact_pool_stands_beside_the_budget() -> None:
    figures = figures_of(BASE)
    assert (figures.capacity, figures.budget, figures.impact) == (750_000 * USDC, 7_500 * USDC, 1_500 * USDC)


amounts = st.integers(0, 10**15)


@given(
    holdings=amounts, price=amounts, debt=amounts, owed=amounts, last=amounts, total=amounts, count=st.integers(0, 3)
)
def test_a_rate_never_promises_more_than_its_budget(
    holdings: int, price: int, debt: int, owed: int, last: int, total: int, count: int
) -> None:
    inputs = replace(
        BASE, holdings_chip=holdings, price=price, debt=debt, owed=owed, last_month_ppm=last, months_ppm=total,
        months=count,
    )  # fmt: skip
    figures = figures_of(inputs)
    assert 0 <= figures.rate <= inputs.rate_cap
    assert figures.rate * figures.expected_ppm <= figures.free * PPM
    assert figures.free <= max(0, figures.budget - owed)


def test_months() -> None:
    assert months.month_of(at(2026, 12) - 1) == "2026-11"
    assert months.month_of(at(2026, 12)) == "2026-12"
    assert months.start_us("2026-12") == at(2026, 12)
    assert [months.before("2026-02", n) for n in (-11, -1, 0, 1, 2, 14)] == [
        "2027-01", "2026-03", "2026-02", "2026-01", "2025-12", "2024-12",
    ]  # fmt: skip
    assert months.between("2025-11", "2026-02") == 3
    for text in ("2026-13", "2026-00", "0000-01", "26-01", "2026-1", "٢٠٢٦-01", "2026-011"):
        with pytest.raises(Invalid):
            months.parse_month(text)


def test_the_first_month_counts_from_the_genesis(vault: Vault) -> None:
    rate = vault.write(vault.rates.now)
    assert (rate.month, rate.micro_usdc) == ("2026-11", 5 * USDC)
    assert rate.inputs.as_of_us == vault.clock.now_us()
    assert rate.policy == vault.node.policy_hash


def test_it_is_fixed_once_whatever_happens_later(vault: Vault) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [done.result() for done in [pool.submit(vault.write, vault.rates.now) for _ in range(4)]]
    assert len(set(map(repr, found))) == 1
    vault.write(lambda tx: vault.governed.change(tx, "operator", 550_000, reason="a test", key="k"))
    assert vault.write(vault.rates.now) == found[0]
    [event] = vault.events("treasury.rate.fixed")
    assert (event["month"], event["rate"], event["inputs"]["price"]) == ("2026-11", "5000000", "500000")


def test_looking_ahead_writes_nothing_and_tells_what_will_be_fixed(vault: Vault) -> None:
    with vault.tx() as tx:
        assert vault.rates.preview(tx, "2026-11") is None
        assert vault.treasury.genesis(tx) is None
    first = vault.write(vault.rates.now)
    vault.clock.at_us = at(2026, 12)
    with vault.tx() as tx:
        seen = vault.rates.preview(tx, "2026-12")
        assert vault.rates.preview(tx, "2026-11") == first
    assert [event["month"] for event in vault.events("treasury.rate.fixed")] == ["2026-11"]
    assert vault.write(vault.rates.now) == seen


def test_a_month_counts_what_was_true_when_it_began(vault: Vault) -> None:
    vault.begin()
    vault.clock.at_us = at(2026, 12) - 1
    vault.write(lambda tx: vault.governed.change(tx, "operator", 525_000, reason="a test", key="a"))
    vault.clock.at_us = at(2026, 12)
    vault.write(lambda tx: vault.governed.change(tx, "operator", 550_000, reason="a test", key="b"))

    def spend(tx: object) -> None:
        leg = Leg(HOLDINGS, "treasury:main/insurance/CHIP", 1_000_000 * CHIP)
        vault.node.ledger.post(tx, Draft("move", "a test", "test", "k", (leg,)))  # type: ignore[arg-type]

    vault.write(spend)
    rate = vault.write(vault.rates.now)
    assert (rate.inputs.holdings_chip, rate.inputs.price) == (5_000_000 * CHIP, 525_000)
    assert rate.micro_usdc == 5_250_000
    vault.clock.at_us = at(2027, 1)
    rate = vault.write(vault.rates.now)
    assert (rate.inputs.holdings_chip, rate.micro_usdc) == (4_000_000 * CHIP, 4_400_000)


def test_a_month_that_nobody_asked_for_can_be_asked_for_later(vault: Vault) -> None:
    vault.begin()
    vault.clock.at_us = at(2027, 2, 3)
    assert vault.write(lambda tx: vault.rates.of(tx, at(2026, 12, 31))).month == "2026-12"
    with pytest.raises(NoRate):
        vault.write(lambda tx: vault.rates.of_month(tx, "2026-10"))
    with pytest.raises(RateNotYet):
        vault.write(lambda tx: vault.rates.of_month(tx, "2027-03"))
    vault.write(vault.rates.now)
    with vault.tx() as tx:
        assert [rate.month for rate in vault.rates.history(tx, before=None, limit=9)] == ["2027-02", "2026-12"]
        assert [rate.month for rate in vault.rates.history(tx, before="2027-02", limit=9)] == ["2026-12"]
        assert vault.rates.fixed(tx, "2027-01") is None


def test_volumes_of_few_months(vault: Vault) -> None:
    """Divided by the months there are, from the first with a citation on."""
    vault.begin()
    with vault.tx() as tx:
        store.add_volume(tx, "2026-12", 4_000 * PPM)
        store.add_volume(tx, "2026-12", 2_000 * PPM)
    expected = {"2026-12": 1_500, "2027-01": 6_000, "2027-02": 3_000, "2027-03": 2_000, "2027-04": 1_500}
    for month, citations in expected.items():
        vault.clock.at_us = months.start_us(month)
        vault.write(lambda tx, m=month: vault.governed.change(tx, "operator", 500_000, reason="as before", key=m))  # type: ignore[misc]
        rate = vault.write(vault.rates.now)
        assert (rate.month, rate.figures.expected_ppm) == (month, citations * PPM)
        assert rate.micro_usdc == 7_500 * USDC // citations


def test_a_stale_price_counts_less(vault: Vault) -> None:
    vault.begin()
    vault.clock.at_us = at(2027, 4)
    rate = vault.write(vault.rates.now)
    assert (rate.inputs.price, rate.inputs.price_stale, rate.micro_usdc) == (500_000, True, 4 * USDC)
    assert any("stale" in sentence for sentence in explanation.sentences(rate))


def test_debt_is_read_from_an_account(vault: Vault) -> None:
    mint = "system:node/issuance/USDC"
    vault.begin()

    def lend(tx: object) -> None:
        vault.node.accounts.open(tx, [mint, DEBT], reason="a test", source="test")  # type: ignore[arg-type]
        leg = Leg(mint, DEBT, 375_000 * USDC)
        vault.node.ledger.post(tx, Draft("lend", "a test", "test", "k", (leg,)))  # type: ignore[arg-type]

    vault.write(lend)
    vault.clock.at_us = at(2026, 12)
    rate = vault.write(vault.rates.now)
    assert (rate.inputs.debt, rate.micro_usdc) == (375_000 * USDC, 2_500_000)


def test_what_is_owed_comes_first(vault: Vault) -> None:
    vault.pay({vault.owner(): 1_500 * USDC})
    vault.clock.at_us = at(2026, 12, 5)
    vault.fund(600 * USDC)
    vault.tend()  # paid in December: when the month began, all of it was owed
    rate = vault.write(vault.rates.now)
    assert (rate.inputs.owed, rate.micro_usdc) == (1_500 * USDC, 4 * USDC)
    vault.clock.at_us = at(2027, 1)
    assert vault.write(vault.rates.now).inputs.owed == 900 * USDC


def test_the_task_fixes_the_rate_of_a_treasury_that_has_begun(vault: Vault) -> None:
    with vault.tx() as tx:
        vault.rounds.fix_rate(tx, task("treasury.rate"))
    assert vault.events("treasury.rate.fixed") == []
    vault.begin()
    for _ in range(2):
        with vault.tx() as tx:
            vault.rounds.fix_rate(tx, task("treasury.rate"))
    vault.clock.advance(31 * DAY_S)
    with vault.tx() as tx:
        vault.rounds.fix_rate(tx, task("treasury.rate"))
    assert [event["month"] for event in vault.events("treasury.rate.fixed")] == ["2026-11", "2026-12"]


def test_the_rate_in_sentences(vault: Vault) -> None:
    told = explanation.sentences(vault.write(vault.rates.now))
    assert "pays 5.000000 USDC in 2026-11" in told[0]
    assert any("5000000.000000 CHIP × 0.500000 USDC × 30 % = 750000.000000 USDC" in each for each in told)
    assert any("7500.000000 ÷ 1500 = 5.000000 USDC" in each for each in told)
