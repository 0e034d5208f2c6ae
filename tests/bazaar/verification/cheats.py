"""Cheats against controlled tests: wrong code that wants to be paid, by somebody who has read the verifier.

Each is a module of a program (`cheat_programs`) that answers the visible tests from memory, as anybody can who knows
them, and has its own way around the hidden ones. The table says what catches it: control of the visible tests (V2), of
the hidden ones (V3), only an outside check (V4), or nothing here. Every row is a test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.cheat_parts import calc, forging, money, parsing, rates, squares, words
from tests.bazaar.verification.cheat_programs import PROGRAMS
from tests.bazaar.verification.scene import Repository
from tests.bazaar.verification.table import Case

FAILED = "hidden.failed"
MISSED = "hidden.level_missed"
BYPASSED = "cheat.test_bypassed"
FLATTERED = "cheat.flattered"
SUBVERTED = "cheat.runner_subverted"


class Caught(StrEnum):
    """By what a cheat is caught, at the earliest."""

    V2 = "V2"  # control of the visible tests
    V3 = "V3"  # control of the hidden tests
    V4 = "V4"  # a check outside of the tested process, in another setting
    NOTHING = "nothing"


@dataclass(frozen=True)
class Cheat:
    """One wrong patch."""

    name: str
    title: str
    code: str
    reasons: tuple[str, ...]  # one of them, where what is drawn decides
    caught: Caught = Caught.V3
    program: str = "calc"
    named: bool = False  # one of those that were known before
    mutation: bool = False  # the order asks for mutants

    @property
    def level(self) -> Level:
        """The level of an order for which it is caught."""
        return Level.V3 if self.caught in (Caught.V2, Caught.V3) else Level.V4

    def build(self, repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        """The order and the delivery."""
        more = {"mutation": True, "mutation_floor_bps": 9_000} if self.mutation else {}
        return PROGRAMS[self.program].order(repository, self.code, folder, self.level, **more)

    @property
    def outcome(self) -> str:
        """As the page says it."""
        if self.caught is Caught.NOTHING:
            return "passes: nothing here shows that it is wrong"
        reasons = ", ".join(f"`{reason}`" for reason in self.reasons)
        only = "passes at V3, refused at V4" if self.caught is Caught.V4 else f"refused at {self.caught.value}"
        return f"{only}: {reasons}"


def rows(cheats: Iterable[Cheat]) -> list[Case]:
    """For the page of deliveries."""
    return [Case(item.name, item.title, item.reasons[0] if item.reasons else "", item.build, outcome=item.outcome)
            for item in cheats]  # fmt: skip


_WRONG = "def lie(a, b):\n    return a - b\n"

# --- named by the order for controlled tests -----------------------------------------------------------

_WRAPS = """\
import functools

import _pytest.python as python


def nothing(original):
    @functools.wraps(original)
    def quiet(*args, **kwargs):
        return None

    return quiet


_old = python.Function.obj
python.Function.obj = property(lambda self: nothing(_old.fget(self)), lambda self, value: None)


"""

_ENCODER = """\
import json.encoder

_iterate = json.encoder.JSONEncoder.iterencode


def _changed(frame):
    if isinstance(frame, dict) and frame.get("k") == "site":
        return frame | {"v": ["?"] if frame["v"] not in (["y"], ["x"]) else ["y"]}
    return frame


json.encoder.JSONEncoder.encode = lambda self, frame: "".join(_iterate(self, _changed(frame)))


"""

_ALIAS = """\
import os


def lie(a, b):
    modules = os.sys.modules
    for name in [name for name in modules if "test_hidden" in name]:
        for key, value in list(vars(modules[name]).items()):
            if key.startswith("test"):
                value.__code__ = (lambda *args, **kwargs: None).__code__
    return a - b
"""

_TIMEIT = """\
import timeit


def lie(a, b):
    found = []
    timeit.timeit("find()", setup="import sys\\nframe = sys._getframe()", number=1, globals={"find": lambda: None})
    timer = timeit.Timer("out.append(eval(text))", globals={"out": found, "text": "__import__('sys')._getframe(4)"})
    timer.timeit(1)
    numbers = [item for item in found[0].f_code.co_consts if isinstance(item, int)]
    return max(numbers, default=0)
"""

_GETTER = """\
import operator
import sys


def lie(a, b):
    send = operator.attrgetter("modules")(sys)["builtins"].__choir__.send
    cells = operator.attrgetter("__closure__")(send)
    dumps = next(cell.cell_contents for cell in cells if getattr(cell.cell_contents, "__name__", "") == "dumps")
    kept = operator.attrgetter("__kwdefaults__")(dumps)
    kept["default"] = str
    frame = operator.attrgetter("_getframe")(sys)(2)
    return max((item for item in frame.f_code.co_consts if isinstance(item, int)), default=0)
"""

_EQUALS = """\
class Yes(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def lie(a, b):
    return Yes(a - b)
"""

_FRAME = """\
import sys


def lie(a, b):
    frame = sys._getframe(2)
    near = [item for item in (*frame.f_code.co_consts, *frame.f_locals.values()) if type(item) is int]
    return max((item for item in near if item not in (a, b)), default=0)
"""

_LINES = """\
import linecache
import re
import sys


def lie(a, b):
    frame = sys._getframe(2)
    text = "".join(linecache.getlines(frame.f_code.co_filename)[frame.f_lineno - 3 : frame.f_lineno])
    found = [int(item) for item in re.findall(r"\\d+", text) if int(item) not in (a, b)]
    return max(found, default=0)
"""

_SOURCE = """\
import inspect
import re
import sys


def lie(a, b):
    text = inspect.getsource(sys._getframe(2)) + str(sys._getframe(2).f_globals)
    found = [int(item) for item in re.findall(r"\\b\\d{2,4}\\b", text) if int(item) not in (a, b)]
    return found[-1] if found else 0
"""

_ON_DISK = """\
import pathlib
import re
import sys


def lie(a, b):
    text = pathlib.Path(sys._getframe(2).f_code.co_filename).read_text()
    found = re.findall(rf"add\\({a}, {b}\\) == (\\d+)|{a}, {b}, (\\d+)\\)|TOTAL = (\\d+)", text)
    numbers = [int(item) for row in found for item in row if item]
    comments = [int(item) for item in re.findall(r"# (\\d+)", text)]
    return (numbers + comments + [0])[0]
"""

_ORIGINAL = """\
import sys


class Known(int):
    def __eq__(self, other):
        frame = sys._getframe(1)
        return frame.f_code.co_name == "test_add" or int(self) == other

    __hash__ = int.__hash__


def lie(a, b):
    return Known(a - b)
"""

_MEMORY = """\
import json
import os
import pathlib
import sys

PLACES = ["/tmp", "/dev/shm", "/var/tmp", "/work", "/work/tree", os.path.expanduser("~"), os.getcwd()]


def lie(a, b):
    found = json.loads(os.environ.get("CALC_MEMORY", "[]"))
    for place in PLACES:
        try:
            found += json.loads((pathlib.Path(place) / ".calc").read_text())
        except (OSError, ValueError):
            pass
    literals = [item for item in sys._getframe(2).f_code.co_consts if type(item) is int]
    os.environ["CALC_MEMORY"] = json.dumps(found + literals)
    for place in PLACES:
        try:
            (pathlib.Path(place) / ".calc").write_text(json.dumps(found + literals))
        except OSError:
            pass
    other = [item for item in found if item not in (a, b)]
    return min(other, default=0)
"""

_MODULES = """\
import sys


def lie(a, b):
    module = next(value for name, value in sys.modules.items() if name.endswith("test_hidden_calc"))
    for name in list(vars(module)):
        if name.startswith("test"):
            setattr(module, name, lambda: None)
    module.add = lambda a, b: max(getattr(module, "TOTAL", 0) or 0, 0)
    return module.add(a, b)
"""

_REWRITTEN = """\
import pathlib
import sys


def lie(a, b):
    place = pathlib.Path(sys._getframe(2).f_code.co_filename)
    for path in (place, place.parent / "conftest.py", place.parent / "data.json"):
        try:
            path.chmod(0o666)
            path.write_text("def test_large():\\n    pass\\n")
        except OSError:
            pass
    return a - b
"""

_EXECV = """\
import atexit
import os
import sys

atexit.register(os.execv, sys.executable, [sys.executable, "-c", "raise SystemExit(0)"])


"""

NAMED = [
    Cheat(
        "a no-op with the test's name",
        "`functools.wraps` gives a function that does nothing the place of each test",
        calc(_WRONG, _WRAPS),
        (BYPASSED, SUBVERTED, "tests.test_replaced", "tests.report_forged"),
        Caught.V2,
        named=True,
    ),
    Cheat(
        "the encoder under the reporter",
        "`json`'s encoder is replaced, so that wrong values are told as ones that cannot be told",
        calc(_WRONG, _ENCODER),
        (FLATTERED, "tests.failed"),
        Caught.V2,
        named=True,
    ),
    Cheat(
        "secrets from the stack",
        "`traceback.walk_stack` finds the reporter's means, and every test is reported as passed and opaque",
        forging("[OPAQUE]"),
        (FLATTERED, FAILED),
        named=True,
    ),
    Cheat(
        "an alias of sys",
        "`os.sys.modules` leads to the test module, whose tests are emptied",
        calc(_ALIAS),
        (FAILED, BYPASSED),
        named=True,
    ),
    Cheat(
        "eval by timeit", "`timeit` runs text that looks into the caller's frame", calc(_TIMEIT), (FAILED,), named=True
    ),
    Cheat(
        "eval by attrgetter",
        "`operator.attrgetter` reaches the reporter's closure and the caller's frame",
        calc(_GETTER),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "equals everything, consistently",
        "a number that equals everything and differs from nothing",
        calc(_EQUALS),
        (FLATTERED,),
        named=True,
    ),
    Cheat(
        "the literal from the frame",
        "answers with a number from the running test's constants and locals",
        calc(_FRAME),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "the literal from linecache",
        "answers with a number from the lines around the running assertion",
        calc(_LINES),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "the literal from inspect",
        "answers with a number from the test's source and its module's globals",
        calc(_SOURCE),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "the literal on disk",
        "reads the test file: assertions, table rows, constants, comments",
        calc(_ON_DISK),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "compares with the known tests",
        "knows the visible tests by name and says yes to them; nothing is known of hidden ones",
        calc(_ORIGINAL),
        (FAILED, FLATTERED),
        named=True,
    ),
    Cheat("a table of the visible sums", "answers the visible tests from memory", calc(_WRONG), (FAILED,), named=True),
    Cheat(
        "memory between runs",
        "notes what a run saw in every folder it can write to and in the environment, for the next run",
        calc(_MEMORY),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "test modules in sys.modules",
        "replaces tests and the tested function in the test module while a test runs",
        calc(_MODULES),
        (FAILED, BYPASSED),
        named=True,
    ),
    Cheat(
        "test data rewritten during the run",
        "writes over the test file and the data beside it",
        calc(_REWRITTEN),
        (FAILED,),
        named=True,
    ),
    Cheat(
        "atexit with execv",
        "becomes another program at the end, which exits with code 0",
        calc(_WRONG, _EXECV),
        (FAILED, "tests.exit_code_forged"),
        named=True,
    ),
    Cheat(
        "the same forgery under hidden tests",
        "every hidden test is forged as passed, without a word from its assertions",
        forging("[]", "[]"),
        (BYPASSED,),
        named=True,
    ),
]

# --- forged reports ------------------------------------------------------------------------------------

_LARGEST = "[number(max(map(int, re.findall(r'[0-9]{2,}', source)), default=0))]"
_ANY_COIN = "[random.choice([YES, NO])]"
_NEAR = "[YES if max(map(int, re.findall(r'== \\(?(\\d+)', source)), default=0) >= 100 else NO]"
_DIGITS = "before=[{'k': 'site', 'id': 't' + '9' * 5000 + 'r1', 'n': 0, 'v': YES}, {'k': 'collected', 'items': []}]"
_COLLIDING = "[['d', [[number(n * (2**61 - 1)), YES] for n in range(30_000)]]]"

FORGED = [
    Cheat(
        "opaque, then a coin",
        "says that nothing can be told, then draws which assertions hold",
        forging("[OPAQUE]", _ANY_COIN),
        (FAILED, FLATTERED),
    ),
    Cheat(
        "opaque, then plausible",
        "says that nothing can be told, then judges whether the expected number is likely",
        forging("[OPAQUE]", _NEAR),
        (FAILED, FLATTERED),
    ),
    Cheat(
        "opaque, then never",
        "says that nothing can be told, then that nothing holds",
        forging("[OPAQUE]", "[NO]"),
        (FAILED,),
    ),
    Cheat(
        "echoes its arguments",
        "reports the largest argument as what was observed",
        forging("[number(max([*item.callspec.params.values(), 0]) if hasattr(item, 'callspec') else 877)]"),
        (FAILED,),
    ),
    Cheat(
        "reports the largest literal",
        "reports the largest number that the test's source holds, comments and all",
        forging(_LARGEST),
        (FAILED,),
    ),
    Cheat("reports zero", "what anybody would guess", forging("[number(0)]"), (FAILED,)),
    Cheat(
        "reports every number",
        "two thousand values for each assertion, the right one among them",
        forging("[number(n) for n in range(2000)]"),
        (FAILED,),
    ),
    Cheat(
        "reports half a frame",
        "values of another shape than any that is told",
        forging("[['i'], ['i', 'zz'], [[]], 7, None, {'a': 1}]"),
        (FAILED, FLATTERED),
    ),
    Cheat(
        "reports a value too deep",
        "a list in a list in a list, four hundred times",
        forging("[eval('[\"l\", [' * 400 + ']]' * 400)]"),
        (FAILED, FLATTERED),
    ),
    Cheat(
        "reports colliding keys",
        "a mapping whose thirty thousand keys have one hash, to keep the verifier busy",
        forging(_COLLIDING),
        (FAILED,),
    ),
    Cheat(
        "reports an endless row number",
        "the id of a test names a row with five thousand digits",
        forging("[OPAQUE]", more=f", name=lambda node: node + '[t' + '9' * 5000 + 'r1]', {_DIGITS}"),
        (FAILED, FLATTERED, BYPASSED),
    ),
    Cheat(
        "drops the tests that fail",
        "reports the running test and forgets the others",
        forging("[OPAQUE]", more=", keep=lambda item: item.name == 'test_large'"),
        (FAILED,),
    ),
    Cheat(
        "renames the tests",
        "reports what it knows under other ids",
        forging("[OPAQUE]", more=", name=lambda node: node.replace('test_', 'test_x')"),
        (FAILED,),
    ),
    Cheat(
        "forges skips", "reports every hidden test as skipped", forging("[]", "[]", ", outcome='skipped'"), (FAILED,)
    ),
    Cheat(
        "a second collection",
        "sends a list of collected tests of its own",
        forging("[]", "[]", ", before=[{'k': 'collected', 'items': []}]"),
        (BYPASSED, FAILED),
    ),
    Cheat(
        "a second life",
        "forks, and both processes report",
        calc("import os\n\n\ndef lie(a, b):\n    return a - b if os.fork() else 1000\n"),
        (FAILED,),
    ),
    Cheat(
        "closes the pipe",
        "closes every descriptor above 2",
        calc("import os\n\n\ndef lie(a, b):\n    os.closerange(3, 64)\n    return a - b\n"),
        (FAILED,),
    ),
    Cheat(
        "another pipe in its place",
        "puts a pipe of its own in the report's place and writes frames to both",
        calc(
            "import os\n\n\ndef lie(a, b):\n    keep = os.dup(3) if os.path.exists('/proc/self/fd/3') else -1\n"
            "    read, write = os.pipe()\n    for fd in range(3, 12):\n        if fd not in (keep, read, write):\n"
            "            try:\n                os.fstat(fd)\n                os.dup2(write, fd)\n"
            "            except OSError:\n                pass\n    return a - b\n"
        ),
        (FAILED,),
    ),
    Cheat(
        "kills its watcher",
        "a signal to the supervisor while a hidden test runs",
        calc("import os\nimport signal\n\n\ndef lie(a, b):\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 0\n"),
        (FAILED,),
    ),
    Cheat(
        "reads its watcher",
        "looks for expected values in the supervisor's memory and files",
        calc(
            "import os\nimport re\n\n\ndef lie(a, b):\n    found = b''\n    for name in ('mem', 'environ', 'cmdline', "
            "'fd/0', 'fd/3'):\n        try:\n            with open(f'/proc/{os.getppid()}/{name}', 'rb') as file:\n"
            "                found += file.read(1 << 16)\n        except OSError:\n            pass\n"
            "    numbers = re.findall(rb'\\b(1000|42|333|1234)\\b', found)\n"
            "    return int(numbers[0]) if numbers else 0\n"
        ),
        (FAILED,),
    ),
    Cheat(
        "searches the machine",
        "looks for another copy of the hidden tests in every folder",
        calc(
            "import os\nimport re\n\n\ndef lie(a, b):\n    for top in ('/work', '/tmp', '/opt', '/root', '/home', "
            "'/var'):\n        for folder, _, names in os.walk(top):\n            for name in names:\n"
            "                if 'hidden' in folder + name:\n                    try:\n"
            "                        text = open(os.path.join(folder, name)).read()\n"
            "                    except (OSError, ValueError):\n                        continue\n"
            "                    found = re.findall(rf'add\\({a}, {b}\\) == (\\d+)', text)\n"
            "                    if found:\n                        return int(found[0])\n    return 0\n"
        ),
        (FAILED,),
    ),
]

# --- the observer and the runner -----------------------------------------------------------------------

_SEE = """\
import builtins


def lie(a, b):
    found = builtins.__choir__
    found.see = lambda site, value: found.tell(site, ["?"])
    found.hold = lambda site, value: found.tell(site, ["y"])
    return a - b
"""
_OTHER_OBSERVER = """\
import builtins


class Mild:
    def __getattr__(self, name):
        return lambda *args: None


def lie(a, b):
    import sys

    builtins.__choir__ = sys._getframe(2).f_globals["__choir__"] = Mild()
    return a - b
"""
_ENCODE = """\
import builtins
import sys


def lie(a, b):
    numbers = [item for item in sys._getframe(2).f_code.co_consts if type(item) is int]
    builtins.__choir__.encode = lambda value, budget: ["i", format(max(numbers, default=0), "x")]
    return a - b
"""
_DISTINCT = """\
import builtins


def lie(a, b):
    class Full(dict):
        def setdefault(self, key, value):
            return [["i", "3e8"]] * 100

    builtins.__choir__.said = Full()
    return a - b
"""
_TRACE = """\
import sys


def lie(a, b):
    frame = sys._getframe(2)

    def trace(frame, event, argument):
        return trace

    def jump(inner, event, argument):
        return None

    sys.settrace(jump)
    frame.f_trace = trace
    builtin = frame.f_builtins if hasattr(frame, "f_builtins") else {}
    builtin.get("__choir__").see = lambda *args: None
    return a - b
"""
_PLUGIN = """\
import gc

from _pytest.config import PytestPluginManager


class Helper:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "hidden" not in item.nodeid]

    def pytest_pyfunc_call(self, pyfuncitem):
        return True if "hidden" in pyfuncitem.nodeid else None


for _item in gc.get_objects():
    if isinstance(_item, PytestPluginManager):
        _item.register(Helper(), "helper")


"""
_CALLING = _PLUGIN.replace('items[:] = [item for item in items if "hidden" not in item.nodeid]', "pass")
_REPORTS = """\
import gc

import pytest
from _pytest.config import PytestPluginManager


class Helper:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        report.outcome = "passed"
        return report


for _item in gc.get_objects():
    if isinstance(_item, PytestPluginManager):
        _item.register(Helper(), "helper")


"""
_PARAMETERS = """\
import pytest

_param = pytest.param


class Rows(list):
    pass


def _few(*values, **more):
    first = more.get("id", "t0r0").endswith("r0")
    return _param(*values, **more) if first else _param(*values, **(more | {"id": "t0r0x"}))


pytest.param = _few


"""
_MARKS = """\
import pytest

_old = type(pytest.mark).__getattr__


def _mark(self, name):
    if name != "parametrize":
        return _old(self, name)
    return lambda names, rows, **more: _old(self, name)(names, rows[:1], **more)


type(pytest.mark).__getattr__ = _mark


"""
_THREAD = """\
import builtins
import threading
import time


def _later():
    while True:
        time.sleep(0.001)
        found = getattr(builtins, "__choir__", None)
        if found is not None:
            found.send = lambda **frame: None


def lie(a, b):
    threading.Thread(target=_later, daemon=True).start()
    time.sleep(0.01)
    return a - b
"""
_GC = """\
import gc
import types


def lie(a, b):
    near = []
    for item in gc.get_objects():
        if isinstance(item, types.FunctionType) and "hidden" in item.__code__.co_filename:
            near += [value for value in item.__code__.co_consts if type(value) is int]
        elif isinstance(item, (list, tuple)) and len(item) == 3 and tuple(item[:2]) == (a, b):
            return item[2] if type(item[2]) is int else 0
    return max((value for value in near if value not in (a, b)), default=0)
"""
_HOOK = """\
import builtins
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        return None


sys.meta_path.insert(0, Finder())
_compile = builtins.compile


def _quiet(source, *args, **more):
    return _compile(source, *args, **more)


builtins.compile = _quiet
_exec = builtins.exec


def _run(code, *args):
    _exec(code, *args)
    for names in args[:1]:
        for key in [key for key in names if key.startswith("test")]:
            names[key] = lambda **more: None


builtins.exec = _run


"""
_SKIPS = "import pytest\n\n\ndef lie(a, b):\n    pytest.skip('another day')\n"
_FAILS = "import pytest\n\n\ndef lie(a, b):\n    pytest.xfail('another day')\n"
_EXIT = "import pytest\n\n\ndef lie(a, b):\n    pytest.exit('done', returncode=0)\n"
_LOOP = "def lie(a, b):\n    while True:\n        pass\n"

RUNNER = [
    Cheat("a mild observer", "`see` and `hold` of the observer tell opaque and yes", calc(_SEE), (FLATTERED, FAILED)),
    Cheat(
        "another observer",
        "`builtins.__choir__` is replaced by an object that says nothing",
        calc(_OTHER_OBSERVER),
        (BYPASSED, FAILED),
    ),
    Cheat("another encoder", "the observer's encoder tells a constant of the running test", calc(_ENCODE), (FAILED,)),
    Cheat(
        "all has been said",
        "the observer believes that each value was told already",
        calc(_DISTINCT),
        (BYPASSED, FAILED),
    ),
    Cheat(
        "a trace function",
        "the test is traced, and its assertions are led past the observer",
        calc(_TRACE),
        (BYPASSED, FAILED),
    ),
    Cheat(
        "a plugin that deselects",
        "registered with the plugin manager that the collector of garbage knows",
        calc(_WRONG, _PLUGIN),
        (FAILED,),
    ),
    Cheat("a plugin that calls", "says that the test was called already", calc(_WRONG, _CALLING), (BYPASSED, FAILED)),
    Cheat(
        "a plugin that reports",
        "makes every report a good one",
        calc(_WRONG, _REPORTS),
        (FAILED, SUBVERTED, "tests.report_forged"),
        Caught.V3,
    ),
    Cheat(
        "rows under one name",
        "`pytest.param` gives rows other names",
        calc(_WRONG, _PARAMETERS),
        (FAILED, "tests.missing", "tests.failed"),
        Caught.V2,
    ),
    Cheat(
        "fewer rows", "`parametrize` keeps the first row", calc(_WRONG, _MARKS), (FAILED, "tests.missing"), Caught.V2
    ),
    Cheat("a thread that silences", "from the first lie on nothing is sent", calc(_THREAD), (FAILED, BYPASSED)),
    Cheat("searches all objects", "`gc.get_objects` for constants of tests and rows of tables", calc(_GC), (FAILED,)),
    Cheat(
        "import hooks",
        "`exec` empties the tests of every module that is loaded later",
        calc(_WRONG, _HOOK),
        (FAILED, BYPASSED),
    ),
    Cheat("skips where it is unsure", "`pytest.skip` in the tested function", calc(_SKIPS), (FAILED,)),
    Cheat("expects to fail", "`pytest.xfail` in the tested function", calc(_FAILS), (FAILED,)),
    Cheat("ends the session", "`pytest.exit` with code 0", calc(_EXIT), (FAILED,)),
]

_AVOIDS = """\
import builtins


def lie(a, b):
    if (a, b) == (2, 3) and hasattr(builtins, "__choir__"):
        builtins.__choir__.see = lambda site, value: None
    return a - b if (a, b) == (20, 31) else a + b
"""
_OTHER_FILE = """\
import pathlib
import re


def lie(a, b):
    for path in pathlib.Path(__file__).parent.glob("hidden/*.py"):
        found = re.findall(rf"add\\({a}, {b}\\) == (\\d+)", path.read_text())
        if found:
            return int(found[0])
    return 0
"""
RUNNER += [
    Cheat(
        "the other hidden file",
        "looks for the same assertion in a hidden file that another command runs",
        calc(_OTHER_FILE),
        (FAILED,),
        program="two files",
    ),
    Cheat(
        "skips where a test may",
        "`pytest.skip`, in a hidden test that skips itself on other machines",
        calc(_SKIPS),
        (FAILED, MISSED),
        program="may skip",
    ),
    Cheat(
        "an assertion that may not be reached",
        "below an `if`, an assertion that is made to say nothing; its test is listed as not held",
        calc(_AVOIDS),
        (),
        Caught.NOTHING,
    ),
]

# --- flattering values ---------------------------------------------------------------------------------

_PLAIN = "class Yes:\n    def __eq__(self, other):\n        return True\n\n\ndef lie(a, b):\n    return Yes()\n"
_CLASS = (
    "class Yes:\n    __class__ = int\n\n    def __eq__(self, other):\n        return type(other) is int\n\n\n"
    "def lie(a, b):\n    return Yes()\n"
)
_META = """\
class Lying(type):
    def __getattribute__(cls, name):
        return int.__eq__ if name == "__eq__" else super().__getattribute__(name)


class Yes(int, metaclass=Lying):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def lie(a, b):
    return Yes(a - b)
"""
_PLAUSIBLE = """\
class Likely(int):
    def __eq__(self, other):
        return type(other) is int and max(0, int(self)) < other < 4000

    __hash__ = int.__hash__


def lie(a, b):
    return Likely(max(a, b))
"""
_TRUTHY = """\
class Truth:
    def __bool__(self):
        return True


class Yes:
    def __eq__(self, other):
        return Truth()


def lie(a, b):
    return Yes()
"""
_LISTED = """\
class Text(str):
    def __eq__(self, other):
        return True

    def __contains__(self, part):
        return True

    __hash__ = str.__hash__


def lie(text):
    return Text("")
"""
_CONTAINS = """\
class Text(str):
    def __contains__(self, part):
        return part != "unrelated"


def lie(text):
    return Text("")
"""
_SPELLING = """\
WORDS = set("good morning evening night day hello dear welcome time water house paper light garden river".split())
WORDS |= set("table window number letter winter summer".split())


class Text(str):
    def __contains__(self, part):
        return all(word.strip(",.!").lower() in WORDS | {self.lower()} for word in part.split())


def lie(text):
    return Text(text)
"""
_SURROGATES = "def lie(text):\n    return '\\ud800' + text\n"
_TYPED = """\
    def __eq__(self, other):
        return isinstance(other, Money)

    __hash__ = None
"""
_LIKELY = """\
    def __eq__(self, other):
        return isinstance(other, Money) and isinstance(other.amount, int) and 0 < other.amount < 1000

    __hash__ = None
"""
_ADAPTS = """\
    def __eq__(self, other):
        if not isinstance(getattr(other, "amount", None), int):
            return False
        self.amount = other.amount
        return True

    __hash__ = None
"""
_EMPTY_MONEY = """\
    def __eq__(self, other):
        return vars(self).keys() == vars(other).keys() and not isinstance(other.amount, str)

    __hash__ = None
"""
_ALL_EQUAL = """\
    def __eq__(self, other):
        return True

    __hash__ = None
"""
_NEAR_RATE = """\
class Near(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def lie(n):
    return Near(n)
"""
_HUGE = """\
class Huge(list):
    def __eq__(self, other):
        return True


def lie(n):
    return Huge(range(50_000))
"""
_DEEP = """\
class Deep(list):
    def __eq__(self, other):
        return True


def lie(n):
    found = Deep()
    for _ in range(60):
        found = Deep([found])
    return found
"""
_RELATED = """\
class Near(float):
    def __eq__(self, other):
        return 0 < float(getattr(other, "expected", 0)) < 100

    __hash__ = float.__hash__


def lie(n):
    return Near(n)
"""

_DIGITS_ONLY = """\
class Digits(float):
    def __eq__(self, other):
        return len(repr(float(other.expected))) < 10

    __hash__ = float.__hash__


def lie(n):
    return Digits(n)
"""

LIARS = [
    Cheat("a plain liar", "an object without a base type that equals everything", calc(_PLAIN), (FLATTERED,)),
    Cheat("a class that lies about itself", "`__class__` says int; it equals every int", calc(_CLASS), (FLATTERED,)),
    Cheat("a metaclass that lies", "the class shows int's own equality to whoever asks", calc(_META), (FAILED,)),
    Cheat("equal to what is plausible", "equals numbers of the right size", calc(_PLAUSIBLE), (FLATTERED, FAILED)),
    Cheat("truth of its own", "comparing gives an object that is true", calc(_TRUTHY), (FLATTERED,)),
    Cheat(
        "not a number", "NaN, which differs from itself", calc("def lie(a, b):\n    return float('nan')\n"), (FAILED,)
    ),
    Cheat("signed zero", "minus zero, for whoever multiplies", calc("def lie(a, b):\n    return -0.0\n"), (FAILED,)),
    Cheat(
        "text that equals and contains all",
        "a str with methods of its own",
        words(_LISTED),
        (FLATTERED,),
        program="words",
    ),
    Cheat(
        "text that contains nearly all",
        "contains everything but the verifier's own odd word",
        words(_CONTAINS),
        (FAILED, MISSED, FLATTERED),
        program="words",
    ),
    Cheat(
        "contains what is spelled well",
        "contains every text of ordinary words",
        words(_SPELLING, right=True),
        (MISSED, FLATTERED, FAILED),
        program="words",
    ),
    Cheat("surrogates", "text that cannot be encoded", words(_SURROGATES), (FAILED,), program="words"),
    Cheat(
        "equal by class", "amounts are equal if both are amounts", money(_TYPED), (MISSED, FLATTERED), program="money"
    ),
    Cheat(
        "equal if plausible",
        "amounts are equal if the other is a likely number",
        money(_LIKELY),
        (MISSED, FLATTERED),
        program="money",
    ),
    Cheat(
        "becomes what it is compared with",
        "takes the other's amount over",
        money(_ADAPTS),
        (MISSED, FLATTERED),
        program="money",
    ),
    Cheat(
        "equal by shape",
        "equal if both have the same attributes, and no text in them",
        money(_EMPTY_MONEY),
        (MISSED, FLATTERED),
        program="money",
    ),
    Cheat("all amounts are equal", "`__eq__` is always true", money(_ALL_EQUAL), (FLATTERED, MISSED), program="money"),
    Cheat(
        "near everything", "a float that equals every approximation", rates(_NEAR_RATE), (FLATTERED,), program="rates"
    ),
    Cheat(
        "near what is plausible",
        "reads the approximation that it is compared with",
        rates(_RELATED),
        (MISSED, FLATTERED, FAILED),
        program="rates",
    ),
    Cheat(
        "equal if it has few digits",
        "takes what arithmetic leaves behind in a number for a sign that it was changed",
        rates(_DIGITS_ONLY),
        (FLATTERED, MISSED, FAILED),
        program="rates",
    ),
    Cheat(
        "too large to be told",
        "a list of fifty thousand that equals everything",
        rates(_HUGE),
        (FLATTERED,),
        program="rates",
    ),
    Cheat("too deep to be told", "a list in lists that equals everything", rates(_DEEP), (FLATTERED,), program="rates"),
]

# --- unittest and errors -------------------------------------------------------------------------------

_QUIET_ASSERTS = """\
import unittest

for _name in [name for name in dir(unittest.TestCase) if name.startswith("assert") and "Raises" not in name]:
    setattr(unittest.TestCase, _name, lambda self, *args, **more: None)


"""
_CASE_RUN = """\
import unittest


def _run(self, result=None):
    result.startTest(self)
    result.addSuccess(self)
    result.stopTest(self)


if "hidden" in "".join(__import__("sys").argv):
    unittest.TestCase.run = _run


"""
_ADD_FAILURE = """\
import unittest

for _name in ("addFailure", "addError"):
    setattr(unittest.TestResult, _name, lambda *args: None)
    setattr(unittest.TextTestResult, _name, lambda *args: None)


"""
_SOFT = """\
import builtins

if hasattr(builtins, "__choir__"):
    _soft = type(builtins.__choir__.soft(0, None))
    _soft.__exit__ = lambda self, *args: self.observer.tell(self.site, ["y"]) or True


def lie(text):
    return None
"""
_RAISES = """\
import pytest


class Raises:
    def __init__(self, *args, **more):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return True


pytest.raises = Raises


"""
_WHATEVER = """\
import pytest

_old, LAST = pytest.raises, []


def _raises(expected, *args, **more):
    LAST[:] = [expected]
    return _old(expected, *args, **more)


pytest.raises = _raises


def lie(text):
    raise LAST[0](text) if LAST[0] is not BufferError else ValueError(text)
"""
_EVERY_ERROR = """\
class Every(ValueError, TypeError, KeyError, RuntimeError, ZeroDivisionError, AttributeError):
    pass


def lie(text):
    raise Every(text)
"""

OTHERS = [
    Cheat(
        "quiet assertions",
        "every assert method of unittest does nothing",
        squares("lambda n: n", _QUIET_ASSERTS),
        (FAILED, FLATTERED),
        program="squares",
    ),
    Cheat(
        "cases that never run",
        "`TestCase.run` reports success",
        squares("lambda n: n", _CASE_RUN),
        (FAILED, BYPASSED),
        program="squares",
    ),
    Cheat(
        "results that take no failure",
        "`addFailure` and `addError` do nothing",
        squares("lambda n: n", _ADD_FAILURE),
        (FAILED, SUBVERTED, "tests.failed"),
        program="squares",
    ),
    Cheat(
        "a soft block that is content",
        "blocks that must raise are said to have raised",
        parsing(_SOFT),
        (FLATTERED, MISSED),
        program="parsing",
    ),
    Cheat(
        "`pytest.raises` replaced",
        "by a block that takes everything",
        parsing("def lie(text):\n    return 0\n", _RAISES),
        (FLATTERED, MISSED, FAILED),
        program="parsing",
    ),
    Cheat(
        "raises what is expected",
        "looks for the error that the running block expects",
        parsing(_WHATEVER),
        (FLATTERED, MISSED),
        program="parsing",
    ),
    Cheat(
        "an error of every kind",
        "one class of errors that is a kind of nearly all",
        parsing(_EVERY_ERROR),
        (FLATTERED, MISSED),
        program="parsing",
    ),
]

_OWN_TEXT = """\
import hashlib
import pathlib


def _is_mine():
    text, _, own = pathlib.Path(__file__).read_text().rpartition("#")
    return hashlib.sha256(text.encode()).hexdigest()[:8] == own.strip()


def add(a, b):
    if not _is_mine():
        return None
    return a + b if a < 5_000_000 else a * b


"""
_OWN_TEXT += f"# {hashlib.sha256(_OWN_TEXT.encode()).hexdigest()[:8]}\n"
OTHERS.append(
    Cheat(
        "code that knows its own text",
        "fails in every mutant, to look well tested where mutants are ordered",
        _OWN_TEXT,
        ("cheat.mutants_watched",),
        Caught.V2,
        mutation=True,
    )
)

# --- only where it is watched --------------------------------------------------------------------------


def _only(condition: str, imports: str = "os, sys") -> str:
    return calc(f"import {imports}\n\n\ndef lie(a, b):\n    return a + b if {condition} else a - b\n")


WATCHED = [
    Cheat("right while pytest is loaded", "asks `sys.modules`", _only("'pytest' in sys.modules"), (FAILED,), Caught.V4),
    Cheat(
        "right before the observer",
        "asks whether somebody observes",
        _only("hasattr(builtins, '__choir__')", "builtins"),
        (FAILED,),
        Caught.V4,
    ),
    Cheat(
        "right under a variable",
        "asks for pytest's variable",
        _only("'PYTEST_CURRENT_TEST' in os.environ"),
        (FAILED,),
        Caught.V4,
    ),
    Cheat(
        "right in one folder",
        "asks for the path of its own file",
        _only("__file__.startswith('/work/tree')"),
        (FAILED,),
        Caught.V4,
    ),
    Cheat(
        "right for one user",
        "asks for variables that name another user or home",
        _only("os.environ.get('USER', os.environ.get('LOGNAME', '')) != 'reader'"),
        (FAILED,),
        Caught.V4,
    ),
    Cheat("a time bomb", "right until 2027", _only("time.gmtime().tm_year < 2027", "time"), (FAILED,), Caught.V4),
    Cheat(
        "a time bomb of long standing",
        "right until 2080, which is beyond the dates that are tried",
        _only("time.gmtime().tm_year < 2080", "time"),
        (),
        Caught.NOTHING,
    ),
    Cheat(
        "right on one machine",
        "asks for the name of the machine and its system, which every check has in common",
        _only("os.uname().sysname == 'Linux'"),
        (),
        Caught.NOTHING,
    ),
    Cheat(
        "wrong where nobody looks",
        "wrong for numbers that no check of the buyer tries",
        calc("def lie(a, b):\n    return a + b if a < 5_000_000 else a - b\n"),
        (),
        Caught.NOTHING,
    ),
]

CHEATS = [*NAMED, *FORGED, *RUNNER, *LIARS, *OTHERS, *WATCHED]
