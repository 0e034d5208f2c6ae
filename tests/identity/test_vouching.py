"""Vouching: whose word counts, how often, and what it changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from choir.identity.model import TooManyTries
from choir.identity.people.model import NotInGoodStanding, SameIdentity, UnknownPerson
from tests.identity.town import Citizen, Town

HERE = "192.0.2.1"


@pytest.fixture
def suspect(town: Town) -> Citizen:
    """The fourth to sign up from one place."""
    return [town.sign_up(f"one{n}", HERE) for n in range(4)][-1]


def vouch(voucher: Citizen, person: Citizen) -> bool:
    town = voucher.town
    voucher.token = voucher.sign_in()
    who = voucher.who
    return town.do(lambda tx: town.people.vouch(tx, who, person.id))


def score(person: Citizen) -> int:
    return person.town.person(person.id).sybil_score


def test_a_vouch_lowers_suspicion_and_can_be_taken_back(town: Town, ada: Citizen, suspect: Citizen) -> None:
    town.clock.advance(town.policy.vouch_age_s)
    assert score(suspect) == 45
    assert vouch(ada, suspect)
    assert not vouch(ada, suspect)
    assert score(suspect) == 20
    assert town.do(lambda tx: town.people.vouchers(tx, suspect.id)) == [ada.id]
    who = ada.who
    assert town.do(lambda tx: town.people.revoke_vouch(tx, who, suspect.id))
    assert not town.do(lambda tx: town.people.revoke_vouch(tx, who, suspect.id))
    assert score(suspect) == 45
    assert suspect.acts()[-2:] == ["vouch.given", "vouch.revoked"]


def test_suspicion_does_not_fall_below_none(town: Town, suspect: Citizen) -> None:
    vouchers = [town.sign_up(f"friend{n}") for n in range(3)]
    town.clock.advance(town.policy.vouch_age_s)
    for voucher in vouchers:
        vouch(voucher, suspect)
    assert score(suspect) == 0
    who = vouchers[0].who
    town.do(lambda tx: town.people.revoke_vouch(tx, who, suspect.id))
    assert score(suspect) == 0  # 45 - 2 * 25 is below zero still


def test_newcomers_and_suspects_cannot_vouch(town: Town, ada: Citizen, suspect: Citizen) -> None:
    with pytest.raises(NotInGoodStanding):
        vouch(ada, suspect)
    town.clock.advance(town.policy.vouch_age_s)
    with pytest.raises(NotInGoodStanding):
        vouch(suspect, ada)


def test_nobody_vouches_for_themselves(town: Town, ada: Citizen, suspect: Citizen) -> None:
    town.clock.advance(town.policy.vouch_age_s)
    with pytest.raises(SameIdentity):
        vouch(ada, ada)
    between = "agent:1"
    with town.database.unit_of_work() as tx:
        for a, b in (sorted((ada.owner, between)), sorted((between, suspect.owner))):
            tx.run("insert into cluster_links (a, b, reason, evidence, at_us) values (%s, %s, 'payout', 'x', 0)", a, b)
    with pytest.raises(SameIdentity):
        vouch(ada, suspect)


def test_vouching_joins_nobody(town: Town, ada: Citizen, suspect: Citizen) -> None:
    town.clock.advance(town.policy.vouch_age_s)
    vouch(ada, suspect)
    assert town.count("cluster_links") == 0


def test_taking_a_vouch_back_does_not_give_another(town_with: Callable[..., Town]) -> None:
    town = town_with(vouches_per_window=2, vouch_age_s=0)
    ada, *others = [town.sign_up(f"person{n}") for n in range(4)]
    vouch(ada, others[0])
    vouch(ada, others[1])
    who = ada.who
    town.do(lambda tx: town.people.revoke_vouch(tx, who, others[0].id))
    with pytest.raises(TooManyTries):
        vouch(ada, others[2])
    assert town.count("vouches") == 1
    town.clock.advance(2 * town.policy.vouch_window_s)
    assert vouch(ada, others[2])


def test_the_erased_neither_vouch_nor_are_vouched_for(town_with: Callable[..., Town]) -> None:
    town = town_with(vouch_age_s=0)
    suspect = [town.sign_up(f"one{n}", HERE) for n in range(4)][-1]
    ada, bob = town.sign_up("ada"), town.sign_up("bob")
    vouch(ada, suspect)
    vouch(suspect, ada)
    assert score(suspect) == 20
    town.do(lambda tx: town.erasure.erase(tx, ada.id, actor="operator"))
    assert score(suspect) == 45
    assert town.count("vouches") == 0
    with pytest.raises(UnknownPerson):
        vouch(bob, ada)
