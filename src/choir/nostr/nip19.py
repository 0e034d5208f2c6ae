"""Names for people (NIP-19): npub, nsec and note, and those with relays in them: nprofile, nevent, naddr.

Guarantees: what is read back is exactly what was written; what a later version adds is passed over; refusals never
quote the text, for it may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from choir.foundation.errors import Invalid
from choir.nostr import bech32
from choir.nostr.events import KIND_MAX

_CHARS_MAX = 5000  # NIP-19
_SPECIAL, _RELAY, _AUTHOR, _KIND = range(4)
_ITEM_BYTES_MAX = 255


class BadName(Invalid):
    """Text that is no name of a key or an event."""

    code = "nostr.bad_name"
    sentence = "That is not a Nostr name: {why}."


@dataclass(frozen=True, slots=True)
class Plain:
    """npub, nsec or note: 32 bytes."""

    prefix: str
    data: bytes

    def __repr__(self) -> str:
        return f"Plain({self.prefix!r}, …)"  # it may be a secret


@dataclass(frozen=True, slots=True)
class Profile:
    """A key, and where to find its events."""

    pubkey: bytes
    relays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointer:
    """An event, and where to find it."""

    id: bytes
    relays: tuple[str, ...] = ()
    author: bytes | None = None
    kind: int | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A replaceable or addressable event, whichever version is in force."""

    identifier: str
    author: bytes
    kind: int
    relays: tuple[str, ...] = ()


Name = Plain | Profile | Pointer | Address
_PLAIN = ("npub", "nsec", "note")


def encode(name: Name) -> str:
    """As people see it."""
    if isinstance(name, Plain):
        if name.prefix not in _PLAIN or len(name.data) != 32:
            raise BadName(why="it must be npub, nsec or note, of 32 bytes")
        return bech32.encode(name.prefix, name.data)
    if isinstance(name, Profile):
        return bech32.encode("nprofile", _items([(_SPECIAL, name.pubkey)], name.relays))
    if isinstance(name, Pointer):
        return bech32.encode("nevent", _items([(_SPECIAL, name.id)], name.relays, name.author, name.kind))
    return bech32.encode("naddr", _items([(_SPECIAL, name.identifier.encode())], name.relays, name.author, name.kind))


def decode(text: str) -> Name:
    """Whatever it names; `nostr:` before it (NIP-21) is passed over."""
    text = text.strip().removeprefix("nostr:")
    prefix = bech32.check(text, _CHARS_MAX)
    data = bech32.decode(prefix, text, _CHARS_MAX)
    if prefix in _PLAIN:
        return Plain(prefix, _whole(data))
    if prefix not in ("nprofile", "nevent", "naddr"):
        raise BadName(why="it must begin with npub, nsec, note, nprofile, nevent or naddr")
    found: dict[int, list[bytes]] = {}
    for kind, value in _read(data):
        found.setdefault(kind, []).append(value)
    return _composed(prefix, found)


def _composed(prefix: str, found: dict[int, list[bytes]]) -> Name:
    if not found.get(_SPECIAL):
        raise BadName(why="what it names is missing")
    special, relays = found[_SPECIAL][0], tuple(_text(item) for item in found.get(_RELAY, []))
    author = _whole(found[_AUTHOR][0]) if _AUTHOR in found else None
    kind = _number(found[_KIND][0]) if _KIND in found else None
    if prefix == "nprofile":
        return Profile(_whole(special), relays)
    if prefix == "nevent":
        return Pointer(_whole(special), relays, author, kind)
    if author is None or kind is None:
        raise BadName(why="an address needs its author and its kind")
    return Address(_text(special), author, kind, relays)


def _items(
    items: list[tuple[int, bytes]], relays: tuple[str, ...], author: bytes | None = None, kind: int | None = None
) -> bytes:
    items = [*items, *((_RELAY, relay.encode()) for relay in relays)]
    if author is not None:
        items.append((_AUTHOR, author))
    if kind is not None:
        items.append((_KIND, kind.to_bytes(4, "big")))
    if any(len(value) > _ITEM_BYTES_MAX for _, value in items):
        raise BadName(why=f"a part of it has more than {_ITEM_BYTES_MAX} bytes")
    return b"".join(bytes([kind_, len(value)]) + value for kind_, value in items)


def _read(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(data):
        end = place + 2 + (data[place + 1] if place + 1 < len(data) else len(data))
        if end > len(data):
            raise BadName(why="it ends in the middle")
        yield data[place], data[place + 2 : end]
        place = end


def _whole(value: bytes) -> bytes:
    if len(value) != 32:
        raise BadName(why="a key or an id must be 32 bytes")
    return value


def _number(value: bytes) -> int:
    number = int.from_bytes(value, "big")
    if len(value) != 4 or number > KIND_MAX:
        raise BadName(why=f"a kind must be a number up to {KIND_MAX} in 4 bytes")
    return number


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadName(why="it has text that is not Unicode") from None
