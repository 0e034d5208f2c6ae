"""Honest patches whose tests are written for unittest, run by it and by pytest."""

from __future__ import annotations

from choir.bazaar.jobs.model import Level
from tests.bazaar.verification.honest_patch import Patch

_TEXTS = """
import logging
import warnings

log = logging.getLogger("texts")


def title(text):
    if not isinstance(text, str):
        raise TypeError("text expected")
    if not text:
        raise ValueError("text is empty")
    log.warning("title of %s", text)
    return " ".join(word.capitalize() for word in text.split())


def old_title(text):
    warnings.warn("use title", DeprecationWarning, stacklevel=2)
    return title(text)


def ratio(part, whole):
    return part / whole


def letters(text):
    return sorted(set(text))
"""
_EVERY = """
import unittest

from {module} import letters, old_title, ratio, title


class EveryAssertion(unittest.TestCase):
    maxDiff = None

    def test_equal(self):
        self.assertEqual(title("red bus"), "Red Bus")
        self.assertEqual("Blue Car", title("blue car"), "a message")
        self.assertEqual(first=title("a"), second="A")
        self.assertNotEqual(title("red"), "red")
        self.assertEqual((title("in") + "!"), "In!")
        self.assertTrue((title("x")) == "X")
        self.assertMultiLineEqual(title("x y"), "X Y")

    def test_truth(self):
        self.assertTrue(title("a"))
        self.assertFalse(letters(""))
        self.assertIs(title("b").isupper(), True)
        self.assertIsNot(title("b"), None)
        self.assertIsNone(None)
        self.assertIsNotNone(title("c"))
        self.assertIsInstance(title("d"), str)
        self.assertNotIsInstance(title("d"), int)

    def test_numbers(self):
        self.assertAlmostEqual(ratio(1, 3), 0.3333333)
        self.assertAlmostEqual(ratio(1, 3), 0.33, places=2)
        self.assertAlmostEqual(ratio(2, 3), 0.6, delta=0.1)
        self.assertNotAlmostEqual(ratio(1, 3), 0.4)
        self.assertGreater(ratio(3, 2), 1)
        self.assertGreaterEqual(ratio(2, 2), 1)
        self.assertLess(ratio(1, 2), 1)
        self.assertLessEqual(ratio(1, 1), 1)

    def test_containers(self):
        self.assertIn("Bus", title("red bus"))
        self.assertIn(title("a"), ["A", "B"])
        self.assertNotIn("bus", title("red bus"))
        self.assertCountEqual(letters("banana"), ["b", "n", "a"])
        self.assertListEqual(letters("cab"), ["a", "b", "c"])
        self.assertTupleEqual(tuple(letters("ba")), ("a", "b"))
        self.assertSetEqual(set(letters("aab")), {{"a", "b"}})
        self.assertDictEqual(dict.fromkeys(letters("ab"), 0), {{"a": 0, "b": 0}})
        self.assertSequenceEqual(letters("dc"), ["c", "d"])
        self.assertEqual(
            letters("xyz"),
            [
                "x",
                "y",
                "z",
            ],
        )
        self.assertDictEqual(d1={{}}, d2={{}})

    def test_text(self):
        self.assertRegex(title("red bus"), r"^R\\w+ B")
        self.assertNotRegex(title("red bus"), "[0-9]")

    def test_errors(self):
        with self.assertRaises(ValueError):
            title("")
        with self.assertRaises(TypeError) as caught:
            title(5)
        self.assertEqual(str(caught.exception), "text expected")
        self.assertIn("expected", caught.exception.args[0])
        with self.assertRaisesRegex(ValueError, "is empty$"):
            title("")
        self.assertRaises(TypeError, title, None)
        self.assertRaisesRegex(TypeError, "expected", title, 1)
        self.assertRaises(ZeroDivisionError, ratio, 1, 0)

    def test_logs(self):
        with self.assertLogs("texts", level="WARNING") as logs:
            self.assertEqual(title("hot tea"), "Hot Tea")
        self.assertEqual(logs.output, ["WARNING:texts:title of hot tea"])
        self.assertEqual(len(logs.records), 1)
        with self.assertNoLogs("other"):
            title("x")

    def test_warnings(self):
        with self.assertWarns(DeprecationWarning):
            old_title("a")
        with self.assertWarnsRegex(DeprecationWarning, "use title") as caught:
            self.assertEqual(old_title("old man"), "Old Man")
        self.assertEqual(str(caught.warning), "use title")
        self.assertWarns(DeprecationWarning, old_title, "b")
"""
_SETS = """
import contextlib
import unittest

from {module} import Pile

LOG = []


def setUpModule():
    LOG.append("module")


class Base(unittest.TestCase):
    size = 2

    @classmethod
    def setUpClass(cls):
        cls.pile = Pile(range(cls.size))

    def setUp(self):
        self.own = Pile([5])
        self.addCleanup(LOG.append, "clean")

    def tearDown(self):
        self.assertGreaterEqual(self.own.total(), 5)

    def assertTotal(self, pile, total):
        self.assertEqual(pile.total(), total)

    def test_own(self):
        self.own.add(7)
        self.assertTotal(self.own, 12)
        self.assertEqual(self.own.total(), 12)
        self.assertEqual(LOG[0], "module")

    def test_shared(self):
        self.assertEqual(self.pile.total(), sum(range(self.size)))


class Larger(Base):
    size = 10

    def test_total(self):
        self.assertEqual(self.pile.total(), 45)

    def test_each(self):
        for number, total in [(1, 6), (20, 25)]:
            with self.subTest(number=number):
                pile = Pile([5])
                pile.add(number)
                self.assertEqual(pile.total(), total)
        for number in range(3):
            with self.subTest("by number", number=number):
                self.assertEqual(Pile([number, 1]).total(), number + 1)

    def test_skips(self):
        self.skipTest("not now")

    @unittest.skipIf(True, "never")
    def test_never(self):
        self.assertEqual(self.pile.total(), 999)

    @unittest.expectedFailure
    def test_known_problem(self):
        self.assertEqual(self.pile.total(), 998)


class Coroutines(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.pile = Pile([30])

    async def test_wait(self):
        self.assertEqual(await self.pile.later(), 30)
        async with contextlib.AsyncExitStack():
            self.assertEqual(self.pile.total(), 30)


if __name__ == "__main__":
    unittest.main()
"""
_PILE = """
import asyncio


class Pile:
    def __init__(self, items):
        self.items = list(items)

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)

    async def later(self):
        await asyncio.sleep(0)
        return self.total()
"""
_HIDDEN_TEXTS = """
import unittest

from {module} import letters, title


class Hidden(unittest.TestCase):
    def test_title(self):
        self.assertEqual(title("green old tram"), "Green Old Tram")
        self.assertListEqual(letters("hello"), ["e", "h", "l", "o"])
        with self.assertRaises(ValueError) as caught:
            title("")
        self.assertEqual(caught.exception.args, ("text is empty",))
"""
_HIDDEN_PILE = """
import unittest

from {module} import Pile


class Hidden(unittest.TestCase):
    def setUp(self):
        self.pile = Pile([1, 2])

    def test_total(self):
        self.pile.add(30)
        self.assertEqual(self.pile.total(), 33)

    def test_each(self):
        for number, total in [(1, 4), (2, 5)]:
            with self.subTest(number=number):
                self.assertEqual(Pile([3, number]).total(), total)
"""


def _texts(name: str, title: str, runner: str) -> Patch:
    fault = ("word.capitalize()", "word.upper()")
    visible, hidden = (text.replace("{module}", name) for text in (_EVERY, _HIDDEN_TEXTS))
    visible = visible.replace("{{", "{").replace("}}", "}").replace("\\\\", "\\")
    return Patch(name, title, _TEXTS, fault, visible, hidden, runner=runner)


def _piles(name: str, title: str, runner: str) -> Patch:
    visible, hidden = (text.replace("{module}", name) for text in (_SETS, _HIDDEN_PILE))
    return Patch(name, title, _PILE, ("sum(self.items)", "max(self.items)"), visible, hidden, runner=runner)


UNITTEST = [
    _texts("texts_by_module", "every assertion of unittest, run as `python3 -m unittest MODULE`", "module"),
    _texts("texts_by_discovery", "the same, run as `python3 -m unittest discover`", "discover"),
    _texts("texts_by_pytest", "the same, run by pytest", "pytest"),
    _piles("piles_by_module", "setUpClass, subTest, cleanups, inheritance and async tests of unittest", "module"),
    _piles("piles_by_discovery", "the same, run as `python3 -m unittest discover`", "discover"),
    _piles("piles_by_pytest", "the same, run by pytest", "pytest"),
    Patch(
        "mocked_case",
        "unittest with mock decorators and patched methods",
        """
        import os


        def files(folder, suffix):
            return sorted(name for name in os.listdir(folder) if name.endswith(suffix))
        """,
        ("name.endswith(suffix)", "suffix in name"),
        """
        import unittest
        from unittest.mock import ANY, MagicMock, call, patch

        import mocked_case


        class FilesTest(unittest.TestCase):
            @patch("mocked_case.os.listdir", return_value=["b.py", "a.py", "py.txt"])
            def test_files(self, listdir):
                self.assertEqual(mocked_case.files("/x", "py"), ["a.py", "b.py"])
                listdir.assert_called_once_with("/x")
                self.assertEqual(listdir.call_args, call(ANY))

            def test_magic(self):
                thing = MagicMock()
                thing.size.side_effect = [4, 5]
                self.assertEqual(thing.size(), 4)
                self.assertEqual(thing.size(), 5)
                self.assertEqual(thing.size.call_count, 2)
                self.assertEqual(thing, ANY)
                with patch.dict("os.environ", {"HOME": "/h"}):
                    self.assertEqual(mocked_case.os.environ["HOME"], "/h")
        """,
        """
        import unittest
        from unittest.mock import patch

        import mocked_case


        class FilesTest(unittest.TestCase):
            def test_files(self):
                with patch.object(mocked_case.os, "listdir") as listdir:
                    listdir.return_value = ["c.md", "md.c"]
                    self.assertEqual(mocked_case.files(".", "md"), ["c.md"])
        """,
        runner="module",
    ),
    Patch(
        "load_tests",
        "a file with `load_tests`, and tests that are only truths",
        """
        def is_sorted(items):
            return all(a <= b for a, b in zip(items, items[1:]))
        """,
        ("a <= b", "a < b"),
        """
        import unittest

        from load_tests import is_sorted


        class SortedTest(unittest.TestCase):
            def test_sorted(self):
                self.assertTrue(is_sorted([1, 1, 2]))
                self.assertFalse(is_sorted([2, 1]))


        def load_tests(loader, tests, pattern):
            suite = unittest.TestSuite()
            suite.addTests(loader.loadTestsFromTestCase(SortedTest))
            return suite
        """,
        """
        import unittest

        from load_tests import is_sorted


        class SortedTest(unittest.TestCase):
            def test_sorted(self):
                self.assertTrue(is_sorted([3, 3]))
        """,
        runner="module",
        level=Level.V2,
    ),
]
