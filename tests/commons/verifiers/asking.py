"""Asks the checks about one claim and one extract, and reads the pairs of the development set."""

from __future__ import annotations

import json
from pathlib import Path

from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.referee import wording
from choir.commons.verifiers.report import LabelledPair

PAIRS = Path(__file__).parent / "pairs"


def findings(claim: str, extract: str, context: str = "") -> dict[str, CheckFinding]:
    return {item.check: item for item in wording(claim, extract, context, VerifiersPolicy())}


def outcome(check: str, claim: str, extract: str) -> Outcome:
    return findings(claim, extract)[check].outcome


def development_pairs() -> list[LabelledPair]:
    lines = [line for file in sorted(PAIRS.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    return [LabelledPair(set="development", **json.loads(line)) for line in lines]
