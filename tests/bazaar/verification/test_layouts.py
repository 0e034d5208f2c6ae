"""Two verifiers on two machines' layouts give the same verdict and the same evidence.

Another home, another folder for temporary files and, as root, other user numbers for the sandboxes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.jobs.model import Verdict
from choir.bazaar.verification.service import Verifier
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.honest import HONEST
from tests.bazaar.verification.hostile_code import CODE
from tests.bazaar.verification.making import HIDDEN, edits
from tests.bazaar.verification.scene import Repository
from tests.bazaar.verification.table import Case
from tests.sandbox.conftest import POLICY

CASES = [
    next(case for case in HONEST if case.name == "hidden checks"),
    Case("wrong", "", "tests.failed", edits({"calc.py": "def add(a, b):\n    return 3\n\n\nmul = add\n"}, fix=False)),
    Case("memorised", "", "hidden.failed", edits({"calc.py": """\
def add(a, b):
    return {(1, 2): 3, (2, 2): 4}.get((a, b), 0)


def mul(a, b):
    return a * b
"""}, fix=False, hidden=HIDDEN)),
    CODE[0],
]  # fmt: skip


def test_two_layouts_agree(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {case.name: case.build(repository, tmp_path_factory.mktemp("case")) for case in CASES}

    def verify_all(verifier: Verifier) -> dict[str, Verdict]:
        return {name: verifier.verify(order, delivery) for name, (order, delivery) in made.items()}

    one = _elsewhere(tmp_path_factory.mktemp("a"), POLICY, monkeypatch, verify_all)
    uids = POLICY.uid_first + POLICY.uid_count
    other_policy = replace(POLICY, uid_first=uids) if os.geteuid() == 0 else POLICY
    other = _elsewhere(tmp_path_factory.mktemp("b") / "deep er" / "ünder", other_policy, monkeypatch, verify_all)
    for name in made:
        assert _said(one[name]) == _said(other[name]), name
    assert one["hidden checks"].passed
    assert not one["wrong"].passed


def _elsewhere(
    home: Path,
    policy: SandboxPolicy,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Verifier], dict[str, Verdict]],
) -> dict[str, Verdict]:
    for name in ("home", "temporary", "state"):
        (home / name).mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(home / "home"))
        patch.setenv("TMPDIR", str(home / "temporary"))
        patch.setattr(tempfile, "tempdir", None)
        sandboxes = Sandboxes(home / "state", policy)
        try:
            with Verifier(sandboxes) as verifier:
                return work(verifier)
        finally:
            sandboxes.close()


def _said(verdict: Verdict) -> tuple[object, ...]:
    """Everything that others can compare."""
    checks = [(check.name, check.passed, check.reason, check.details, check.evidence) for check in verdict.checks]
    return verdict.passed, verdict.reason, verdict.units_milli, verdict.level, checks, verdict.evidence
