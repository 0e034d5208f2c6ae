"""What people can rely on when an agent acts for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from choir.foundation.clock import MICROSECONDS, from_datetime, to_datetime
from choir.foundation.errors import Invalid
from choir.foundation.money import AMOUNT_MAX
from choir.identity.agents.model import AgentRetired, UnknownAgent
from choir.identity.delegations.model import (
    BadTerms,
    Cap,
    CapExceeded,
    DelegationEnded,
    DelegationWider,
    NoCap,
    Period,
    UnknownDelegation,
)
from choir.identity.delegations.rules import scopes_of_bits, window_begins_us
from choir.identity.model import (
    ALL_SCOPES,
    BadName,
    PersonNeeded,
    Principal,
    Role,
    Scope,
    ScopeMissing,
    TooMany,
    agent_owner,
)
from choir.identity.people.model import UnknownPerson
from choir.storage.database import Database
from tests.identity.agency import DAY_S, START_US, Agency, cap, session


def test_an_agent_acts_for_its_person_within_its_scopes(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person)
    granted = agency.grant(person, agent.id, scopes=[Scope.READ, Scope.PUBLISH])
    principal = agency.principal(granted.id)
    assert principal.role is Role.AGENT
    assert principal.source == agent_owner(agent.id)
    assert (principal.person, principal.agent, principal.delegation) == (person, agent.id, granted.id)
    principal.must(Scope.PUBLISH)
    with pytest.raises(ScopeMissing):
        principal.must(Scope.WITHDRAW)
    with pytest.raises(PersonNeeded):
        principal.must_be_person()


def test_what_was_granted_can_be_read_back(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person)
    caps = [cap(5), cap(100, Period.TOTAL), cap(7, Period.WEEK, "SAT")]
    with agency.tx() as tx:
        made = agency.delegations.grant(
            tx, person, agent.id, scopes=ALL_SCOPES, caps=caps, expires_us=agency.later(60), name=" shopping "
        )
    with agency.tx() as tx:
        assert agency.delegations.get(tx, made.id) == made
        assert agency.delegations.of_person(tx, person) == [made]
        assert agency.delegations.of_agent(tx, agent.id) == [made]
        acts = tx.rows("select actor, act from identity_acts where subject like 'delegation%%' order by n")
    assert made.name == "shopping"
    assert set(made.caps) == set(caps)
    assert acts == [(session(person).source, "delegation.granted")]


def test_a_cap_is_kept_and_says_what_was_left(agency: Agency) -> None:
    person = agency.person()
    granted = agency.grant(person, agency.agent(person).id, cap(100))
    principal = agency.principal(granted.id)
    agency.spend(principal, 60)
    with pytest.raises(CapExceeded) as refusal:
        agency.spend(principal, 41)
    fields = refusal.value.fields
    assert (fields["cap"], fields["spent"], fields["asked"], fields["period"]) == (100, 60, 41, "day")
    allowed = "The delegation allows 1.00 CREDIT per day; 0.60 CREDIT are spent and 0.41 CREDIT were requested."
    assert str(refusal.value) == allowed
    agency.spend(principal, 40)
    assert agency.spent(granted.id) == 100


def test_an_asset_without_a_cap_cannot_be_spent(agency: Agency) -> None:
    person = agency.person()
    principal = agency.principal(agency.grant(person, agency.agent(person).id, cap(100)).id)
    with pytest.raises(NoCap):
        agency.spend(principal, 1, "SAT")


def test_a_cap_of_zero_allows_nothing_and_the_largest_everything(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    with pytest.raises(CapExceeded):
        agency.spend(agency.principal(agency.grant(person, agent, cap(0)).id), 1)
    largest = agency.principal(agency.grant(person, agent, cap(AMOUNT_MAX)).id)
    agency.spend(largest, AMOUNT_MAX)
    with pytest.raises(CapExceeded):
        agency.spend(largest, AMOUNT_MAX)


def test_each_period_has_its_own_window(agency: Agency) -> None:
    person = agency.person()
    caps = [cap(10, Period.DAY), cap(25, Period.WEEK), cap(1000, Period.TOTAL)]
    granted = agency.grant(person, agency.agent(person).id, *caps, seconds=30 * DAY_S)
    principal = agency.principal(granted.id)
    agency.spend(principal, 10)  # Friday
    agency.clock.advance(DAY_S)
    agency.spend(principal, 10)  # Saturday
    agency.clock.advance(DAY_S)
    with pytest.raises(CapExceeded, match="week"):
        agency.spend(principal, 6)  # Sunday
    agency.spend(principal, 5)
    agency.clock.advance(DAY_S)
    agency.spend(principal, 10)  # Monday: a new week
    assert agency.spent(granted.id, Period.WEEK) == 10
    assert agency.spent(granted.id, Period.TOTAL) == 35


@pytest.mark.parametrize(
    ("period", "at", "begins"),
    [
        (Period.DAY, datetime(2027, 1, 15, 23, 59, 59, 999_999, UTC), datetime(2027, 1, 15, tzinfo=UTC)),
        (Period.DAY, datetime(2027, 1, 16, tzinfo=UTC), datetime(2027, 1, 16, tzinfo=UTC)),
        (Period.WEEK, datetime(2027, 1, 17, 23, 59, tzinfo=UTC), datetime(2027, 1, 11, tzinfo=UTC)),
        (Period.WEEK, datetime(2027, 1, 18, tzinfo=UTC), datetime(2027, 1, 18, tzinfo=UTC)),
        (Period.WEEK, datetime(2027, 1, 1, tzinfo=UTC), datetime(2026, 12, 28, tzinfo=UTC)),
        (Period.MONTH, datetime(2028, 2, 29, 12, tzinfo=UTC), datetime(2028, 2, 1, tzinfo=UTC)),
        (Period.MONTH, datetime(2028, 3, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
        (Period.TOTAL, datetime(2028, 3, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_windows_are_half_open_in_utc(period: Period, at: datetime, begins: datetime) -> None:
    assert to_datetime(window_begins_us(period, from_datetime(at))) == begins


def test_a_narrowed_delegation_is_charged_to_all_above_it(agency: Agency) -> None:
    person = agency.person()
    root = agency.grant(person, agency.agent(person).id, cap(100))
    middle = agency.narrow(root, agency.agent(person).id, cap(80))
    leaf = agency.narrow(middle, agency.agent(person).id, cap(70, Period.WEEK))
    agency.spend(agency.principal(leaf.id), 50)
    assert (agency.spent(root.id), agency.spent(middle.id)) == (50, 50)
    assert agency.spent(leaf.id, Period.WEEK) == 50
    agency.spend(agency.principal(root.id), 40)
    with pytest.raises(CapExceeded) as refusal:
        agency.spend(agency.principal(leaf.id), 11)
    assert refusal.value.fields["cap"] == 100  # the root's: 90 are spent of it
    assert (agency.spent(root.id), agency.spent(middle.id)) == (90, 50)  # a refusal charges nothing
    agency.spend(agency.principal(leaf.id), 10)


def test_an_agent_can_pass_on_a_part_of_what_it_has(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    root = agency.grant(person, agency.agent(person).id, cap(100))
    hired = agency.agent(stranger)
    made = agency.narrow(root, hired.id, cap(10), by=agency.principal(root.id))
    assert (made.person, made.parent, made.depth) == (person, root.id, 1)
    assert agency.principal(made.id).source == agent_owner(hired.id)


def test_nothing_can_be_widened(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(100), cap(200, Period.WEEK))
    with pytest.raises(DelegationWider, match="scope"):
        agency.narrow(root, agent, scopes=[Scope.BUY, Scope.WITHDRAW])
    with pytest.raises(DelegationWider, match="later"):
        agency.narrow(root, agent, seconds=10 * DAY_S + 1)
    with pytest.raises(DelegationWider, match="higher"):
        agency.narrow(root, agent, cap(101))
    with pytest.raises(DelegationWider, match="SAT"):
        agency.narrow(root, agent, cap(1, asset="SAT"))
    same = agency.narrow(root, agent, cap(100), scopes=root.scopes, seconds=10 * DAY_S)
    assert same.caps == (cap(100),)
    # A period that the parent does not cap may have any number: the parent is charged as well.
    month = agency.narrow(root, agent, cap(10_000, Period.MONTH))
    with pytest.raises(CapExceeded):
        agency.spend(agency.principal(month.id), 101)


def test_nobody_passes_on_what_their_own_credential_does_not_reach(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(100), scopes=[Scope.READ, Scope.BUY], seconds=10 * DAY_S)
    with agency.tx() as tx:
        made = agency.tokens.for_delegation(
            tx, session(person), root.id, name="reads", scopes={Scope.READ}, expires_us=agency.later(DAY_S)
        )
        reader = agency.tokens.principal_of(tx, made.text.reveal())
    with pytest.raises(DelegationWider, match="scope buy"):
        agency.narrow(root, agent, cap(1), scopes=[Scope.READ, Scope.BUY], seconds=DAY_S, by=reader)
    with pytest.raises(DelegationWider, match="later than your token"):
        agency.narrow(root, agent, scopes=[Scope.READ], seconds=DAY_S + 1, by=reader)
    passed = agency.narrow(root, agent, scopes=[Scope.READ], seconds=DAY_S, by=reader)
    assert passed.scopes == {Scope.READ}


def test_a_narrowed_one_without_caps_spends_nothing(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    made = agency.narrow(agency.grant(person, agent, cap(100)), agent)
    with pytest.raises(NoCap):
        agency.spend(agency.principal(made.id), 1)


def test_passing_on_has_an_end(database: Database) -> None:
    agency = Agency(database)
    person = agency.person()
    agent = agency.agent(person).id
    last = agency.grant(person, agent)
    for _ in range(agency.policy.depth_max):
        last = agency.narrow(last, agent)
    with pytest.raises(DelegationWider, match="limit"):
        agency.narrow(last, agent)


def test_revoking_takes_along_what_was_narrowed(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(100))
    middle = agency.narrow(root, agent, cap(100))
    leaf, other = agency.narrow(middle, agent, cap(100)), agency.narrow(root, agent, cap(100))
    before = agency.principal(leaf.id)
    agency.revoke(middle)
    agency.revoke(middle)  # twice is once
    for ended in (middle, leaf):
        with pytest.raises(DelegationEnded, match="revoked"):
            agency.principal(ended.id)
    with pytest.raises(DelegationEnded):
        agency.spend(before, 1)  # a principal from before is of no use
    with pytest.raises(DelegationEnded):
        agency.narrow(leaf, agent)
    for good in (root, other):
        agency.spend(agency.principal(good.id), 1)


def test_who_may_revoke(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    top, low, foreign = agency.agent(person), agency.agent(person), agency.agent(stranger)
    root = agency.grant(person, top.id, cap(9))
    leaf = agency.narrow(root, low.id, cap(9))
    elsewhere = agency.grant(stranger, foreign.id)
    for by in (session(stranger), agency.principal(elsewhere.id)):
        with pytest.raises(UnknownDelegation):
            agency.revoke(leaf, by)
    with pytest.raises(UnknownDelegation):
        agency.revoke(root, agency.principal(leaf.id))  # from below
    with pytest.raises(PersonNeeded):
        agency.revoke(leaf, replace(session(person), credential="token:x"))
    agency.revoke(leaf, agency.principal(root.id))  # from above
    agency.revoke(root, agency.principal(root.id))  # by whoever has it
    with agency.tx() as tx:
        acts = tx.rows("select act, actor from identity_acts where act = 'delegation.revoked' order by n")
    assert acts == [("delegation.revoked", agent_owner(top.id))] * 2


def test_a_delegation_ends_by_itself_at_its_time(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(10), seconds=100)
    principal = agency.principal(root.id)
    agency.clock.at_us = root.expires_us - 1
    agency.spend(principal, 1)
    agency.clock.at_us = root.expires_us
    with pytest.raises(DelegationEnded, match="expired"):
        agency.spend(principal, 1)


def test_it_ends_with_its_person_and_its_agent(agency: Agency) -> None:
    person, other = agency.person(), agency.person()
    agent = agency.agent(other)
    granted = agency.grant(person, agent.id, cap(10))
    second = agency.grant(agency.person(), agent.id, cap(10))
    agency.erase(person)
    with pytest.raises(DelegationEnded, match="erased"):
        agency.principal(granted.id)
    with pytest.raises(UnknownPerson):
        agency.grant(person, agent.id)
    with agency.tx() as tx:
        agency.agents.retire(tx, session(other), agent.id)
    with pytest.raises(DelegationEnded, match="revoked"):
        agency.principal(second.id)
    with pytest.raises(AgentRetired):
        agency.grant(other, agent.id)


def test_everything_of_a_person_can_be_revoked_at_once(agency: Agency) -> None:
    person, other = agency.person(), agency.person()
    agent = agency.agent(person).id
    mine = [agency.grant(person, agent), agency.grant(person, agent)]
    theirs = agency.grant(other, agent)
    with agency.tx() as tx:
        assert agency.delegations.revoke_all(tx, person) == 2
    for ended in mine:
        with pytest.raises(DelegationEnded):
            agency.principal(ended.id)
    agency.principal(theirs.id)


def test_what_was_not_used_is_given_back_to_its_own_window(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(100), cap(500, Period.TOTAL))
    leaf = agency.narrow(root, agent, cap(100))
    charged_us = agency.spend(agency.principal(leaf.id), 80)
    with agency.tx() as tx:
        agency.delegations.unspend(tx, leaf.id, "CREDIT", 30, charged_us)
    assert (agency.spent(root.id), agency.spent(leaf.id), agency.spent(root.id, Period.TOTAL)) == (50, 50, 50)
    agency.clock.advance(DAY_S)
    agency.spend(agency.principal(leaf.id), 10)
    agency.revoke(leaf)
    with agency.tx() as tx:  # the window has passed, and the delegation has ended
        agency.delegations.unspend(tx, leaf.id, "CREDIT", 20, charged_us)
    assert (agency.spent(root.id), agency.spent(root.id, Period.TOTAL)) == (10, 40)
    with agency.tx() as tx:
        agency.delegations.unspend(tx, leaf.id, "CREDIT", 10_000, charged_us)
    assert (agency.spent(root.id), agency.spent(root.id, Period.TOTAL)) == (10, 0)  # never below zero


def test_a_person_has_no_caps_and_neither_has_an_agent_with_its_own(agency: Agency) -> None:
    person = agency.person()
    agency.spend(session(person), 10**12)
    agency.spend(Principal(Role.AGENT, "agent:x", agent=agency.agent(person).id), 10**12)


@pytest.mark.parametrize(
    ("caps", "seconds", "scopes"),
    [
        ([cap(1), cap(2)], 60, [Scope.READ]),
        ([cap(-1)], 60, [Scope.READ]),
        ([cap(AMOUNT_MAX + 1)], 60, [Scope.READ]),
        ([cap(1, asset="GOLD")], 60, [Scope.READ]),
        ([cap(1)] * 1000, 60, [Scope.READ]),
        ([], 0, [Scope.READ]),
        ([], -1, [Scope.READ]),
        ([], 366 * DAY_S + 1, [Scope.READ]),
        ([], 60, []),
        ([Cap("CREDIT", Period.DAY, True)], 60, [Scope.READ]),
    ],
)
def test_odd_terms_are_refused(agency: Agency, caps: list[Cap], seconds: float, scopes: list[Scope]) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    with pytest.raises(Invalid):
        agency.grant(person, agent, *caps, seconds=seconds, scopes=scopes)


@pytest.mark.parametrize("amount", [0, -1, 2**63, True])
def test_odd_amounts_are_refused(agency: Agency, amount: int) -> None:
    person = agency.person()
    principal = agency.principal(agency.grant(person, agency.agent(person).id, cap(100)).id)
    with pytest.raises(Invalid):
        agency.spend(principal, amount)
    with pytest.raises(Invalid), agency.tx() as tx:
        agency.delegations.unspend(tx, principal.delegation or UUID(int=0), "CREDIT", amount, START_US)


def test_what_does_not_exist_is_said_so(agency: Agency) -> None:
    person = agency.person()
    nobody = UUID(int=5)
    with pytest.raises(UnknownDelegation):
        agency.principal(nobody)
    with pytest.raises(UnknownAgent):
        agency.grant(person, nobody)
    with pytest.raises(UnknownPerson):
        agency.grant(nobody, agency.agent(person).id)


def test_the_number_of_live_delegations_is_limited(database: Database) -> None:
    agency = Agency(database)
    agency.policy = replace(agency.policy, per_person_max=2)
    agency.__post_init__()
    person = agency.person()
    agent = agency.agent(person).id
    first = agency.grant(person, agent, seconds=50)
    agency.narrow(first, agent, seconds=50)
    with pytest.raises(TooMany):
        agency.grant(person, agent)
    agency.clock.at_us = first.expires_us
    agency.grant(person, agent)


# Agents


def test_agents_are_named_listed_renamed_and_retired(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    one = agency.agent(person, "one")
    agency.clock.advance(1)
    two = agency.agent(person, "two")
    with agency.tx() as tx:
        assert agency.agents.of_person(tx, person) == [one, two]
        assert agency.agents.of_person(tx, person, after=one.id, limit=5) == [two]
        agency.agents.rename(tx, session(person), one.id, "uno")
        assert agency.agents.get(tx, one.id).name == "uno"
        with pytest.raises(UnknownAgent):
            agency.agents.rename(tx, session(stranger), one.id, "mine")
        with pytest.raises(UnknownAgent):
            agency.agents.retire(tx, session(stranger), one.id)
        agency.agents.retire(tx, session(person), one.id)
        with pytest.raises(AgentRetired):
            agency.agents.retire(tx, session(person), one.id)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\nb", "a\0b", "\u202eevil"])
def test_odd_names_are_refused(agency: Agency, name: str) -> None:
    person = agency.person()
    with pytest.raises(BadName):
        agency.agent(person, name)


def test_a_person_has_only_so_many_agents(database: Database) -> None:
    agency = Agency(database)
    agency.policy = replace(agency.policy, agents_per_person_max=2)
    agency.__post_init__()
    person = agency.person()
    one, _ = agency.agent(person), agency.agent(person)
    with pytest.raises(TooMany):
        agency.agent(person)
    with agency.tx() as tx:
        agency.agents.retire(tx, session(person), one.id)
    agency.agent(person)


def test_scopes_in_policy_are_a_sum() -> None:
    assert scopes_of_bits(0) == frozenset()
    assert scopes_of_bits(1023) == ALL_SCOPES
    assert scopes_of_bits(511) == ALL_SCOPES - {Scope.WITHDRAW}
    assert scopes_of_bits(29) == {Scope.READ, Scope.PUBLISH, Scope.CITE, Scope.ATTEST}


def test_the_first_window_is_where_the_tests_think_it_is() -> None:
    assert to_datetime(START_US) == datetime(2027, 1, 15, 8, tzinfo=UTC)
    assert to_datetime(START_US).weekday() == 4
    assert START_US % MICROSECONDS == 0


def test_terms_say_why_they_are_refused(agency: Agency) -> None:
    person = agency.person()
    with pytest.raises(BadTerms, match="twice"):
        agency.grant(person, agency.agent(person).id, cap(1), cap(2))
