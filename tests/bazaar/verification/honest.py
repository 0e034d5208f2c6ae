"""Honest patches with odd but legitimate shapes. All of them pass."""

from __future__ import annotations

from pathlib import Path

from choir.bazaar.contracts import Evidence
from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.making import FIX, HIDDEN, edits, raw
from tests.bazaar.verification.scene import FILES, FIXED, Repository, git, write
from tests.bazaar.verification.table import Case

_MOVED = "from adding import add\n\n__all__ = ['add', 'mul']\n\n\ndef mul(a, b):\n    return a * b\n"
_SUM = "def add(a, b):\n    return a + b\n"
_EXTRA = (
    "from calc import add\n\n\ndef test_more():\n    assert add(2, 3) == 5\n\n\ndef test_wrong():\n    assert False\n"
)
_COPY = FIX + b"diff --git a/README.md b/about.md\nsimilarity index 100%\ncopy from README.md\ncopy to about.md\n"
_FORMATTED = FILES["words.py"].replace("\n\n\ndef twice", "\n\n\n\ndef twice").replace("text.split()", "text.split( )")


def _renamed(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    """As git shows it with renames, one pure and one with changes."""
    git(folder, "clone", "-q", str(repository.folder), "copy")
    copy = folder / "copy"
    (copy / "docs").mkdir()
    git(copy, "mv", "README.md", "docs/README.md")
    write(copy, {"calc.py": FIXED})
    git(copy, "add", "-A")
    return repository.order(), repository.delivery(git(copy, "diff", "--cached", "-M", "HEAD"))


def _executable(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    git(folder, "clone", "-q", str(repository.folder), "copy")
    copy = folder / "copy"
    write(copy, {"calc.py": FIXED})
    (copy / "run_checks.py").chmod(0o755)
    return repository.order(), repository.delivery(git(copy, "diff", "HEAD"))


HONEST = [
    Case("the fix", "one line, as git shows it", "", edits({}), units=1),
    Case("no git headers", "the same as plain `diff -u` writes it", "", raw(FIX), units=1),
    Case("words around it", "a sentence before the diff", "", raw(b"This should do:\n\n" + FIX), units=1),
    Case("new file", "the fix in a module of its own", "", edits({"adding.py": _SUM, "calc.py": _MOVED}), units=2),
    Case(
        "more files than ordered",
        "two files where the order pays for one",
        "",
        edits({"adding.py": _SUM, "calc.py": _MOVED}, files_max=1),
        units=1,
    ),
    Case("renames", "a pure rename beside the fix", "", _renamed, units=1),
    Case("copies", "a copy of an allowed file beside the fix", "", raw(_COPY), units=1),
    Case("deletes a file", "a file that nobody needs", "", edits({"README.md": None}), units=1),
    Case(
        "extra tests",
        "new tests beside the deciding ones, one of them failing",
        "",
        edits({"tests/test_extra.py": _EXTRA}),
        units=1,
    ),
    Case("formatting", "unrelated formatting of an allowed file", "", edits({"words.py": _FORMATTED}), units=1),
    Case("CRLF", "a file with Windows line ends", "", edits({"calc.py": FIXED.replace("\n", "\r\n")}), units=1),
    Case("no newline at the end", "the last line has none", "", edits({"calc.py": FIXED.rstrip("\n")}), units=1),
    Case(
        "latest.py",
        "a module with test in its name",
        "",
        edits({"latest.py": _SUM, "calc.py": _MOVED.replace("adding", "latest")}),
        units=2,
    ),
    Case(
        "version bump",
        "pyproject.toml, but not its section for tests",
        "",
        edits({"pyproject.toml": FILES["pyproject.toml"].replace('"1.0"', '"1.1"')}),
        units=2,
    ),
    Case("executable bit", "a script that may be run now", "", _executable, units=1),
    Case("binary file", "a picture beside the fix", "", edits({"docs/logo.bin": bytes(range(256)) * 4}), units=1),
    Case("name with spaces", "a note in a file with an odd name", "", edits({"docs/read me ü.txt": "calc\n"}), units=1),
    Case(
        "module in a package",
        "a types.py that shadows nothing",
        "",
        edits({"core/__init__.py": "", "core/types.py": _SUM, "calc.py": _MOVED.replace("adding", "core.types")}),
        units=2,
    ),
    Case("hidden checks", "the fix where hidden checks were committed to", "", edits({}, hidden=HIDDEN), units=1),
    Case(
        "whole suite",
        "the fix where the whole suite was ordered",
        "",
        edits({}, whole_suite=True, verification_commands=("python3 -m py_compile calc.py words.py",)),
        units=1,
    ),
    Case(
        "no failing test before",
        "where the buyer gave up fail-before",
        "",
        edits({}, test_command="python3 -m pytest -q tests/test_words.py", fail_before=False),
        units=1,
    ),
    Case(
        "exit code only",
        "where the buyer takes exit codes as proof",
        "",
        edits({}, test_command="python3 run_checks.py", evidence=Evidence.EXIT_CODE),
        units=1,
    ),
    Case(
        "padded and paid once",
        "the fix and five files of comments",
        "",
        edits({f"part_{number}.py": f"# part {number}\n" for number in range(5)}),
        units=1,
    ),
]
