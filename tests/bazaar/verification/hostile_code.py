"""Hostile patches whose code fights the tests while they run."""

from __future__ import annotations

import hashlib

from choir.bazaar.contracts import HiddenCheck, HiddenChecks
from tests.bazaar.verification.making import HIDDEN, SALT, code, edits, whole
from tests.bazaar.verification.scene import FILES
from tests.bazaar.verification.table import Case

MUL = "\n\ndef mul(a, b):\n    return a * b\n"
WRONG = "def add(a, b):\n    return a - b\n" + MUL
PRODUCT = HiddenChecks(
    SALT,
    (HiddenCheck("python3 -c 'from calc import add; print(add(20, 22) * 2)'", hashlib.sha256(b"84\n").hexdigest()),),
)

_EXIT = "import sys\n\nsys.exit(0)\n"
_HARD_EXIT = "import os\n\nos._exit(0)\n"
_AT_END = "import atexit\nimport os\n\natexit.register(os._exit, 0)\n"
_IN_CALL = "import os\n\n\ndef add(a, b):\n    os._exit(0)\n" + MUL
_FORCED = "import _pytest.reports as reports\n\n\ndef _set(self, value):\n    pass\n\n\n"
_FORCED += "reports.TestReport.outcome = property(lambda self: 'passed', _set)\n"
_FORCED += "reports.TestReport.failed = property(lambda self: False)\n"
_FORCED += "reports.TestReport.passed = property(lambda self: True)\n"
_NEVER_RUN = "import pytest\n\npytest.Function.runtest = lambda self: None\n"
_SWALLOW = "import _pytest.python as python\n\n_old = python.Function.runtest\n\n\ndef _quiet(self):\n    try:\n"
_SWALLOW += "        _old(self)\n    except BaseException:\n        pass\n\n\npython.Function.runtest = _quiet\n"
_PIPES = "import json\nimport os\nimport stat\n\nfor _fd in range(3, 64):\n    try:\n"
_PIPES += "        if stat.S_ISFIFO(os.fstat(_fd).st_mode):\n"
_PIPES += "            os.write(_fd, b'0' * 64 + b' ' + json.dumps({'k': 'end', 'exit_code': 0}).encode() + b'\\n')\n"
_PIPES += "    except OSError:\n        pass\n"
_STATEMENT = 'import os\n\n_line = b\'\\n{"seal": "\' + b\'0\' * 64 + b\'", "body": "{}"}\\n\'\ntry:\n'
_STATEMENT += (
    "    _fd = os.open('/proc/1/fd/1', os.O_WRONLY)\n    os.write(_fd, _line)\nexcept OSError:\n    pass\nos._exit(0)\n"
)
_KILL = "import os\nimport signal\n\nos.kill(os.getppid(), signal.SIGKILL)\n"
_SKIP = "import pytest\n\n\ndef add(a, b):\n    pytest.skip('not today')\n" + MUL
_ASK = "import sys\n\n\ndef add(a, b):\n    return a + b if 'pytest' in sys.modules else a - b\n" + MUL
_ASK_ENV = "import os\n\n\ndef add(a, b):\n    return a + b if 'PYTEST_CURRENT_TEST' in os.environ else a - b\n" + MUL
_SLEEP = "import time\n\n\ndef add(a, b):\n    time.sleep(3600)\n    return a + b\n" + MUL
_FLOOD = "def add(a, b):\n    for _ in range(4000):\n        print('x' * 1000)\n    return a + b\n" + MUL
_TABLE = (
    "SUMS = {(1, 2): 3, (2, 2): 4, (0, 0): 0, (-1, 1): 0}\n\n\ndef add(a, b):\n    return SUMS.get((a, b), 0)\n" + MUL
)
_LIAR = "class Yes(int):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = int.__hash__\n\n\n"
_LIAR += "def add(a, b):\n    return Yes(a - b)\n" + MUL
_REWRITE = (
    "import pathlib\n\n_file = pathlib.Path(__file__).parent / 'tests' / 'test_calc.py'\n_text = _file.read_text()\n"
)
_REWRITE += "_file.write_text(_text.replace('== total', '!= 12345'))\n"
_AT_CALL = "import sys\n\n\ndef add(a, b):\n    module = sys.modules['test_calc']\n"
_AT_CALL += "    module.test_add.__code__ = (lambda a, b, total: None).__code__\n"
_AT_CALL += "    return {(1, 2): 3, (-1, 1): 0}.get((a, b), 0)\n" + MUL
_ASK_ARGV = "import sys\n\n\ndef add(a, b):\n    return a + b if sys.argv[0].startswith('py') else a - b\n" + MUL
_HALF_MUL = "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b if b == 3 else 0\n"

_WORDS_FIRST = "python3 -m pytest -q tests/test_words.py tests/test_calc.py"

CODE = [
    Case("exits on import", "`sys.exit(0)` when the module is loaded", "tests.missing", code(_EXIT)),
    Case(
        "exits hard",
        "`os._exit(0)` when the module is loaded",
        "tests.report_incomplete",
        code(_HARD_EXIT),
    ),
    Case(
        "exits at the end",
        "failing tests, and code 0 forced at exit",
        "tests.exit_code_forged",
        code(_AT_END),
    ),
    Case(
        "exits in the call",
        "`os._exit(0)` when the test calls it",
        "tests.report_incomplete",
        whole(_IN_CALL),
    ),
    Case(
        "forced reports",
        "report classes that always say passed",
        "tests.report_forged",
        code(_FORCED),
    ),
    Case(
        "tests that never run",
        "the runner's own method replaced by nothing",
        "tests.report_forged",
        code(_NEVER_RUN),
    ),
    Case(
        "swallowed failures",
        "the runner's own method wrapped",
        "tests.report_forged",
        code(_SWALLOW),
    ),
    Case("forged frames", "lines written into every pipe of the process", "tests.report_forged", code(_PIPES)),
    Case(
        "forged statement",
        "a supervisor's statement written past it",
        "tests.report_incomplete",
        code(_STATEMENT),
    ),
    Case("kills the supervisor", "a signal to the parent process", "tests.report_incomplete", code(_KILL)),
    Case(
        "skips",
        "tests that skip themselves in the tested code",
        "tests.skipped",
        whole(_SKIP),
    ),
    Case(
        "detects the runner",
        "right results only if pytest is loaded",
        "hidden.failed",
        whole(_ASK, hidden=PRODUCT),
    ),
    Case(
        "detects the environment",
        "right results only with pytest's variable",
        "hidden.failed",
        whole(_ASK_ENV, hidden=PRODUCT),
    ),
    Case(
        "swaps a test's code",
        "the code of a test function replaced while another runs",
        "tests.test_replaced",
        whole(_AT_CALL),
    ),
    Case(
        "rewrites the tests on disk",
        "the tested module rewrites a test file that is loaded after it; the tree is read-only",
        "tests.missing",
        edits({"words.py": _REWRITE + FILES["words.py"]}, fix=False, test_command=_WORDS_FIRST),
    ),
    Case(
        "detects the command line",
        "right results only under a program whose name begins with py",
        "hidden.failed",
        whole(_ASK_ARGV, hidden=PRODUCT),
    ),
    Case("sleeps", "a function that takes an hour", "tests.timed_out", whole(_SLEEP), strict=True),
    Case(
        "huge output",
        "a function that writes without end",
        "tests.output_flood",
        whole(_FLOOD, test_command="python3 -m pytest -q -s tests/test_calc.py"),
        strict=True,
    ),
    Case(
        "does not fix it",
        "an unrelated change",
        "tests.failed",
        edits({"words.py": FILES["words.py"] + "\n\nX = 1\n"}, fix=False),
    ),
    Case("only the visible tests", "a table of the sums in the tests", "hidden.failed", whole(_TABLE, hidden=HIDDEN)),
    Case(
        "equal to everything",
        "a result that says yes to every comparison",
        "cheat.flattered",
        whole(_LIAR, hidden=PRODUCT),
    ),
    Case(
        "breaks other tests",
        "a fix that ruins what the whole suite covers",
        "tests.others_broken",
        whole(_HALF_MUL, whole_suite=True),
    ),
    Case(
        "breaks a verification command",
        "a change that the buyer's second command notices",
        "commands.failed",
        edits(
            {"words.py": FILES["words.py"].replace("number, 2", "number, 3")},
            verification_commands=("python3 -c 'import words; assert words.twice(1) == 2'",),
        ),
    ),
    Case(
        "nothing to prove",
        "any patch, where the tests pass before",
        "order.tests_passed_before",
        edits({}, test_command="python3 -m pytest -q tests/test_words.py"),
    ),
]
