"""Repositories and orders of odd shapes: tests that cannot be loaded yet, that hang, that lie elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.contracts import Evidence, HiddenCheck, HiddenChecks
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.bases import Bases
from choir.bazaar.verification.model import Cancelled
from choir.bazaar.verification.service import BadOrder, Verifier
from choir.bazaar.verification.trees import NoBase, check_out
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.making import FIX, HIDDEN, SALT
from tests.bazaar.verification.scene import Repository
from tests.sandbox.conftest import POLICY

PYTEST = "python3 -m pytest -q"


def outcome(
    verifier: Verifier,
    folder: Path,
    files: Mapping[str, str],
    edits: Mapping[str, str | bytes | None],
    hidden: HiddenChecks | None = None,
    **request: object,
) -> str:
    """The reason that a patch is refused with in a repository of its own, or `passed`."""
    repository = Repository.make(folder / "made", files)
    (folder / "scratch").mkdir()
    diff = repository.diff(edits, folder / "scratch")
    order = repository.order(hidden, **{"test_command": PYTEST} | request)
    verdict = verifier.verify(order, repository.delivery(diff))
    return verdict.reason or "passed"


NEW_FUNCTION = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_sub.py": "import pytest\nfrom calc import sub\n\n\ndef test_one():\n    assert sub(3, 1) == 2\n\n\n"
    "class TestTwo:\n    def test_two(self):\n        assert sub(1, 1) == 0\n\n    @pytest.mark.skip\n"
    "    def test_later(self):\n        assert False\n",
}
SUB = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


def test_tests_that_cannot_be_imported_before_the_patch_are_read(verifier: Verifier, tmp_path: Path) -> None:
    assert outcome(verifier, tmp_path / "a", NEW_FUNCTION, {"calc.py": SUB}) == "passed"
    leaves = SUB + "\n\nimport pytest\n\npytest.skip('all of it', allow_module_level=True)\n"
    found = outcome(verifier, tmp_path / "b", NEW_FUNCTION, {"calc.py": leaves})
    assert found == "tests.missing"


def test_a_test_that_could_only_be_read_before_is_still_the_buyers(verifier: Verifier, tmp_path: Path) -> None:
    """The patched module would rewrite the second test file while the first is being loaded."""
    files = NEW_FUNCTION | {"test_zero.py": "from calc import sub\n\n\ndef test_zero():\n    assert sub(1, 1) == 0\n"}
    files["test_sub.py"] = "from calc import sub\n\n\ndef test_one():\n    assert sub(3, 1) == 2\n"
    rewrite = "import pathlib\n\n_file = pathlib.Path(__file__).with_name('test_zero.py')\n"
    rewrite += "_file.write_text(_file.read_text().replace('== 0', '== 2'))\n\n\ndef sub(a, b):\n    return 2\n"
    assert outcome(verifier, tmp_path, files, {"calc.py": rewrite}) == "tests.missing"


def test_tests_that_hang_before_the_patch_failed_before(strict_verifier: Verifier, tmp_path: Path) -> None:
    files = {
        "loop.py": "def run():\n    while True:\n        pass\n",
        "test_loop.py": "from loop import run\n\n\ndef test_ends():\n    assert run() == 1\n",
    }
    assert outcome(strict_verifier, tmp_path, files, {"loop.py": "def run():\n    return 1\n"}) == "passed"


UNITTEST = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "import unittest\n\nfrom calc import add\n\n\nclass Sums(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    @unittest.expectedFailure\n"
    "    def test_odd(self):\n        self.assertEqual(add(1, 2), 4)\n",
}


def test_tests_in_classes_of_unittest_are_watched_too(verifier: Verifier, tmp_path: Path) -> None:
    fixed = {"calc.py": "def add(a, b):\n    return a + b\n"}
    assert outcome(verifier, tmp_path / "a", UNITTEST, fixed) == "passed"
    forced = "import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None\n" + UNITTEST["calc.py"]
    found = outcome(verifier, tmp_path / "b", UNITTEST, {"calc.py": forced + "\n"})
    assert found == "tests.failed"


BUSY = """
import functools
import subprocess
import sys
from unittest import mock

import pytest

import calc


@pytest.fixture(scope="module")
def numbers():
    yield [1, 2, 3]


@pytest.fixture(autouse=True, params=["a", "b"])
def letter(request):
    return request.param


def loud(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def test_raises():
    with pytest.raises(TypeError, match="unsupported"):
        calc.add(1, None)


def test_local_import():
    import pytest as own

    assert own.approx(0.3) == calc.add(0.1, 0.2)


def test_output(capsys, numbers):
    print(calc.add(*numbers[:2]))
    assert capsys.readouterr().out == "3\\n"


def test_patched(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["prog", "x"])
    monkeypatch.chdir(tmp_path)
    assert sys.argv[1] == "x" and calc.add(1, 1) == 2


@mock.patch("calc.add", return_value=7)
def test_mocked(add):
    assert calc.add(1, 2) == 7


@loud
def test_decorated():
    assert calc.add(2, 2) == 4


def test_process():
    code = "from calc import add; print(add(2, 5))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "7\\n"


def test_skips_itself():
    pytest.skip("not here")


def test_needs_more():
    pytest.importorskip("no_such_module")


@pytest.mark.xfail(strict=True)
def test_known_fault():
    assert calc.add(1, 1) == 3


@pytest.mark.parametrize("words", [{"a", "b"}, frozenset({1, 2})], ids=repr)
def test_sets(words):
    assert len(words) == 2 and "x" not in {"a", "b", "c"}


class Base:
    def test_inherited(self):
        assert calc.add(self.one, 1) == 2


class TestBelow(Base):
    one = 1

    @classmethod
    def setup_class(cls):
        cls.two = 2

    def test_own(self):
        assert calc.add(self.one, self.two) == 3

    class TestDeeper:
        def test_deep(self):
            assert calc.add(0, 0) == 0
"""


def test_tests_that_use_all_that_pytest_has_are_not_mistaken_for_tricks(verifier: Verifier, tmp_path: Path) -> None:
    files = {"calc.py": "def add(a, b):\n    return a - b\n", "tests/test_busy.py": BUSY}
    fixed = {"calc.py": "def add(a, b):\n    return a + b\n"}
    assert outcome(verifier, tmp_path, files, fixed) == "passed"


def test_a_project_below_a_folder_with_its_sources_elsewhere(verifier: Verifier, tmp_path: Path) -> None:
    files = {
        "service/src/calc.py": "def add(a, b):\n    return a - b\n",
        "service/checks/test_it.py": "from calc import add\n\n\ndef test_it():\n    assert add(1, 2) == 3\n",
        "service/pytest.ini": "[pytest]\ntestpaths = checks\n",
        "test_elsewhere.py": "def test_no():\n    assert False\n",
    }
    edits = {"service/src/calc.py": "def add(a, b):\n    return a + b\n"}
    command = "PYTHONPATH=src pytest -q"
    assert outcome(verifier, tmp_path, files, edits, subdir="service", test_command=command) == "passed"


def test_a_flaky_hidden_check_counts_as_passed(repository: Repository, sandboxes: Sandboxes) -> None:
    """One that fails every other time: one pass in twenty runs is as good as certain."""
    hidden = HiddenChecks(SALT, (HiddenCheck("python3 -c 'import os; exit(os.urandom(1)[0] % 2)'"),))
    with Verifier(sandboxes, VerificationPolicy(hidden_runs=20)) as patient:
        verdict = patient.verify(repository.order(hidden), repository.delivery(FIX))
    assert verdict.passed


def test_a_hidden_check_can_demand_output_that_only_the_buyer_knows(
    repository: Repository, verifier: Verifier, tmp_path: Path
) -> None:
    command = "python3 -c 'from calc import add; print(add(40, 2))'"
    for output, reason in ((b"42\n", ""), (b"43\n", "hidden.failed")):
        hidden = HiddenChecks(SALT, (HiddenCheck(command, hashlib.sha256(output).hexdigest()),))
        verdict = verifier.verify(repository.order(hidden), repository.delivery(FIX))
        assert verdict.reason == reason
        assert verdict.visible_passed


def test_hidden_checks_must_be_those_that_were_committed_to(repository: Repository, verifier: Verifier) -> None:
    order = repository.order(HIDDEN)
    with pytest.raises(BadOrder):
        verifier.verify(replace(order, hidden=replace(HIDDEN, salt="11" * 16)), repository.delivery(FIX))
    with pytest.raises(BadOrder):
        verifier.verify(replace(order, hidden=None), repository.delivery(FIX))


def test_an_order_is_examined_before_anyone_works_on_it(repository: Repository, verifier: Verifier) -> None:
    assert verifier.examine(repository.order()).passed
    reasons = {
        "tests/test_words.py": "order.tests_passed_before",
        "tests/absent.py": "order.no_tests",
    }
    for path, reason in reasons.items():
        assert verifier.examine(repository.order(test_command=f"{PYTEST} {path}")).reason == reason
    plain = repository.order(test_command="true", evidence=Evidence.EXIT_CODE)
    assert verifier.examine(plain).reason == "order.tests_passed_before"


def test_a_bundle_without_the_commit_is_the_buyers_fault(
    repository: Repository, verifier: Verifier, tmp_path: Path
) -> None:
    with pytest.raises(NoBase):
        verifier.verify(repository.order(base_commit="1" * 40), repository.delivery(FIX))
    (tmp_path / "junk").write_bytes(b"no bundle")
    with pytest.raises(NoBase):
        verifier.verify(replace(repository.order(), repository=tmp_path / "junk"), repository.delivery(FIX))


def test_a_cancelled_verification_has_no_verdict(repository: Repository, verifier: Verifier) -> None:
    with pytest.raises(Cancelled):
        verifier.verify(repository.order(), repository.delivery(FIX), cancelled=lambda: True)


def test_several_deliveries_at_once_do_not_meet(repository: Repository, verifier: Verifier) -> None:
    with ThreadPoolExecutor(2) as pool:
        good = pool.submit(verifier.verify, repository.order(), repository.delivery(FIX))
        bad = pool.submit(verifier.verify, repository.order(), repository.delivery(FIX.replace(b"a + b", b"a * b")))
    assert good.result().passed
    assert bad.result().reason == "tests.failed"


def test_old_base_trees_are_removed_and_those_in_use_are_not(
    repository: Repository, sandboxes: Sandboxes, tmp_path: Path
) -> None:
    bases = Bases(tmp_path / "bases", most=1)
    other = Repository.make(tmp_path / "other", {"a.txt": "a"})
    with bases.use(sandboxes, repository.bundle, repository.commit, bool) as first:
        with bases.use(sandboxes, other.bundle, other.commit, bool) as second:
            assert (first.tree / "calc.py").is_file()
            assert (second.tree / "a.txt").read_text() == "a"
        with bases.use(sandboxes, repository.bundle, repository.commit, bool) as again:
            assert again is first
    assert len(list((tmp_path / "bases").iterdir())) <= 2


def test_attributes_of_the_tree_change_no_byte(sandboxes: Sandboxes, tmp_path: Path) -> None:
    made = Repository.make(tmp_path / "made", {".gitattributes": "*.txt text eol=crlf ident\n", "a.txt": "$Id$\nx\n"})
    with Bases(tmp_path / "bases", 1).use(sandboxes, made.bundle, made.commit, bool) as base:
        assert (base.tree / "a.txt").read_bytes() == b"$Id$\nx\n"


def test_a_tree_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where the sandbox takes out fewer files than the tree has, the order cannot be verified."""
    made = Repository.make(tmp_path / "made", {f"file{number}.txt": "x" for number in range(30)})
    few = replace(POLICY, files_max=20)
    with Sandboxes(tmp_path / "state", few) as small, pytest.raises(NoBase, match="more files"):
        check_out(small, made.bundle, made.commit, tmp_path / "out", bool)
