"""No cheat is paid at the level that is said to catch it; what only a higher level catches is really so."""

from __future__ import annotations

from pathlib import Path

import pytest

from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.outside import faketime
from choir.bazaar.verification.service import Verifier
from tests.bazaar.verification.cheat_programs import FILES, PROGRAMS
from tests.bazaar.verification.cheats import CHEATS, Caught, Cheat
from tests.bazaar.verification.scene import Repository

NAMED = [cheat for cheat in CHEATS if cheat.named]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("shop"), FILES)


def check(cheat: Cheat, shop: Repository, verifier: Verifier, folder: Path) -> None:
    if cheat.name == "a time bomb" and faketime() is None:
        pytest.skip("the library that shows another date is not installed")
    verdict = verifier.verify(*cheat.build(shop, folder))
    if cheat.caught is Caught.NOTHING:
        assert verdict.passed, "it is caught after all, and the table must say so"
        return
    assert not verdict.passed
    assert verdict.reason in cheat.reasons, verdict.reason
    assert verdict.visible_passed is (cheat.caught is not Caught.V2), verdict.reason


@pytest.mark.parametrize("cheat", NAMED, ids=lambda cheat: cheat.name)
def test_a_named_cheat_is_not_paid(cheat: Cheat, shop: Repository, verifier: Verifier, tmp_path: Path) -> None:
    check(cheat, shop, verifier, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("cheat", [item for item in CHEATS if not item.named], ids=lambda cheat: cheat.name)
def test_a_cheat_is_not_paid(cheat: Cheat, shop: Repository, verifier: Verifier, tmp_path: Path) -> None:
    check(cheat, shop, verifier, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("cheat", [item for item in CHEATS if item.caught is Caught.V4], ids=lambda cheat: cheat.name)
def test_what_only_an_outside_check_catches(cheat: Cheat, shop: Repository, verifier: Verifier, tmp_path: Path) -> None:
    verdict = verifier.verify(*PROGRAMS[cheat.program].order(shop, cheat.code, tmp_path, Level.V3))
    assert verdict.passed, "it is caught before, and the table must say so"


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_code_reaches_the_level(name: str, shop: Repository, verifier: Verifier, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    verdict = verifier.verify(*program.order(shop, program.right, tmp_path, Level.V3))
    assert verdict.passed, [check for check in verdict.checks if not check.passed]
    assert verdict.level is Level.V3


def test_the_table_names_sixty_cheats_once() -> None:
    names = [cheat.name for cheat in CHEATS]
    assert len(set(names)) == len(names) >= 60
    assert len(NAMED) >= 16
