"""The rule of visibility: who sees what of an entry."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from choir.ledger.visibility import NOBODY, Reader, visible

ADA, BOB, HELPER, HOLD = "person:ada", "person:bob", "agent:helper", "hold:0192bf75-0182-7558-9fb8-e7a6cab4b34d"
OPERATOR = Reader(operator=True)


def leg(payer: str, payee: str, **more: Any) -> dict[str, Any]:
    return {"from": f"{payer}/available/SAT", "to": f"{payee}/available/SAT", "amount": "1250", **more}


def content(*legs: dict[str, Any], source: str = "system:test", **more: Any) -> dict[str, Any]:
    return {"key": "k", "kind": "transfer", "legs": list(legs), "reason": "a test", "source": source, **more}


def test_nobody_sees_amounts_and_kinds_but_no_person_agent_or_hold() -> None:
    seen = visible(content(leg(ADA, HOLD), leg(HELPER, "treasury:main"), source=ADA), NOBODY)
    assert [(each.from_.kind, each.to.kind) for each in seen.legs] == [("person", "hold"), ("agent", "treasury")]
    assert [(each.from_.account, each.to.account) for each in seen.legs] == [
        (None, None),
        (None, "treasury:main/available/SAT"),
    ]
    assert [(each.amount, each.asset) for each in seen.legs] == [(1250, "SAT")] * 2
    assert (seen.source, seen.source_kind, seen.whole, seen.party) == (None, "person", False, False)


def test_everybody_sees_what_moves_within_the_node() -> None:
    for pair in (("treasury:main", "system:node"), ("world:lightning", "treasury:main"), ("system:a", "system:b")):
        seen = visible(content(leg(*pair)), NOBODY)
        assert seen.whole
        assert seen.legs[0].whole
        assert not seen.party


def test_an_owner_of_one_side_sees_the_whole_leg_and_no_other() -> None:
    seen = visible(content(leg(ADA, BOB), leg(BOB, HELPER), source=BOB), Reader(frozenset({ADA})))
    assert [each.whole for each in seen.legs] == [True, False]
    assert seen.legs[1].from_.account is None, "whom she knows from one leg is not told in another"
    assert (seen.source, seen.whole, seen.party) == (BOB, False, True)
    assert visible(content(leg(ADA, BOB), source=BOB), Reader(frozenset({ADA}))).whole


def test_holds_and_agents_are_their_persons() -> None:
    reader = Reader(frozenset({ADA, HOLD, HELPER}))
    assert visible(content(leg(HOLD, BOB), leg(HOLD, ADA, rest=True)), reader).whole
    assert visible(content(leg(HELPER, BOB), source=HELPER), reader).whole


def test_an_agent_that_paid_for_a_stranger_is_not_named_by_the_source() -> None:
    seen = visible(content(leg(BOB, ADA), source=HELPER), Reader(frozenset({ADA})))
    assert (seen.source, seen.source_kind, seen.whole) == (None, "agent", False)


def test_operators_see_all_and_are_not_named_to_others() -> None:
    issued = content(
        leg("system:node", "treasury:main"), source="system:issuing", refs=["issuance_1", "approved_by:operator:ada"]
    )
    assert not visible(issued, NOBODY).whole
    assert visible(issued, OPERATOR).whole
    assert visible(content(leg(ADA, BOB), source=ADA), OPERATOR).whole
    assert visible(content(leg("system:a", "system:b"), source="operator:ada"), NOBODY).source is None
    assert visible(content(leg("system:a", "system:b"), source="operator"), NOBODY).source == "operator"


OWNERS = st.sampled_from([ADA, BOB, HELPER, HOLD, "treasury:main", "system:node", "world:lightning"])
SOURCES = st.sampled_from([ADA, BOB, HELPER, "operator", "operator:eve", "system:treasury"])


@given(st.lists(st.tuples(OWNERS, OWNERS), min_size=1, max_size=4), SOURCES, st.sets(st.sampled_from([ADA, HELPER])))
def test_no_stranger_is_ever_named_outside_a_leg_of_ones_own(
    legs: list[tuple[str, str]], source: str, own: set[str]
) -> None:
    seen = visible(content(*[leg(*each) for each in legs], source=source), Reader(frozenset(own)))
    private = ("person:", "agent:", "hold:")
    for (payer, payee), shown in zip(legs, seen.legs, strict=True):
        mine = bool({payer, payee} & own)
        for owner, side in ((payer, shown.from_), (payee, shown.to)):
            assert (side.account is not None) == (mine or not owner.startswith(private))
        assert shown.amount == 1250
    if source.startswith(private) and source not in own and seen.source is not None:
        assert any({payer, payee} & own and source in (payer, payee) for payer, payee in legs)
