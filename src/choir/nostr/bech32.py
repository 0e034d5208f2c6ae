"""Bech32 (BIP-173): how Nostr keys are written for people, with a checksum that finds typing errors.

Guarantees: what is read back is exactly what would be written; refusals never quote the text, which may
be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable

from choir.foundation.errors import Invalid

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUE = {letter: number for number, letter in enumerate(_LETTERS)}
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)  # BIP-173
_CHECKSUM_LETTERS = 6
_CHARS_MAX = 90  # beyond that the checksum promises less; keys are shorter, what has relays in it may not be


class BadBech32(Invalid):
    """Text that is not Bech32."""

    code = "identity.bad_bech32"
    sentence = "This is not a Bech32 key: {why}."


def encode(prefix: str, data: bytes) -> str:
    """`prefix`, 1, the data, six letters of checksum."""
    values = _regroup(data, 8, 5, pad=True)
    checksum = _polymod([*_expanded(prefix), *values, *[0] * _CHECKSUM_LETTERS]) ^ 1
    tail = [(checksum >> 5 * (5 - place)) & 31 for place in range(_CHECKSUM_LETTERS)]
    return f"{prefix}1{''.join(_LETTERS[value] for value in [*values, *tail])}"


def decode(prefix: str, text: str, chars_max: int = _CHARS_MAX) -> bytes:
    """The data behind the text, which must have this prefix."""
    found, values = _taken_apart(text, chars_max)
    if found != prefix:
        raise BadBech32(why=f"it must begin with {prefix}1")
    return bytes(_regroup(values, 5, 8, pad=False))


def check(text: str, chars_max: int = _CHARS_MAX) -> str:
    """Raise unless the text is well-formed with a right checksum; returns its prefix."""
    return _taken_apart(text, chars_max)[0]


def _taken_apart(text: str, chars_max: int) -> tuple[str, list[int]]:
    if not 8 <= len(text) <= chars_max or not all(33 <= ord(letter) <= 126 for letter in text):
        raise BadBech32(why=f"it must be 8 to {chars_max} printable letters")
    if text != text.lower() and text != text.upper():
        raise BadBech32(why="upper and lower case are mixed")
    prefix, separator, tail = text.lower().rpartition("1")
    if not separator or not prefix or len(tail) < _CHECKSUM_LETTERS:
        raise BadBech32(why="there is no prefix")
    if any(letter not in _VALUE for letter in tail):
        raise BadBech32(why="it has a character that Bech32 does not use")
    values = [_VALUE[letter] for letter in tail]
    if _polymod([*_expanded(prefix), *values]) != 1:
        raise BadBech32(why="its checksum is wrong: it was mistyped or cut off")
    return prefix, values[:-_CHECKSUM_LETTERS]


def _polymod(values: Iterable[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            checksum ^= generator if top >> bit & 1 else 0
    return checksum


def _expanded(prefix: str) -> list[int]:
    return [*(ord(letter) >> 5 for letter in prefix), 0, *(ord(letter) & 31 for letter in prefix)]


def _regroup(values: Iterable[int], from_bits: int, to_bits: int, *, pad: bool) -> list[int]:
    """The same bits in groups of another size; without padding what is left over must be zeros."""
    number = bits = 0
    groups = []
    for value in values:
        number = number << from_bits | value
        bits += from_bits
        while bits >= to_bits:
            bits -= to_bits
            groups.append(number >> bits & (1 << to_bits) - 1)
        number &= (1 << bits) - 1
    if pad and bits:
        groups.append(number << to_bits - bits & (1 << to_bits) - 1)
    elif not pad and (bits >= from_bits or number):
        raise BadBech32(why="its end is not what an encoder writes")
    return groups
