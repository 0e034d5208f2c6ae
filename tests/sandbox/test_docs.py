"""The page on the sandbox says what the suite has shown."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sandbox.attacks import ATTACKS
from tests.sandbox.attacks.host import HOST_ATTACKS
from tests.sandbox.attacks.table import put_in, render

DOCS = Path(__file__).resolve().parents[2] / "docs" / "security"
EVIDENCE = json.loads((DOCS / "sandbox-attacks.json").read_text())


def test_the_table_is_the_one_that_the_evidence_gives() -> None:
    page = (DOCS / "sandbox.md").read_text()
    assert put_in(page, render(EVIDENCE)) == page, "run: python tools/generate_sandbox_table.py"


def test_there_is_evidence_for_every_attack_as_it_is_now() -> None:
    shown = {item["name"]: item["digest"] for item in EVIDENCE["attacks"]}
    assert shown == {attack.name: attack.digest for attack in ATTACKS}, "run it again with --record"
    assert {item["name"] for item in EVIDENCE["host"]} == {attack.name for attack in HOST_ATTACKS}


def test_the_evidence_shows_no_escape() -> None:
    for item in EVIDENCE["attacks"]:
        assert item["proved"], item["name"]
        assert {found["outcome"] for found in item["outcomes"].values()} <= {"contained", "not applicable"}, item[
            "name"
        ]
        assert "contained" in {found["outcome"] for found in item["outcomes"].values()}, item["name"]
    assert all(item["proved"] and item["contained"] for item in EVIDENCE["host"])
