"""To whom rewritten assertions report, inside the tested process.

It shares its process with the tested code and is trusted no more than that: it tells what it is given, and only the
verifier knows what is right. A value is told by its base type, without a method of its own class: of a subclass that
compares in a way of its own nothing can be told, so it is opaque.
"""

from __future__ import annotations

from typing import Any

NODES_MAX = 20_000
DEPTH_MAX = 40
DIFFERENT_MAX = 100  # different values that one assertion reports in one test
BASES = (bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict)


class TooLarge(Exception):
    """More than is told of one value."""


class Opaque(Exception):
    """A value that can only be compared here."""


def make_encoder() -> Any:
    """A function that tells a value in JSON. All it uses is bound now."""
    from collections import OrderedDict

    kind_of, order = type, {base: base.__eq__ for base in BASES}
    hexed, float_hex, int_format = bytes.hex, float.hex, int.__format__
    item_of, bytes_of = str.__getitem__, bytes.__getitem__
    iterate = {base: base.__iter__ for base in (list, tuple, set, frozenset)}
    items_of, whole = dict.items, slice(None)

    def base_of(kind: Any) -> Any:
        if kind in order:
            return kind
        if kind is OrderedDict:
            return dict
        for base, equal in order.items():
            if issubclass(kind, base):
                return base if kind.__eq__ is equal else None
        return None

    def encode(value: Any, budget: list[int], depth: int = 0) -> Any:  # noqa: PLR0911 - one line for each type
        budget[0] -= 1
        if budget[0] < 0 or depth > DEPTH_MAX:
            raise TooLarge
        if value is None or value is ...:
            return ["n"] if value is None else ["..."]
        base = base_of(kind_of(value))
        if base is bool:
            return ["y"] if value else ["x"]
        if base is int:
            return ["i", int_format(value, "x")]
        if base is float:
            return ["f", float_hex(value)]
        if base is complex:
            return ["c", [float_hex(value.real), float_hex(value.imag)]]
        if base is str:
            text = item_of(value, whole)
            budget[0] -= len(text) // 8
            return ["s", text]
        if base is bytes or base is bytearray:
            budget[0] -= len(value) // 8
            return ["b", hexed(bytes_of(value, whole) if base is bytes else bytes(value))]
        if base is list or base is tuple:
            return ["l" if base is list else "t", [encode(item, budget, depth + 1) for item in iterate[base](value)]]
        if base is set or base is frozenset:
            return ["e", [encode(item, budget, depth + 1) for item in iterate[base](value)]]
        if base is dict:
            pairs = items_of(value)
            return ["d", [[encode(key, budget, depth + 1), encode(item, budget, depth + 1)] for key, item in pairs]]
        raise Opaque

    return encode


class Soft:
    """A block that must raise; tells whether it did, and the test goes on."""

    def __init__(self, observer: Observer, site: int, inner: Any) -> None:
        self.observer, self.site, self.inner = observer, site, inner

    def __enter__(self) -> Any:
        return self.inner.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is not None and self.observer.leaves(error):
            caught = bool(self.inner.__exit__(kind, error, trace))
            if caught:  # the test asked for it, as for SystemExit
                self.observer.tell(self.site, ["y"])
            return caught
        try:
            good = bool(self.inner.__exit__(kind, error, trace)) and kind is not None
        except BaseException as failure:
            if self.observer.leaves(failure):
                raise
            good = False
        if not good and kind is not None:
            self._fill(kind, error, trace)
        self.observer.tell(self.site, ["y"] if good else ["x"])
        return True

    def _fill(self, kind: Any, error: Any, trace: Any) -> None:
        """What was raised is shown to the rest of the test, also where another error was expected."""
        info = getattr(self.inner, "excinfo", None)
        if info is None:
            self.inner.exception = error
        elif getattr(info, "_excinfo", error) is None:
            info.fill_unfilled((kind, error, trace))


class Observer:
    """What rewritten test files call."""

    def __init__(self, send: Any, passing: tuple[type[BaseException], ...]) -> None:
        self.send, self.passing, self.node = send, passing, ""
        self.encode = make_encoder()
        self.said: dict[tuple[str, int], list[Any]] = {}

    def leaves(self, error: BaseException) -> bool:
        """Errors that are no failure of an assertion: they go on as they are."""
        return isinstance(error, (*self.passing, KeyboardInterrupt, SystemExit, GeneratorExit))

    def tell(self, site: int, value: Any) -> None:
        said = self.said.setdefault((self.node, site), [])
        if value not in said and len(said) < DIFFERENT_MAX:
            said.append(value)
            self.send(k="site", id=self.node, n=site, v=value)

    def see(self, site: int, value: Any) -> None:
        try:
            told = self.encode(value, [NODES_MAX])
        except (Opaque, TooLarge):
            told = ["?"]
        self.tell(site, told)

    def hold(self, site: int, value: Any) -> None:
        self.tell(site, ["y"] if value else ["x"])

    def call(self, site: int, method: Any, *arguments: Any, **named: Any) -> None:
        try:
            method(*arguments, **named)
            good = True
        except AssertionError:
            good = False
        self.tell(site, ["y"] if good else ["x"])

    def soft(self, site: int, inner: Any) -> Soft:
        return Soft(self, site, inner)
