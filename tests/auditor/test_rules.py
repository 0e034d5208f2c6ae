"""A node that breaks its own rules and signs it: hashes and signatures are true, the acts are not."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from choir.ledger.verification import verify_export
from tests.auditor.verifier import audit
from tests.ledger.export_maker import (
    ALICE,
    BOB,
    CAROL,
    FEES,
    ISSUANCE,
    ExportMaker,
    encode,
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
    """The last line breaks a rule; the report says so, and so does the ledger's own verifier."""
    data = maker.export()
    difference = audit(folder, data, "--key", str(maker.keys[0])).difference
    lines = [found.where for found in verify_export(io.BytesIO(data)).differences]
    assert f"line {difference['line']}" in lines
    assert what in difference["what"]
    assert difference["field"] == field
    assert difference["line"] == 1 + len(maker.rotations) + len(maker.acts) + len(maker.entries)
    return difference


def assert_good(folder: Path, maker: ExportMaker) -> None:
    """Both verifiers find nothing."""
    data = maker.export()
    outcome = audit(folder, data)
    assert outcome.code == 0, outcome.report
    assert verify_export(io.BytesIO(data)).differences == ()


def test_the_starting_point_is_right(tmp_path: Path) -> None:
    assert_good(tmp_path, rich())


Leg = tuple[str, str, Any]

BAD_LEGS: list[tuple[str, list[Leg], str, str]] = [
    ("overdraft", [(ALICE, BOB, 1001)], "is overdrawn", "content.legs[0].from"),
    ("overdraft in sum", [(ALICE, BOB, 600), (ALICE, FEES, 600)], "is overdrawn", "content.legs[0].from"),
    ("unopened", [(ALICE, "person:dora/available/SAT", 1)], "was not opened before", "content.legs[0].to"),
    ("unopened payer", [("person:dora/available/SAT", ALICE, 1)], "was not opened before", "content.legs[0].from"),
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
    ("owner of no account", [(ALICE, "node:bob/available/SAT", 1)], "not what it must be", "content.legs[0].to"),
    ("unknown role", [(ALICE, "person:bob/pocket/SAT", 1)], "not what it must be", "content.legs[0].to"),
    ("person who issues", [("person:bob/issuance/SAT", ALICE, 1)], "not what it must be", "content.legs[0].from"),
    ("system outside", [("system:main/external/SAT", ALICE, 1)], "not what it must be", "content.legs[0].from"),
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
    (lambda content: content.update(refs=[]), "content.refs"),
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


def test_an_account_is_empty_when_it_is_closed(tmp_path: Path) -> None:
    maker = rich()
    maker.post("pay", (ALICE, CAROL, 5))
    maker.act("close", CAROL)
    assert assert_found(tmp_path, maker, f"{CAROL} is closed and not empty", "account")["found"] == "5"
    maker.post("pay", (CAROL, ALICE, 5))  # too late
    assert audit(tmp_path, maker.export()).difference["line"] == 1 + len(maker.acts) + 2
    maker.acts[-1].after, maker.acts[-1].at_us = 3, maker.entries[-1].at_us
    assert_good(tmp_path, maker)


def test_an_account_is_not_closed_while_a_hold_may_give_money_back_to_it(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.post("pay", (ALICE, BOB, 900))
    maker.act("close", ALICE)
    assert_found(tmp_path, maker, "a hold may give money back", "account")
    maker.acts.pop()
    maker.capture(hold_id, (BOB, 100), final=True)
    maker.act("close", ALICE)
    assert_good(tmp_path, maker)


def test_an_entry_on_an_account_that_is_not_open_yet_frozen_or_closed_is_found(tmp_path: Path) -> None:
    """The node signs all of this: everything is in order but the moment."""
    for side, legs in (("to", (ALICE, CAROL, 1)), ("from", (CAROL, ALICE, 1))):
        maker = rich()
        maker.acts.pop()  # opens Carol's account
        maker.post("pay", legs)
        maker.act("open", CAROL)
        difference = audit(tmp_path, maker.export()).difference
        assert (difference["what"], difference["line"]) == ("this account was not opened before", 9)
        assert verify_export(io.BytesIO(maker.export())).differences[0].where == "line 9"
        for act, what in (("freeze", "was frozen"), ("close", "was closed")):
            maker = rich()
            maker.act(act, CAROL)
            maker.post("pay", legs)
            assert_found(tmp_path, maker, what, f"content.legs[0].{side}")


def test_a_frozen_account_moves_again_after_it_is_unfrozen(tmp_path: Path) -> None:
    maker = rich()
    maker.act("freeze", ALICE)
    maker.act("unfreeze", ALICE)
    maker.post("pay", (ALICE, BOB, 1))
    assert_good(tmp_path, maker)
    maker.act("freeze", ALICE)
    maker.post("pay", (ALICE, BOB, 1))
    assert_found(tmp_path, maker, "was frozen", "content.legs[0].from")


@pytest.mark.parametrize("kind", ["hold.release", "hold.expire", "hold.capture"])
def test_only_the_rest_of_a_hold_reaches_a_frozen_account(tmp_path: Path, kind: str) -> None:
    maker, hold_id = held()
    maker.act("freeze", ALICE)
    maker.clock.advance(3600 if kind == "hold.expire" else 0)
    if kind == "hold.capture":
        maker.capture(hold_id, (BOB, 10), final=True, rest=(ALICE, 90))
    else:
        maker.give_back(kind, hold_id, ALICE, 100)
    assert_good(tmp_path, maker)
    del maker.entries[-1].content["legs"][-1]["rest"]
    assert_found(tmp_path, maker, "was frozen", f"content.legs[{int(kind == 'hold.capture')}].to")
    if kind == "hold.capture":
        maker, hold_id = held()
        maker.act("freeze", BOB)
        maker.capture(hold_id, (BOB, 10))
        assert_found(tmp_path, maker, "was frozen", "content.legs[0].to")


def test_what_is_left_of_a_hold_is_marked_as_its_rest(tmp_path: Path) -> None:
    maker, hold_id = held()
    maker.give_back("hold.release", hold_id, ALICE, 100)
    del maker.entries[-1].content["legs"][0]["rest"]
    assert_found(tmp_path, maker, "as its rest", "content.legs[0].rest")


def test_acts_and_entries_go_forward_in_time_together(tmp_path: Path) -> None:
    maker = rich()
    maker.act("freeze", CAROL)
    maker.acts[-1].at_us = maker.entries[-1].at_us
    assert_good(tmp_path, maker)
    maker.acts[-1].at_us -= 1
    assert_found(tmp_path, maker, "time goes backwards", "at_us")
    maker.acts[-1].at_us += 2
    maker.post("pay", (ALICE, BOB, 1))
    maker.entries[-1].at_us = maker.acts[-1].at_us - 1
    assert_found(tmp_path, maker, "time goes backwards", "at_us")


def test_an_act_stands_where_it_says(tmp_path: Path) -> None:
    """Each act moved to each other place, and signed there by the node itself."""
    maker = rich()
    maker.act("freeze", CAROL)
    maker.post("pay", (ALICE, BOB, 1))
    records = maker.records()
    for place in range(1, len(records)):
        if records[place]["type"] != "account":
            continue
        for target in range(1, len(records)):
            moved = records[:place] + records[place + 1 :]
            moved.insert(target, records[place])
            if moved == records:
                continue
            data = encode([*moved, maker.trailer(encode(moved), maker.act_records())])
            difference = audit(tmp_path, data).difference
            assert 1 + min(place, target) <= difference["line"] <= 1 + max(place, target)
            lines = [found.where for found in verify_export(io.BytesIO(data)).differences]
            assert f"line {difference['line']}" in lines
    maker.acts[-1].after = 2  # it stands after entry 2 then, and says so: but its time does not
    assert audit(tmp_path, maker.export()).difference["field"] == "at_us"


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
