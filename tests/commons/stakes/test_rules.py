"""Who brings what and who gets what: everything adds up, and backed CHIP never reaches anybody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.commons.policy import CommonsPolicy
from choir.commons.revisions import rules as revision_rules
from choir.commons.revisions.model import RevisionState
from choir.commons.stakes import rules
from choir.commons.stakes.model import Origin, TooLittleChip
from choir.commons.stakes.rules import Funds
from tests.commons.desk import chip

POLICY = CommonsPolicy()
amounts = st.integers(0, 10**12)


@pytest.mark.parametrize(
    ("own", "starter", "co_stake", "fee_own", "fee_starter", "parts"),
    [
        (150, 0, 0, 10, 0, {"own": 90}),
        (100, 50, 0, 10, 0, {"starter": 50, "own": 40}),
        (0, 50, 50, 0, 10, {"starter": 40, "treasury": 50}),
        (20, 50, 50, 10, 0, {"starter": 50, "own": 10, "treasury": 30}),
        (60, 50, 50, 10, 0, {"starter": 50, "own": 40}),
        (0, 100, 0, 0, 10, {"starter": 90}),
    ],
)
def test_contributions(
    own: int, starter: int, co_stake: int, fee_own: int, fee_starter: int, parts: dict[str, int]
) -> None:
    found = rules.contribution(chip(90), chip(10), Funds(chip(own), chip(starter), chip(co_stake)), POLICY)
    assert (found.fee_own, found.fee_starter) == (chip(fee_own), chip(fee_starter))
    assert {origin.value: amount for origin, amount in found.parts.items()} == {
        name: chip(amount) for name, amount in parts.items()
    }


@pytest.mark.parametrize(("own", "starter", "co_stake"), [(99, 0, 0), (0, 49, 50), (0, 0, 50), (5, 44, 50), (0, 99, 0)])
def test_too_little(own: int, starter: int, co_stake: int) -> None:
    with pytest.raises(TooLittleChip):
        rules.contribution(chip(90), chip(10), Funds(chip(own), chip(starter), chip(co_stake)), POLICY)


@given(stake=amounts, fee=amounts, own=amounts, starter=amounts, co_stake=amounts)
def test_a_contribution_is_whole_and_within_what_is_there(
    stake: int, fee: int, own: int, starter: int, co_stake: int
) -> None:
    try:
        found = rules.contribution(stake, fee, Funds(own, starter, co_stake), POLICY)
    except TooLittleChip:
        assert own + starter + co_stake < stake + fee or co_stake
        return
    assert found.fee_own + found.fee_starter == fee
    assert sum(found.parts.values()) == stake
    assert found.fee_own + found.parts.get(Origin.OWN, 0) <= own
    assert found.fee_starter + found.parts.get(Origin.STARTER, 0) <= starter
    assert found.co_stake <= co_stake
    assert all(amount > 0 for amount in found.parts.values())


@given(amount=amounts, independence=st.integers(0, 10_000))
def test_a_slashed_stake_is_shared_out_whole(amount: int, independence: int) -> None:
    shares = rules.slash_shares(amount, independence, POLICY)
    parts = (shares.challenger, shares.treasury, shares.verifier, shares.insurance)
    assert sum(parts) == amount
    assert min(parts) >= 0
    assert shares.challenger <= amount // 2


@given(amount=amounts)
def test_a_lost_challenge_costs_half(amount: int) -> None:
    challenged, fund = rules.lost_shares(amount, POLICY)
    assert challenged + fund == amount // 2
    assert fund <= challenged or amount < 10


@given(amount=amounts, among=st.integers(1, 20))
def test_split_is_whole(amount: int, among: int) -> None:
    parts = rules.split(amount, among)
    assert len(parts) == among
    assert sum(parts) == amount
    assert max(parts) - min(parts) < among


@given(fee=amounts, state=st.sampled_from(list(RevisionState)), authors=st.integers(1, 5))
def test_a_revision_pays_out_no_more_than_its_fee(fee: int, state: RevisionState, authors: int) -> None:
    shares = revision_rules.shares(state, fee, [f"person:{n}" for n in range(authors)], "treasury", POLICY)
    assert sum(shares.values()) <= fee
    if state in (RevisionState.ACCEPTED, RevisionState.SPLIT):
        assert sum(shares.values()) == fee
