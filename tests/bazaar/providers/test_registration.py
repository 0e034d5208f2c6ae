"""Becoming a provider, changing what is claimed, leaving and coming back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from choir.bazaar.providers.model import (
    AlreadyProvider,
    BadClaim,
    Claims,
    Isolation,
    OwnerNeeded,
    ProviderRetired,
    ResultKeyTaken,
    ResultKeyUnproven,
    UnknownProvider,
)
from choir.foundation.errors import Invalid
from choir.identity.model import Principal, Role, Scope, ScopeMissing, agent_owner
from tests.bazaar.providers.stalls import PATCH, RUN, Stalls, owner, principal, registration, wants


def test_what_is_claimed_is_kept_as_claimed(stalls: Stalls) -> None:
    claims = Claims(" Ada's stall ", "us-west", "claude-sonnet-4-*", Isolation.GVISOR)
    made = stalls.register(1, claims=claims)
    with stalls.tx() as tx:
        seen = stalls.providers.view(tx, made.id)
    assert (seen.provider.name, seen.provider.model) == ("Ada's stall", "claude-sonnet-4-*")
    assert (seen.market.region, seen.market.isolation) == ("us-west", Isolation.GVISOR)
    assert (seen.market.tier, seen.market.reputation_bps, seen.market.success_bps) == (0, 0, None)
    told = [event for event in stalls.events() if event.type == "bazaar.provider.registered"]
    assert [event.data["owner"] for event in told] == [owner(1)]
    assert "stall" not in str(told[0].data)


def test_an_agent_can_be_a_provider_too(stalls: Stalls) -> None:
    name = agent_owner(stalls.new_job())
    agent = Principal(Role.AGENT, name, scopes=frozenset({Scope.SELL}))
    with stalls.tx() as tx:
        assert stalls.providers.register(tx, agent, registration(name, 1)).owner == name


def test_there_is_one_provider_for_an_owner(stalls: Stalls) -> None:
    stalls.register(1)
    with pytest.raises(AlreadyProvider):
        stalls.register(1)


def test_selling_takes_the_scope_and_an_owner(stalls: Stalls) -> None:
    asked = registration(owner(1), 1)
    with stalls.tx() as tx:
        with pytest.raises(ScopeMissing):
            stalls.providers.register(tx, replace(principal(owner(1)), scopes=frozenset({Scope.BUY})), asked)
        operator = Principal(Role.OPERATOR, "operator", scopes=frozenset({Scope.SELL}))
        with pytest.raises(OwnerNeeded):
            stalls.providers.register(tx, operator, asked)
        with pytest.raises(UnknownProvider):
            stalls.providers.retire(tx, principal(owner(1)))


def test_a_result_key_must_be_proven_by_whoever_registers_it(stalls: Stalls) -> None:
    theirs = registration(owner(1), 1)
    with stalls.tx() as tx, pytest.raises(ResultKeyUnproven):
        stalls.providers.register(tx, principal(owner(2)), theirs)
    with stalls.tx() as tx, pytest.raises(Invalid):
        stalls.providers.register(tx, principal(owner(1)), replace(theirs, result_key=b"\xff" * 32))


def test_a_result_key_is_never_anybody_elses(stalls: Stalls) -> None:
    stalls.register(1)
    with pytest.raises(ResultKeyTaken), stalls.tx() as tx:
        stalls.providers.register(tx, principal(owner(2)), registration(owner(2), 1))
    fresh = registration(owner(1), 9)
    with stalls.tx() as tx:
        stalls.providers.change_key(tx, principal(owner(1)), fresh.result_key, fresh.proof)
        assert stalls.providers.of(tx, principal(owner(1))).result_key == fresh.result_key
    with pytest.raises(ResultKeyTaken), stalls.tx() as tx:  # the old key is still the first one's
        stalls.providers.register(tx, principal(owner(2)), registration(owner(2), 1))
    with stalls.tx() as tx:
        tx.run(
            "insert into account_keys (id, owner, public, sealed_by, created_us) values (%s, %s, %s, 'x', 1)",
            stalls.new_job(), owner(5), registration(owner(3), 30).result_key,
        )  # fmt: skip
    with pytest.raises(ResultKeyTaken), stalls.tx() as tx:
        stalls.providers.register(tx, principal(owner(3)), registration(owner(3), 30))


@pytest.mark.parametrize(
    "claims",
    [
        Claims("", "eu", "", Isolation.LOCAL),
        Claims("x" * 61, "eu", "", Isolation.LOCAL),
        Claims("a\nb", "eu", "", Isolation.LOCAL),
        Claims("a", "EU West", "", Isolation.LOCAL),
        Claims("a", "", "", Isolation.LOCAL),
        Claims("a", "eu-west-1-2", "", Isolation.LOCAL),
        Claims("a", "eu", "m" * 101, Isolation.LOCAL),
    ],
)
def test_claims_that_cannot_be_shown_are_refused(stalls: Stalls, claims: Claims) -> None:
    with pytest.raises(BadClaim):
        stalls.register(1, claims=claims)


@pytest.mark.parametrize("capacity", [0, -1, 1001])
def test_capacity_has_bounds(stalls: Stalls, capacity: int) -> None:
    with pytest.raises(BadClaim):
        stalls.register(1, capacity=capacity)


def test_one_that_retired_comes_back_with_its_record_not_with_a_clean_one(stalls: Stalls) -> None:
    made = stalls.stall(1)
    stalls.outcome(made.id, owner(50), passed=False)
    with stalls.tx() as tx:
        stalls.providers.retire(tx, principal(owner(1)))
    assert stalls.ids(wants()) == []
    with pytest.raises(ProviderRetired), stalls.tx() as tx:
        stalls.providers.declare(tx, principal(owner(1)), [RUN], 3)
    again = stalls.register(1, capacity=2)
    assert again.id == made.id
    with stalls.tx() as tx:
        seen = stalls.providers.view(tx, made.id)
    assert (seen.jobs, seen.passed, seen.market.success_bps, seen.market.capacity) == (1, 0, 0, 2)
    assert stalls.ids(wants()) == [made.id]


def test_claims_can_be_changed_and_are_forgotten_when_the_owner_is(stalls: Stalls) -> None:
    made = stalls.stall(1, PATCH)
    with stalls.tx() as tx:
        stalls.providers.change_claims(tx, principal(owner(1)), Claims("new", "ap-east", "m", Isolation.CONTAINER))
        seen = stalls.providers.view(tx, made.id)
    assert (seen.provider.name, seen.market.region) == ("new", "ap-east")
    with stalls.tx() as tx:
        stalls.providers.forget(tx, owner(1))
        stalls.providers.forget(tx, owner(2))
        gone = stalls.providers.get(tx, made.id)
        assert stalls.providers.page(tx) == []
    assert (gone.name, gone.model, gone.retired_us is None) == (None, None, False)
