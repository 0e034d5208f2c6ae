"""Honest patches whose tests are written in every ordinary way that pytest knows."""

from __future__ import annotations

from choir.bazaar.jobs.model import Level
from tests.bazaar.verification.honest_patch import Patch

FLAVOURS = [
    Patch(
        "tables",
        "parametrize: ids, marks, stacked, indirect, with fixtures, on classes",
        """
        def total(*numbers, start=0):
            result = start
            for number in numbers:
                result += number
            return result
        """,
        ("result += number", "result = number"),
        """
        import sys

        import pytest

        from tables import total

        ROWS = [(1, 2, 3), (4, 5, 9)]


        @pytest.mark.parametrize(("a", "b", "sum_"), [(1, 2, 3), pytest.param(4, 5, 9, id="larger")])
        def test_rows(a, b, sum_):
            assert total(a, b) == sum_


        @pytest.mark.parametrize("a, b, sum_", ROWS, ids=["small", "large"])
        def test_named(a, b, sum_):
            assert total(a, b) == sum_


        @pytest.mark.parametrize("a", [1, 20], ids=lambda value: f"a{value}")
        @pytest.mark.parametrize("b", [3, 40])
        def test_stacked(a, b):
            assert total(a, b) == a + b
            assert total(a, b, -a) == b


        @pytest.mark.parametrize("numbers", [3, 5], indirect=True)
        def test_indirect(numbers):
            assert total(*numbers) == sum(numbers)
            assert total(*numbers) in (3, 10)


        @pytest.mark.parametrize(("value", "doubled"), [(2, 4), (7, 14)])
        class TestClass:
            def test_double(self, value, doubled):
                assert total(value, value) == doubled

            def test_start(self, value, doubled, three):
                assert total(value, start=three) == value + 3


        @pytest.mark.parametrize(
            "text, expected",
            [
                ("1 2", 3),
                pytest.param("1 x", 1, marks=pytest.mark.xfail(raises=ValueError)),
                pytest.param("5 6", 12, marks=pytest.mark.xfail(strict=True)),
                pytest.param("9", 9, marks=pytest.mark.skipif(sys.platform != "linux", reason="not here")),
            ],
        )
        def test_marks(text, expected):
            assert total(*map(int, text.split())) == expected


        @pytest.mark.parametrize("given", [[1, 2], (3, 4)], ids=repr)
        def test_one(given, check_total):
            check_total(total(*given), sum(given))


        @pytest.mark.parametrize(("kwargs", "expected"), [({"start": 5}, 5), (dict(start=7), 7)])
        def test_calls(kwargs, expected):
            assert total(**kwargs) == expected
            assert expected > 0


        @pytest.fixture(params=[10, 20])
        def start(request):
            return request.param


        def test_params(start):
            assert total(1, 2, start=start) == start + 3


        def pytest_generate_tests(metafunc):
            if "made" in metafunc.fixturenames:
                metafunc.parametrize("made", [1, 2])


        def test_generated(made):
            assert total(made, 1) == made + 1
        """,
        """
        import pytest

        from tables import total


        @pytest.mark.parametrize(
            ("numbers", "expected"),
            [([1, 2, 3], 6), ([10, 20], 30), pytest.param([5, 5, 5], 15, id="fives")],
        )
        def test_total(numbers, expected):
            assert total(*numbers) == expected
        """,
    ),
    Patch(
        "row_names",
        "a test that asks for its own name and id",
        """
        def label(name, number):
            return f"{name}-{number:02d}"
        """,
        ("{number:02d}", "{number}"),
        """
        import pytest

        from row_names import label


        @pytest.mark.parametrize(("number", "expected"), [(1, "x-01"), (12, "x-12")], ids=["one", "twelve"])
        def test_label(request, number, expected):
            assert label("x", number) == expected
            assert request.node.name == f"test_label[{request.node.callspec.id}]"
            assert request.node.callspec.id in ("one", "twelve")
            assert request.node.name in ("test_label[one]", "test_label[twelve]")


        def test_name(request):
            assert request.node.name == "test_name"
            assert label(request.node.name, 5) == "test_name-05"
        """,
        """
        from row_names import label


        def test_label():
            assert label("y", 7) == "y-07"
        """,
    ),
    Patch(
        "marked",
        "xfail and skip in every place: decorators, pytestmark, calls, importorskip",
        """
        def halves(number):
            return number / 2


        def unfinished():
            raise NotImplementedError
        """,
        ("number / 2", "number // 2"),
        """
        import sys
        import unittest

        import pytest

        from marked import halves, unfinished

        json = pytest.importorskip("json")


        def test_halves():
            assert halves(5) == 2.5


        @pytest.mark.xfail(raises=NotImplementedError)
        def test_later():
            assert unfinished() == 5


        @pytest.mark.xfail(strict=True)
        def test_known_problem():
            assert halves(4) == 3


        @pytest.mark.skipif(sys.version_info > (3, 0), reason="for old Python")
        def test_old():
            assert halves(4) == 99


        def test_skips_itself():
            if sys.platform == "linux":
                pytest.skip("not on Linux")
            assert halves(4) == 98


        def test_gives_up():
            assert halves(4) == 2
            pytest.xfail("not yet")


        def test_needs():
            pytest.importorskip("no_such_module_at_all")
            assert halves(4) == 97


        class TestAll:
            pytestmark = pytest.mark.xfail(reason="all of them")

            def test_one(self):
                assert halves(8) == 5


        def test_applied(request):
            request.applymarker(pytest.mark.xfail)
            assert halves(10) == 6


        class OldTest(unittest.TestCase):
            @unittest.expectedFailure
            def test_expected(self):
                self.assertEqual(halves(4), 96)

            @unittest.skip("no")
            def test_skipped(self):
                self.assertEqual(halves(4), 95)
        """,
        """
        import pytest

        from marked import halves, unfinished


        def test_halves():
            assert halves(7) == 3.5


        @pytest.mark.xfail
        def test_later():
            assert unfinished() == 55
        """,
    ),
    Patch(
        "asserted",
        "asserts with and, or, not, chains, walrus, lambda, comprehensions, several lines",
        """
        def clamp(value, low=0, high=10):
            return max(low, min(high, value))
        """,
        ("min(high, value)", "min(low, value)"),
        """
        from asserted import clamp

        LIMIT = 10
        TABLE = {3: 3, 30: 10}


        def test_forms():
            assert clamp(3) == 3 and clamp(30) == 10
            assert clamp(3) == 4 or clamp(3) == 3
            assert not clamp(-3)
            assert not clamp(3) == 4
            assert 0 <= clamp(7) <= 10
            assert clamp(5) == clamp(5, 1) == 5
            assert (found := clamp(8)) == 8
            assert found == 8
            assert (lambda value: clamp(value) == 9)(9)
            assert [clamp(value) for value in (-1, 5, 11)] == [0, 5, 10]
            assert all(clamp(key) == value for key, value in TABLE.items())
            assert clamp(11) is not None
            assert clamp(True) is True
            assert clamp(12) == LIMIT, f"not {LIMIT}"
            assert clamp(6) != 7
            assert clamp(6) in [5, 6]
            assert clamp(6) not in (1, 2)
            assert 6 == clamp(6)
            assert clamp(6) == 2 * 3
            assert f"{clamp(6)}!" == "6!"
            assert clamp(6) if LIMIT else clamp(7)
            assert isinstance(clamp(4.5), float)
            assert "10" in str(clamp(99))
            assert str(clamp(99)).startswith("1")


        def test_lines():
            assert (
                clamp(
                    100,
                    high=50,
                )
                == 50
            ), (
                "a message "
                "of two lines"
            )
            assert clamp(4) == \\
                4
            assert [
                clamp(1),
                clamp(20),
            ] == [
                1,
                10,
            ]; assert clamp(2) == 2
            if clamp(3) == 3: assert clamp(5) == 5


        def test_places():
            for value in range(3):
                assert clamp(value) == value
                assert clamp(value + 100) == 10
            while value:
                assert clamp(value) > 0
                value -= 1
            else:
                assert clamp(value) == 0
            try:
                assert clamp(9) == 9
            finally:
                assert clamp(8) == 8
            try:
                assert clamp(9) == 1
            except AssertionError as error:
                assert "9" in str(error) or True
            else:
                raise RuntimeError
            match clamp(3):
                case 3:
                    assert clamp(13) == 10

            def inner(value):
                assert clamp(value) == value
                return value

            assert inner(6) == 6

            class Local:
                def check(self):
                    assert clamp(7) == 7

            Local().check()
        """,
        """
        from asserted import clamp


        def test_forms():
            assert clamp(25, high=20) == 20 and clamp(15, high=20) == 15
            assert clamp(4) == clamp(4.0) == 4
            assert (low := clamp(2, low=5)) == 5
            assert low > 4
            assert (
                clamp(77)
                == 10
            )
        """,
    ),
    Patch(
        "raising",
        "tests of errors: match, as, several kinds, groups, notes, causes",
        """
        class AppError(Exception):
            def __init__(self, message, code=0):
                super().__init__(message)
                self.code = code


        def parse(text):
            if text is None:
                raise TypeError("text is missing")
            try:
                return int(text)
            except ValueError as error:
                raise AppError(f"cannot read {text!r}", 7) from error


        def lookup(table, key):
            if key not in table:
                raise KeyError(key)
            return table[key]


        def many(errors):
            raise ExceptionGroup("several", errors)
        """,
        ("raise KeyError(key)", "return None"),
        """
        import re
        from contextlib import nullcontext

        import pytest

        from raising import AppError, lookup, many, parse


        def test_kinds():
            with pytest.raises(KeyError):
                lookup({}, "a")
            with pytest.raises(KeyError) as caught:
                lookup({"a": 1}, "bee")
            assert caught.value.args == ("bee",)
            assert caught.value.args[0] == "bee"
            with pytest.raises((KeyError, IndexError), match="bee"):
                lookup({}, "bee")
            with pytest.raises(LookupError) as info:
                lookup({}, 5)
            assert info.type is KeyError
            assert "5" in repr(info.value)
            assert info.match("5")


        def test_own():
            with pytest.raises(AppError, match=r"cannot read '\\w+'") as caught:
                parse("abc")
            assert caught.value.code == 7
            assert isinstance(caught.value.__cause__, ValueError)
            with pytest.raises(TypeError, match="missing$"):
                parse(None)
            with pytest.raises(AppError, match=re.escape("'?'")):
                parse("?")


        def test_function_form():
            pytest.raises(KeyError, lookup, {}, "x")
            error = pytest.raises(AppError, parse, "y").value
            assert error.code == 7


        def test_exit():
            with pytest.raises(SystemExit) as caught:
                raise SystemExit(4)
            assert caught.value.code == 4
            with pytest.raises(KeyboardInterrupt):
                raise KeyboardInterrupt


        @pytest.mark.parametrize(
            ("key", "expectation"), [("a", nullcontext(5)), ("b", pytest.raises(KeyError))]
        )
        def test_expectations(key, expectation):
            with expectation as expected:
                assert lookup({"a": 5}, key) == expected


        def test_by_hand():
            try:
                lookup({}, "q")
            except KeyError as error:
                assert error.args == ("q",)
            else:
                pytest.fail("nothing was raised")


        def test_group():
            with pytest.raises(ExceptionGroup) as caught:
                many([ValueError("one"), TypeError("two")])
            assert len(caught.value.exceptions) == 2
            assert [str(error) for error in caught.value.exceptions] == ["one", "two"]


        def test_inside():
            with pytest.raises(KeyError):
                assert lookup({"a": 3}, "a") == 3
                lookup({}, "a")
        """,
        """
        import pytest

        from raising import lookup


        def test_kinds():
            with pytest.raises(KeyError) as caught:
                lookup({"x": 1}, "sea")
            assert caught.value.args[0] == "sea"
            assert str(caught.value) == "'sea'"


        def test_found():
            assert lookup({"x": 44}, "x") == 44
        """,
    ),
    Patch(
        "fixtured",
        "fixtures: of conftest, of the file, autouse, that yield, factories, classes",
        """
        class Account:
            def __init__(self, balance=0):
                self.balance = balance
                self.closed = False

            def pay_in(self, amount):
                self.balance += amount
                return self

            def close(self):
                self.closed = True
        """,
        ("self.balance += amount", "self.balance = amount"),
        """
        import pytest

        from fixtured import Account

        LOG = []


        @pytest.fixture
        def account():
            made = Account(100)
            yield made
            made.close()
            assert made.closed


        @pytest.fixture(scope="module")
        def shared():
            return Account(7)


        @pytest.fixture(autouse=True)
        def noted(request):
            LOG.append(request.node.name)
            yield
            assert LOG[-1] == request.node.name


        @pytest.fixture
        def make():
            made = []

            def factory(balance):
                made.append(Account(balance))
                return made[-1]

            yield factory
            assert all(item.balance >= 0 for item in made)


        def test_pay(account, three):
            assert account.pay_in(three).balance == 103
            assert LOG == ["test_pay"]


        def test_shared(shared):
            assert shared.pay_in(5).balance == 12


        def test_shared_again(shared):
            assert shared.balance == 12


        def test_made(make):
            assert make(3).pay_in(4).balance == 7


        @pytest.mark.usefixtures("shared")
        class TestInClass:
            @pytest.fixture
            def rich(self):
                return Account(10**6)

            def setup_method(self):
                self.own = Account(1)

            def teardown_method(self):
                assert self.own.balance == 3

            def test_rich(self, rich):
                assert rich.pay_in(1).balance == 1000001
                self.own.pay_in(2)

            def test_own(self):
                assert self.own.pay_in(2).balance == 3
        """,
        """
        import pytest

        from fixtured import Account


        @pytest.fixture
        def account():
            return Account(50)


        def test_pay(account):
            assert account.pay_in(25).balance == 75
        """,
    ),
    Patch(
        "helped",
        "helpers with assertions, called with values",
        """
        def slug(text, sep="-"):
            return sep.join(text.lower().split())


        def words(text):
            return text.split()
        """,
        (".lower()", ""),
        """
        from helped import slug, words


        def check(text, expected, **options):
            assert slug(text, **options) == expected


        def check_words(text, count):
            found = words(text)
            assert len(found) == count
            return found


        class Helpers:
            def check(self, text, expected):
                assert slug(text) == expected
                return self


        def test_slug():
            check("Red Bus", "red-bus")
            check("Red Bus", "red_bus", sep="_")
            for text, expected in [("A", "a"), ("B C", "b-c")]:
                check(text, expected)


        def test_words():
            assert check_words("a b c", 3)[0] == "a"


        class TestIt(Helpers):
            def test_it(self):
                self.check("Big", "big").check("Very Big", "very-big")
        """,
        """
        from helped import slug


        def expect(expected, text):
            assert slug(text) == expected


        def test_slug():
            expect("green-tram", "Green Tram")
            assert slug("Last ONE") == "last-one"
        """,
    ),
    Patch(
        "inherited",
        "test classes that inherit their tests, and tests that import each other",
        """
        class Basket:
            def __init__(self):
                self.items = []

            def add(self, item, count=1):
                self.items += [item] * count
                return len(self.items)


        class Limited(Basket):
            def add(self, item, count=1):
                return super().add(item, min(count, 3))
        """,
        ("[item] * count", "[item]"),
        """
        from inherited import Basket, Limited
        from tests.test_tables import ROWS


        class Shared:
            kind = None

            def make(self):
                return self.kind()

            def test_add(self):
                assert self.make().add("pear", 2) == 2

            def test_items(self):
                basket = self.make()
                basket.add("fig", 3)
                assert basket.items == ["fig", "fig", "fig"]


        class TestBasket(Shared):
            kind = Basket

            def test_many(self):
                assert self.make().add("nut", 50) == 50


        class TestLimited(Shared):
            kind = Limited

            def test_many(self):
                assert self.make().add("nut", 50) == 3


        class TestNested:
            class TestDeep:
                def test_deep(self):
                    assert Basket().add("a", 4) == 4


        def test_rows():
            assert Basket().add("x", ROWS[0][2]) == 3
        """,
        """
        from inherited import Basket


        class Shared:
            def test_add(self):
                assert self.kind().add("kiwi", 5) == 5


        class TestBasket(Shared):
            kind = Basket
        """,
    ),
    Patch(
        "doctested",
        "doctest-like strings in the code, and tests that run them",
        '''
        import doctest


        def shout(text):
            """Louder.

            >>> shout("hi")
            'HI!'
            >>> assert shout("x") == "X!"
            """
            return text.upper() + "!"


        def examples():
            import doctested

            found = doctest.testmod(doctested)
            return found.attempted - found.failed
        ''',
        ('text.upper() + "!"', "text.upper()"),
        '''
        from doctested import examples, shout


        def test_shout():
            """A test with text.

            >>> assert shout("a") == "wrong"
            """
            assert shout("hi") == "HI!"
            text = """
            assert shout("b") == "B!"
            """
            assert "assert" in text


        def test_examples():
            assert examples() == 2
        ''',
        """
        from doctested import shout


        def test_shout():
            assert shout("no") == "NO!"
        """,
    ),
    Patch(
        "introspective",
        "tests that read their own source, lines and constants",
        """
        def lines_of(path):
            with open(path, encoding="utf-8") as file:
                return file.read().splitlines()


        def definitions(path):
            return [line.split("(")[0][4:] for line in lines_of(path) if line.startswith("def ")]
        """,
        ("[4:]", "[3:]"),
        """
        import inspect
        import sys
        from pathlib import Path

        from introspective import definitions, lines_of


        def test_definitions():
            assert definitions(__file__) == ["test_definitions", "test_line", "test_source", "test_module"]


        def test_line():
            here = inspect.currentframe().f_lineno
            assert lines_of(__file__)[here - 1].strip().startswith("here = ")
            assert here == 13
            assert inspect.getsourcelines(test_line)[1] == 12


        def test_source():
            assert "def test_source" in inspect.getsource(test_source)
            assert test_source.__code__.co_firstlineno == 19
            assert test_source.__name__ == "test_source"


        def test_module():
            assert sys.modules[__name__].__file__ == __file__
            assert Path(__file__).name == "test_introspective.py"
            assert __name__ == "tests.test_introspective"
        """,
        """
        from introspective import definitions


        def test_definitions(tmp_path):
            path = tmp_path / "some.py"
            path.write_text("def one():\\n    pass\\n\\n\\ndef two(a):\\n    pass\\n")
            assert definitions(path) == ["one", "two"]
        """,
    ),
    Patch(
        "patched",
        "monkeypatch of attributes, modules, the path and the working folder",
        """
        import os
        import time


        def greet():
            hour = time.localtime().tm_hour
            return "good morning" if hour < 12 else "good evening"


        def here():
            return os.path.basename(os.getcwd())
        """,
        ("hour < 12", "hour < 6"),
        """
        import builtins
        import time
        from types import SimpleNamespace

        import patched


        def test_greet(monkeypatch):
            monkeypatch.setattr(time, "localtime", lambda: SimpleNamespace(tm_hour=9))
            assert patched.greet() == "good morning"
            monkeypatch.setattr("patched.time.localtime", lambda: SimpleNamespace(tm_hour=20))
            assert patched.greet() == "good evening"


        def test_here(monkeypatch, tmp_path):
            monkeypatch.chdir(tmp_path)
            assert patched.here() == tmp_path.name
            monkeypatch.syspath_prepend(tmp_path)
            (tmp_path / "brand_new.py").write_text("VALUE = 12")
            import brand_new

            assert brand_new.VALUE == 12


        def test_builtins(monkeypatch):
            said = []
            monkeypatch.setattr(builtins, "print", lambda *words: said.append(words))
            print("quiet", 3)
            assert said == [("quiet", 3)]
        """,
        """
        import time
        from types import SimpleNamespace

        import patched


        def test_greet(monkeypatch):
            with monkeypatch.context() as patch:
                patch.setattr(time, "localtime", lambda: SimpleNamespace(tm_hour=7))
                assert patched.greet() == "good morning"
        """,
    ),
    Patch(
        "mutable",
        "asserts that change what they look at",
        """
        class Queue:
            def __init__(self, *items):
                self.items = list(items)

            def take(self):
                return self.items.pop(0)

            def add(self, item):
                self.items.append(item)
                return self.items
        """,
        ("pop(0)", "pop()"),
        """
        from mutable import Queue


        def test_take():
            queue = Queue(5, 6, 7)
            assert queue.take() == 5
            assert queue.take() == 6 and queue.take() == 7
            assert queue.add(8) == [8]
            assert queue.add(9) == [8, 9]
            assert queue.take() < queue.take()
            assert queue.items == []


        def test_iterator():
            numbers = iter([11, 12, 13])
            assert next(numbers) == 11
            assert next(numbers) == 12
            assert list(numbers) == [13]
            assert 14 not in numbers
        """,
        """
        from mutable import Queue


        def test_take():
            queue = Queue("a", "b")
            assert queue.take() == "a"
            assert queue.take() == "b"
        """,
    ),
    Patch(
        "constants",
        "expected values in constants of module, class and function, built of each other",
        """
        def price(count, unit=250):
            return count * unit


        def bill(counts):
            return {name: price(count) for name, count in counts.items()}
        """,
        ("count * unit", "count + unit"),
        """
        from constants import bill, price

        UNIT = 250
        THREE = 3 * UNIT
        BILL = {"tea": 500, "cake": 750}
        NAMES: list[str] = ["tea", "cake"]
        A, B = 250, 1000
        SHARED = 1250


        def test_price():
            assert price(3) == THREE
            assert price(1) == A
            assert price(4) == B
            assert price(5) == SHARED
            assert price(5) == SHARED
            assert SHARED > 1000


        def test_bill():
            assert bill({"tea": 2, "cake": 3}) == BILL
            assert list(BILL) == NAMES


        class TestMore:
            EXPECTED = 2500

            def test_ten(self):
                assert price(10) == self.EXPECTED
                expected = 1750
                assert price(7) == expected
                double = expected * 2
                assert price(14) == double


        def test_shadow(SHARED=1500):
            assert price(6) == SHARED
        """,
        """
        from constants import price

        EXPECTED = 2000


        def test_price():
            assert price(8) == EXPECTED
            assert price(2, unit=9) == 18
        """,
    ),
    Patch(
        "only_truths",
        "hidden tests of nothing but truth values, which no other value can replace",
        """
        def is_leap(year):
            return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        """,
        ("year % 400 == 0", "year % 200 == 0"),
        """
        from only_truths import is_leap


        def test_leap():
            assert is_leap(2024)
            assert not is_leap(2023)
            assert is_leap(2000) is True
            assert is_leap(1800) == False
        """,
        """
        from only_truths import is_leap


        def test_leap():
            assert is_leap(2400)
            assert not is_leap(2200)
        """,
        level=Level.V2,
    ),
    Patch(
        "only_makers",
        "tests that expect objects which refuse most values",
        """
        from enum import Enum


        class Day(Enum):
            MON = "mon"
            TUE = "tue"

            def next(self):
                return Day.TUE if self is Day.MON else Day.MON


        class Even:
            def __init__(self, number):
                if number % 4:
                    raise ValueError("not good")
                self.number = number

            def __eq__(self, other):
                return self.number == other.number

            def half(self):
                return Even(self.number // 2)
        """,
        ("self.number // 2", "self.number"),
        """
        from only_makers import Day, Even


        def test_next():
            assert Day("mon").next() == Day("tue")


        def test_half():
            assert Even(16).half() == Even(8)
            assert Even(80).half() == Even(40)
            assert [Even(24).half(), Even(32).half()] == [Even(12), Even(16)]
        """,
        """
        from only_makers import Even


        def test_half():
            assert Even(64).half() == Even(32)
            assert Even(40).half() == Even(20)
            assert Even(800).half().number == 400
        """,
    ),
    Patch(
        "loops",
        "loops over tables and random cases, without a library for it",
        """
        def reverse_words(text):
            return " ".join(reversed(text.split(" ")))
        """,
        ('text.split(" ")', "text"),
        """
        import random

        from loops import reverse_words


        def test_table():
            for given, expected in [("a b", "b a"), ("one two three", "three two one"), ("x", "x")]:
                assert reverse_words(given) == expected
            for given, expected in {"p q": "q p", "r": "r"}.items():
                assert reverse_words(given) == expected, given


        def test_random():
            chance = random.Random(5)
            for _ in range(50):
                words = ["".join(chance.choices("abc", k=3)) for _ in range(chance.randrange(1, 6))]
                text = " ".join(words)
                assert reverse_words(text) == " ".join(words[::-1])
                assert reverse_words(reverse_words(text)) == text
        """,
        """
        from loops import reverse_words


        def test_table():
            cases = [("hello there", "there hello"), ("c b a", "a b c")]
            for given, expected in cases:
                assert reverse_words(given) == expected
            assert reverse_words("last words") == "words last"
        """,
    ),
    Patch(
        "writes_beside",
        "tests that write to and read from files beside them, read-only in the tree",
        """
        import json
        from pathlib import Path


        def read(path):
            return json.loads(Path(path).read_text(encoding="utf-8"))


        def biggest(path):
            return max(read(path).items(), key=lambda item: item[1])[0]
        """,
        ("item[1]", "item[0]"),
        """
        from pathlib import Path

        import pytest

        from writes_beside import biggest, read

        DATA = Path(__file__).parent / "data" / "cities.json"


        def test_biggest():
            assert biggest(DATA) == "Lima"


        def test_read():
            assert read(DATA) == {"Oslo": 709, "Lima": 10000, "Zagreb": 767}
            assert read(str(DATA))["Oslo"] == 709


        def test_missing(tmp_path):
            with pytest.raises(OSError):
                read(tmp_path / "none.json")
        """,
        """
        from pathlib import Path

        from writes_beside import biggest


        def test_biggest(tmp_path):
            path = tmp_path / "x.json"
            path.write_text('{"z": 1, "b": 30, "c": 2}')
            assert biggest(path) == "b"
            assert biggest(Path("tests/data/cities.json")) == "Lima"
        """,
        files={"tests/data/cities.json": '{"Oslo": 709, "Lima": 10000, "Zagreb": 767}'},
    ),
]
