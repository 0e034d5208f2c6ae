"""Bonds: what tiers need, what a security dispute takes, and when they go back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from choir.bazaar.bonds.model import BadBond, Bond, BondLeaving, NoBond
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import record_rules
from choir.bazaar.providers.record_rules import Record
from choir.identity.model import Principal, Role
from choir.ledger.model import InsufficientFunds
from choir.storage.database import Database, Tx
from tests.bazaar.hall import Hall, verdict

OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")
SMALL = ProvidersPolicy(
    qualification_required=0, newcomer_share_bps=0, tier_1_jobs=2, tier_1_buyers=2, bond_msat=1_000_000
)
WEEK = 7 * 86_400


@pytest.fixture
def small(database: Database) -> Hall:
    return Hall(database, providers=SMALL)


def add(hall: Hall, provider: UUID, satoshi: int, key: str) -> Bond:
    return hall.agency.database.run(lambda tx: _add(tx, hall, provider, satoshi, key))


def _add(tx: Tx, hall: Hall, provider: UUID, satoshi: int, key: str) -> Bond:
    who = hall.stalls[provider].who
    return hall.bazaar.bonds.add(tx, who, hall.providers.get(tx, provider), satoshi * 1000, key)


def ask_back(hall: Hall, provider: UUID) -> Bond:
    with hall.tx() as tx:
        return hall.bazaar.bonds.ask_back(tx, hall.stalls[provider].who, hall.providers.get(tx, provider))


def tier(hall: Hall, provider: UUID) -> tuple[int, int]:
    with hall.tx() as tx:
        row = hall.providers.view(tx, provider).market
    return row.tier, row.slots


def two_good_jobs(hall: Hall) -> UUID:
    provider = hall.provider(slots=8)
    for _ in range(2):
        [attempt] = hall.assign(hall.order(hall.person(20_000), attempts=1))
        hall.hand_in(attempt)
        hall.judge(attempt, verdict())
    return provider


def test_a_record_alone_gives_no_tier_and_a_bond_does(small: Hall) -> None:
    provider = two_good_jobs(small)
    assert tier(small, provider) == (0, 5)
    with small.tx() as tx:
        needs = small.providers.next_tier(tx, small.providers.view(tx, provider))
    assert [(need.name, need.met) for need in needs] == [
        ("jobs", True), ("success", True), ("buyers", True), ("bond", False),
    ]  # fmt: skip
    add(small, provider, 999, "k1")
    assert tier(small, provider) == (0, 5)
    add(small, provider, 1, "k2")  # topped up
    assert tier(small, provider) == (1, 8)
    assert small.bond(provider) == 1_000_000
    small.check()


def test_a_bond_buys_no_tier_and_no_reputation() -> None:
    rich = record_rules.standing(Record(), ProvidersPolicy(), bond=10**12)
    assert rich == record_rules.standing(Record(), ProvidersPolicy(), bond=0)
    assert rich.tier == 0


def test_the_same_key_adds_once_however_often_and_together(small: Hall) -> None:
    provider = small.provider()
    small.endow(provider, 5_000)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: add(small, provider, 1_000, "one"), range(8)))
    assert small.bond(provider) == 1_000_000
    assert small.has(provider) == 4_000_000
    small.check()


def test_what_is_not_there_cannot_be_put_up(small: Hall) -> None:
    provider = small.provider()
    with pytest.raises(InsufficientFunds):
        add(small, provider, 10, "k")
    with pytest.raises(BadBond):
        add(small, provider, 0, "k")
    with pytest.raises(NoBond):
        ask_back(small, provider)
    with small.tx() as tx:
        assert small.bazaar.bonds.get(tx, provider) is None


def test_a_bond_goes_back_after_the_last_time_at_which_it_could_be_needed(small: Hall) -> None:
    provider = two_good_jobs(small)
    add(small, provider, 1_000, "k")
    had = small.has(provider)
    ask_back(small, provider)
    assert tier(small, provider) == (0, 5)  # at once
    with pytest.raises(BondLeaving):
        add(small, provider, 1, "k2")
    small.wait(WEEK - 1)
    small.look()
    assert small.bond(provider) == 1_000_000
    small.wait(1)
    small.look()
    assert (small.bond(provider), small.has(provider) - had) == (0, 1_000_000)
    small.look()  # and once
    assert small.has(provider) - had == 1_000_000
    small.check()


def test_it_is_kept_while_somebody_works_or_disputes(small: Hall) -> None:
    provider = two_good_jobs(small)
    add(small, provider, 1_000, "k")
    small.wait(WEEK)
    buyer = small.person(20_000)
    job = small.order(buyer, attempts=1)
    [attempt] = small.assign(job)
    ask_back(small, provider)
    small.look()
    assert small.bond(provider) == 1_000_000
    small.hand_in(attempt)
    done = small.judge(attempt, verdict())
    small.wait(WEEK - 10)
    with small.tx() as tx:
        dispute = small.disputes.open(tx, buyer, job.id, done.id, Trigger.SECURITY, "It opens a door.")
    with small.tx() as tx:
        small.disputes.reverified(tx, dispute.id, verdict())
    small.wait(WEEK)
    small.look()
    assert small.bond(provider) == 1_000_000
    with small.tx() as tx:
        small.disputes.rule(tx, OPERATOR, dispute.id, Winner.PROVIDER, "It does not.")
    small.look()
    assert small.bond(provider) == 0
    small.check()


def test_a_security_dispute_is_paid_from_the_bond_first(small: Hall) -> None:
    provider = two_good_jobs(small)
    add(small, provider, 2_000, "k")
    buyer = small.person(20_000)
    job = small.order(buyer, attempts=1)
    [attempt] = small.assign(job)
    small.hand_in(attempt)
    done = small.judge(attempt, verdict())
    had, before = small.has(provider), small.has(buyer)
    small.wait(6 * 86_400)
    with small.tx() as tx:
        dispute = small.disputes.open(tx, buyer, job.id, done.id, Trigger.SECURITY, "It opens a door.")
        small.disputes.reverified(tx, dispute.id, verdict())
        decided = small.disputes.rule(tx, OPERATOR, dispute.id, Winner.BUYER, "It does.")
    assert (decided.refund, decided.owed) == (done.paid, 0)
    assert small.bond(provider) == 0
    assert had - small.has(provider) == 2_790_000 - 2_000_000  # what the bond did not reach
    assert small.has(buyer) - before == done.paid
    assert tier(small, provider)[0] == 0  # until it is topped up
    small.check()


def test_other_disputes_leave_the_bond_alone(small: Hall) -> None:
    provider = two_good_jobs(small)
    add(small, provider, 1_000, "k")
    buyer = small.person(20_000)
    job = small.order(buyer, attempts=1)
    [attempt] = small.assign(job)
    small.hand_in(attempt)
    done = small.judge(attempt, verdict())
    small.spend_all(provider)
    with small.tx() as tx:
        dispute = small.disputes.open(tx, buyer, job.id, done.id, Trigger.TESTS_FAIL, "It fails.")
        decided = small.disputes.reverified(tx, dispute.id, verdict(visible=False))
    assert decided.owed == 2_790_000
    assert small.bond(provider) == 1_000_000
    small.check()


def test_the_bond_of_who_is_erased_leaves_when_its_time_is_over(small: Hall) -> None:
    provider = two_good_jobs(small)
    add(small, provider, 1_000, "k")
    owner = small.stalls[provider].who.source
    small.vanish(provider)
    with small.tx() as tx:
        small.forget(tx, owner)
    small.freeze(f"{owner}/available/SAT")
    small.wait(WEEK)
    small.look_at_seconds()
    assert small.bond(provider) == 0
    assert small.claim(owner) == 1_000_000  # its account can no longer be paid
    small.check()
