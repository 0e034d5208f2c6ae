"""Secrets that pass through the program: a phrase, a secret key, a token.

Guarantees: none has a readable `repr` or `str`, none can be pickled or copied into a log by accident;
whoever needs the value asks for it by name.
"""

from __future__ import annotations

import hmac
from typing import Generic, NoReturn, TypeVar, final

T = TypeVar("T", str, bytes)


class _Hidden(Generic[T]):
    __slots__ = ("_value",)
    _value: T

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """The secret itself. Show it once or use it; never keep or log it."""
        return self._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and hmac.compare_digest(_bytes(self._value), _bytes(other._value))

    __hash__ = None  # type: ignore[assignment]  # a hash table is no place for a secret

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is secret and cannot be written out")


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@final
class Phrase(_Hidden[str]):
    """The words of a BIP-39 phrase, checked."""

    __slots__ = ()


@final
class SecretKey(_Hidden[bytes]):
    """32 bytes of a secp256k1 secret key, checked to be one."""

    __slots__ = ()


@final
class TokenText(_Hidden[str]):
    """An API token as it is shown once."""

    __slots__ = ()
