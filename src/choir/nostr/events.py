"""Nostr events (NIP-01): their ids, signatures and kinds, when they expire (NIP-40), and reading strangers' ones.

Guarantees: an event is believed only if its id is the hash of its content and its signature is by its key. `read_event`
takes nothing that is larger, later or stranger than its limits say, before it hashes or verifies anything.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

import coincurve

from choir.foundation.errors import Invalid
from choir.foundation.signing import BadSignature, verify_bip340

DELETION_KIND = 5  # NIP-09
AUTH_KIND = 22242  # NIP-42
KIND_MAX = 65535  # NIP-01
TIME_MAX = 2**53 - 1  # what every JSON reader can hold
_HEX_32 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX_64 = re.compile(r"[0-9a-f]{128}", re.ASCII)
_FIELDS = frozenset({"id", "pubkey", "created_at", "kind", "tags", "content", "sig"})
_REPLACEABLE = frozenset({0, 3})  # NIP-01, beside 10000 to 19999
_DIGITS_MAX = 20  # of a time in a tag

Tags = tuple[tuple[str, ...], ...]


class BadEvent(Invalid):
    """Something that is not a Nostr event, or not what it says."""

    code = "identity.bad_event"
    sentence = "That is not a valid Nostr event: {why}."


@dataclass(frozen=True, slots=True)
class NostrEvent:
    """An event, with keys and hashes as bytes. Made by `parse_event`, it has the right form; see `verify`."""

    id: bytes
    pubkey: bytes
    created_at: int  # seconds since 1970, as Nostr has it
    kind: int
    tags: Tags
    content: str
    sig: bytes

    def values(self, name: str) -> list[str]:
        """The first values of all tags with this name."""
        return [tag[1] for tag in self.tags if len(tag) > 1 and tag[0] == name]

    def has(self, name: str) -> bool:
        """Whether there is a tag with this name, with or without a value."""
        return any(tag and tag[0] == name for tag in self.tags)

    def verify(self) -> None:
        """Raise unless the id is right and the signature is by the event's key."""
        if self.id != event_id(self.pubkey, self.created_at, self.kind, self.tags, self.content):
            raise BadEvent(why="its id is not the hash of its content")
        try:
            verify_bip340(self.pubkey, self.id, self.sig)
        except BadSignature:
            raise BadEvent(why="its signature does not match its key") from None

    @property
    def expires_at(self) -> int | None:
        """When it is to be forgotten (NIP-40); what cannot be read as a time means never."""
        times = [int(text) for text in self.values("expiration") if _is_time(text)]
        return min(times, default=None)

    @property
    def is_ephemeral(self) -> bool:
        """Passed on and never stored."""
        return 20000 <= self.kind < 30000

    @property
    def slot(self) -> str | None:
        """Of a replaceable or addressable event, what only one may have for its key and kind; else nothing."""
        if self.kind in _REPLACEABLE or 10000 <= self.kind < 20000:
            return ""
        if 30000 <= self.kind < 40000:
            return next((tag[1] if len(tag) > 1 else "" for tag in self.tags if tag and tag[0] == "d"), "")
        return None

    @property
    def address(self) -> str | None:
        """`kind:pubkey:d` of a replaceable or addressable event, as `a` tags name it."""
        slot = self.slot
        return None if slot is None else f"{self.kind}:{self.pubkey.hex()}:{slot}"

    def supersedes(self, other: NostrEvent) -> bool:
        """Of two in one slot: the later, and of equally late ones the one with the lower id (NIP-01)."""
        return (-self.created_at, self.id) < (-other.created_at, other.id)


@dataclass(frozen=True, slots=True)
class Draft:
    """What an event is to say, before anybody signed it."""

    kind: int
    content: str = ""
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class EventLimits:
    """What is taken from strangers."""

    bytes_max: int  # of the serialised event
    tags_max: int
    tag_items_max: int
    tag_bytes_max: int  # of one item of a tag
    future_s_max: int  # how far its time may be ahead


def sign_event(secret: bytes, draft: Draft, created_at: int) -> NostrEvent:
    """The event, signed with a secret key."""
    pubkey = coincurve.PublicKeyXOnly.from_secret(secret).format()
    id_ = event_id(pubkey, created_at, draft.kind, draft.tags, draft.content)
    signature = coincurve.PrivateKey(secret).sign_schnorr(id_)
    event = NostrEvent(id_, pubkey, created_at, draft.kind, draft.tags, draft.content, signature)
    event.verify()  # a wrong one, by a fault of the machine, could give the key away
    return event


def serialise(pubkey: bytes, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    """The bytes that an event's id is the hash of (NIP-01): no spaces, nothing escaped without need."""
    parts = [0, pubkey.hex(), created_at, kind, tags, content]
    try:
        return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadEvent(why="its text is not Unicode") from None


def event_id(pubkey: bytes, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    return hashlib.sha256(serialise(pubkey, created_at, kind, tags, content)).digest()


def parse_event(value: Any) -> NostrEvent:
    """An event from decoded JSON, its form checked and nothing more."""
    if not isinstance(value, dict) or value.keys() != _FIELDS:
        raise BadEvent(why=f"it must have exactly the fields {', '.join(sorted(_FIELDS))}")
    return NostrEvent(
        id=_hex(value["id"], _HEX_32, "id"),
        pubkey=_hex(value["pubkey"], _HEX_32, "pubkey"),
        created_at=_number(value["created_at"], TIME_MAX, "created_at"),
        kind=_number(value["kind"], KIND_MAX, "kind"),
        tags=_tags(value["tags"]),
        content=_text(value["content"], "content"),
        sig=_hex(value["sig"], _HEX_64, "sig"),
    )


def read_event(value: Any, limits: EventLimits, now_s: int) -> NostrEvent:
    """An event of a stranger from decoded JSON, within limits; its id and signature are for `verify`."""
    event = parse_event(value)
    if len(event.tags) > limits.tags_max:
        raise BadEvent(why=f"it has more than {limits.tags_max} tags")
    for tag in event.tags:
        if not tag:
            raise BadEvent(why="a tag is empty")
        if len(tag) > limits.tag_items_max:
            raise BadEvent(why=f"a tag has more than {limits.tag_items_max} items")
        if any(len(item) > limits.tag_bytes_max or _bytes(item) > limits.tag_bytes_max for item in tag):
            raise BadEvent(why=f"an item of a tag has more than {limits.tag_bytes_max} bytes")
    if len(serialise(event.pubkey, event.created_at, event.kind, event.tags, event.content)) > limits.bytes_max:
        raise BadEvent(why=f"it has more than {limits.bytes_max} bytes")
    if event.created_at > now_s + limits.future_s_max:
        raise BadEvent(why=f"its time is more than {limits.future_s_max} seconds ahead")
    expires_at = event.expires_at
    if expires_at is not None and expires_at <= now_s:
        raise BadEvent(why="it has expired")
    if "\x00" in event.content or any("\x00" in item for tag in event.tags for item in tag):
        raise BadEvent(why="it has a NUL character")
    return event


def event_json(event: NostrEvent) -> dict[str, Any]:
    """An event as JSON, for sending it on."""
    return {
        "id": event.id.hex(),
        "pubkey": event.pubkey.hex(),
        "created_at": event.created_at,
        "kind": event.kind,
        "tags": [list(tag) for tag in event.tags],
        "content": event.content,
        "sig": event.sig.hex(),
    }


def event_text(event: NostrEvent) -> str:
    """An event as the text that travels; without spaces, because some readers drop an event that has any."""
    return compact(event_json(event))


def compact(value: Any) -> str:
    """JSON as Nostr writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _hex(value: Any, form: re.Pattern[str], name: str) -> bytes:
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise BadEvent(why=f"{name} must be lower-case hex of the right length")
    return bytes.fromhex(value)


def _number(value: Any, high: int, name: str) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise BadEvent(why=f"{name} must be a whole number from 0 to {high}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadEvent(why=f"{name} must be text")
    return value


def _tags(value: Any) -> Tags:
    if not isinstance(value, list) or not all(isinstance(tag, list) for tag in value):
        raise BadEvent(why="tags must be a list of lists")
    return tuple(tuple(_text(item, "each part of a tag") for item in tag) for tag in value)


def _is_time(text: str) -> bool:
    return len(text) <= _DIGITS_MAX and text.isascii() and text.isdecimal() and int(text) <= TIME_MAX


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
