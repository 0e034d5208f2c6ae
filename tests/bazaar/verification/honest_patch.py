"""An honest patch of ordinary code: a module with one fault put in, its tests, and hidden tests of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile
from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.scene import Repository
from tests.bazaar.verification.table import Case

SALT = "11" * 16
CONFTEST = """
import pytest


@pytest.fixture
def three():
    return 3


@pytest.fixture
def numbers(request):
    return list(range(getattr(request, "param", 4)))


@pytest.fixture
def check_total():
    def check(found, total):
        assert found == total

    return check
"""
SHARED = {
    "tests/__init__.py": "",
    "hidden/__init__.py": "",
    "tests/conftest.py": CONFTEST,
    "hidden/conftest.py": CONFTEST,
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--strict-markers"\n',
}


@dataclass(frozen=True)
class Patch:
    """What is right, and what the buyer has instead."""

    name: str  # of the module; its tests are named after it
    title: str
    right: str
    fault: tuple[str, str]  # what is right, and what stands in its place
    visible: str
    hidden: str
    level: Level = Level.V3
    runner: str = "pytest"  # how the tests are started, before the file's name
    files: Mapping[str, str] = field(default_factory=dict)  # more of the buyer's tree
    crlf: bool = False

    @property
    def module(self) -> str:
        return f"{self.name}.py"

    @property
    def fixed(self) -> str:
        text = dedent(self.right).lstrip("\n")
        return text.replace("\n", "\r\n") if self.crlf else text

    @property
    def faulty(self) -> str:
        right, wrong = self.fault
        assert right in self.fixed, f"{self.name}: nothing to put a fault in"
        return self.fixed.replace(right, wrong, 1)

    def command(self, folder: str) -> str:
        if self.runner == "pytest":
            return f"python3 -m pytest -q {folder}/test_{self.name}.py"
        if self.runner == "discover":
            return f"python3 -m unittest discover -s {folder} -t . -p test_{self.name}.py"
        return f"python3 -m unittest {folder}.test_{self.name}"

    def test(self, folder: str) -> str:
        text = dedent(self.visible if folder == "tests" else self.hidden).lstrip("\n")
        return text.replace("\n", "\r\n") if self.crlf else text

    def base_files(self) -> dict[str, str]:
        return {self.module: self.faulty, f"tests/test_{self.name}.py": self.test("tests")} | dict(self.files)

    def hidden_file(self) -> HiddenFile:
        return HiddenFile(f"hidden/test_{self.name}.py", self.test("hidden").encode())

    def hidden_checks(self) -> HiddenChecks:
        return HiddenChecks(SALT, (HiddenCheck(self.command("hidden")),), (self.hidden_file(),))

    def build(self, repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        """The fix alone, against a repository that holds every fault."""
        diff = repository.diff({self.module: self.fixed}, folder)
        order = repository.order(self.hidden_checks(), test_command=self.command("tests"), level=self.level)
        return order, repository.delivery(diff)

    def case(self) -> Case:
        return Case(f"code: {self.name.replace('_', ' ')}", self.title, "", self.build, units=1)
