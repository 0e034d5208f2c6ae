"""Which signs changed Python gives to its reader; none is a reason to refuse it."""

from __future__ import annotations

import pytest

from choir.bazaar.verification.signs import signs
from choir.bazaar.verification.trees import Change, Entry

HONEST = [
    "import argparse\n\nprint(vars(argparse.Namespace(a=1)))\n",
    "import re\n\nPATTERN = re.compile('x')\n",
    "def pick(item, name):\n    return getattr(item, name)\n",
    "import sys\n\n\ndef main():\n    sys.exit(0 if sys.argv[1:] else 2)\n",
    '"""Run the tests with pytest."""\n\nimport gc\nimport atexit\n\natexit.register(gc.collect)\n',
    "class Model:\n    def modules(self):\n        return self.modules\n",
    "import inspect\n\nprint(inspect.signature(print))\n",
]
REACHING = [
    "import sys\n\nsys._getframe(1)\n",
    "import sys\n\nsys.modules.clear()\n",
    "from sys import modules\n",
    "import sys\n\nvars(sys)['mod']\n",
    "import sys\n\nsys.__dict__\n",
    "import sys\n\nname = 'x'\ngetattr(sys, name)\n",
    "import gc\n\ngc.get_objects()\n",
    "import ctypes\n",
    "exec('x = 1')\n",
    "__import__('os')\n",
    "def f():\n    pass\n\n\nf.__code__ = None\n",
    "x = getattr(print, '__clo' + 'sure__')\n",
    "import importlib\n\nimportlib.import_module('x')\n",
    "import os\n\nos._exit(0)\n",
    "import __main__\n",
]
ASKING = [
    "import pytest\n",
    "from _pytest import runner\n",
    "import os\n\nos.environ.get('PYTEST_CURRENT_TEST')\n",
    "import sys\n\n'py' + 'te' + 'st' in sys.argv\n",
    "import pluggy\n",
    "import os\n\nos.path.exists('/opt/choir')\n",
]


def found(after: str, before: str | None = None, path: str = "src/a.py") -> tuple[str, ...]:
    old = None if before is None else Entry(before.encode())
    return signs([Change(path, old, Entry(after.encode()))])


@pytest.mark.parametrize("text", HONEST)
def test_ordinary_code_gives_no_sign(text: str) -> None:
    assert found(text) == ()


@pytest.mark.parametrize("text", REACHING)
def test_code_that_reaches_into_the_interpreter_is_named(text: str) -> None:
    assert found(text) == ("reaches into the interpreter",)


@pytest.mark.parametrize("text", ASKING)
def test_code_that_asks_for_the_runner_is_named(text: str) -> None:
    assert found(text) == ("names a test runner",)


def test_what_was_there_before_and_what_is_no_code_of_the_product_is_not_held_against_a_patch() -> None:
    assert found("import pytest\n\nX = 1\n", before="import pytest\n") == ()
    assert found("import pytest\n", path="tests/test_more.py") == ()
    assert found("import pytest\n", path="setup.py") == ()
    assert found("Run pytest.\n", path="README.md") == ()
    assert found("def (\n", before="def (\n\n") == ()
    assert found("def (\n", before="x = 1\n") == ("has Python code that cannot be parsed",)
    assert found("((" * 5_000) == ("has Python code that cannot be parsed",)
