"""A method of the SDK, written once for both clients.

A room (the ledger, agents, tokens, …) is a class whose methods only describe a request: they return a
`Call`. The decorators here turn each into a method that sends it: on a `Client` it returns the answer, on
an `AsyncClient` something to await. So a request is described in one place, and both clients always have
the same methods with the same types.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from urllib.parse import quote

from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.sdk.streams import StreamEvent
    from choir.doors.sdk.transport import AsyncTransport, Transport

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound="Transport | AsyncTransport")

_HARMLESS_TWICE = frozenset({"GET", "HEAD", "PUT"})


def new_key() -> str:
    """A fresh idempotency key. Keep it to send the same request again."""
    return secrets.token_hex(16)


def key_or_new(key: str | None) -> str:
    """The key that was given, or a fresh one. An empty one is refused: whoever gave it thinks that it protects them."""
    if key is None:
        return new_key()
    if not key.strip():
        raise Invalid(what="the key", why="it is empty; give one, or None to generate one")
    return key


def path(template: str, **parts: str) -> str:
    """A path with its parts filled in, so that no part can be taken for another path.

    Quoting is not enough for a slash: a server takes it for one all the same, and for the name of something else.
    """
    for name, part in parts.items():
        if part in ("", ".", "..") or "/" in part:
            raise Invalid(what=f"the {name} '{part[:80]}'", why="it is not a valid name")
    return template.format(**{name: quote(part, safe="") for name, part in parts.items()})


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One request and the shape of its answer; `shape` is NoneType where nothing comes back."""

    method: str
    path: str
    shape: type[T_co]
    body: Any = None
    content: bytes | None = field(default=None, repr=False)  # instead of a body: bytes as they are
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None  # the idempotency key
    again: bool = False  # whether sending it twice is as good as once, although it is no reading
    # Of a stream:
    after: str | None = None  # the event to continue after
    ends: bool = False  # whether it ends by itself
    reads: Callable[[StreamEvent], T_co] | None = None  # how an event becomes the shape; else it is its data

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice has the effect of sending it once."""
        return self.again or self.method in _HARMLESS_TWICE or self.key is not None

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that have a value."""
        return {name: value for name, value in self.params.items() if value is not None}

    def behind(self, cursor: str) -> Call[T_co]:
        """The same call for the next page."""
        return replace(self, params={**self.params, "cursor": cursor})


class Page(Protocol[T_co]):
    """Some rows, and where the next page begins."""

    @property
    def items(self) -> Sequence[T_co]: ...
    @property
    def next(self) -> str | None: ...


class Room(Generic[R]):
    """A part of a node; its methods go through one transport."""

    def __init__(self, transport: R) -> None:
        self._transport: R = transport


class Method(Generic[P, T]):
    """A method that sends one call and returns its answer."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: Room[Transport], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, room: Room[AsyncTransport], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, room: Any, owner: type) -> Any:
        return self if room is None else _bound(self._build, room, room._transport.run)


class Pages(Generic[P, T]):
    """A method that asks for page after page, as they are wanted, and yields their rows."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[Any]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: Room[Transport], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, room: Room[AsyncTransport], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, room: Any, owner: type) -> Any:
        return self if room is None else _bound(self._build, room, room._transport.pages)


class Stream(Generic[P, T]):
    """A method that yields what the node tells, as it happens, across broken connections."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, room: None, owner: type) -> Self: ...
    @overload
    def __get__(self, room: Room[Transport], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, room: Room[AsyncTransport], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, room: Any, owner: type) -> Any:
        return self if room is None else _bound(self._build, room, room._transport.stream)


def call(build: Callable[Concatenate[Any, P], Call[T]]) -> Method[P, T]:
    """The method that sends what this function describes."""
    return Method(build)


def pages(build: Callable[Concatenate[Any, P], Call[Page[T]]]) -> Pages[P, T]:
    """The method that yields the rows of all pages of what this function describes."""
    return Pages(build)


def stream(build: Callable[Concatenate[Any, P], Call[T]]) -> Stream[P, T]:
    """The method that yields the events of what this function describes."""
    return Stream(build)


def _bound(build: Callable[..., Call[Any]], room: Any, send: Callable[[Call[Any]], Any]) -> Callable[..., Any]:
    @functools.wraps(build)
    def method(*args: Any, **options: Any) -> Any:
        return send(build(room, *args, **options))

    return method
