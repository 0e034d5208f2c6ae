"""Every hostile patch is refused with its own reason; every honest one passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from choir.bazaar.jobs.model import Verdict, Visibility
from choir.bazaar.verification.service import Verifier
from choir.foundation.canonical import canonical_hash
from tests.bazaar.verification.honest import HONEST
from tests.bazaar.verification.hostile_code import CODE
from tests.bazaar.verification.hostile_diffs import CLAIMS, DECIDING, PATHS
from tests.bazaar.verification.scene import Repository
from tests.bazaar.verification.table import Case

HOSTILE = [*CLAIMS, *PATHS, *DECIDING, *CODE]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_a_hostile_patch_is_refused(
    case: Case, repository: Repository, verifier: Verifier, strict_verifier: Verifier, tmp_path: Path
) -> None:
    order, delivery = case.build(repository, tmp_path)
    verdict = (strict_verifier if case.strict else verifier).verify(order, delivery)
    assert (verdict.passed, verdict.reason) == (False, case.reason), verdict.checks
    is_hidden = case.reason.startswith("hidden.")
    assert verdict.visible_passed is is_hidden
    assert verdict.units_milli == (1000 if is_hidden else 0), "a fee is due where only hidden checks fail"
    assert sum(not check.passed for check in verdict.checks) == 1, "a failed check ends what follows"
    check_evidence(verdict, delivery.artifact)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_an_honest_patch_passes(case: Case, repository: Repository, verifier: Verifier, tmp_path: Path) -> None:
    order, delivery = case.build(repository, tmp_path)
    verdict = verifier.verify(order, delivery)
    assert verdict.passed, [check for check in verdict.checks if not check.passed]
    assert verdict.units_milli == 1000 * (case.units or 0)
    assert verdict.tier == "bubblewrap"
    assert any(check.visibility is Visibility.HIDDEN for check in verdict.checks) is (order.hidden is not None)
    check_evidence(verdict, delivery.artifact)


def check_evidence(verdict: Verdict, artifact: bytes) -> None:
    """Evidence is complete, hashed, and holds no line of the artifact."""
    assert {check.evidence for check in verdict.checks} - {None} == {canonical_hash(item) for item in verdict.evidence}
    said = repr([(check.name, check.reason, check.details) for check in verdict.checks]) + repr(verdict.evidence)
    for line in artifact.decode(errors="replace").split("\n"):
        text = line.strip("+- \r")
        assert len(text) < 12 or text not in said


def test_the_table_has_at_least_thirty_hostile_rows_with_names_of_their_own() -> None:
    names = [case.name for case in (*HOSTILE, *HONEST)]
    assert len(set(names)) == len(names)
    assert len(HOSTILE) >= 30
