"""Honest work is never refused: each patch of ordinary code passes, alone and all of them together."""

from __future__ import annotations

import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks
from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.service import Verifier
from tests.bazaar.verification.honest_code import PATCHES, faulty_repository
from tests.bazaar.verification.honest_patch import SALT, SHARED, HiddenFile, Patch
from tests.bazaar.verification.scene import Repository


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return faulty_repository(tmp_path_factory.mktemp("honest"))


@pytest.mark.deep
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_an_honest_patch_passes(
    patch: Patch, faulty: Repository, verifier: Verifier, tmp_path_factory: pytest.TempPathFactory
) -> None:
    order, delivery = patch.build(faulty, tmp_path_factory.mktemp("patch"))
    verdict = verifier.verify(order, delivery)
    assert verdict.passed, [check for check in verdict.checks if not check.passed]
    assert verdict.level >= patch.level
    assert verdict.units_milli == 1000


def test_the_table_is_long_enough_and_has_names_of_its_own() -> None:
    names = [patch.name for patch in PATCHES]
    assert len(set(names)) == len(names) >= 60
