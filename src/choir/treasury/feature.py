"""The treasury, as a part of a node: its services, and what a node does for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from choir.feature import BackgroundWork, Base, Feature, Gauge, RepeatingTask, Stopping
from choir.foundation.findings import Finding
from choir.foundation.money import Asset
from choir.foundation.settings import Settings
from choir.foundation.words import count
from choir.identity.delegations.spending import Spending
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.issuances.service import Issuances
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.treasury import events
from choir.treasury.accounts import Treasury
from choir.treasury.explanation import explain_grant
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.oracle.service import Oracle
from choir.treasury.payments import TreasuryPayments
from choir.treasury.payouts import store as payout_store
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates.service import CitationRates
from choir.treasury.rounds import TreasuryRounds
from choir.treasury.vesting import store as grant_store
from choir.treasury.vesting.service import Vesting


def _build(base: Base) -> Iterable[object]:
    clock, entropy, outbox, policy = base.clock, base.entropy, base.outbox, base.policy.of(TreasuryPolicy)
    ledger, accounts, production = base.of(Ledger), base.of(Accounts), base.identity.production
    treasury = Treasury(ledger, accounts, base.of(Issuances), policy, base.policy_hash, production=production)
    governed = GovernedPrice(treasury, outbox, clock, entropy, policy, production=production)
    oracle = Oracle((governed,), clock, policy)
    vesting = Vesting(ledger, accounts, base.of(Claims), outbox, clock, entropy, base.policy_hash)
    return (
        treasury,
        governed,
        oracle,
        vesting,
        CitationRates(treasury, oracle, governed, outbox, clock, policy, base.policy_hash),
        CitationPayouts(treasury, ledger, vesting, outbox, clock, entropy, policy),
        TreasuryPayments(treasury, base.of(Spending), accounts, base.policy_hash),
    )


def _work(base: Base, _: Stopping) -> BackgroundWork:
    rounds, policy = TreasuryRounds(base), base.policy.of(TreasuryPolicy)
    return BackgroundWork(
        every=(
            RepeatingTask("treasury.rate", policy.rate_every_s, quick=rounds.fix_rate),
            RepeatingTask("treasury.rounds", policy.look_every_s, slow=rounds.go_on),
        ),
    )


def _forget(_: Base, tx: Tx, owner: str) -> None:
    """What has ended does not say whose it was; what still vests or is owed goes on, into the owner's claims."""
    payout_store.forget(tx, owner)
    grant_store.forget(tx, owner)


def _check_database(_: Settings, tx: Tx) -> Iterator[Finding]:
    owed, shares = payout_store.owed_now(tx)
    if owed:
        told = f"{Asset.USDC.format(owed)} USDC are owed for citations, in {count(shares, 'share')}"
        yield Finding("citation pool", "note", told, "Fund it: `choir treasury fund AMOUNT --reason …`.")


FEATURE = Feature(
    name="treasury",
    needs=("ledger", "identity"),
    build=_build,
    work=_work,
    events=events.ALL,
    forget=_forget,
    explains={"grant": explain_grant},
    check_database=_check_database,
    gauges=(
        Gauge(
            "choir_treasury_owed_usdc_units",
            "What is owed for citations, in units of USDC.",
            lambda _, tx: payout_store.owed_now(tx)[0],
        ),
        Gauge("choir_treasury_grants", "Grants that still vest.", lambda _, tx: grant_store.unvested(tx)),
    ),
)
