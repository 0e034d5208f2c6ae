"""Prices: which counts, how far the governed one moves, and who may move it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.clock import MICROSECONDS
from choir.ledger.model import ConflictingKey
from choir.storage.database import Tx
from choir.treasury.oracle import rules
from choir.treasury.oracle.model import PriceEnded, PriceMovesTooFar, PriceNeedsAnother, PriceState, Quote, UnknownPrice
from choir.treasury.oracle.service import Oracle
from choir.treasury.policy import TreasuryPolicy
from tests.treasury.vault import DAY_S, DAY_US, START_US, Vault

POLICY = TreasuryPolicy()
NOW = 1_000 * DAY_US


def quote(price: int, days_ago: float = 0, source: str = "a") -> Quote:
    return Quote(price, NOW - int(days_ago * DAY_US), source)


@pytest.mark.parametrize(
    ("prices", "middle"), [([5], 5), ([5, 9], 5), ([9, 5, 7], 7), ([1, 2, 3, 1_000], 2), ([0, 0, 4], 0)]
)
def test_the_median_counts(prices: list[int], middle: int) -> None:
    found = rules.price_of([quote(price) for price in prices], None, NOW, POLICY)
    assert found is not None
    assert (found.micro_usdc, found.stale) == (middle, False)


def test_nobody_says_anything() -> None:
    assert rules.price_of([], None, NOW, POLICY) is None


def test_stale_sources_are_left_out() -> None:
    found = rules.price_of([quote(5), quote(9, 92), quote(900, 93)], None, NOW, POLICY)
    assert found is not None
    assert (found.micro_usdc, found.stale) == (5, False)


def test_the_last_valid_price_counts_as_stale() -> None:
    old = rules.price_of([quote(4, 100), quote(9, 94), quote(7, 200)], None, NOW, POLICY)
    assert old is not None
    assert (old.micro_usdc, old.stale) == (9, True)
    noted = rules.price_of([quote(9, 94)], quote(8, 95, "oracle"), NOW, POLICY)
    assert noted is not None
    assert (noted.micro_usdc, noted.stale) == (8, True)


def test_a_source_that_jumps_is_not_believed_for_a_while() -> None:
    last = quote(100, 1, "oracle")
    calm = rules.price_of([quote(125), quote(400), quote(20)], last, NOW, POLICY)
    assert calm is not None
    assert (calm.micro_usdc, calm.stale) == (125, False)
    wild = rules.price_of([quote(126), quote(74)], last, NOW, POLICY)
    assert wild is not None
    assert (wild.micro_usdc, wild.stale) == (100, True)
    later = rules.price_of([quote(126)], quote(100, 31, "oracle"), NOW, POLICY)
    assert later is not None
    assert (later.micro_usdc, later.stale) == (126, False)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), st.integers(1, 10**9))
def test_no_price_is_further_than_ten_percent_from_any_of_the_window(within: list[int], asked: int) -> None:
    fits = all(10 * price * 9 <= 100 * asked <= 11 * price * 10 for price in within)
    try:
        rules.check_move(asked, within, POLICY)
    except PriceMovesTooFar:
        assert not fits
    else:
        assert fits


def change(vault: Vault, price: int, *, by: str = "operator", key: str | None = None) -> object:
    name = key or vault.key()
    return vault.write(lambda tx: vault.governed.change(tx, by, price, reason="a test", key=name))[0]


def price_now(vault: Vault) -> tuple[int, bool]:
    with vault.tx() as tx:
        found = vault.oracle.price(tx, vault.clock.now_us())
    assert found is not None
    return found.micro_usdc, found.stale


def test_it_begins_with_the_price_of_the_genesis(vault: Vault) -> None:
    assert price_now(vault) == (500_000, False)
    vault.begin()
    assert price_now(vault) == (500_000, False)


def test_it_moves_at_most_so_far_in_a_window(vault: Vault) -> None:
    with pytest.raises(PriceMovesTooFar):
        change(vault, 550_001)
    change(vault, 550_000)
    vault.clock.advance(29 * DAY_S)
    for asked in (550_001, 494_999):
        with pytest.raises(PriceMovesTooFar):
            change(vault, asked)
    change(vault, 495_000)
    vault.clock.advance(DAY_S + 1)  # the genesis' price is outside now, the 550000 is not yet
    for asked in (494_999, 544_501):
        with pytest.raises(PriceMovesTooFar):
            change(vault, asked)
    vault.clock.advance(30 * DAY_S)
    change(vault, 445_500)
    assert price_now(vault) == (445_500, False)
    assert [event["price"] for event in vault.events("treasury.price.changed")] == ["550000", "495000", "445500"]


def test_the_same_key_changes_once(vault: Vault) -> None:
    first = change(vault, 510_000, key="a")
    assert change(vault, 510_000, key="a") == first
    with pytest.raises(ConflictingKey):
        change(vault, 511_000, key="a")
    with vault.tx() as tx:
        assert [item.micro_usdc for item in vault.governed.history(tx, before=None, limit=9)] == [510_000, 500_000]


def test_a_price_that_nobody_confirms_becomes_stale(vault: Vault) -> None:
    vault.begin()
    vault.clock.advance(92 * DAY_S)
    assert price_now(vault) == (500_000, False)
    vault.clock.advance(1)
    assert price_now(vault) == (500_000, True)
    change(vault, 500_000)
    assert price_now(vault) == (500_000, False)


def test_in_production_another_operator_must_agree(public_vault: Vault) -> None:
    vault = public_vault
    proposed = change(vault, 550_000, by="operator:ada", key="a")
    assert vault.governed.state(proposed) is PriceState.OPEN  # type: ignore[arg-type]
    assert price_now(vault) == (500_000, False)
    id_ = proposed.id  # type: ignore[attr-defined]

    def approve(by: str, since_us: int | None = 0) -> object:
        return vault.write(lambda tx: vault.governed.approve(tx, by, id_, lambda _: since_us))

    with pytest.raises(PriceNeedsAnother):
        approve("operator:ada")
    for since_us in (None, START_US + 1):  # the proposer is no operator any more, or somebody else has their name
        with pytest.raises(PriceEnded):
            approve("operator:bob", since_us)
    approve("operator:bob")
    approve("operator:bob")
    with pytest.raises(PriceEnded):
        approve("operator:eve")
    assert price_now(vault) == (550_000, False)
    assert len(vault.events("treasury.price.changed")) == 1


def test_a_proposed_price_expires_and_is_checked_again(public_vault: Vault) -> None:
    vault = public_vault
    first, second = (change(vault, price, by="operator:ada") for price in (550_000, 450_000))
    vault.write(lambda tx: vault.governed.approve(tx, "operator:bob", first.id, lambda _: 0))  # type: ignore[attr-defined]
    with pytest.raises(PriceMovesTooFar):
        vault.write(lambda tx: vault.governed.approve(tx, "operator:bob", second.id, lambda _: 0))  # type: ignore[attr-defined]
    vault.clock.advance(7 * DAY_S)
    with pytest.raises(PriceEnded):
        vault.write(lambda tx: vault.governed.approve(tx, "operator:bob", second.id, lambda _: 0))  # type: ignore[attr-defined]
    with pytest.raises(UnknownPrice), vault.tx() as tx:
        vault.governed.get(tx, vault.node.outbox.new_id(0))


@dataclass
class Ticker:
    """A source that says what the test wants."""

    said: list[Quote] = field(default_factory=list)

    def quote(self, _: Tx, at_us: int) -> Quote | None:
        return next((item for item in reversed(self.said) if item.at_us <= at_us), None)


def test_several_sources_and_what_was_valid_before(vault: Vault) -> None:
    ticker = Ticker()
    oracle = Oracle((ticker,), vault.clock, POLICY)
    now_us = vault.clock.now_us()
    with vault.tx() as tx:
        assert oracle.price(tx, now_us) is None
        oracle.note(tx)
        ticker.said.append(Quote(100, now_us, "ticker"))
        oracle.note(tx)
        oracle.note(tx)
        ticker.said.append(Quote(900, now_us + MICROSECONDS, "ticker"))
        vault.clock.advance(2)
        wild = oracle.price(tx, vault.clock.now_us())
        oracle.note(tx)
        before = oracle.price(tx, now_us)
    assert wild is not None
    assert (wild.micro_usdc, wild.stale) == (100, True)
    assert before is not None
    assert (before.micro_usdc, before.stale) == (100, False)
