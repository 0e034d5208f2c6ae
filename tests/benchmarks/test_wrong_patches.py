"""The programs of `choir bench verification`: fixes are right, and the mutants that are kept pass and are wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.bazaar.jobs.model import Check, Verdict, Visibility
from choir.benchmarks.verification import FULL, _some, _told
from choir.benchmarks.wrong_patches import Program, judged, mutants, programs, wrong_but_passing
from choir.sandbox.service import Sandboxes
from tests.sandbox.conftest import started

ALL = programs()


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("programs")) as service:
        yield service


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_both_fixes_are_right_and_the_fault_is_seen(program: Program, sandboxes: Sandboxes) -> None:
    broken, fixed, honest = judged(program, [program.broken, program.fixed, program.honest], sandboxes)
    assert broken == (False, True)
    assert fixed == honest == (True, False)


@pytest.mark.slow
def test_there_are_wrong_patches_enough(sandboxes: Sandboxes) -> None:
    assert len(ALL) >= 12
    found = [wrong_but_passing(program, sandboxes) for program in ALL]
    assert sum(len(_some(each, FULL.mutants_each)) for each in found) >= 40
    for mutant in (one for each in found for one in each):
        assert mutant.source != mutant.program.fixed


def test_a_mutant_changes_one_line_of_the_fix() -> None:
    for program in ALL:
        for mutant in mutants(program):
            before, after = program.fixed.splitlines(), mutant.source.splitlines()
            assert len(before) == len(after)
            changed = {n for n, (one, other) in enumerate(zip(before, after, strict=True), 1) if one != other}
            assert len(changed) == 1, mutant.what
            assert changed <= program.fixing_lines


def test_what_was_refused_is_counted_apart() -> None:
    from choir.benchmarks.verification import _Case

    def case(wrong: bool) -> _Case:
        return _Case("roman", "line 1", wrong, None, None)  # type: ignore[arg-type]

    good = Verdict(True, (Check("a", True),), 1, "bubblewrap")
    bad = Verdict(False, (Check("a", False, "hidden.failed", visibility=Visibility.HIDDEN),), 1, "bubblewrap")
    told = _told([case(True)] * 10 + [case(False)] * 20, [bad] * 9 + [good] * 20 + [bad])
    assert (told["wrong_refused_bps"], told["honest_refused_bps"], told["met"]) == (9_000, 500, True)
    assert told["by_reason"] == {"hidden.failed (hidden)": 9}
    assert told["passed_though_wrong"] == ["roman line 1"]
    assert not _told([case(True)] * 10, [bad] * 8 + [good] * 2)["met"]
