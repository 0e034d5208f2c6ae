"""`choir bench verifiers`: what the verifiers catch and what they refuse, by kind of change.

It reads sets of pairs, each a folder of JSON lines: an extract, a claim, and what was done to the claim.
`docs/benchmarks.md` says what the aims are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import choir
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.referee import version_of
from choir.commons.verifiers.report import PARAPHRASE, LabelledPair, Row, measure
from choir.foundation.errors import Invalid

# The share that must not be refused, or must be caught, in basis points.
AIMS = {
    PARAPHRASE: 9_500,
    "fabricated": 10_000,
    "misattributed": 10_000,
    "number": 10_000,
    "name": 9_500,
    "negation": 9_000,
}
_BESIDE = Path(choir.__file__).parents[2] / "tests" / "commons" / "verifiers"


def pairs_folder(given: Path | None) -> Path:
    """Where the sets are: where it was said, or beside the source tree."""
    folder = given or _BESIDE
    if not any(folder.glob("*/*.jsonl")):
        raise Invalid(what=f"The folder {folder}", why="it has no sets of pairs; name one with --pairs")
    return folder


def read_pairs(folder: Path) -> Iterator[LabelledPair]:
    """All pairs of all sets; a set is a folder."""
    for file in sorted(folder.glob("*/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield LabelledPair(set=file.parent.name, **json.loads(line))


def run(folder: Path) -> dict[str, Any]:
    """The whole table as a JSON value."""
    policy = VerifiersPolicy()
    rows = measure(read_pairs(folder), policy)
    return {"version": version_of(policy), "rows": [_shown(row) for row in rows]}


def _shown(row: Row) -> dict[str, Any]:
    aim = AIMS.get(row.type)
    what = "not refused" if row.type == PARAPHRASE else "caught"
    return {
        "set": row.set,
        "type": row.type,
        "pairs": row.pairs,
        "failed": row.failed,
        "undecided": row.undecided,
        "passed": row.passed,
        "good_bps": row.good_bps,
        "aim": "" if aim is None else f"{aim / 100:g} % {what}",
        "met": aim is None or row.good_bps >= aim,
    }
