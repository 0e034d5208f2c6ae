"""The auditor on receipts of work: what the node gives is verified, and whatever is changed is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from choir.foundation.canonical import canonical_hash, hash_digest
from choir.ledger.notes import VerifierKey
from tests.auditor.verifier import Outcome, run, verify
from tests.ledger.export_maker import ExportMaker, Record

PAYER, PAYEE = "person:01payer", "agent:01payee"
WORLD = "world:lightning/external/SAT"
BUYS, SELLS, PLATFORM = f"{PAYER}/available/SAT", f"{PAYEE}/available/SAT", "system:platform/fees/SAT"
OTHER = "person:01other/available/SAT"
FUND = "system:verifiers/fees/SAT"
JOB, ATTEMPT = "job_01", "attempt_01"


def receipt_of(verdict: Record, **more: object) -> Record:
    return {
        "format": "receipt/1",
        "payer": PAYER,
        "actor": PAYER,
        "delegation": None,
        "action": "bazaar.sandbox_run",
        "job": JOB,
        "attempt": ATTEMPT,
        "payee": PAYEE,
        "budget": {"amount": "1000", "asset": "SAT"},
        "spent": {"amount": "300", "asset": "SAT"},
        "shares": {"payee": "270", "platform": "30"},
        "keys": {"payer": "ab" * 32, "payee": "cd" * 32},
        "objects": {
            "request": canonical_hash("request"),
            "artifact": canonical_hash("artifact"),
            "verdict": canonical_hash(verdict),
        },
        "verifiers": [{"name": "choir.bazaar", "version": "0.1.0+0123456789abcdef"}],
        "sandbox": "bubblewrap",
        "outcome": "passed",
        "policy": canonical_hash("policy"),
        "at": "2027-01-15T08:00:00.000000Z",
    } | more


EVIDENCE = {"check": "output", "files": 1, "word": "grün"}
VERDICT: Record = {
    "format": "verdict/1",
    "job": JOB,
    "attempt": ATTEMPT,
    "request": canonical_hash("request"),
    "artifact": canonical_hash("artifact"),
    "passed": True,
    "units_milli": 1000,
    "sandbox": "bubblewrap",
    "checks": [{"name": "output", "passed": True, "evidence": canonical_hash(EVIDENCE)}],
}
Legs = list[tuple[str, int]]


class Desk:
    """A journal in which a hold was placed; each receipt is signed and paid anew."""

    def __init__(self) -> None:
        self.maker = ExportMaker(seed=7)
        self.maker.act("open", WORLD, BUYS, SELLS, PLATFORM, OTHER, FUND)
        self.maker.post("deposit", (WORLD, BUYS, 1000))
        self.hold = self.maker.place(BUYS, 1000)

    def file(
        self,
        receipt: Record,
        legs: Legs,
        /,
        verdict: Record = VERDICT,
        rest: tuple[str, int] = (BUYS, 700),
        key: int = -1,
        **content: object,
    ) -> Record:
        maker = copy.deepcopy(self.maker)
        name = canonical_hash(receipt)
        maker.capture(self.hold, *legs, final=True, rest=rest)
        entry = {"refs": [JOB, ATTEMPT], "receipt": name, "policy": receipt["policy"]} | content
        maker.entries[-1].content.update(entry)
        maker.post("deposit", (WORLD, BUYS, 1))
        proof = maker.proof(len(maker.entries) - 1)
        signer = maker.signers[key]
        signature = signer.sign(hash_digest(name)).hex()
        return {
            "format": "choir-receipt/1",
            "hash": name,
            "receipt": receipt,
            "signatures": [{"scheme": "ed25519", "public": signer.public.hex(), "signature": signature, "at": "…"}],
            "verdict": verdict,
            "evidence": {canonical_hash(EVIDENCE): EVIDENCE},
            "payment": {field: proof[field] for field in ("entry", "proof", "checkpoint")},
            "rotations": proof["rotations"],
        }


DESK = Desk()
KEY = DESK.maker.keys[0]
SHARES: Legs = [(SELLS, 270), (PLATFORM, 30)]
GOOD = DESK.file(receipt_of(VERDICT), SHARES)


def check(folder: Path, record: object, key: VerifierKey = KEY) -> Outcome:
    file = folder / "receipt.json"
    file.write_bytes(record if isinstance(record, bytes) else json.dumps(record).encode())
    return run("receipt", file, "--key", str(key))


def test_a_receipt_is_verified_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = check(tmp_path, GOOD)
    assert outcome.code == 0, outcome.report
    told = outcome.report
    assert told["paid"] == [{"to": SELLS, "amount": "270"}, {"to": PLATFORM, "amount": "30"}]
    assert (told["keys"], told["objects"]) == (GOOD["receipt"]["keys"], GOOD["receipt"]["objects"])
    assert (told["seq"], told["size"], told["outcome"]) == (3, 4, "passed")
    assert verify.main(["receipt", str(tmp_path / "receipt.json"), "--key", str(KEY)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("VERIFIED  bazaar.sandbox_run passed: 0.300 SAT ")
    assert f"{PAYEE}, key {'cd' * 32}" in text


def test_old_receipts_without_keys_and_shares_are_verified(tmp_path: Path) -> None:
    old = receipt_of(VERDICT, verifiers=[{"name": "choir.bazaar", "version": "1"}])
    del old["keys"], old["shares"]
    outcome = check(tmp_path, DESK.file(old, SHARES))
    assert (outcome.code, outcome.report["keys"]) == (0, {})
    wrong = DESK.file(old, [(OTHER, 270), (PLATFORM, 30)])
    assert check(tmp_path, wrong).difference["field"] == "payment.entry.content.legs"


def test_the_price_of_stronger_checks_goes_to_the_verifier_fund_and_nowhere_else(tmp_path: Path) -> None:
    shares = {"payee": "180", "platform": "20", "verification": "100"}
    receipt = receipt_of(VERDICT, shares=shares)
    legs = [(SELLS, 180), (PLATFORM, 20)]
    assert check(tmp_path, DESK.file(receipt, [*legs, (FUND, 100)])).code == 0
    assert check(tmp_path, DESK.file(receipt, [*legs, (OTHER, 100)])).difference["found"] == OTHER
    assert check(tmp_path, DESK.file(receipt, [(SELLS, 181), (PLATFORM, 20), (FUND, 99)])).code == 5
    unsaid = DESK.file(receipt_of(VERDICT), [(SELLS, 270), (FUND, 30)])
    assert check(tmp_path, unsaid).difference["found"] == FUND


def test_the_level_and_the_lines_are_the_verdict_s(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = VERDICT | {"level": "V3", "lines": {"added": 4, "deleted": 2}, "signs": ["x"]}
    said = {"level": "V3", "lines": {"added": 4, "deleted": 2}}
    good = DESK.file(receipt_of(verdict, **said), SHARES, verdict)
    assert check(tmp_path, good).report["level"] == "V3"
    assert verify.main(["receipt", str(tmp_path / "receipt.json"), "--key", str(KEY)]) == 0
    assert "level     V3" in capsys.readouterr().out
    for wrong in ({"level": "V4"}, {"level": "V9"}, {"lines": {"added": 5, "deleted": 2}}, {"lines": 6}):
        record = DESK.file(receipt_of(verdict, **said | wrong), SHARES, verdict)
        assert check(tmp_path, record).difference["field"].startswith("receipt.l")
    unsaid = DESK.file(receipt_of(verdict), SHARES, verdict)
    assert check(tmp_path, unsaid).difference["field"] == "receipt.level"


def test_what_was_not_paid_has_no_entry(tmp_path: Path) -> None:
    verdict = VERDICT | {"passed": False, "checks": [{"name": "output", "passed": False, "reason": "x"}]}
    none = {"amount": "0", "asset": "SAT"}
    receipt = receipt_of(verdict, outcome="failed", spent=none, shares={"payee": "0", "platform": "0"})
    record = DESK.file(receipt, SHARES, verdict) | {"payment": None, "evidence": {}}
    outcome = check(tmp_path, record)
    assert (outcome.code, outcome.report["paid"]) == (0, [])
    assert check(tmp_path, GOOD | {"payment": None}).difference["field"] == "payment"


def test_debts_and_claims_may_change_who_is_paid(tmp_path: Path) -> None:
    owed = DESK.file(receipt_of(VERDICT), [(OTHER, 100), (SELLS, 170), (PLATFORM, 30)])
    assert check(tmp_path, owed).difference["found"] == OTHER
    named = DESK.file(
        receipt_of(VERDICT), [(OTHER, 100), (SELLS, 170), (PLATFORM, 30)], refs=[JOB, ATTEMPT, "dispute_01"]
    )
    assert check(tmp_path, named).code == 0
    kept = DESK.file(receipt_of(VERDICT), [(f"{PAYEE}/owed/SAT", 270), (PLATFORM, 30)])
    assert check(tmp_path, kept).code == 0


def test_changed_keys_of_the_node_lead_to_the_one_that_is_trusted(tmp_path: Path) -> None:
    desk = Desk()
    desk.maker.rotate()
    record = desk.file(receipt_of(VERDICT), SHARES, key=0)
    for key in desk.maker.keys:
        assert check(tmp_path, record, key).code == 0
    record["rotations"] = []
    assert check(tmp_path, record, desk.maker.keys[1]).difference["field"] == "signatures"


# Whatever the node signed: the receipt itself says what cannot be.
SIGNED_WRONG: dict[str, tuple[str, Callable[[], Record]]] = {
    "more to the payee": ("payment.entry.content.legs", lambda: DESK.file(GOOD["receipt"], [(SELLS, 300)])),
    "another amount": (
        "payment.entry.content.legs",
        lambda: DESK.file(GOOD["receipt"], [(SELLS, 270), (PLATFORM, 31)], rest=(BUYS, 699)),
    ),
    "paid to another": (
        "payment.entry.content.legs",
        lambda: DESK.file(GOOD["receipt"], [(OTHER, 270), (PLATFORM, 30)]),
    ),
    "rest to another": (
        "payment.entry.content.legs[2].to",
        lambda: DESK.file(GOOD["receipt"], SHARES, rest=(OTHER, 700)),
    ),
    "another job": ("payment.entry.content.refs", lambda: DESK.file(GOOD["receipt"], SHARES, refs=["job_2", ATTEMPT])),
    "another try": ("payment.entry.content.refs", lambda: DESK.file(GOOD["receipt"], SHARES, refs=[JOB])),
    "another receipt": (
        "payment.entry.content.receipt",
        lambda: DESK.file(GOOD["receipt"], SHARES, receipt=canonical_hash("another")),
    ),
    "another policy": (
        "payment.entry.content.policy",
        lambda: DESK.file(GOOD["receipt"], SHARES, policy=canonical_hash("another")),
    ),
    "no payment": (
        "payment.entry.content.kind",
        lambda: DESK.file(GOOD["receipt"], SHARES, kind="hold.release", hold={"id": DESK.hold}),
    ),
    "shares that do not add up": (
        "receipt.shares",
        lambda: DESK.file(receipt_of(VERDICT, shares={"payee": "271", "platform": "30"}), SHARES),
    ),
    "above the budget": (
        "receipt.spent.amount",
        lambda: DESK.file(receipt_of(VERDICT, budget={"amount": "299", "asset": "SAT"}), SHARES),
    ),
    "an outcome that the verdict does not give": (
        "receipt.outcome",
        lambda: DESK.file(receipt_of(VERDICT, outcome="failed"), SHARES),
    ),
    "a verdict of another sandbox": (
        "verdict.sandbox",
        lambda: DESK.file(receipt_of(VERDICT, sandbox="gvisor"), SHARES),
    ),
    "a verdict that its checks do not give": (
        "verdict.passed",
        lambda: _with_verdict(VERDICT | {"checks": [VERDICT["checks"][0] | {"passed": False}]}),
    ),
    "a verdict without a check": ("verdict.passed", lambda: _with_verdict(VERDICT | {"checks": []})),
    "evidence by another name": (
        "verdict.checks[0].evidence",
        lambda: _with_verdict(VERDICT | {"checks": [VERDICT["checks"][0] | {"evidence": "x"}]}),
    ),
    "no verdict": (
        "verdict",
        lambda: DESK.file(receipt_of(VERDICT, objects={"request": canonical_hash("request")}), SHARES),
    ),
    "a key that is none": ("receipt.keys.payer", lambda: DESK.file(receipt_of(VERDICT, keys={"payer": "x"}), SHARES)),
}


def _with_verdict(verdict: Record) -> Record:
    return DESK.file(receipt_of(verdict), SHARES, verdict)


@pytest.mark.parametrize("name", SIGNED_WRONG)
def test_a_node_that_signs_what_cannot_be_is_found_out(name: str, tmp_path: Path) -> None:
    field, made = SIGNED_WRONG[name]
    assert check(tmp_path, made()).difference["field"] == field


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where in a file something stands that could be changed."""
    if isinstance(value, dict):
        return [path, *(place for name in value for place in _places(value[name], (*path, name)))]
    if isinstance(value, list):
        return [path, *(place for n in range(len(value)) for place in _places(value[n], (*path, n)))]
    return [path]


NOT_SIGNED = {("signatures", 0, "at")}


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {}, [[]], {"x": {}}, True, 1.5, "9" * 40])
def test_no_field_can_be_changed_and_no_type_confuses(wrong: object, tmp_path: Path) -> None:
    for place in _places(GOOD)[1:]:
        if place in NOT_SIGNED:
            continue
        record = copy.deepcopy(GOOD)
        inner: object = record
        for step in place[:-1]:
            inner = inner[step]  # type: ignore[index]
        if inner[place[-1]] == wrong:  # type: ignore[index]
            continue
        inner[place[-1]] = wrong  # type: ignore[index]
        found = check(tmp_path, record).difference
        assert found["what"], place


def test_no_field_can_be_taken_away_or_added(tmp_path: Path) -> None:
    for place in _places(GOOD)[1:]:
        if place in NOT_SIGNED:
            continue
        record = copy.deepcopy(GOOD)
        inner: object = record
        for step in place[:-1]:
            inner = inner[step]  # type: ignore[index]
        del inner[place[-1]]  # type: ignore[attr-defined]
        assert check(tmp_path, record).difference["what"], place
    assert check(tmp_path, GOOD | {"more": 1}).difference["field"] == "more"
    extra = GOOD | {"evidence": GOOD["evidence"] | {canonical_hash("x"): "x"}}
    assert check(tmp_path, extra).difference["field"] == "evidence"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"format":"choir-receipt/1"}',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"hash":' + b"9" * 100_000 + b"}",
        b'{"format":"choir-receipt/1","format":"choir-receipt/1"}',
        json.dumps(GOOD | {"verdict": {"x": "\ud800"}}).encode(),
    ],
    ids=range(9),
)
def test_hostile_files_are_differences(data: bytes, tmp_path: Path) -> None:
    assert check(tmp_path, data).difference["what"]


def test_a_stranger_s_key_and_another_kind_of_file(tmp_path: Path) -> None:
    stranger = ExportMaker(seed=99).keys[0]
    assert check(tmp_path, GOOD, stranger).difference["field"] == "signatures"
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(GOOD))
    assert "choir_verify.py receipt" in run("proof", file, "--key", str(KEY)).report["try"]
    too_many = GOOD | {"signatures": GOOD["signatures"] * 101}
    assert check(tmp_path, too_many).difference["field"] == "signatures"
