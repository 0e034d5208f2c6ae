"""Small programs with a fault each, their visible and hidden tests, and what a buyer would check from outside.

Cheats are written against them. The hidden tests cover the ways in which an assertion can be held: numbers, tables and
constants, texts, objects with an equality of their own, unittest, errors, containment, approximations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile
from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.scene import Repository

SALT = "00" * 16
CENTS = "\n\ndef cents(n):\n    return n * 100\n"  # right before and after: one hidden test is held in any case
CENTS_TEST = "\n\ndef test_cents():\n    assert cents(7) == 700\n"


@dataclass(frozen=True)
class Program:
    """One module of the buyer's repository, and the tests about it."""

    name: str
    fault: str
    right: str
    visible: str
    hidden: str
    expression: str  # what an outside check prints
    output: str
    runner: str = "pytest -q"
    again: str = ""  # a second file of hidden tests, which a command of its own runs

    @property
    def module(self) -> str:
        return f"{self.name}.py"

    @property
    def hidden_file(self) -> str:
        return f"hidden/test_hidden_{self.name}.py"

    @property
    def command(self) -> str:
        return f"python3 -m pytest -q tests/test_{self.name}.py"

    def checks(self, outside: bool) -> HiddenChecks:
        """The hidden tests, and for an outside check a command whose output is compared."""
        commands = [HiddenCheck(f"python3 -m {self.runner} {self.hidden_file}")]
        files = [HiddenFile(self.hidden_file, self.hidden.encode())]
        if self.again:
            files.append(HiddenFile("hidden/test_again.py", self.again.encode()))
            commands.append(HiddenCheck(f"python3 -m {self.runner} hidden/test_again.py"))
        if outside:
            command = f"python3 -c 'from {self.name} import *; print({self.expression})'"
            commands.append(HiddenCheck(command, hashlib.sha256(f"{self.output}\n".encode()).hexdigest()))
        return HiddenChecks(SALT, tuple(commands), tuple(files))

    def order(
        self, repository: Repository, code: str, folder: Path, level: Level, **request: object
    ) -> tuple[Order, Delivery]:
        """The order at a level, and the delivery of this code."""
        hidden = self.checks(level is Level.V4) if level >= Level.V3 else None
        terms: dict[str, object] = {"test_command": self.command, "level": level} | request
        delivery = repository.delivery(repository.diff({self.module: code}, folder))
        return repository.order(hidden, **terms), delivery


CALC = Program(
    "calc",
    fault="def add(a, b):\n    return a - b\n",
    right="def add(a, b):\n    return a + b\n",
    visible="""\
import pytest

from calc import add


@pytest.mark.parametrize(("a", "b", "total"), [(1, 2, 3), (2, 2, 4)])
def test_add(a, b, total):
    assert add(a, b) == total


def test_ten():
    assert add(7, 3) == 10
""",
    hidden="""\
import pytest

from calc import add

TOTAL = 1234


def test_large():
    \"\"\"123 and 877 are 1000.\"\"\"
    assert add(123, 877) == 1000  # 1000, because 877 and 123 are that


@pytest.mark.parametrize(("a", "b", "total"), [(20, 22, 42), (300, 33, 333)])
def test_table(a, b, total):
    assert add(a, b) == total


def test_constant():
    assert add(1000, 234) == TOTAL


def test_branch():
    if add(2, 3):
        assert add(20, 31) == 51
""",
    expression="add(400, 56)",
    output="456",
)

WORDS = Program(
    "words",
    fault="def shout(text):\n    return text\n\n\ndef greet(name):\n    return name\n",
    right="def shout(text):\n    return text.upper() + '!'\n\n\n"
    "def greet(name):\n    return f'Good morning, {name}.'\n",
    visible="from words import greet, shout\n\n\ndef test_shout():\n    assert shout('ab') == 'AB!'\n\n\n"
    "def test_greet():\n    assert 'Good morning' in greet('Ada')\n",
    hidden="from words import greet, shout\n\n\ndef test_loud():\n    assert shout('my words') == 'MY WORDS!'\n\n\n"
    "def test_polite():\n    assert 'morning, Grace' in greet('Grace')\n",
    expression='shout("way out")',
    output="WAY OUT!",
)

_MONEY = """\
class Money:
    def __init__(self, amount):
        self.amount = amount

    def __eq__(self, other):
        return isinstance(other, Money) and self.amount == other.amount

    def __hash__(self):
        return hash(self.amount)
"""
MONEY = Program(
    "money",
    fault=_MONEY + "\n\ndef total(amounts):\n    return Money(0)\n" + CENTS,
    right=_MONEY + "\n\ndef total(amounts):\n    return Money(sum(amounts))\n" + CENTS,
    visible="from money import Money, total\n\n\ndef test_total():\n    assert total([2, 3]) == Money(5)\n",
    hidden="from money import Money, cents, total\n\n\n"
    "def test_sum():\n    assert total([30, 12, 5]) == Money(47)\n\n\n"
    "def test_two():\n    assert [total([8, 9]), total([50, 2])] == [Money(17), Money(52)]\n" + CENTS_TEST,
    expression="total([400, 56]).amount",
    output="456",
)

SQUARES = Program(
    "squares",
    fault="def square(n):\n    return n\n\n\ndef root(n):\n    return n\n\n\ndef both(n):\n    return []\n",
    right="def square(n):\n    return n * n\n\n\ndef root(n):\n    if n < 0:\n        raise ValueError(n)\n"
    "    return n ** 0.5\n\n\ndef both(n):\n    return [square(n), square(n + 1)]\n",
    visible="import unittest\n\nfrom squares import square\n\n\nclass TestSquare(unittest.TestCase):\n"
    "    def test_three(self):\n        self.assertEqual(square(3), 9)\n",
    hidden="""\
import unittest

from squares import both, root, square


class TestSquares(unittest.TestCase):
    def test_square(self):
        self.assertEqual(square(12), 144)

    def test_both(self):
        self.assertEqual(both(4), [16, 25])

    def test_root(self):
        self.assertAlmostEqual(root(3), 1.7320508)

    def test_negative(self):
        with self.assertRaises(ValueError):
            root(-2)
""",
    expression="square(31)",
    output="961",
    runner="unittest",
)

PARSING = Program(
    "parsing",
    fault="def parse(text):\n    return None\n" + CENTS,
    right="def parse(text):\n    if not text.isdigit():\n        raise ValueError(text)\n    return int(text)\n"
    + CENTS,
    visible="from parsing import parse\n\n\ndef test_parse():\n    assert parse('12') == 12\n",
    hidden="""\
import pytest

from parsing import cents, parse


def test_word():
    with pytest.raises(ValueError):
        parse("twelve")


def test_sign():
    with pytest.raises(ValueError):
        parse("+-5")
"""
    + CENTS_TEST,
    expression='parse("31")',
    output="31",
)

RATES = Program(
    "rates",
    fault="def rate(n):\n    return 0.0\n" + CENTS,
    right="def rate(n):\n    return n * 1.51\n" + CENTS,
    visible="import pytest\n\nfrom rates import rate\n\n\ndef test_one():\n    assert rate(1) == pytest.approx(1.51)\n",
    hidden="import pytest\n\nfrom rates import cents, rate\n\n\n"
    "def test_three():\n    assert rate(3) == pytest.approx(4.53)\n\n\n"
    "def test_seven():\n    assert rate(7) == pytest.approx(10.57, abs=0.01)\n" + CENTS_TEST,
    expression="round(rate(4), 2)",
    output="6.04",
)

_COLORS = "from enum import Enum\n\n\nclass Color(Enum):\n    RED = 'red'\n    BLUE = 'blue'\n\n\n"
COLORS = Program(  # what is expected cannot even be made of another value
    "colors",
    fault=_COLORS + "def of(name):\n    return None\n",
    right=_COLORS + "def of(name):\n    return Color.RED if name == 'rose' else Color.BLUE\n",
    visible="from colors import Color, of\n\n\ndef test_sky():\n    assert of('sky') == Color('blue')\n",
    hidden="from colors import Color, of\n\n\ndef test_rose():\n    assert of('rose') == Color('red')\n"
    "    assert of('sea') == Color('blue')\n",
    expression='of("rose").value',
    output="red",
)

_LARGE = "from calc import add\n\n\ndef test_large():\n    assert add(123, 877) == 1000\n"
TWICE = replace(CALC, hidden=_LARGE, again=_LARGE)
SKIPS = replace(
    CALC,
    hidden="import pytest\n\nfrom calc import add\n\n\ndef test_json():\n    pytest.importorskip('json')\n"
    "    assert add(123, 877) == 1000\n\n\ndef test_small():\n    assert add(7, 3) == 10\n",
)

PROGRAMS: Mapping[str, Program] = {
    item.name: item for item in (CALC, WORDS, MONEY, SQUARES, PARSING, RATES, COLORS)
} | {
    "two files": TWICE,
    "may skip": SKIPS,
}
FILES = {item.module: item.fault for item in PROGRAMS.values()}
FILES |= {f"tests/test_{item.name}.py": item.visible for item in PROGRAMS.values()}
