"""Canonical JSON (RFC 8785, "JCS") and the hashes of it.

Guarantees: one value has one byte string, on every machine; what cannot be represented exactly
(lone surrogates, integers beyond 2^53, NaN) is refused, never rounded. Amounts of money are
decimal strings in JSON, so the limit on numbers does not touch them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NewType

import rfc8785

from choir.foundation.errors import Invalid

ObjectHash = NewType("ObjectHash", str)  # "sha256:" and 64 hex digits

_SAFE_INTEGER_MAX = 2**53 - 1  # RFC 8785, section 3.2.2.3: I-JSON numbers
_EXPONENT_FROM = 1e21  # RFC 8785, section 3.2.2.3: from here on numbers are written with an exponent
_DEPTH_MAX = 64
_HASH_PREFIX = "sha256:"
_HASH_LENGTH = len(_HASH_PREFIX) + 64

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


class NotCanonical(Invalid):
    """Bytes or a value without a canonical form."""

    code = "canonical.invalid"
    sentence = "The JSON has no canonical form: {why}."


def canonical_bytes(value: Any) -> bytes:
    """The canonical form of a JSON value.

    The standard library's encoder gives the same bytes as RFC 8785 for values without floats whose
    keys are ASCII, and is an order of magnitude faster; everything else goes through the library.
    """
    try:
        if _is_plain(value, 0):
            return _encode(value).encode()
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        raise NotCanonical(why=_shorten(error)) from None


def canonical_hash(value: Any) -> ObjectHash:
    """The name of a JSON value: the hash of its canonical form."""
    return bytes_hash(canonical_bytes(value))


def bytes_hash(data: bytes) -> ObjectHash:
    """The name of a byte string."""
    return ObjectHash(_HASH_PREFIX + hashlib.sha256(data).hexdigest())


def parse_json(data: bytes | str) -> Any:
    """A JSON value from untrusted bytes: UTF-8, no duplicate keys, no NaN, whole characters, bounded depth."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        if not _is_plain(value, 0) or "\\u" in text or not isinstance(data, bytes):
            _encode(value).encode()  # numbers may overflow and escapes may be half a character
    except (ValueError, RecursionError) as error:
        raise NotCanonical(why=_shorten(error)) from None
    return value


def parse_canonical(data: bytes) -> Any:
    """A JSON value from bytes that must already be in canonical form."""
    value = parse_json(data)
    if canonical_bytes(value) != data:
        raise NotCanonical(why="the bytes are not in canonical form")
    return value


def parse_object_hash(text: str) -> ObjectHash:
    """A checked object hash from untrusted text."""
    digits = text.removeprefix(_HASH_PREFIX)
    if len(text) != _HASH_LENGTH or len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise Invalid(what="object hash", why="it must be 'sha256:' and 64 lower-case hex digits")
    return ObjectHash(text)


def hash_digest(name: ObjectHash) -> bytes:
    """The 32 bytes behind an object hash."""
    return bytes.fromhex(name.removeprefix(_HASH_PREFIX))


def _is_plain(value: Any, depth: int) -> bool:
    """Whether the fast encoder is exact for this value; raises where no encoder would be."""
    if depth > _DEPTH_MAX:
        raise ValueError(f"nested deeper than {_DEPTH_MAX}")
    if value is None or isinstance(value, str | bool):
        return True
    if isinstance(value, int):
        if abs(value) > _SAFE_INTEGER_MAX:
            raise ValueError(f"the integer {value} is beyond 2^53; write it as a string")
        return True
    if isinstance(value, dict):
        plain = True
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError("keys must be strings")  # noqa: TRY004 - one error type for all of it
            plain = _is_plain(item, depth + 1) and key.isascii() and plain
        return plain
    if isinstance(value, list | tuple):
        return all([_is_plain(item, depth + 1) for item in value])  # noqa: C419 - every item must be looked at
    if isinstance(value, float):
        if value.is_integer() and _SAFE_INTEGER_MAX < abs(value) < _EXPONENT_FROM:
            raise ValueError(f"the number {value} would be written as an integer beyond 2^53")
        return False
    raise ValueError(f"a {type(value).__name__} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has the same key twice")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _shorten(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]
