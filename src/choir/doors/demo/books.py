"""The story's end: the whole ledger is verified, and one payment is proved by a program that shares no code with us."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import choir
from choir.doors.demo.stage import Stage, shown
from choir.foundation.errors import Broken
from choir.foundation.money import Asset
from choir.treasury.accounts import CITATION_POOL

if TYPE_CHECKING:
    from choir.doors.ledger.shapes import EntryOut

_AUDITOR = "choir_verify.py"
_PROVED_S_MAX = 60


class LedgerDiffers(Broken):
    """The story's own ledger does not add up."""

    code = "demo.ledger_differs"
    sentence = "The ledger was verified, and {what}."


def auditor() -> Path | None:
    """The auditor's one file: beside the sources, or where an installed package puts it."""
    places = (Path(choir.__file__).parents[2] / "auditor", Path(sys.prefix) / "share" / "choir")
    return next((place / _AUDITOR for place in places if (place / _AUDITOR).is_file()), None)


def verify(stage: Stage) -> dict[str, Any]:
    """Every hash, balance and signature, computed anew from the journal."""
    from choir.ledger.verification import verify_database

    report = stage.node.write(lambda tx: verify_database(tx, stage.node.keys))  # it reads through one transaction
    if not report.good:
        raise LedgerDiffers(what=f"it differs: {report.differences[0]}")
    stage.tell(f"ledger verified: {report.entries} entries, {report.accounts} accounts, every hash and balance again")
    balance = stage.operator.trial_balance()
    if not balance.balanced:
        raise LedgerDiffers(what="the trial balance is not zero")
    lines = [item.model_dump() for item in balance.lines]
    return {"entries": report.entries, "accounts": report.accounts, "balanced": balance.balanced, "lines": lines}


def prove_citation(stage: Stage) -> dict[str, Any]:
    """The entry that paid the citation is in the signed journal; the auditor says so."""
    entry = stage.record.once("citation entry", lambda: _citation_entry(stage).id)
    stage.operator.checkpoint()
    proof = stage.record.folder / "citation-proof.json"
    proof.write_text(json.dumps(stage.operator.prove(entry).model_dump()), encoding="utf-8")
    program, key = auditor(), stage.operator.node().key
    if program is None:
        stage.tell(f"the payment's proof is in {proof}; this installation has no {_AUDITOR} to check it with")
        return {"entry": entry, "proof": str(proof), "key": key, "checked_by": None}
    command = [sys.executable, "-I", str(program), "proof", str(proof), "--key", key]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PROVED_S_MAX, check=False)
    if done.returncode != 0:
        raise LedgerDiffers(what=f"the auditor refuses the proof of {entry}: {done.stdout}{done.stderr}")
    stage.tell(f"{_AUDITOR}: {done.stdout.splitlines()[0]}")
    return {"entry": entry, "proof": str(proof), "key": key, "checked_by": str(program)}


def totals(stage: Stage) -> dict[str, dict[str, str]]:
    """What everybody in the story has at its end, by name."""
    found: dict[str, dict[str, str]] = {}
    for step, owner in stage.record.made.items():
        if not step.startswith("agent "):
            continue
        role = step.removeprefix("agent ")
        accounts = stage.operator.accounts(f"{owner}/available/", limit=20)
        held = {item.asset: item.balance for item in accounts}
        found[role] = held
        told = ", ".join(shown(amount, Asset[name]) for name, amount in held.items() if int(amount))
        stage.tell(f"{role:15} {told}")
    return found


def _citation_entry(stage: Stage) -> EntryOut:
    """The entry in which the pool paid for the citation."""
    citation = stage.record.made["citation"]
    for entry in stage.operator.journal(limit=200):
        legs = entry.content.get("legs", [])
        if citation in entry.content.get("refs", []) and any(leg["from"] == CITATION_POOL for leg in legs):
            return entry
    raise LedgerDiffers(what="the citation's payment is not in the journal")
