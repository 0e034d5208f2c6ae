"""Charging caps and posting are one step."""

from __future__ import annotations

from uuid import UUID

import pytest

from choir.foundation.errors import Refusal
from choir.identity.delegations.model import CapExceeded, DelegationEnded, NoCap, NotYourAccount, Period
from choir.identity.model import Principal, Role, agent_owner, person_owner
from choir.ledger import holds
from choir.ledger.model import ConflictingKey, Draft, InsufficientFunds, Leg, Posted
from tests.identity.agency import DAY_S, SHOP, Agency, cap, paid, placed, session


class Buyer:
    """A person with money, and an agent that may spend some of it."""

    def __init__(self, agency: Agency, *, cap_units: int = 100, money: int = 1000) -> None:
        self.person = agency.person()
        self.agent = agency.agent(self.person).id
        self.delegation = agency.grant(
            self.person, self.agent, cap(cap_units), cap(10 * cap_units, Period.TOTAL), seconds=30 * DAY_S
        )
        self.principal = agency.principal(self.delegation.id)
        self.account = agency.fund(person_owner(self.person), money)


@pytest.fixture
def buyer(agency: Agency) -> Buyer:
    return Buyer(agency)


def test_what_is_posted_is_charged(agency: Agency, buyer: Buyer) -> None:
    agency.pay(buyer.principal, paid("1", buyer.account, SHOP, 30), paid("2", buyer.account, SHOP, 20))
    assert agency.balance(SHOP) == 50
    assert agency.spent(buyer.delegation.id) == 50
    with pytest.raises(CapExceeded):
        agency.pay(buyer.principal, paid("3", buyer.account, SHOP, 51))
    assert agency.balance(SHOP) == 50


def test_a_refused_entry_charges_nothing_even_if_the_caller_goes_on(agency: Agency, buyer: Buyer) -> None:
    poor = Buyer(agency, money=10)
    with agency.tx() as tx:
        with pytest.raises(InsufficientFunds):
            agency.spending.spend_and_post(tx, poor.principal, [paid("1", poor.account, SHOP, 11)])
        agency.spending.spend_and_post(tx, buyer.principal, [paid("2", buyer.account, SHOP, 5)])
    assert agency.spent(poor.delegation.id) == 0
    assert agency.spent(buyer.delegation.id) == 5
    assert agency.balance(SHOP) == 5


def test_nothing_is_committed_before_the_caller_commits(agency: Agency, buyer: Buyer) -> None:
    with agency.tx() as tx:
        agency.spending.spend_and_post(tx, buyer.principal, [paid("1", buyer.account, SHOP, 11)])
        assert agency.balance(SHOP) == 0
        tx.connection.rollback()
    assert agency.balance(SHOP) == 0
    assert agency.spent(buyer.delegation.id) == 0


def test_an_entry_sent_again_is_charged_once(agency: Agency, buyer: Buyer) -> None:
    draft = paid("1", buyer.account, SHOP, 100)
    first = agency.pay(buyer.principal, draft)
    again = agency.pay(buyer.principal, draft)  # although nothing is left of the cap
    assert again[0].id == first[0].id
    assert agency.spent(buyer.delegation.id) == 100
    with pytest.raises(ConflictingKey):
        agency.pay(buyer.principal, paid("1", buyer.account, SHOP, 1))
    with pytest.raises(CapExceeded):
        agency.pay(buyer.principal, draft, paid("2", buyer.account, SHOP, 1))


def test_the_ledger_may_know_an_entry_that_the_check_did_not(
    agency: Agency, buyer: Buyer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another credential of the same source posted it between our look and our turn at the head."""
    draft = paid("1", buyer.account, SHOP, 30)
    agency.pay(session(buyer.person), draft)
    monkeypatch.setattr("choir.ledger.queries.posted_keys", lambda *_: set())
    assert agency.pay(buyer.principal, draft)[0].again
    assert agency.spent(buyer.delegation.id) == 0


def test_a_person_spends_without_caps(agency: Agency, buyer: Buyer) -> None:
    agency.pay(session(buyer.person), paid("1", buyer.account, SHOP, 900))
    assert agency.spent(buyer.delegation.id) == 0


def test_nobody_moves_what_others_own(agency: Agency, buyer: Buyer) -> None:
    other = Buyer(agency)
    taken = paid("1", other.account, SHOP, 1)
    lone = Principal(Role.AGENT, agent_owner(buyer.agent), agent=buyer.agent)
    by_signature = Principal(Role.AGENT, person_owner(buyer.person), person=buyer.person, credential="nostr")
    for principal in (buyer.principal, session(buyer.person), lone, by_signature):
        with pytest.raises(NotYourAccount):
            agency.pay(principal, taken)
    for principal in (lone, by_signature):  # without a delegation, not the person's money either
        with pytest.raises(NotYourAccount):
            agency.pay(principal, paid("2", buyer.account, SHOP, 1))
    with agency.tx() as tx:  # a feature may, by its own authority
        agency.spending.spend_and_post(tx, buyer.principal, [taken], others=[person_owner(other.person)])
    assert agency.spent(buyer.delegation.id) == 0


def test_an_agent_spends_its_own_by_itself_and_is_capped_under_a_delegation(agency: Agency, buyer: Buyer) -> None:
    own = agency.fund(agent_owner(buyer.agent), 500)
    lone = Principal(Role.AGENT, agent_owner(buyer.agent), agent=buyer.agent)
    agency.pay(lone, paid("1", own, SHOP, 200))
    with pytest.raises(CapExceeded):
        agency.pay(buyer.principal, paid("2", own, SHOP, 200))
    agency.pay(buyer.principal, paid("3", own, SHOP, 60))
    assert agency.spent(buyer.delegation.id) == 60


def test_staking_is_spending_and_coming_home_is_not(agency: Agency, buyer: Buyer) -> None:
    stake = agency.fund(person_owner(buyer.person), 0, "stake")
    agency.pay(buyer.principal, paid("1", buyer.account, stake, 70))
    assert agency.spent(buyer.delegation.id) == 70
    agency.pay(buyer.principal, paid("2", stake, buyer.account, 70))
    assert agency.spent(buyer.delegation.id) == 70
    mine = agency.fund(agent_owner(buyer.agent), 0)
    agency.pay(buyer.principal, paid("3", buyer.account, mine, 30))  # to the agent itself: it leaves the person
    assert agency.spent(buyer.delegation.id) == 100


def test_an_entry_of_many_legs_and_assets_is_charged_for_each(agency: Agency, buyer: Buyer) -> None:
    names = [f"{person_owner(buyer.person)}/available/SAT", "world:lightning/external/SAT", "treasury:main/fees/SAT"]
    with agency.tx() as tx:
        agency.accounts.open(tx, names, reason="a test", source="test")
        agency.ledger.post(tx, paid("sat", names[1], names[0], 50))
    legs = (Leg(buyer.account, SHOP, 10), Leg(names[0], names[2], 10), Leg(buyer.account, SHOP, 5))
    entry = Draft("trade", "because", "test", "both", legs)
    with pytest.raises(NoCap):
        agency.pay(buyer.principal, entry)
    both = agency.grant(buyer.person, buyer.agent, cap(15), cap(10, asset="SAT"))
    agency.pay(agency.principal(both.id), entry)
    assert (agency.spent(both.id), agency.spent(both.id, asset="SAT")) == (15, 10)


def test_a_revoked_one_posts_nothing(agency: Agency, buyer: Buyer) -> None:
    draft = paid("1", buyer.account, SHOP, 1)
    agency.pay(buyer.principal, draft)
    agency.revoke(buyer.delegation)
    for entry in (draft, paid("2", buyer.account, SHOP, 1)):
        with pytest.raises(DelegationEnded):
            agency.pay(buyer.principal, entry)
    assert agency.balance(SHOP) == 1


# Holds


def hold_of(agency: Agency, buyer: Buyer, key: str, amount: int, captures: int = 1) -> UUID:
    agency.pay(buyer.principal, placed(key, buyer.account, amount, agency.later(100), captures=captures))
    return holds.placed_id("test", key)


def captured(agency: Agency, hold: UUID, amount: int, key: str = "capture", *, final: bool = True) -> list[Posted]:
    leg = Leg(f"hold:{hold}/escrow/CREDIT", SHOP, amount)
    return agency.settle(holds.capture(hold, (leg,), final=final, reason="done", source="test", key=key))


def test_a_hold_is_charged_when_placed_and_its_rest_is_given_back(agency: Agency, buyer: Buyer) -> None:
    hold = hold_of(agency, buyer, "job", 90)
    assert agency.spent(buyer.delegation.id) == 90
    captured(agency, hold, 60)
    assert agency.spent(buyer.delegation.id) == 60
    captured(agency, hold, 60)  # the same again
    assert agency.spent(buyer.delegation.id) == 60
    assert agency.balance(buyer.account) == 940


def test_a_released_and_an_expired_hold_are_given_back_whole(agency: Agency, buyer: Buyer) -> None:
    released, expired = hold_of(agency, buyer, "a", 50), hold_of(agency, buyer, "b", 40)
    agency.settle(holds.release(released, reason="no", source="test", key="release"))
    assert agency.spent(buyer.delegation.id) == 40
    agency.clock.advance(101)
    with agency.tx() as tx:
        outcomes = agency.spending.settle_batch(tx, [[holds.expire(released)], [holds.expire(expired)]])
    assert isinstance(outcomes[0], Refusal)
    assert isinstance(outcomes[1], Posted)
    assert agency.spent(buyer.delegation.id) == 0
    assert agency.spent(buyer.delegation.id, Period.TOTAL) == 0


def test_several_captures_give_back_only_at_the_end(agency: Agency, buyer: Buyer) -> None:
    hold = hold_of(agency, buyer, "job", 90, captures=3)
    captured(agency, hold, 30, "c1", final=False)
    assert agency.spent(buyer.delegation.id) == 90
    captured(agency, hold, 10, "c2")
    assert agency.spent(buyer.delegation.id) == 40


def test_a_hold_from_yesterday_gives_nothing_back_to_today(agency: Agency, buyer: Buyer) -> None:
    agency.pay(buyer.principal, placed("job", buyer.account, 90, agency.later(2 * DAY_S)))
    agency.clock.advance(DAY_S)
    agency.pay(buyer.principal, paid("1", buyer.account, SHOP, 70))
    agency.settle(holds.release(holds.placed_id("test", "job"), reason="no", source="test", key="r"))
    assert agency.spent(buyer.delegation.id) == 70
    assert agency.spent(buyer.delegation.id, Period.TOTAL) == 70


def test_a_persons_own_hold_gives_back_to_nobody(agency: Agency, buyer: Buyer) -> None:
    agency.pay(buyer.principal, paid("1", buyer.account, SHOP, 50))
    agency.pay(session(buyer.person), placed("job", buyer.account, 40, agency.later(100)))
    agency.settle(holds.release(holds.placed_id("test", "job"), reason="no", source="test", key="r"))
    assert agency.spent(buyer.delegation.id) == 50


def test_what_comes_back_after_a_revocation_helps_those_above(agency: Agency, buyer: Buyer) -> None:
    leaf = agency.narrow(buyer.delegation, buyer.agent, cap(50))
    agency.pay(agency.principal(leaf.id), placed("job", buyer.account, 50, agency.later(100)))
    agency.revoke(leaf)
    agency.settle(holds.release(holds.placed_id("test", "job"), reason="no", source="test", key="r"))
    assert agency.spent(buyer.delegation.id) == 0
