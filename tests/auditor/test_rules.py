"""A node that breaks its own rules and signs it: hashes and signatures are true, the acts are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.auditor.verifier import audit
from tests.ledger.export_maker import (
    ALICE,
    BOB,
    CAROL,
    FEES,
    ISSUANCE,
    ExportMaker,
    hold_account,
)

USDC = "person:alice/available/USDC"
WORLD = "world:lightning/external/SAT"


def rich() -> ExportMaker:
    """Alice and Bob with 1000 each."""
    maker = ExportMaker(seed=3)
    maker.act("open", ISSUANCE, ALICE, BOB, FEES, USDC, WORLD, CAROL)
    maker.post("issue", (ISSUANCE, ALICE, 1000), (WORLD, BOB, 1000))
    return maker


def assert_found(folder: Path, maker: ExportMaker, what: str, field: str) -> dict[str, Any]:
    """The last entry breaks a rule, and the report says so."""
    difference = audit(folder, maker.export(), "--key", str(maker.keys[0])).difference
    assert what in difference["what"]
    assert difference["field"] == field
    assert difference["line"] == 1 + len(maker.rotations) + len(maker.acts) + len(maker.entries)
    return difference


def test_the_starting_point_is_right(tmp_path: Path) -> None:
    assert audit(tmp_path, rich().export()).code == 0


Leg = tuple[str, str, Any]

BAD_LEGS: list[tuple[str, list[Leg], str, str]] = [
    ("overdraft", [(ALICE, BOB, 1001)], "is overdrawn", "content.legs[0].from"),
    ("overdraft in sum", [(ALICE, BOB, 600), (ALICE, FEES, 600)], "is overdrawn", "content.legs[0].from"),
    ("unopened", [(ALICE, "person:dora/available/SAT", 1)], "never opened", "content.legs[0].to"),
    ("unopened payer", [("person:dora/available/SAT", ALICE, 1)], "never opened", "content.legs[0].from"),
    ("zero", [(ALICE, BOB, 0)], "not what it must be", "content.legs[0].amount"),
    ("negative", [(ALICE, BOB, -1)], "not what it must be", "content.legs[0].amount"),
    ("too large", [(ISSUANCE, BOB, 2**63)], "not what it must be", "content.legs[0].amount"),
    ("leading zero", [(ALICE, BOB, "01")], "not what it must be", "content.legs[0].amount"),
    ("a sign", [(ALICE, BOB, "+1")], "not what it must be", "content.legs[0].amount"),
    ("arabic digits", [(ALICE, BOB, "\u0661")], "not what it must be", "content.legs[0].amount"),
    ("other asset", [(ALICE, USDC, 1)], "another asset", "content.legs[0].to"),
    ("itself", [(ALICE, ALICE, 1)], "to itself", "content.legs[0].to"),
    ("unknown asset", [(ALICE, "person:bob/available/EUR", 1)], "not what it must be", "content.legs[0].to"),
    ("unknown owner", [(ALICE, "king:bob/available/SAT", 1)], "not what it must be", "content.legs[0].to"),
    ("newline in name", [(ALICE, BOB + "\n", 1)], "not what it must be", "content.legs[0].to"),
    ("no legs", [], "not what it must be", "content.legs"),
    ("balance beyond 64 bits", [(ISSUANCE, ALICE, 2**63 - 1000)], "beyond 64 bits", "content.legs[0].to"),
    ("a hold from nowhere", [(ALICE, hold_account("x"), 1)], "may not touch a hold's account", "content.legs[0].to"),
]


@pytest.mark.parametrize(("legs", "what", "field"), [case[1:] for case in BAD_LEGS], ids=[case[0] for case in BAD_LEGS])
def test_a_leg_that_breaks_a_rule_is_found(tmp_path: Path, legs: list[Leg], what: str, field: str) -> None:
    maker = rich()
    maker.post("pay", *legs)
    assert_found(tmp_path, maker, what, field)


def test_issuance_and_external_accounts_may_be_below_zero_but_not_beyond_64_bits(tmp_path: Path) -> None:
    maker = rich()
    maker.act("open", "system:main/issuance.extra/SAT", "agent:x/available/SAT")
    maker.post("issue", ("system:main/issuance.extra/SAT", "agent:x/available/SAT", 2**63 - 1))
    assert audit(tmp_path, maker.export()).code == 0
    maker.post("issue", ("system:main/issuance.extra/SAT", FEES, 1))
    assert audit(tmp_path, maker.export()).code == 0
    maker.post("issue", ("system:main/issuance.extra/SAT", FEES, 1))
    assert_found(tmp_path, maker, "beyond 64 bits", "content.legs[0].from")


def test_legs_are_judged_together(tmp_path: Path) -> None:
    maker = rich()
    maker.post("pay", (FEES, BOB, 10), (ALICE, FEES, 10))
    assert audit(tmp_path, maker.export()).code == 0


CONTENT: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda content: content.pop("reason"), "content.reason"),
    (lambda content: content.update(reason=""), "content.reason"),
    (lambda content: content.update(source=7), "content.source"),
    (lambda content: content.update(color="red"), "content.color"),
    (lambda content: content.update(refs="job"), "content.refs"),
    (lambda content: content.update(refs=[1]), "content.refs"),
    (lambda content: content.update(receipt="ab" * 32), "content.receipt"),
    (lambda content: content.update(policy="sha256:" + "AB" * 32), "content.policy"),
    (lambda content: content.update(memo="hello"), "content.memo"),
    (lambda content: content.update(corrects="1"), "content.corrects"),
    (lambda content: content.update(hold={"id": "x"}), "content.hold"),
    (lambda content: content.update(kind="hold.steal"), "content.kind"),
    (lambda content: content.update(legs={}), "content.legs"),
    (lambda content: content["legs"].append("leg"), "content.legs[1]"),
    (lambda content: content["legs"][0].update(rest=True), "content.legs[0].rest"),
    (lambda content: content["legs"][0].update(rest=False), "content.legs[0].rest"),
    (lambda content: content["legs"][0].update(fee="1"), "content.legs[0].fee"),
    (lambda content: content["legs"][0].pop("to"), "content.legs[0].to"),
    (lambda content: content["legs"][0].update(amount=1), "content.legs[0].amount"),
]


@pytest.mark.parametrize(("change", "field"), CONTENT)
def test_content_of_another_shape_is_found(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], field: str
) -> None:
    maker = rich()
    change(maker.post("pay", (ALICE, BOB, 1)))
    assert_found(tmp_path, maker, "", field)


def test_time_does_not_go_backwards(tmp_path: Path) -> None:
    maker = rich()
    maker.post("pay", (ALICE, BOB, 1))
    maker.entries[-1].at_us = maker.entries[-2].at_us
    assert audit(tmp_path, maker.export()).code == 0
    maker.entries[-1].at_us -= 1
    assert_found(tmp_path, maker, "time goes backwards", "at_us")


def test_ids_are_of_version_7(tmp_path: Path) -> None:
    maker = rich()
    maker.entries[0].id = type(maker.entries[0].id)(int=0)
    assert_found(tmp_path, maker, "not what it must be", "id")


@pytest.mark.parametrize(
    ("acts", "found"),
    [
        (["open", "open"], "open"),
        (["freeze"], "unknown"),
        (["close"], "unknown"),
        (["open", "unfreeze"], "open"),
        (["open", "freeze", "freeze"], "frozen"),
        (["open", "freeze", "close"], "frozen"),
        (["open", "close", "open"], "closed"),
        (["open", "close", "freeze"], "closed"),
    ],
)
def test_acts_that_are_not_possible_are_found(tmp_path: Path, acts: list[str], found: str) -> None:
    maker = ExportMaker()
    for act in acts:
        maker.act(act, ALICE)
    difference = audit(tmp_path, maker.export()).difference
    assert (difference["line"], difference["field"], difference["found"]) == (1 + len(acts), "act", found)


def test_acts_go_forward_in_time_and_never_open_a_hold(tmp_path: Path) -> None:
    maker = rich()
    maker.acts[3].at_us = maker.acts[2].at_us - 1
    difference = audit(tmp_path, maker.export()).difference
    assert (difference["line"], difference["field"]) == (5, "at_us")
    maker = rich()
    maker.act("open", hold_account("x"))
    assert "a hold's account is opened by its entry" in audit(tmp_path, maker.export()).difference["what"]


def test_a_closed_account_is_empty_in_the_end(tmp_path: Path) -> None:
    maker = rich()
    maker.act("close", CAROL)
    maker.post("pay", (ALICE, CAROL, 5))
    difference = audit(tmp_path, maker.export()).difference
    assert CAROL in difference["what"]
    assert (difference["line"], difference["found"]) == (1 + len(maker.acts), "5")
    maker.post("pay", (CAROL, ALICE, 5))
    assert audit(tmp_path, maker.export()).code == 0


# Holds


def held(captures: int = 2) -> tuple[ExportMaker, str]:
    maker = rich()
    return maker, maker.place(ALICE, 100, captures=captures)


def test_a_capture_after_expiry_is_found(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.capture(hold_id, (BOB, 10))
    terms = maker.entries[-2].content["hold"]
    terms["expires_us"] = maker.entries[-1].at_us + 1
    assert audit(tmp_path, maker.export()).code == 0
    terms["expires_us"] -= 1
    assert_found(tmp_path, maker, "captured after it had expired", "at_us")


def test_more_captures_than_allowed_are_found(tmp_path: Path) -> None:
    maker, hold_id = held(captures=1)
    maker.capture(hold_id, (BOB, 60), rest=(ALICE, 40))
    assert audit(tmp_path, maker.export()).code == 0
    maker.capture(hold_id, (BOB, 1))
    assert assert_found(tmp_path, maker, "not there", "content.hold.id")["found"] == "it has ended"


@pytest.mark.parametrize("final", [True, False])
def test_the_last_capture_leaves_nothing(tmp_path: Path, final: bool) -> None:
    maker, hold_id = held(captures=2 if final else 1)
    maker.capture(hold_id, (BOB, 60), final=final)
    assert assert_found(tmp_path, maker, "must leave nothing", "content.legs")["found"] == "40"


def test_more_than_was_held_is_found(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.capture(hold_id, (BOB, 101))
    assert_found(tmp_path, maker, "is overdrawn", "content.legs[0].from")


@pytest.mark.parametrize(
    ("shares", "rest", "final"),
    [([(BOB, 60)], (BOB, 40), True), ([(BOB, 60)], (ALICE, 10), False)],
    ids=["to another than the payer", "before the last capture"],
)
def test_the_rest_goes_to_the_payer_at_the_end(
    tmp_path: Path, shares: list[tuple[str, int]], rest: tuple[str, int], final: bool
) -> None:
    maker, hold_id = held()
    maker.capture(hold_id, *shares, rest=rest, final=final)
    assert_found(tmp_path, maker, "the rest goes back once", "content.legs[1].rest")


@pytest.mark.parametrize("kind", ["hold.release", "hold.expire"])
@pytest.mark.parametrize(
    ("payer", "units", "what"), [(BOB, 100, "goes to its payer"), (ALICE, 99, "whole rest of the hold")]
)
def test_what_is_left_goes_back_whole_and_to_the_payer(
    tmp_path: Path, kind: str, payer: str, units: int, what: str
) -> None:
    maker, hold_id = held()
    maker.clock.advance(3600)
    maker.give_back(kind, hold_id, payer, units)
    assert_found(tmp_path, maker, what, "content.legs")


def test_a_hold_does_not_expire_before_its_time(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.give_back("hold.expire", hold_id, ALICE, 100)
    assert_found(tmp_path, maker, "expired before its time", "at_us")


def test_a_hold_is_placed_once(tmp_path: Path) -> None:
    for ended in (False, True):
        maker, hold_id = held()
        if ended:
            maker.give_back("hold.release", hold_id, ALICE, 100)
        maker.post("hold.place", (ALICE, hold_account(hold_id), 5), hold=maker.entries[1].content["hold"])
        assert_found(tmp_path, maker, "placed before", "content.hold.id")


def test_a_hold_is_placed_by_one_leg_into_its_own_account(tmp_path: Path) -> None:
    terms = {"captures": 1, "expires_us": 2 * 10**15, "id": "01a3185c-5bb8-7000-8001-a8c74107b0e4"}
    own = hold_account(terms["id"])  # type: ignore[arg-type]
    for legs in ([(ALICE, BOB, 1)], [(ALICE, own, 1), (BOB, own, 1)], [(ALICE, own.replace("escrow", "stake"), 1)]):
        maker = rich()
        maker.post("hold.place", *legs, hold=terms)
        assert_found(tmp_path, maker, "one leg into its own account", "content.legs")


@pytest.mark.parametrize("change", [{"captures": 0}, {"captures": "1"}, {"expires_us": -1}, {"id": "x"}, {"more": 1}])
def test_terms_of_another_shape_are_found(tmp_path: Path, change: dict[str, Any]) -> None:
    maker, _ = held()
    maker.entries[-1].content["hold"].update(change)
    assert_found(tmp_path, maker, "", f"content.hold.{next(iter(change))}")


def test_hold_accounts_are_touched_by_their_own_entries_only(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.post("pay", (hold_account(hold_id), BOB, 1))
    assert_found(tmp_path, maker, "may not touch a hold's account", "content.legs[0].from")

    maker, hold_id = held()
    maker.post("pay", (BOB, hold_account(hold_id), 1))
    assert_found(tmp_path, maker, "may not touch a hold's account", "content.legs[0].to")

    maker, hold_id = held()
    other = maker.place(BOB, 50)
    maker.capture(hold_id, (hold_account(other), 10))
    assert_found(tmp_path, maker, "may not touch a hold's account", "content.legs[0].to")

    maker, hold_id = held()
    maker.post("hold.capture", (BOB, FEES, 10), hold={"final": False, "id": hold_id})
    assert_found(tmp_path, maker, "only take from its hold", "content.legs[0].from")

    maker, _ = held()
    unknown = str(maker.new_id())
    maker.give_back("hold.release", unknown, ALICE, 1)
    assert assert_found(tmp_path, maker, "not there", "content.hold.id")["found"] == "it was never placed"
