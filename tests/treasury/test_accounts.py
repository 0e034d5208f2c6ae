"""The treasury's accounts, its genesis, and how its pool is funded."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from choir.ledger import queries
from choir.storage.database import Tx
from choir.treasury.accounts import CITATION_POOL, HOLDINGS
from tests.treasury.vault import USDC, Vault


def test_the_genesis_is_posted_once(vault: Vault) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(vault.begin) for _ in range(4)]:
            done.result()
    assert vault.holdings() == 5_000_000 * 10**6
    with vault.tx() as tx:
        [content] = [json.loads(row[0]) for row in tx.rows("select content from entries")]
    legs = [{"from": "treasury:main/issuance/CHIP", "to": HOLDINGS, "amount": "5000000000000"}]
    assert content["legs"] == legs
    assert (content["kind"], content["reason"]) == ("genesis", "the treasury's first CHIP")
    assert (content["source"], content["key"]) == ("system:genesis", "chip")


def test_accounts_that_an_operator_opened_before(vault: Vault) -> None:
    names = [f"treasury:main/{name}" for name in ("issuance/CHIP", "holdings/CHIP", "insurance/CHIP")]
    names += ["treasury:main/pool.verifier/CHIP", CITATION_POOL, "treasury:main/operations/USDC"]
    vault.write(lambda tx: vault.node.accounts.open(tx, names, reason="a test", source="test"))
    vault.begin()
    assert vault.holdings() == 5_000_000 * 10**6


def test_a_frozen_account_does_not_stop_the_treasury(vault: Vault) -> None:
    vault.begin()
    vault.write(lambda tx: vault.node.accounts.freeze(tx, HOLDINGS, reason="a test", source="test"))
    vault.begin()
    assert vault.holdings() == 5_000_000 * 10**6


def test_an_operator_funds_the_pool_once_for_a_key(vault: Vault) -> None:
    vault.fund(3 * USDC, key="a")
    vault.fund(3 * USDC, key="a")
    assert vault.balance(CITATION_POOL) == 3 * USDC


def test_in_production_another_operator_must_agree(public_vault: Vault) -> None:
    vault = public_vault
    vault.begin()

    def fund(tx: Tx) -> object:
        return vault.treasury.fund(tx, "operator:ada", 3 * USDC, reason="income", key="a").issuance

    issuance = vault.write(fund)
    assert issuance == vault.write(fund)
    assert vault.balance(CITATION_POOL) == 0
    vault.write(lambda tx: vault.node.issuances.approve(tx, "operator:bob", issuance.id, lambda _: 0))  # type: ignore[attr-defined]
    assert vault.balance(CITATION_POOL) == 3 * USDC
    with vault.tx() as tx:
        assert queries.head(tx).seq == 2
