"""Identifiers: UUIDv7 (RFC 9562) inside, `job_01h…` in Crockford base32 where people see them.

Guarantees: ids made later sort later, also within one millisecond of one batch; a prefix says what
an id names and is checked when it is read back.
"""

from __future__ import annotations

from uuid import UUID

from choir.foundation.errors import Invalid

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUE = {letter: index for index, letter in enumerate(_ALPHABET)} | {"i": 1, "l": 1, "o": 0}
_LENGTH = 26  # 130 bits of base32 hold 128
_VERSION_AND_VARIANT = (0x7 << 76) | (0b10 << 62)
PREFIX_LETTERS_MIN = 8  # 38 bits of time: whatever begins alike was made within about a second, so few things do
LAST_ID = UUID(int=2**128 - 1)  # behind every other id: where listings from the newest begin


def uuid7(at_us: int, counter: int, random_six: bytes) -> UUID:
    """A UUIDv7: milliseconds, 12 bits of the fraction, a 14-bit counter, 48 random bits."""
    milliseconds, fraction_us = divmod(at_us, 1000)
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80
    value |= (fraction_us * 4096 // 1000) << 64
    value |= (counter & 0x3FFF) << 48
    value |= int.from_bytes(random_six)
    return UUID(int=value | _VERSION_AND_VARIANT)


def show_id(prefix: str, value: UUID) -> str:
    """The form people see: `entry_01hf…`."""
    number = value.int
    letters = [_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(letters)}"


def parse_id(prefix: str, text: str) -> UUID:
    """The UUID behind a shown id, or a refusal that says what was expected."""
    head, _, tail = text.partition("_")
    letters = _letters(tail)
    if head != prefix or letters is None or len(letters) != _LENGTH:
        raise Invalid(what=f"id '{text[:60]}'", why=f"it must look like {prefix}_ and {_LENGTH} letters and digits")
    number = _number(letters)
    if number >= 1 << 128:
        raise Invalid(what=f"id '{text[:60]}'", why="it is beyond 128 bits")
    return UUID(int=number)


def is_whole(text: str) -> bool:
    """Whether a text is as long as an id is, and not only the beginning of one."""
    return len(text.partition("_")[2]) >= _LENGTH


def id_range(text: str) -> tuple[str, UUID, UUID]:
    """What the beginning of an id names, and the first and the last id that begin so."""
    head, _, tail = text.partition("_")
    letters = _letters(tail)
    if not head or letters is None or len(letters) > _LENGTH:
        raise Invalid(what=f"id '{text[:60]}'", why="it must look like job_ and letters and digits")
    if len(letters) < PREFIX_LETTERS_MIN:
        raise Invalid(what=f"id '{text[:60]}'", why=f"give at least {PREFIX_LETTERS_MIN} characters after {head}_")
    open_bits = 5 * (_LENGTH - len(letters))
    first = _number(letters) << open_bits
    if first >= 1 << 128:
        raise Invalid(what=f"id '{text[:60]}'", why="it is beyond 128 bits")
    return head, UUID(int=first), UUID(int=first | (1 << open_bits) - 1)


def _letters(tail: str) -> str | None:
    letters = tail.lower() if tail.isascii() else ""
    return letters if letters and all(letter in _VALUE for letter in letters) else None


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number << 5 | _VALUE[letter]
    return number
