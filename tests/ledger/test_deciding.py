"""The short ways of plain transfers come out as the long ways, which take everything."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Refusal
from choir.foundation.money import AMOUNT_MAX
from choir.ledger.journal import acceptance, links
from choir.ledger.journal.records import Decision, View
from choir.ledger.model import Draft, Head, Leg
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Prepared, prepare
from tests.depth import times

MINT, ADA, BOB, CAROL, NOBODY = (
    "system:mint/issuance/CREDIT", "person:ada/available/CREDIT", "person:bob/available/CREDIT",
    "person:carol/available/CREDIT", "person:nobody/available/CREDIT",
)  # fmt: skip
IDS = {MINT: 1, ADA: 2, BOB: 3, CAROL: 4}
POLICY = LedgerPolicy()

amounts = st.integers(1, 12) | st.sampled_from([AMOUNT_MAX - 5, AMOUNT_MAX])
payers = st.sampled_from([ADA, ADA, BOB, CAROL, MINT, NOBODY])
payees = st.sampled_from([BOB, BOB, ADA, CAROL, MINT, NOBODY])
legs = st.builds(Leg, payers, payees, amounts, st.just(False)).filter(lambda leg: leg.from_ != leg.to)
groups = st.lists(st.lists(legs, min_size=1, max_size=1) | st.lists(legs, max_size=2), min_size=4, max_size=12)
balances = st.fixed_dictionaries(
    {
        IDS[MINT]: st.sampled_from([0, -100, 3 - AMOUNT_MAX]),
        IDS[ADA]: st.sampled_from([20, 9, 0]),
        IDS[BOB]: st.sampled_from([0, AMOUNT_MAX - 7]),
        IDS[CAROL]: st.just(0),
    }
)
states = st.sampled_from([{}, {}, {IDS[ADA]: "frozen"}, {IDS[BOB]: "closed"}])


def decided(drafts: Sequence[Sequence[Prepared | Refusal]], view: View) -> Decision:
    random = bytes(range(256))[: links.ID_RANDOM_BYTES * sum(map(len, drafts))]
    return acceptance.decide(drafts, copy.deepcopy(view), 1_700_000_000_000_000, random, POLICY)


def told(decision: Decision) -> list[object]:
    return [
        (outcome.code, outcome.fields) if isinstance(outcome, Refusal) else outcome for outcome in decision.outcomes
    ]


@settings(max_examples=times(50, 150))
@given(
    groups_of_legs=groups,
    balances=balances,
    states=states,
    keys=st.sampled_from([3, 100]),
)
def test_both_ways_decide_the_same(
    groups_of_legs: list[list[Leg]], balances: dict[int, int], states: dict[int, str], keys: int
) -> None:
    view = View(Head(7, bytes(32), 5, 1, bytes(32)), dict(IDS), balances, states)
    number = iter(range(1000))
    drafts = [
        [prepare(Draft("transfer", "test", "test", f"{next(number) % keys}", (leg,)), POLICY) for leg in group]
        for group in groups_of_legs
    ]
    assert all(item.transfer is not None for group in drafts for item in group)
    short = decided(drafts, view)
    long = decided([[item._replace(transfer=None) for item in group] for group in drafts], view)
    assert told(short) == told(long)
    assert (short.entries, short.postings, short.head_hash) == (long.entries, long.postings, long.head_hash)
    assert short.refused == any(isinstance(outcome, Refusal) for outcome in short.outcomes)
    assert len(short.outcomes) == sum(map(len, drafts))


names = st.sampled_from([ADA, BOB, MINT, NOBODY, "person:ada/available/SAT", "hold:x/escrow/CREDIT", "no name"])
odd_amounts = st.sampled_from([1, AMOUNT_MAX, 0, -1, AMOUNT_MAX + 1, True, 1.0, "1"])
odd_legs = st.builds(Leg, names, names, odd_amounts, st.booleans())


@settings(max_examples=times(50, 150))
@given(st.lists(odd_legs, min_size=1, max_size=2), st.sampled_from(["transfer", "hold.place", "hold.release"]))
def test_known_accounts_excuse_nothing(legs: list[Leg], kind: str) -> None:
    draft = Draft(kind, "test", "test", "a key", tuple(legs))
    opened = frozenset([ADA, BOB, MINT, "person:ada/available/SAT"])
    assert prepared(draft, opened) == prepared(draft, frozenset())


def prepared(draft: Draft, accounts: frozenset[str]) -> object:
    try:
        return prepare(draft, POLICY, accounts)
    except Refusal as refusal:
        return refusal.code, refusal.fields
