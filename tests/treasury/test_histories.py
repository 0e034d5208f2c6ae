"""Random lives of grants and payouts, with crashes in the middle, doubles and races: value is conserved."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from choir.foundation.errors import ChoirError
from choir.foundation.money import Asset
from choir.ledger import queries
from choir.ledger.verification import verify_database
from choir.storage.database import Tx
from choir.treasury.accounts import CITATION_POOL, HOLDINGS
from choir.treasury.payouts import store as payout_store
from choir.treasury.vesting.model import GrantKind
from tests.depth import times
from tests.treasury.vault import DAY_S, DAY_US, Vault

EXAMPLES = times(8, 60)
ways = st.sampled_from(["once", "once", "twice", "together", "killed"])
places = st.integers(0, 5)
amounts = st.integers(1, 10_000)


class Killed(Exception):
    """The process dies before it commits."""


class Histories(RuleBasedStateMachine):
    """Steps of whoever pays, the scheduler and operators, in any order, each done once or badly."""

    vault: ClassVar[Vault]

    @initialize()
    def people_come(self) -> None:
        self.vault.begin()
        self.owners = [self.vault.owner() for _ in range(3)]
        self.subjects = [f"subject{self.vault.key()}" for _ in range(3)]

    def step(self, work: Callable[[Tx], object], how: str) -> None:
        """Do the work once, twice, at the same time as itself, or die just before the commit and do it again."""
        if how == "killed":
            try:
                with self.vault.tx() as tx:
                    work(tx)
                    raise Killed  # noqa: TRY301 - this is where it dies
            except (Killed, ChoirError):
                pass
        if how == "together":
            with ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(self._do, work) for _ in range(2)]:
                    done.result()
            return
        for _ in range(2 if how == "twice" else 1):
            self._do(work)

    def _do(self, work: Callable[[Tx], object]) -> None:
        try:
            self.vault.write(work)
        except ChoirError:
            return  # a refusal writes nothing, which the invariants look at

    def owner(self, n: int) -> str:
        return self.owners[n % len(self.owners)]

    def subject(self, n: int) -> str:
        return self.subjects[n % len(self.subjects)]

    @rule(amount=amounts, how=ways)
    def fund(self, amount: int, how: str) -> None:
        key, treasury = self.vault.key(), self.vault.treasury
        self.step(lambda tx: treasury.fund(tx, "operator", amount, reason="a test", key=key), how)

    @rule(n=places, m=places, a=amounts, b=st.integers(0, 500), how=ways)
    def pay(self, n: int, m: int, a: int, b: int, how: str) -> None:
        key, starts_us = self.vault.key(), self.vault.clock.now_us()
        shares = {self.owner(n): a, self.owner(n + 1): b}
        self.step(
            lambda tx: self.vault.payouts.pay(
                tx, key=key, shares=shares, weight_ppm=7, month="2026-11", subject=self.subject(m), starts_us=starts_us
            ),
            how,
        )

    @rule(n=places, m=places, amount=amounts, days=st.integers(1, 90), wait=st.integers(0, 40), how=ways)
    def grant(self, n: int, m: int, amount: int, days: int, wait: int, how: str) -> None:
        key, now_us = self.vault.key(), self.vault.clock.now_us()
        self.step(
            lambda tx: self.vault.vesting.grant(
                tx,
                owner=self.owner(n),
                asset=Asset.CHIP,
                amount=amount,
                source_account=HOLDINGS,
                kind=GrantKind.NOVELTY,
                subject=self.subject(m),
                starts_us=now_us,
                days=days,
                key=key,
                reason="a test",
                not_before_us=now_us + wait * DAY_US if wait else None,
            ),
            how,
        )

    @rule(days=st.integers(0, 40), how=ways)
    def time_passes(self, days: int, how: str) -> None:
        vault = self.vault
        vault.clock.advance(days * DAY_S)
        with vault.tx() as tx:
            due, owed = vault.vesting.due(tx, 50), vault.payouts.payable(tx, 50)
        for id_ in due:
            self.step(lambda tx, id_=id_: vault.vesting.vest(tx, id_), how)  # type: ignore[misc]
        for n in owed:
            self.step(lambda tx, n=n: vault.payouts.pay_owed(tx, n), how)  # type: ignore[misc]

    @rule(n=places, how=ways)
    def take_back(self, n: int, how: str) -> None:
        self.step(lambda tx: self.vault.payouts.take_back(tx, self.subject(n), "retracted"), how)

    @rule(n=places, m=places, part=st.none() | amounts, how=ways)
    def claw_back(self, n: int, m: int, part: int | None, how: str) -> None:
        with self.vault.tx() as tx:
            found = self.vault.vesting.by_subject(tx, self.subject(n))
        if found:
            id_, key = found[m % len(found)].id, self.vault.key()
            self.step(lambda tx: self.vault.vesting.claw_back(tx, id_, "a test", part, key=key), how)

    @rule(n=places, m=places, days=st.integers(1, 60), how=ways)
    def shorten(self, n: int, m: int, days: int, how: str) -> None:
        with self.vault.tx() as tx:
            found = self.vault.vesting.by_subject(tx, self.subject(n))
        if found:
            id_ = found[m % len(found)].id
            self.step(lambda tx: self.vault.vesting.shorten(tx, id_, days), how)

    @rule(n=places, cause=st.sampled_from(["a", "b"]), on=st.booleans(), how=ways)
    def freeze(self, n: int, cause: str, on: bool, how: str) -> None:
        act = self.vault.vesting.freeze if on else self.vault.vesting.unfreeze
        self.step(lambda tx: act(tx, self.subject(n), cause), how)

    @rule(n=places, role=st.sampled_from(["available", "vesting.citation", "vesting.novelty"]), on=st.booleans())
    def freeze_account(self, n: int, role: str, on: bool) -> None:
        asset = "CHIP" if role == "vesting.novelty" else "USDC"
        name, node = f"{self.owner(n)}/{role}/{asset}", self.vault.node
        act = node.accounts.freeze if on else node.claims.unfreeze
        self.step(lambda tx: act(tx, name, reason="a test", source="test"), "once")

    # What holds whatever happened

    @invariant()
    def what_has_not_vested_is_in_its_account(self) -> None:
        with self.vault.tx() as tx:
            rows = tx.rows(
                "select place, sum(amount - vested - returned)::bigint from vesting_grants group by place order by 1"
            )
            for place, amount in rows:
                assert queries.balance(tx, place).balance == amount, place

    @invariant()
    def value_is_conserved(self) -> None:
        with self.vault.tx() as tx:
            lines = queries.trial_balance(tx)
        for asset in ("CHIP", "USDC"):
            assert sum(line.balance for line in lines if line.asset == asset) == 0
        assert all(line.balance >= 0 for line in lines if line.role not in ("issuance", "external"))

    @invariant()
    def what_was_released_is_what_owners_have(self) -> None:
        with self.vault.tx() as tx:
            rows = tx.rows(
                "select owner, asset, sum(vested)::bigint from vesting_grants group by owner, asset order by 1, 2"
            )
        for owner, asset, vested in rows:
            have = self.vault.balance(f"{owner}/available/{asset}") + self.vault.balance(f"{owner}/claim/{asset}")
            assert have == vested, owner

    @invariant()
    def shares_are_paid_owed_or_cancelled(self) -> None:
        with self.vault.tx() as tx:
            paid = tx.value("select coalesce(sum(paid), 0)::bigint from citation_shares")
            granted = tx.value(
                "select coalesce(sum(amount), 0)::bigint from vesting_grants where source = %s", CITATION_POOL
            )
            assert paid == granted
            assert payout_store.owed_now(tx)[0] == payout_store.owed_at(tx, 2**62)
            payouts = tx.value("select count(*) from citation_payouts")
            assert (tx.value("select sum(weight_ppm)::bigint from citation_volumes") or 0) == 7 * payouts

    def teardown(self) -> None:
        """When everything is unfrozen, funded and over, nothing is left to do."""
        if not hasattr(self, "owners"):
            return
        for subject in range(3):
            for cause in ("a", "b"):
                self.freeze(subject, cause, False, "once")
        for n in range(3):
            for role in ("available", "vesting.citation", "vesting.novelty"):
                self.freeze_account(n, role, False)
        self.fund(10_000_000, "once")
        for _ in range(4):
            self.time_passes(100, "once")
        with self.vault.tx() as tx:
            assert tx.rows("select id from vesting_grants where next_us is not null") == []
            assert payout_store.owed_now(tx) == (0, 0)
        self.what_has_not_vested_is_in_its_account()


def machine_at(vault: Vault) -> type[Histories]:
    return type("Machine", (Histories,), {"vault": vault})


def check(vault: Vault) -> None:
    with vault.tx() as tx:
        report = verify_database(tx, vault.node.keys)
        assert report.good, report.differences


def test_random_lives(vault: Vault) -> None:
    run_state_machine_as_test(
        machine_at(vault),
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    check(vault)


@pytest.mark.parametrize("how", ["once", "twice", "together", "killed"])
def test_everything_that_matters_most(vault: Vault, how: str) -> None:
    """One history with every act in it, every step made in the same bad way."""
    machine = machine_at(vault)()
    machine.people_come()
    machine.fund(5_000, how)
    machine.pay(0, 0, 3_000, 500, how)
    machine.pay(1, 1, 3_000, 500, how)
    machine.grant(2, 2, 900, 90, 10, how)
    machine.time_passes(5, how)
    machine.freeze(0, "a", True, how)
    machine.freeze_account(1, "available", True)
    machine.time_passes(5, how)
    machine.claw_back(2, 0, 100, how)
    machine.shorten(2, 0, 45, how)
    machine.take_back(1, how)
    machine.freeze(0, "a", False, how)
    machine.fund(5_000, how)
    machine.time_passes(7, how)
    for each in (
        machine.what_has_not_vested_is_in_its_account,
        machine.value_is_conserved,
        machine.what_was_released_is_what_owners_have,
        machine.shares_are_paid_owed_or_cancelled,
    ):
        each()
    machine.teardown()
    check(vault)
    with vault.tx() as tx:
        vested, clawed = tx.row("select sum(vested)::bigint, sum(clawed)::bigint from vesting_grants") or (0, 0)
        cancelled = tx.value("select sum(cancelled)::bigint from citation_shares")
    assert vested
    assert clawed
    assert cancelled
