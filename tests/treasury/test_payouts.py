"""Citation payouts: paid or owed, first come first served, taken back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from choir.foundation.errors import Invalid
from choir.foundation.findings import Finding
from choir.ledger.model import ConflictingKey
from choir.treasury.accounts import CITATION_POOL
from choir.treasury.feature import FEATURE
from choir.treasury.payouts import store
from choir.treasury.rates import store as rate_store
from tests.treasury.vault import DAY_S, Vault, at


def owed(vault: Vault) -> int:
    with vault.tx() as tx:
        now, at_clock = store.owed_now(tx)[0], store.owed_at(tx, vault.clock.now_us())
    assert now == at_clock
    return now


def vesting(vault: Vault, owner: str) -> int:
    return vault.balance(f"{owner}/vesting.citation/USDC")


def volume(vault: Vault) -> dict[str, int]:
    with vault.tx() as tx:
        return rate_store.volumes(tx, "2000-01", "2999-12")


def test_paid_at_once_and_once(vault: Vault) -> None:
    vault.fund(100)
    ada, bob = vault.owner(), vault.owner()
    first = vault.pay({ada: 60, bob: 30}, key="a", weight_ppm=500_000)
    assert (first.paid, first.owed) == (90, 0)
    assert vault.pay({ada: 60, bob: 30}, key="a", weight_ppm=500_000) == first
    assert (vesting(vault, ada), vesting(vault, bob), vault.balance(CITATION_POOL)) == (60, 30, 10)
    assert volume(vault) == {"2026-11": 500_000}
    for changes in ({"weight_ppm": 1}, {"subject": "other"}, {"month": "2026-12"}, {"starts_us": 1}):
        with pytest.raises(ConflictingKey):
            vault.pay({ada: 60, bob: 30}, **({"key": "a", "weight_ppm": 500_000} | changes))
    with pytest.raises(ConflictingKey):
        vault.pay({ada: 61, bob: 30}, key="a", weight_ppm=500_000)
    with pytest.raises(Invalid):
        vault.pay({ada: 1}, month="2026-13")
    vault.later(30 * DAY_S)
    assert vault.balance(f"{ada}/available/USDC") == 60


def test_at_once_by_many(vault: Vault) -> None:
    vault.fund(100)
    ada, now_us = vault.owner(), vault.clock.now_us()
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(vault.pay, {ada: 60}, key="a", starts_us=now_us) for _ in range(4)]
        assert len({each.result().id for each in done}) == 1
    assert (vesting(vault, ada), volume(vault)) == (60, {"2026-11": 1_000_000})


def test_nothing_to_pay_still_counts(vault: Vault) -> None:
    assert vault.pay({vault.owner(): 0}).shares == ()
    assert volume(vault) == {"2026-11": 1_000_000}


def test_who_came_first_is_paid_first(vault: Vault) -> None:
    vault.fund(50)
    ada, bob, eve = vault.owner(), vault.owner(), vault.owner()
    first = vault.pay({ada: 40, bob: 40})
    assert (first.paid, first.owed) == (50, 30)
    assert [event["amount"] for event in vault.events("treasury.payout.owed")] == ["30"]
    vault.pay({eve: 20})
    assert owed(vault) == 50
    vault.fund(10)
    assert vault.pay({eve: 5}, key="late").owed == 5  # there is something, but others wait for it
    vault.tend()
    assert [vesting(vault, each) for each in (ada, bob, eve)] == [40, 20, 0]
    vault.fund(25)
    vault.tend()
    vault.tend()
    assert [vesting(vault, each) for each in (ada, bob, eve)] == [40, 40, 5]
    vault.fund(100)
    vault.tend()
    assert [vesting(vault, each) for each in (ada, bob, eve)] == [40, 40, 25]
    assert (owed(vault), vault.balance(CITATION_POOL)) == (0, 80)


def test_what_is_paid_late_vests_from_its_day(vault: Vault) -> None:
    ada = vault.owner()
    vault.pay({ada: 300})
    vault.clock.advance(10 * DAY_S)
    vault.fund(300)
    vault.tend()
    vault.tend()
    assert vault.balance(f"{ada}/available/USDC") == 100


def test_taken_back(vault: Vault) -> None:
    vault.fund(300)
    ada, bob, eve = vault.owner(), vault.owner(), vault.owner()
    vault.pay({ada: 300, bob: 100})
    vault.pay({eve: 70}, subject="citation_b")
    vault.later(10 * DAY_S)
    taken = vault.write(lambda tx: vault.payouts.take_back(tx, "citation_a", "retracted"))
    assert (taken.clawed, taken.cancelled) == (200, 100)
    again = vault.write(lambda tx: vault.payouts.take_back(tx, "citation_a", "retracted"))
    assert (again.clawed, again.cancelled, owed(vault)) == (0, 0, 70)
    vault.later(1)
    assert (vesting(vault, eve) + vault.balance(f"{eve}/available/USDC"), owed(vault)) == (70, 0)
    assert (vesting(vault, ada), vesting(vault, bob), vault.balance(f"{ada}/available/USDC")) == (0, 0, 100)
    assert vault.balance(CITATION_POOL) == 130


def test_the_report_of_a_month(vault: Vault) -> None:
    vault.fund(100)
    ada = vault.owner()
    vault.pay({ada: 80})
    vault.pay({ada: 50}, subject="citation_b")
    with vault.tx() as tx:
        report = vault.payouts.report(tx)
    assert (report.month, report.balance, report.spent) == ("2026-11", 0, 100)
    assert (report.owed, report.owed_shares, report.weight_ppm) == (30, 1, 2_000_000)
    vault.clock.at_us = at(2026, 12)
    with vault.tx() as tx:
        assert vault.payouts.report(tx).spent == 0


def test_the_doctor_tells_what_is_owed(vault: Vault) -> None:
    def findings() -> list[Finding]:
        assert FEATURE.check_database is not None
        with vault.tx() as tx:
            return list(FEATURE.check_database(vault.node.settings, tx))

    assert findings() == []
    vault.pay({vault.owner(): 1_500_000})
    [found] = findings()
    assert found.told == "1.500000 USDC are owed for citations, in 1 share"
    with vault.tx() as tx:
        assert [gauge.read(vault.node, tx) for gauge in FEATURE.gauges] == [1_500_000, 0]
