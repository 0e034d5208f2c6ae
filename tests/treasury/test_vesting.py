"""Grants: how they vest, freeze, are speeded and taken back, and what happens to owners who cannot be paid."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import ChoirError
from choir.foundation.money import Asset
from choir.identity.model import owner_id
from choir.ledger.model import ConflictingKey, InsufficientFunds
from choir.treasury.accounts import CITATION_POOL, HOLDINGS
from choir.treasury.months import month_of, start_us
from choir.treasury.vesting import rules, store
from choir.treasury.vesting.model import Grant, GrantKind, UnknownGrant, grant_id
from tests.treasury.vault import DAY_S, DAY_US, Vault


def plain(amount: int, days: int) -> Grant:
    return Grant(
        UUID(int=0), "k", "person:a", Asset.USDC, GrantKind.CITATION, "s", amount, "a", "b", 0, days, None, (), "r", 0
    )


@given(
    amount=st.integers(1, 10**12),
    days=st.integers(1, 400),
    steps=st.lists(st.tuples(st.sampled_from(["release", "claw", "shorten"]), st.integers(0, 90), st.integers(1, 400))),
)
def test_whatever_is_done_to_a_schedule(amount: int, days: int, steps: list[tuple[str, int, int]]) -> None:
    """It never goes back, never vests more than was granted, and ends with everything released or taken back."""
    grant, now_us = plain(amount, days), 0
    for act, passed, number in steps:
        now_us += passed * DAY_US
        reached = rules.scheduled(grant, now_us)
        assert grant.vested <= reached <= grant.last or reached == grant.last
        if act == "release":
            grant = rules.released(grant, rules.due(grant, now_us), now_us)
        elif act == "claw":
            grant = rules.clawed_back(grant, min(number * amount // 1_000, grant.unvested), now_us)
            assert rules.scheduled(grant, now_us) == min(reached, grant.last)
        else:
            grant = rules.shortened(grant, number, now_us)
            assert rules.scheduled(grant, now_us) in (reached, grant.last)
        assert 0 <= rules.due(grant, now_us) <= grant.unvested
    end_us = now_us + days * DAY_US
    grant = rules.released(grant, rules.due(grant, end_us), end_us)
    assert grant.vested + grant.clawed == amount


def test_it_vests_each_day_rounded_down(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    grant = vault.grant(owner, 100, days=30, refs=("article_x",))
    place, own = f"{owner}/vesting.citation/USDC", f"{owner}/available/USDC"
    assert (vault.balance(place), vault.balance(CITATION_POOL)) == (100, 0)
    vault.later(DAY_S - 0.000001)
    assert vault.balance(own) == 0
    vault.later(0.000001)
    assert vault.balance(own) == 3
    vault.later(1)
    vault.later(DAY_S)
    assert (vault.balance(own), vault.balance(place)) == (6, 94)
    vault.later(18 * DAY_S)
    assert vault.balance(own) == 66
    vault.later(100 * DAY_S)
    assert (vault.balance(own), vault.balance(place), vault.found(grant).next_us) == (100, 0, None)
    told = vault.events("treasury.grant.vested")
    assert [event["amount"] for event in told] == ["3", "3", "60", "34"]
    assert told[0] == {"owner": owner, "kind": "citation", "asset": "USDC", "amount": "3", "subject": "citation_a"}


def test_the_same_key_grants_once(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    first = vault.grant(owner, 40, key="a", starts_us=7)
    assert vault.grant(owner, 40, key="a", starts_us=7) == first
    for other, amount in ((owner, 41), (vault.owner(), 40)):
        with pytest.raises(ConflictingKey):
            vault.grant(other, amount, key="a", starts_us=7)
    assert vault.balance(CITATION_POOL) == 60


def test_what_is_not_there_is_not_granted(vault: Vault) -> None:
    vault.fund(10)
    owner = vault.owner()
    with pytest.raises(InsufficientFunds):
        vault.grant(owner, 11)
    with vault.tx() as tx:
        assert vault.vesting.of(tx, owner) == []
        with pytest.raises(UnknownGrant):
            vault.vesting.get(tx, UUID(int=0))


def test_nothing_is_released_before_its_time(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    vault.grant(owner, 100, days=10, not_before_us=vault.clock.now_us() + 5 * DAY_US)
    vault.later(5 * DAY_S - 1)
    assert vault.balance(f"{owner}/available/USDC") == 0
    vault.later(1)
    assert vault.balance(f"{owner}/available/USDC") == 50


def test_novelty_in_chip_out_of_the_holdings(vault: Vault) -> None:
    vault.begin()
    owner, before = vault.owner(), vault.holdings()
    grant = vault.grant(owner, 900, days=90, asset=Asset.CHIP, source_account=HOLDINGS, kind=GrantKind.NOVELTY)
    assert vault.balance(f"{owner}/vesting.novelty/CHIP") == 900
    vault.later(30 * DAY_S)
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 600
    assert (vault.balance(f"{owner}/available/CHIP"), vault.holdings()) == (300, before - 300)


def test_a_shorter_time_from_now_on(vault: Vault) -> None:
    vault.fund(900)
    owner = vault.owner()
    grant = vault.grant(owner, 900, days=90)
    vault.later(30 * DAY_S)
    for _ in range(2):
        vault.write(lambda tx: vault.vesting.shorten(tx, grant.id, 45))
    vault.tend()
    own = f"{owner}/available/USDC"
    assert vault.balance(own) == 300
    vault.later(5 * DAY_S)
    assert vault.balance(own) == 500
    vault.write(lambda tx: vault.vesting.shorten(tx, grant.id, 60))  # never longer
    vault.later(10 * DAY_S)
    assert vault.balance(own) == 900


def test_shortened_below_what_is_over(vault: Vault) -> None:
    vault.fund(900)
    owner = vault.owner()
    grant = vault.grant(owner, 900, days=90)
    vault.later(50 * DAY_S)
    vault.write(lambda tx: vault.vesting.shorten(tx, grant.id, 45))
    vault.tend()
    assert vault.balance(f"{owner}/available/USDC") == 900


def test_nothing_vests_while_frozen(vault: Vault) -> None:
    vault.fund(300)
    owner = vault.owner()
    own = f"{owner}/available/USDC"
    vault.grant(owner, 100, days=10)
    other = vault.grant(owner, 100, days=10, subject="citation_b")
    vault.write(lambda tx: vault.vesting.freeze(tx, "citation_a"))
    vault.write(lambda tx: vault.vesting.freeze(tx, "citation_a"))
    vault.write(lambda tx: vault.vesting.freeze(tx, "citation_a", "another cause"))
    late = vault.grant(owner, 100, days=10)
    vault.later(4 * DAY_S)
    assert vault.balance(own) == 40  # of the other
    assert vault.write(lambda tx: vault.vesting.vest(tx, late.id)) == 0
    vault.write(lambda tx: vault.vesting.unfreeze(tx, "citation_a"))
    vault.tend()
    assert vault.balance(own) == 40
    vault.write(lambda tx: vault.vesting.unfreeze(tx, "citation_a", "another cause"))
    vault.tend()
    assert vault.balance(own) == 120
    assert vault.found(other).vested == 40


def test_all_that_has_not_vested_goes_back(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    grant = vault.grant(owner, 100, days=10)
    vault.clock.advance(3 * DAY_S)  # nobody has released it yet, but it is the owner's
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 70
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 0
    vault.later(30 * DAY_S)
    assert (vault.balance(f"{owner}/available/USDC"), vault.balance(CITATION_POOL)) == (30, 70)
    [event] = vault.events("treasury.grant.clawed_back")
    assert (event["amount"], event["reason"]) == ("70", "retracted")


def test_a_frozen_grant_is_taken_back_whole(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    grant = vault.grant(owner, 100, days=10)
    vault.write(lambda tx: vault.vesting.freeze(tx, "citation_a"))
    vault.later(3 * DAY_S)
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 100


def test_a_part_goes_back_and_the_rest_vests(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    grant = vault.grant(owner, 100, days=10)
    vault.later(5 * DAY_S)
    for _ in range(2):
        taken = vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "a debt", 20, key="a"))
        assert taken == 20
    vault.later(DAY_S)
    assert vault.balance(f"{owner}/available/USDC") == 56
    vault.later(4 * DAY_S)
    assert (vault.balance(f"{owner}/available/USDC"), vault.balance(CITATION_POOL)) == (80, 20)
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "a debt", 20, key="b")) == 0


def test_whoever_cannot_be_paid_has_a_claim(vault: Vault) -> None:
    vault.fund(100)
    owner = vault.owner()
    own = f"{owner}/available/USDC"
    vault.grant(owner, 100, days=10)
    vault.later(DAY_S)
    vault.write(lambda tx: vault.node.accounts.freeze(tx, own, reason="a test", source="test"))
    vault.later(DAY_S)
    assert (vault.balance(own), vault.balance(f"{owner}/claim/USDC")) == (10, 10)
    vault.write(lambda tx: vault.node.claims.unfreeze(tx, own, reason="a test", source="test"))
    vault.later(DAY_S)
    assert (vault.balance(own), vault.balance(f"{owner}/claim/USDC")) == (30, 0)


def test_a_frozen_vesting_account(vault: Vault) -> None:
    """What is in it waits; what is granted meanwhile is a claim that vests; what is taken back moves later."""
    vault.fund(200)
    owner = vault.owner()
    place, own = f"{owner}/vesting.citation/USDC", f"{owner}/available/USDC"
    grant = vault.grant(owner, 100, days=10)
    vault.write(lambda tx: vault.node.accounts.freeze(tx, place, reason="a test", source="test"))
    vault.grant(owner, 50, days=10)
    assert (vault.balance(place), vault.balance(f"{owner}/claim.vesting/USDC")) == (100, 50)
    vault.later(DAY_S)
    assert vault.balance(own) == 5
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 100
    vault.tend()
    assert (vault.balance(place), vault.balance(CITATION_POOL)) == (100, 50)
    vault.write(lambda tx: vault.node.claims.unfreeze(tx, place, reason="a test", source="test"))
    vault.later(DAY_S)
    assert (vault.balance(place), vault.balance(CITATION_POOL), vault.balance(own)) == (0, 150, 10)


def test_one_that_fails_keeps_no_other_waiting(vault: Vault) -> None:
    vault.fund(200)
    owner, other = vault.owner(), vault.owner()
    broken = vault.grant(owner, 100, days=10)
    vault.grant(other, 100, days=10)

    def rob(tx: object) -> None:
        from choir.ledger.model import Draft, Leg

        leg = Leg(f"{owner}/vesting.citation/USDC", CITATION_POOL, 100)
        vault.node.ledger.post(tx, Draft("move", "a test", "test", "k", (leg,)))  # type: ignore[arg-type]

    vault.write(rob)
    vault.later(DAY_S)
    assert vault.balance(f"{other}/available/USDC") == 10
    with pytest.raises(ChoirError):
        vault.write(lambda tx: vault.vesting.vest(tx, broken.id))
    with vault.tx() as tx:
        assert vault.vesting.due(tx, 9) == []  # it is looked at tomorrow


def test_what_an_erased_person_was_granted_goes_on(vault: Vault) -> None:
    vault.fund(200)
    owner = vault.owner()
    _, id_ = owner_id(owner)
    with vault.tx() as tx:
        tx.run(
            "insert into people (id, handle, user_handle, created_us) values (%s, 'ada', %s, 0)",
            id_, vault.entropy.bytes(32),
        )  # fmt: skip
    ended = vault.grant(owner, 10, days=1)
    grant = vault.grant(owner, 100, days=10, subject="citation_b")
    vault.later(DAY_S)
    vault.write(lambda tx: vault.node.erasure.erase(tx, id_, actor="operator"))
    assert vault.found(ended).owner is None
    vault.later(2 * DAY_S)
    assert (vault.balance(f"{owner}/available/USDC"), vault.balance(f"{owner}/claim/USDC")) == (20, 20)
    assert vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "retracted")) == 70
    assert vault.balance(f"{owner}/vesting.citation/USDC") == 0


def test_a_grant_explains_itself(vault: Vault) -> None:
    vault.fund(100)
    grant = vault.grant(vault.owner(), 100, days=10, not_before_us=5)
    vault.later(DAY_S)
    vault.write(lambda tx: vault.vesting.claw_back(tx, grant.id, "a debt", 20, key="a"))
    vault.write(lambda tx: vault.vesting.freeze(tx, "citation_a"))
    with vault.tx() as tx:
        told = vault.node.explain(tx, grant_id(grant.id))
        assert [one.id for one in vault.vesting.by_subject(tx, "citation_a")] == [grant.id]
    assert told is not None
    assert (told.facts["vested"], told.facts["clawed_back"], told.facts["frozen"]) == ("10", "20", True)
    assert any('because: "a debt"' in sentence for sentence in told.sentences)


def test_grants_are_counted_by_the_month_they_were_made_in(vault: Vault) -> None:
    vault.fund(1_000)
    owner, other = vault.owner(), vault.owner()
    start = vault.clock.now_us()
    vault.grant(owner, 100)
    vault.grant(other, 50)
    vault.grant(owner, 20)
    vault.later(62 * DAY_S)
    vault.grant(owner, 7)
    months = [month_of(start), month_of(vault.clock.now_us())]
    with vault.tx() as tx:
        found = store.by_month(tx, owner, start)
        assert found == {(months[0], GrantKind.CITATION): 120, (months[1], GrantKind.CITATION): 7}
        assert store.by_month(tx, owner, start_us(months[1])) == {(months[1], GrantKind.CITATION): 7}
        assert store.by_month(tx, vault.owner(), 0) == {}
    wrong = vault.grant(owner, 30)
    vault.write(lambda tx: vault.vesting.claw_back(tx, wrong.id, "a test"))
    with vault.tx() as tx:  # what was taken back is not earned
        assert store.by_month(tx, owner, start)[(months[1], GrantKind.CITATION)] == 7
