"""Every reason that can reach a person has words.

The codes are found in the code itself: the constants of what judges and of what ends a job, and the classes of errors
whose code becomes a reason.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import choir
import choir.bazaar
import choir.doors.sdk
import choir.foundation
import choir.objects
import choir.sandbox
from choir.bazaar.bonds import service as bonds
from choir.bazaar.disputes import service as disputes
from choir.bazaar.jobs import lifecycle
from choir.bazaar.jobs import model as bazaar_model
from choir.bazaar.jobs import service as jobs
from choir.bazaar.jobs.reasons import WORDS, in_words
from choir.bazaar.retention import service as retention
from choir.bazaar.verification.runner import NO_SANDBOX
from choir.doors.mesh import recheck  # noqa: F401 - so that its errors are known
from choir.foundation.errors import Invalid, known_codes
from choir.foundation.policy import describe
from choir.policies import default_policy

SOURCE = Path(choir.__file__).parent
CODE = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")
FILES = {
    "cjs",
    "mjs",
    "bundle",
    "cfg",
    "ini",
    "json",
    "modules",
    "py",
    "test",
    "toml",
    "txt",
}  # what ends the names of files
# Names of other things: what the scheduler is asked to do, what is rung for, what an entry is about.
NO_REASONS = {
    jobs.LOOK, jobs.EXAMINE, lifecycle.FOLLOW, lifecycle.VERIFY, disputes.REVERIFY, disputes._REFUND, disputes._DEBT,
    bazaar_model.FREE, bazaar_model.QUALIFY, bonds._KIND, retention._KIND,
}  # fmt: skip


def _constants(*places: str) -> Iterator[str]:
    for place in places:
        found = SOURCE / place
        for file in found.rglob("*.py") if found.is_dir() else [found]:
            if file.name == "feature.py":  # names of tasks
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                    yield node.value


def _judged() -> set[str]:
    """What checks say."""
    places = _constants(
        "bazaar/verification",
        "bazaar/environments/builds.py",
        "bazaar/sampling",
        "bazaar/seconds/model.py",
        "doors/mesh/recheck.py",
    )
    found = {code for code in places if code.rpartition(".")[2] not in FILES and not code.startswith("choir.")}
    return found - set(known_codes())


def _course() -> set[str]:
    """What ends tries and orders."""
    found = {code for code in _constants("bazaar") if code.startswith("bazaar.")}
    others = {item.name for item in describe(default_policy())} | set(known_codes()) | NO_REASONS
    return found - (others - {NO_SANDBOX})  # orders are refused with it too


def _errors_of(module: str, *, kind: type = Exception) -> set[str]:
    return {
        code
        for code, cls in known_codes().items()
        if cls.__module__.startswith(module) and issubclass(cls, kind) and "." in cls.__module__
    }


def _raised() -> set[str]:
    """Errors whose code is told: an order or a delivery that is not valid, work that was not done."""
    invalid = (_errors_of(f"choir.{part}", kind=Invalid) for part in ("bazaar", "foundation", "objects", "sandbox"))
    machines = _errors_of("choir.sandbox") | _errors_of("choir.bazaar.workers")
    return set().union(*invalid) | machines | _errors_of("choir.bazaar.trajector")


@pytest.fixture(scope="module", autouse=True)
def everything_known() -> None:
    """Classes of errors are known once their modules are."""
    for part in (choir.bazaar, choir.doors.sdk, choir.foundation, choir.objects, choir.sandbox):
        for module in pkgutil.walk_packages(part.__path__, f"{part.__name__}."):
            importlib.import_module(module.name)


def test_the_search_finds_what_there_is() -> None:
    assert {"patch.deciding_test_deleted", "review.planted_missed", "commands.failed", "run.exit_code"} <= _judged()
    assert {"bazaar.not_verified_in_time", "bazaar.withdrawn", "bazaar.no_sandbox", "bazaar.not_verified"} <= _course()
    assert {"sandbox.start_failed", "trajectory.too_large", "bazaar.no_base", "worker.time_up"} <= _raised()


def test_every_reason_has_words() -> None:
    """If this fails: give the code words in `choir/bazaar/jobs/reasons.py`, or say above that it is no reason."""
    assert sorted((_judged() | _course() | _raised()) - set(WORDS)) == []


def test_no_words_are_left_over() -> None:
    assert sorted(set(WORDS) - (_judged() | _course() | _raised())) == []


def test_reasons_are_not_put_together_from_pieces() -> None:
    """Else nobody could find them."""
    for file in (SOURCE / "bazaar" / "verification").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                assert not re.match(r"[a-z]+\.[a-z_]*$", str(node.values[0].value)), f"{file}:{node.lineno}"


def test_words_fit_after_a_colon() -> None:
    for code, words in WORDS.items():
        assert " " in words, code
        assert not words.endswith("."), code
        assert not words[0].isupper() or words.startswith("JSON"), code
        assert "{" not in words, code
    assert in_words("some.new_code") == "some.new_code"
