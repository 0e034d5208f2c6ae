"""Hostile patches that are refused by what they are or change, before a test is run."""

from __future__ import annotations

import base64
import subprocess
import zlib
from functools import cache
from pathlib import Path

from choir.bazaar.contracts import Evidence, ResultStatus
from choir.bazaar.verification.model import Delivery, Order
from choir.foundation.canonical import bytes_hash
from tests.bazaar.verification.making import FIX, claiming, edits, new_file, raw
from tests.bazaar.verification.scene import CALC, FILES, FIXED, Repository
from tests.bazaar.verification.table import Case

OPEN_TEST = "def test_add():\n    pass\n"
PASSING = "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport():\n    report = yield\n"
PASSING += "    report.outcome = 'passed'\n    return report\n"


@cache  # made when it is handed in, not whenever tests are collected
def _growing(size: int) -> bytes:
    """A git binary patch that grows."""
    packed = zlib.compress(b"\0" * size, 9)
    lines = b""
    for start in range(0, len(packed), 52):
        piece = packed[start : start + 52]
        letter = bytes([ord("A") + len(piece) - 1 if len(piece) <= 26 else ord("a") + len(piece) - 27])
        lines += letter + base64.b85encode(piece, pad=True) + b"\n"
    head = b"diff --git a/zeros.bin b/zeros.bin\nnew file mode 100644\nindex 0000000000000000000000000000000000000000.."
    head += b"1111111111111111111111111111111111111111\nGIT binary patch\n"
    return FIX + head + b"literal %d\n" % size + lines + b"\nliteral 0\nHcmV?d00001\n\n"


def _bomb(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    return raw(_growing(64_000_000))(repository, folder)


def _lying_bomb(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    return raw(_growing(64_000_000).replace(b"literal 64000000", b"literal 100"))(repository, folder)


def _copies(count: int) -> bytes:
    head = b"diff --git a/README.md b/copy%d.md\nsimilarity index 100%%\ncopy from README.md\ncopy to copy%d.md\n"
    return FIX + b"".join(head % (number, number) for number in range(count))


def _copied(*head: bytes) -> bytes:
    return FIX + b"diff --git a/README.md b/about.md\nsimilarity index 100%\n" + b"\n".join(head) + b"\n"


def _stale(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    diff = FIX.replace(b"return a - b", b"return b - a")
    return repository.order(), repository.delivery(diff)


def _moved_test(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    path, content = "tests/test_calc.py", FILES["tests/test_calc.py"]
    diff = repository.diff({"calc.py": FIXED, path: None, "tests/old_calc.py": content}, folder)
    return repository.order(), repository.delivery(diff)


def _gnu_diff(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
    """Names one file in its first line and writes another."""
    (folder / "new").write_text(OPEN_TEST)
    found = subprocess.run(
        ["diff", "-u", repository.folder / "tests/test_calc.py", folder / "new"], capture_output=True, check=False
    ).stdout.split(b"\n", 2)[2]
    head = b"Only calc.py is changed, says this line.\n--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n"
    return repository.order(), repository.delivery(FIX + head + found)


_LINK_DIFF = b"diff --git a/%s b/%s\nnew file mode 120000\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+%s\n"
_LINK_DIFF += b"\\ No newline at end of file\n"
_SUBMODULE = b"diff --git a/lib b/lib\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/lib\n"
_SUBMODULE += b"@@ -0,0 +1 @@\n+Subproject commit 1111111111111111111111111111111111111111\n"
_THROUGH = _LINK_DIFF % (b"door", b"door", b"door", b"tests") + new_file(b"door/test_calc.py", b"x\n", with_fix=False)
_TO_LINK = (
    b"diff --git a/README.md b/README.md\ndeleted file mode 100644\n--- a/README.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n"
)
_TO_LINK += b"-# Calculator\n-\n-Adds numbers.\n" + _LINK_DIFF % (b"README.md", b"README.md", b"README.md", b"calc.py")
_INI = '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'
_PADDING = {f"part_{number}.py": f"# part {number}\n" for number in range(15)}

CLAIMS = [
    Case(
        "wrong hash",
        "an artifact that does not hash to what was claimed",
        "artifact.hash_mismatch",
        claiming(edits({}), claimed_hash=bytes_hash(b"another")),
    ),
    Case(
        "half done",
        "a result that calls itself a partial success",
        "result.not_success",
        claiming(edits({}), status=ResultStatus.PARTIAL_SUCCESS),
    ),
    Case(
        "wrong base commit",
        "a result that names another commit than the order",
        "patch.wrong_base",
        claiming(edits({}), base_commit="1" * 40),
    ),
    Case("stale base", "a diff against code that is not in the base commit", "patch.does_not_apply", _stale),
    Case("no diff", "bytes that are no diff at all", "patch.does_not_apply", raw(b"I have fixed it, trust me.\n")),
    Case("cut off", "a diff whose last hunk is cut off", "patch.does_not_apply", raw(FIX[:-20])),
    Case("empty diff", "nothing", "patch.empty", raw(b"\n")),
    Case(
        "whitespace diff",
        "blank lines and indents only",
        "patch.whitespace_only",
        edits({"calc.py": CALC.replace("\n\n\n", "\n\n\n\n")}, fix=False),
    ),
    Case("too many bytes", "a diff above the size limit", "patch.too_large", raw(FIX + b"#" * 2_100_000)),
    Case("binary bomb", "a small diff that grows to 64 MB", "patch.too_large", _bomb),
    Case(
        "lying bomb",
        "the same, and its header says 100 bytes",
        "patch.does_not_apply",
        _lying_bomb,
    ),
    Case("copy bomb", "600 copies of one file in a few lines each", "patch.too_many_files", raw(_copies(600))),
    Case(
        "padded file count", "the fix and 15 files of comments, to be paid by the file", "patch.padded", edits(_PADDING)
    ),
]

PATHS = [
    Case(
        "outside the allowed paths",
        "a file that the order does not allow",
        "patch.path_not_allowed",
        edits({"words.py": FILES["words.py"] + "\n\nX = 1\n"}, allowed_paths=("calc.py", "docs/**")),
    ),
    Case("disallowed path", "a new .env in a folder", "patch.path_disallowed", edits({"deploy/.env": "KEY=1\n"})),
    Case(
        "copy of a disallowed file",
        "`copy from` a file that the order disallows, into a new one",
        "patch.path_disallowed",
        raw(_copied(b"copy from README.md", b"copy to about.md"), disallowed_paths=("README.md",)),
    ),
    Case(
        "quoted copy",
        "the same, with the name in quotes and octal digits",
        "patch.path_disallowed",
        raw(_copied(b'copy from "READM\\105.md"', b"copy to about.md"), disallowed_paths=("README.md",)),
    ),
    Case(
        "copy from outside the allowed paths",
        "`copy from` a file that the order does not allow, into one that it does",
        "patch.path_not_allowed",
        raw(_copied(b"copy from README.md", b"copy to about.md"), allowed_paths=("calc.py", "about.md")),
    ),
    Case(
        "old words for a rename",
        "`rename old` and `rename new` from a disallowed file, which git reads like from and to",
        "patch.path_disallowed",
        raw(_copied(b"rename old README.md", b"rename new about.md"), disallowed_paths=("README.md",)),
    ),
    Case(
        "disallowed by case",
        "a name that differs from a disallowed one by case",
        "patch.path_disallowed",
        edits({"deploy/My_SECRET.txt": "1\n"}),
    ),
    Case(
        "attributes",
        "a .gitattributes that would change files on check-out",
        "patch.path_disallowed",
        edits({".gitattributes": "* filter=evil\n"}),
    ),
    Case("path escape", "`b/../../evil.py`", "patch.path_escapes", raw(new_file(b"../../evil.py"))),
    Case(
        "absolute path",
        "`+++ /tmp/evil.py` without git's headers",
        "patch.path_escapes",
        raw(FIX + b"--- /dev/null\n+++ /tmp/evil.py\n@@ -0,0 +1 @@\n+x = 1\n"),
    ),
    Case(
        "quoted escape",
        "the same in git's quoted form with octal dots",
        "patch.path_escapes",
        raw(new_file(b"x").replace(b"b/x", b'"b/\\056\\056/x"')),
    ),
    Case(
        "backslash escape",
        "`..\\..\\evil.py`, a path on other systems",
        "patch.path_escapes",
        raw(new_file(b"..\\..\\evil.py")),
    ),
    Case(
        "link escape",
        "a link to /etc/passwd",
        "patch.link_escapes",
        raw(FIX + _LINK_DIFF % (b"data", b"data", b"data", b"/etc/passwd")),
    ),
    Case(
        "climbing link",
        "a link to ../../outside",
        "patch.link_escapes",
        raw(FIX + _LINK_DIFF % (b"data", b"data", b"data", b"../../outside")),
    ),
    Case(
        "link inside",
        "a link to the tests, for a later write",
        "patch.link",
        raw(FIX + _LINK_DIFF % (b"door", b"door", b"door", b"tests")),
    ),
    Case(
        "write through a link", "a link to the tests and a file behind it", "patch.does_not_apply", raw(FIX + _THROUGH)
    ),
    Case("file becomes a link", "a file deleted and made again as a link", "patch.link", raw(FIX + _TO_LINK)),
    Case("git hook", "a file in .git/hooks", "patch.git_internals", raw(new_file(b".git/hooks/post-checkout"))),
    Case("git by case", "the same as .GIT", "patch.git_internals", raw(new_file(b".GIT/config"))),
    Case(
        "git by ignorables",
        ".git with a character that some systems do not see",
        "patch.git_internals",
        raw(new_file(".g\u200cit/config".encode())),
    ),
    Case("submodule", "a gitlink to a commit elsewhere", "patch.submodule", raw(FIX + _SUBMODULE)),
    Case("odd mode", "a new file with mode 104755", "patch.mode_not_allowed", raw(new_file(b"run.sh", mode=b"104755"))),
    Case("case twin", "Calc.py beside calc.py", "patch.path_ambiguous", edits({"Calc.py": "x = 1\n"})),
    Case("unicode twin", "calc.py with a full-width c", "patch.path_ambiguous", edits({"\uff43alc.py": "x = 1\n"})),
    Case(
        "decomposed path",
        "a name in a form that other systems store differently",
        "patch.path_ambiguous",
        edits({"cafe\u0301.py": "x = 1\n"}),
    ),
    Case(
        "turned path",
        "a name with a character that turns the writing direction",
        "patch.path_ambiguous",
        edits({"a\u202eyp.exe": "x = 1\n"}),
    ),
]

DECIDING = [
    Case(
        "compiled code",
        "a .pyc that stands in for a source file",
        "patch.compiled_code",
        edits({"__pycache__/calc.cpython-311.pyc": b"\xa7\r\r\n" + bytes(60)}),
    ),
    Case("unreadable code", "Python that cannot be read", "patch.unreadable_code", edits({"words.py": "def (\n"})),
    Case(
        "edits the deciding test",
        "tests that assert nothing any more",
        "patch.deciding_test_changed",
        edits({"tests/test_calc.py": OPEN_TEST}, fix=False),
    ),
    Case(
        "edits it behind another name", "a first line that names another file", "patch.deciding_test_changed", _gnu_diff
    ),
    Case(
        "deletes the deciding test",
        "the file with the failing test is gone",
        "patch.deciding_test_deleted",
        edits({"tests/test_calc.py": None}, fix=False),
    ),
    Case(
        "moves the deciding test",
        "it is renamed to something that is not collected",
        "patch.deciding_test_deleted",
        _moved_test,
    ),
    Case(
        "adds the deciding test",
        "a file where the order says that tests decide",
        "patch.deciding_test_added",
        edits({"checks/check_add.py": OPEN_TEST}, deciding_paths=("checks/**",)),
    ),
    Case(
        "brings the missing test",
        "the order's command names a test that only the patch has",
        "order.no_tests",
        edits({"tests/test_new.py": OPEN_TEST}, test_command="python3 -m pytest -q tests/test_new.py"),
    ),
    Case(
        "edits a test's helper",
        "a constant that tests compare with",
        "patch.deciding_test_changed",
        edits({"tests/helpers.py": "TOTAL = -1\n"}, fix=False),
    ),
    Case(
        "edits conftest",
        "a hook that makes every report pass",
        "patch.conftest_changed",
        edits({"tests/conftest.py": FILES["tests/conftest.py"] + PASSING}, fix=False),
    ),
    Case("adds conftest", "the same at the top", "patch.conftest_changed", edits({"conftest.py": PASSING}, fix=False)),
    Case(
        "adds a plugin",
        "package metadata that pytest loads plugins from",
        "patch.test_plugin_changed",
        edits({"evil.egg-info/entry_points.txt": "[pytest11]\nevil = calc\n"}, fix=False),
    ),
    Case(
        "adds pytest.ini",
        "an ini file that wins over the buyer's",
        "patch.test_configuration_changed",
        edits({"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, fix=False),
    ),
    Case(
        "edits the ini section",
        "pyproject.toml with --collect-only",
        "patch.test_configuration_changed",
        edits({"pyproject.toml": _INI}, fix=False),
    ),
    Case(
        "adds a tox section",
        "tox.ini with a section for pytest",
        "patch.test_configuration_changed",
        edits({"tox.ini": "[pytest]\naddopts = --collect-only\n"}, fix=False),
    ),
    Case(
        "sitecustomize",
        "a module that every Python loads first",
        "patch.startup_hook",
        edits({"sitecustomize.py": "import os\nos._exit(0)\n"}, fix=False),
    ),
    Case(
        "path file",
        "a .pth file with a line of code",
        "patch.startup_hook",
        edits({"evil.pth": "import os; os._exit(0)\n"}, fix=False),
    ),
    Case(
        "shadows the runner",
        "a pytest.py at the top",
        "patch.shadows_module",
        edits({"pytest.py": "raise SystemExit(0)\n"}, fix=False),
    ),
    Case(
        "shadows a package",
        "a folder _pytest with modules",
        "patch.shadows_module",
        edits({"_pytest/__init__.py": "raise SystemExit(0)\n"}, fix=False),
    ),
    Case(
        "shadows Python's own",
        "a random.py at the top",
        "patch.shadows_module",
        edits({"random.py": "raise SystemExit(0)\n"}, fix=False),
    ),
    Case(
        "edits the script",
        "the script that the test command runs",
        "patch.test_command_changed",
        edits(
            {"run_checks.py": "print('all good')\n"},
            fix=False,
            test_command="python3 run_checks.py",
            evidence=Evidence.EXIT_CODE,
        ),
    ),
]
