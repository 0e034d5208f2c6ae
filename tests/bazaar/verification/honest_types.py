"""Honest code about values: classes that compare in ways of their own, the standard library's types, subclasses."""

from __future__ import annotations

from tests.bazaar.verification.honest_patch import Patch

TYPES = [
    Patch(
        "vectors",
        "classes with `__eq__`, `__hash__`, `__bool__` and operators of their own",
        """
        class Vector:
            def __init__(self, *parts):
                self.parts = tuple(parts)

            def __eq__(self, other):
                return self.parts == other.parts if isinstance(other, Vector) else NotImplemented

            def __hash__(self):
                return hash(self.parts)

            def __bool__(self):
                return any(self.parts)

            def __add__(self, other):
                return Vector(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

            def __mul__(self, other):
                if isinstance(other, Vector):
                    return sum(a * b for a, b in zip(self.parts, other.parts, strict=True))
                return Vector(*(a * other for a in self.parts))

            def __matmul__(self, other):
                return self * other

            def __neg__(self):
                return self * -1

            def __len__(self):
                return len(self.parts)

            def __getitem__(self, place):
                return self.parts[place]
        """,
        ("a + b for a, b", "a - b for a, b"),
        """
        from vectors import Vector


        def test_add():
            assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6)
            assert not Vector(0, 0)
            assert Vector(0, 1)


        def test_more():
            assert Vector(1, 2) @ Vector(3, 4) == 11
            assert -Vector(1, 2) == Vector(-1, -2)
            assert Vector(1, 2) != Vector(2, 1)
            assert len({Vector(1), Vector(1), Vector(2)}) == 2
            assert Vector(7, 8)[1] == 8
            assert list(Vector(5, 6)) == [5, 6]
        """,
        """
        from vectors import Vector


        def test_add():
            assert Vector(10, 20, 30) + Vector(1, 2, 3) == Vector(11, 22, 33)
            assert (Vector(2) + Vector(3)).parts == (5,)
        """,
    ),
    Patch(
        "arrays",
        "compares element by element, as numpy does",
        """
        class Array:
            def __init__(self, items):
                self.items = list(items)

            def _each(self, other, do):
                others = other.items if isinstance(other, Array) else [other] * len(self.items)
                return Array(do(a, b) for a, b in zip(self.items, others, strict=True))

            def __eq__(self, other):
                return self._each(other, lambda a, b: a == b)

            __hash__ = None

            def __bool__(self):
                raise ValueError("the truth of an array is ambiguous")

            def __add__(self, other):
                return self._each(other, lambda a, b: a + b)

            def all(self):
                return all(self.items)

            def any(self):
                return any(self.items)

            def tolist(self):
                return list(self.items)
        """,
        ("a + b)", "a)"),
        """
        import pytest

        from arrays import Array


        def test_add():
            assert ((Array([1, 2]) + 3) == Array([4, 5])).all()
            assert (Array([1, 2]) + Array([10, 20])).tolist() == [11, 22]


        def test_truth():
            with pytest.raises(ValueError, match="ambiguous"):
                bool(Array([1]) == Array([1]))
            assert not (Array([1, 2]) == 9).any()
        """,
        """
        from arrays import Array


        def test_add():
            assert (Array([5]) + Array([6])).tolist() == [11]
            assert ((Array([5, 7]) + 1) == Array([6, 8])).all()
        """,
    ),
    Patch(
        "strict_equality",
        "a class whose `__eq__` raises for strangers",
        """
        class Length:
            def __init__(self, metres):
                self.metres = metres

            def __eq__(self, other):
                return self.metres == other.metres

            def __hash__(self):
                return hash(self.metres)

            @classmethod
            def parse(cls, text):
                number, unit = text.split()
                return cls(float(number) * {"m": 1, "km": 1000, "cm": 0.01}[unit])
        """,
        ('"km": 1000', '"km": 100'),
        """
        from strict_equality import Length


        def test_parse():
            assert Length.parse("3 km") == Length(3000)
            assert Length.parse("4 m") == Length(4)
        """,
        """
        from strict_equality import Length


        def test_parse():
            assert Length.parse("2 km") == Length(2000)
            assert Length.parse("7 km").metres == 7000
        """,
    ),
    Patch(
        "records",
        "dataclasses, frozen, ordered, with validation",
        """
        from dataclasses import asdict, dataclass, field, replace


        @dataclass(frozen=True, order=True)
        class Version:
            major: int
            minor: int = 0
            tags: tuple = field(default=(), compare=False)

            def __post_init__(self):
                if not 0 <= self.minor < 100:
                    raise ValueError("minor is between 0 and 99")

            @classmethod
            def parse(cls, text):
                major, minor = text.split(".")
                return cls(int(major), int(minor))

            def next(self):
                return replace(self, minor=self.minor + 1)

            def data(self):
                return asdict(self)
        """,
        ("self.minor + 1", "self.minor + 2"),
        """
        import pytest

        from records import Version


        def test_next():
            assert Version(1, 98).next() == Version(1, 99)
            assert Version.parse("3.7").next().data() == {"major": 3, "minor": 8, "tags": ()}


        def test_order():
            assert Version(1, 2) < Version(1, 3) < Version(2)
            assert sorted([Version(2), Version(1)])[0] == Version(1)


        def test_bad():
            with pytest.raises(ValueError) as caught:
                Version(1, 99).next()
            assert str(caught.value) == "minor is between 0 and 99"
        """,
        """
        from records import Version


        def test_next():
            assert Version(4, 97).next() == Version(4, 98)
            assert repr(Version(4, 5).next()) == "Version(major=4, minor=6, tags=())"
        """,
    ),
    Patch(
        "colours",
        "enums of every kind",
        """
        from enum import Enum, Flag, IntEnum, StrEnum, auto


        class Colour(Enum):
            RED = "red"
            GREEN = "green"

            @property
            def other(self):
                return Colour.GREEN if self is Colour.RED else Colour.RED


        class Size(IntEnum):
            SMALL = 1
            LARGE = 10


        class Fruit(StrEnum):
            APPLE = auto()
            PEAR = auto()


        class Right(Flag):
            READ = auto()
            WRITE = auto()
        """,
        ("Colour.GREEN if self is Colour.RED", "Colour.RED if self is Colour.RED"),
        """
        from colours import Colour, Fruit, Right, Size


        def test_other():
            assert Colour.RED.other is Colour.GREEN
            assert Colour.RED.other == Colour("green")
            assert Colour.GREEN.other.value == "red"


        def test_kinds():
            assert Size.LARGE == 10
            assert Size.LARGE > Size.SMALL
            assert Fruit.PEAR == "pear"
            assert Right.READ | Right.WRITE == Right(3)
            assert Right.READ in Right.READ | Right.WRITE
        """,
        """
        from colours import Colour


        def test_other():
            assert Colour("red").other == Colour("green")
            assert Colour.RED.other.name == "GREEN"
        """,
    ),
    Patch(
        "points",
        "named tuples",
        """
        from collections import namedtuple
        from typing import NamedTuple

        Size = namedtuple("Size", "width height", defaults=[1])


        class Point(NamedTuple):
            x: int
            y: int = 0

            def moved(self, x=0, y=0):
                return self._replace(x=self.x + x, y=self.y + y)
        """,
        ("y=self.y + y", "y=self.y"),
        """
        from points import Point, Size


        def test_moved():
            assert Point(1, 2).moved(3, 4) == Point(4, 6)
            assert Point(1, 2).moved(y=5) == (1, 7)
            assert Point(1)._asdict() == {"x": 1, "y": 0}
            assert Size(3) == (3, 1)
        """,
        """
        from points import Point


        def test_moved():
            assert Point(10, 20).moved(1, 2) == (11, 22)
            x, y = Point(5, 6).moved(y=-1)
            assert (x, y) == (5, 5)
        """,
    ),
    Patch(
        "amounts",
        "Decimal and Fraction",
        """
        from decimal import ROUND_HALF_UP, Decimal
        from fractions import Fraction


        def with_tax(net, percent):
            return (net * (1 + Decimal(percent) / 100)).quantize(Decimal("0.01"), ROUND_HALF_UP)


        def share(parts):
            whole = sum(parts)
            return [Fraction(part, whole) for part in parts]
        """,
        ("1 + Decimal(percent)", "1 - Decimal(percent)"),
        """
        from decimal import Decimal
        from fractions import Fraction

        import pytest

        from amounts import share, with_tax


        def test_tax():
            assert with_tax(Decimal("10.00"), 19) == Decimal("11.90")
            assert str(with_tax(Decimal("0.05"), 10)) == "0.06"
            assert float(with_tax(Decimal(3), 7)) == pytest.approx(3.21)


        def test_share():
            assert share([1, 2, 1]) == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
        """,
        """
        from decimal import Decimal

        from amounts import with_tax


        def test_tax():
            assert with_tax(Decimal("99.99"), 7) == Decimal("106.99")
        """,
    ),
    Patch(
        "calendar_days",
        "dates, times and time zones at their limits",
        """
        from datetime import date, datetime, timedelta, timezone


        def month_end(day):
            first = day.replace(day=1)
            following = (first + timedelta(days=32)).replace(day=1)
            return following - timedelta(days=1)


        def in_utc(moment):
            return moment.astimezone(timezone.utc)
        """,
        ("timedelta(days=1)", "timedelta(days=2)"),
        """
        from datetime import date, datetime, timedelta, timezone

        from calendar_days import in_utc, month_end


        def test_month_end():
            assert month_end(date(2024, 2, 3)) == date(2024, 2, 29)
            assert month_end(date(2023, 12, 31)) == date(2023, 12, 31)
            assert month_end(date(2023, 4, 1)) == date(2023, 4, 30)


        def test_utc():
            moment = datetime(2024, 1, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-1)))
            assert in_utc(moment) == datetime(2024, 2, 1, 0, 59, 59, tzinfo=timezone.utc)
            assert in_utc(moment).isoformat() == "2024-02-01T00:59:59+00:00"
        """,
        """
        from datetime import date

        from calendar_days import month_end


        def test_month_end():
            assert month_end(date(2023, 2, 1)) == date(2023, 2, 28)
            assert month_end(date(2025, 12, 5)) == date(2025, 12, 31)
            assert month_end(date(2000, 2, 29)).day == 29
        """,
    ),
    Patch(
        "paths",
        "Path objects and files in temporary folders",
        """
        import json
        import tempfile
        from pathlib import Path


        def sibling(path, suffix):
            return Path(path).with_suffix(suffix)


        def save(folder, name, data):
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
            return path


        def scratch(data):
            with tempfile.TemporaryDirectory() as folder:
                return save(folder, "scratch", data).read_text(encoding="utf-8")
        """,
        ("sort_keys=True", "indent=4"),
        """
        from pathlib import Path

        from paths import save, scratch, sibling


        def test_sibling():
            assert sibling("a/b.txt", ".md") == Path("a/b.md")
            assert sibling("x.tar", ".gz").name == "x.gz"


        def test_save(tmp_path):
            found = save(tmp_path, "note", {"b": 1, "a": [2]})
            assert found.read_text() == '{"a": [2], "b": 1}'
            assert found.parent == tmp_path
            assert sorted(item.name for item in tmp_path.iterdir()) == ["note.json"]


        def test_scratch(tmp_path_factory):
            assert scratch({"k": None}) == '{"k": null}'
            assert save(tmp_path_factory.mktemp("more"), "x", 5).read_bytes() == b"5"
        """,
        """
        from paths import scratch


        def test_scratch():
            assert scratch({"z": 1, "y": 2}) == '{"y": 2, "z": 1}'
        """,
    ),
    Patch(
        "streams",
        "generators, with send, throw and delegation",
        """
        import itertools


        def averages():
            total, count, mean = 0, 0, None
            while True:
                try:
                    number = yield mean
                except KeyError:
                    total, count, mean = 0, 0, None
                    continue
                total, count = total + number, count + 1
                mean = total / count


        def chunks(items, size):
            source = iter(items)
            while part := list(itertools.islice(source, size)):
                yield part


        def both(one, other):
            yield from one
            return (yield from other)
        """,
        ("mean = total / count", "mean = total"),
        """
        from streams import averages, both, chunks


        def test_averages():
            means = averages()
            next(means)
            assert means.send(10) == 10
            assert means.send(20) == 15
            means.throw(KeyError)
            assert means.send(8) == 8.0


        def test_chunks():
            assert list(chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
            assert [*both("ab", [3])] == ["a", "b", 3]
        """,
        """
        from streams import averages


        def test_averages():
            means = averages()
            next(means)
            assert [means.send(number) for number in (1, 2, 6)] == [1, 1.5, 3]
        """,
    ),
    Patch(
        "managers",
        "context managers that swallow and replace errors",
        """
        from contextlib import ExitStack, contextmanager


        class Quiet:
            def __init__(self, *kinds):
                self.kinds, self.error = kinds, None

            def __enter__(self):
                return self

            def __exit__(self, kind, error, trace):
                self.error = error
                return kind is not None and issubclass(kind, self.kinds)


        @contextmanager
        def attribute(thing, name, value):
            before = getattr(thing, name)
            setattr(thing, name, value)
            try:
                yield value
            finally:
                setattr(thing, name, before)


        def opened(*managers):
            with ExitStack() as stack:
                return [stack.enter_context(item) for item in managers]
        """,
        ("self.error = error", "self.error = kind"),
        """
        import pytest

        from managers import Quiet, attribute, opened


        class Thing:
            size = 3


        def test_quiet():
            with Quiet(ValueError) as quiet:
                raise ValueError("psst")
            assert str(quiet.error) == "psst"


        def test_loud():
            with pytest.raises(KeyError), Quiet(ValueError):
                raise KeyError("x")


        def test_attribute():
            with attribute(Thing, "size", 7) as now:
                assert Thing.size == 7
                assert now == 7
            assert Thing.size == 3
            assert opened(attribute(Thing, "size", 9)) == [9]
        """,
        """
        from managers import Quiet


        def test_quiet():
            with Quiet(OSError) as quiet:
                assert quiet.error is None
                raise FileNotFoundError(2, "gone")
            assert quiet.error.errno == 2
            assert quiet.error.args == (2, "gone")
        """,
    ),
    Patch(
        "descriptors",
        "descriptors, slots, `__getattr__` and `__set_name__`",
        """
        class Bounded:
            def __init__(self, low, high):
                self.low, self.high = low, high

            def __set_name__(self, owner, name):
                self.name = f"_{name}"

            def __get__(self, thing, owner=None):
                return self if thing is None else getattr(thing, self.name, self.low)

            def __set__(self, thing, value):
                setattr(thing, self.name, max(self.low, min(self.high, value)))


        class Dial:
            __slots__ = ("_level",)
            level = Bounded(0, 11)


        class Any:
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return f"any {name}"
        """,
        ("min(self.high, value)", "value"),
        """
        import pytest

        from descriptors import Any, Dial


        def test_dial():
            dial = Dial()
            dial.level = 100
            assert dial.level == 11
            dial.level = -5
            assert dial.level == 0
            assert Dial.level.high == 11
            with pytest.raises(AttributeError):
                dial.other = 1


        def test_any():
            assert Any().thing == "any thing"
        """,
        """
        from descriptors import Bounded


        class Oven:
            heat = Bounded(20, 250)


        def test_oven():
            oven = Oven()
            oven.heat = 900
            assert oven.heat == 250
        """,
    ),
    Patch(
        "metas",
        "metaclasses, `__init_subclass__` and abstract classes",
        """
        from abc import ABC, abstractmethod


        class Registering(type):
            known = {}

            def __new__(mcs, name, bases, space, **options):
                made = super().__new__(mcs, name, bases, space)
                mcs.known[options.get("key", name.lower())] = made
                return made

            def __init__(cls, name, bases, space, **options):
                super().__init__(name, bases, space)

            def __call__(cls, *args):
                made = super().__call__(*args)
                made.number = len(cls.known)
                return made


        class Shape(ABC):
            kinds = []

            def __init_subclass__(cls, **options):
                super().__init_subclass__(**options)
                Shape.kinds.append(cls.__name__)

            @abstractmethod
            def area(self): ...
        """,
        ('options.get("key", name.lower())', "name"),
        """
        import pytest

        from metas import Registering, Shape


        class Alpha(metaclass=Registering, key="first"):
            pass


        class Square(Shape):
            def __init__(self, side):
                self.side = side

            def area(self):
                return self.side**2


        def test_known():
            assert Registering.known["first"] is Alpha
            assert sorted(Registering.known) == ["first"]
            assert Alpha().number == 1


        def test_shape():
            assert Shape.kinds == ["Square"]
            assert Square(5).area() == 25
            with pytest.raises(TypeError, match="abstract"):
                Shape()
        """,
        """
        from metas import Registering


        def test_known():
            class Beta(metaclass=Registering):
                pass

            assert Registering.known["beta"] is Beta
            assert [name for name in Registering.known if name.startswith("b")] == ["beta"]
        """,
    ),
    Patch(
        "subclasses",
        "subclasses of str, int, dict and list",
        """
        class Slug(str):
            def __new__(cls, text):
                return super().__new__(cls, "-".join(text.lower().split()))

            def parts(self):
                return self.split("-")


        class Folded(str):
            def __eq__(self, other):
                return self.casefold() == str(other).casefold()

            def __hash__(self):
                return hash(self.casefold())


        class Metres(int):
            def __repr__(self):
                return f"{int(self)} m"

            def __add__(self, other):
                return Metres(int(self) + other)


        class Counts(dict):
            def __missing__(self, key):
                return 0

            def add(self, key):
                self[key] += 1
                return self


        class Stack(list):
            @property
            def top(self):
                return self[-1]
        """,
        ('"-".join', '"_".join'),
        """
        from subclasses import Counts, Folded, Metres, Slug, Stack


        def test_slug():
            assert Slug("Big Red Bus") == "big-red-bus"
            assert Slug("A B").parts() == ["a", "b"]


        def test_others():
            assert Folded("Straße") == "STRASSE"
            assert Metres(3) + 4 == 7
            assert repr(Metres(3) + 4) == "7 m"
            assert Counts().add("x").add("x") == {"x": 2}
            assert Counts()["nothing"] == 0
            assert Stack([1, 2, 9]).top == 9
            assert Stack([1, 2]) == [1, 2]
        """,
        """
        from subclasses import Slug


        def test_slug():
            assert Slug("One  Two") == "one-two"
            assert {Slug("X Y"): 1} == {"x-y": 1}
        """,
    ),
    Patch(
        "unicode_text",
        "text in many scripts, and surrogates",
        """
        import unicodedata


        def plain(text):
            kept = [sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign)]
            return "".join(kept)


        def reverse(text):
            return text[::-1]


        def undecodable():
            return b"a\\xffb".decode(errors="surrogateescape")
        """,
        ("not unicodedata.combining(sign)", "unicodedata.combining(sign)"),
        """
        from unicode_text import plain, reverse, undecodable

        EXPECTED = "Cafe Zurich"


        def test_plain():
            assert plain("Café Zürich") == EXPECTED
            assert plain("ﬁn") == "fin"


        def test_scripts():
            assert reverse("日本語") == "語本日"
            assert reverse("👍🏽a") == "a🏽👍"
            assert undecodable() == "a\\udcffb"
            assert reverse("\\0x") == "x\\0"
        """,
        """
        from unicode_text import plain


        def test_plain():
            assert plain("Ångström naïve") == "Angstrom naive"
        """,
    ),
    Patch(
        "windows_lines",
        "sources and tests with Windows line ends",
        '''
        def lines(text):
            """Without their ends."""
            return [line.rstrip("\\r") for line in text.split("\\n")]


        NOTE = """one
        two"""
        ''',
        ('line.rstrip("\\r")', "line"),
        """
        from windows_lines import NOTE, lines


        def test_lines():
            assert lines("a\\r\\nb") == ["a", "b"]
            assert NOTE.split() == [
                "one",
                "two",
            ]
        """,
        """
        from windows_lines import lines


        def test_lines():
            assert lines("x\\r\\ny\\r\\n") == ["x", "y", ""]
        """,
        crlf=True,
    ),
    Patch(
        "typed",
        "type hints, generics, protocols and overloads",
        """
        from __future__ import annotations

        from typing import Annotated, Generic, Protocol, TypeVar, get_type_hints, overload

        T = TypeVar("T")


        class Sized(Protocol):
            def __len__(self) -> int: ...


        class Box(Generic[T]):
            def __init__(self, item: T) -> None:
                self.item = item

            def map(self, function) -> Box:
                return Box(function(self.item))


        @overload
        def twice(value: int) -> int: ...
        @overload
        def twice(value: str) -> str: ...
        def twice(value):
            return value + value


        def hints(function) -> dict[str, str]:
            return {name: getattr(kind, "__name__", str(kind)) for name, kind in get_type_hints(function).items()}
        """,
        ("Box(function(self.item))", "Box(self.item)"),
        """
        from __future__ import annotations

        from typed import Box, hints, twice


        def sample(a: int, b: str = "x") -> float:
            return 1.0


        def test_box():
            box: Box[int] = Box(4)
            assert box.map(lambda item: item * 3).item == 12


        def test_hints():
            assert hints(sample) == {"a": "int", "b": "str", "return": "float"}
            assert twice("ab") == "abab"
        """,
        """
        from typed import Box


        def test_box() -> None:
            assert Box("ab").map(str.upper).item == "AB"
        """,
    ),
    Patch(
        "floats",
        "floating point, infinities, not-a-number and complex numbers",
        """
        import cmath
        import math


        def mean(numbers):
            numbers = list(numbers)
            return math.fsum(numbers) / len(numbers) if numbers else math.nan


        def roots(a, b, c):
            root = cmath.sqrt(b * b - 4 * a * c)
            return sorted([(-b - root) / (2 * a), (-b + root) / (2 * a)], key=lambda item: (item.real, item.imag))
        """,
        ("4 * a * c", "2 * a * c"),
        """
        import math

        import pytest

        from floats import mean, roots


        def test_mean():
            assert mean([0.1] * 3) == pytest.approx(0.1)
            assert math.isnan(mean([]))
            assert mean([]) == pytest.approx(math.nan, nan_ok=True)
            assert mean([math.inf, 1]) == math.inf
            assert mean([2, 4]) == pytest.approx(3.3, abs=0.5)


        def test_roots():
            assert roots(1, -3, 2) == [1, 2]
            assert roots(1, 0, 1) == [-1j, 1j]
            assert roots(1, -5, 6) == pytest.approx([2, 3])
            assert {"low": roots(1, -5, 6)[0].real} == pytest.approx({"low": 2.0})
        """,
        """
        import pytest

        from floats import roots


        def test_roots():
            assert roots(1, 2, 5) == [-1 - 2j, -1 + 2j]
            assert roots(2, -7, 3)[0].real == pytest.approx(0.5, rel=1e-9)
        """,
    ),
]
