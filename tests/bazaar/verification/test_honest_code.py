"""Honest work is never refused: each patch of ordinary code passes, alone and all of them together."""

from __future__ import annotations

import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks
from choir.bazaar.jobs.model import Level, Verdict
from choir.bazaar.verification.service import Verifier
from tests.bazaar.verification.honest_code import PATCHES, faulty_repository
from tests.bazaar.verification.honest_patch import SALT, Patch
from tests.bazaar.verification.scene import Repository


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return faulty_repository(tmp_path_factory.mktemp("honest"))


def refusals(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [(check.name, check.reason, check.details) for check in verdict.checks if not check.passed]


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["pytest", "module"])
def test_all_honest_patches_together_pass(
    runner: str, faulty: Repository, verifier: Verifier, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One delivery that mends every fault, held by the tests of all, seen and hidden."""
    patches = [patch for patch in PATCHES if patch.runner == runner]
    diff = faulty.diff({patch.module: patch.fixed for patch in patches}, tmp_path_factory.mktemp("patch"))

    def command(folder: str) -> str:
        return " ".join([patches[0].command(folder), *(patch.command(folder).split()[-1] for patch in patches[1:])])

    hidden = HiddenChecks(SALT, (HiddenCheck(command("hidden")),), tuple(patch.hidden_file() for patch in patches))
    order = faulty.order(hidden, test_command=command("tests"), level=Level.V3, files_max=len(patches))
    verdict = verifier.verify(order, faulty.delivery(diff))
    assert verdict.passed, refusals(verdict)
    assert verdict.level is Level.V3


@pytest.mark.deep
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_an_honest_patch_passes(
    patch: Patch, faulty: Repository, verifier: Verifier, tmp_path_factory: pytest.TempPathFactory
) -> None:
    order, delivery = patch.build(faulty, tmp_path_factory.mktemp("patch"))
    verdict = verifier.verify(order, delivery)
    assert verdict.passed, refusals(verdict)
    assert verdict.level is not None and verdict.level >= patch.level  # noqa: PT018
    assert verdict.units_milli == 1000


def test_the_table_is_long_enough_and_has_names_of_its_own() -> None:
    names = [patch.name for patch in PATCHES]
    assert len(set(names)) == len(names) >= 60
