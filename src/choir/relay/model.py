"""What the relay says of an event, and who asks for events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from choir.nostr.events import NostrEvent

PRIVATE_KINDS = frozenset({4, 1059})  # NIP-04, NIP-59: only their author and whom they are addressed to may see them


class Outcome(StrEnum):
    """What became of an event."""

    STORED = "stored"
    PASSED_ON = "passed on"  # ephemeral: told, not stored
    DUPLICATE = "duplicate"
    OLDER = "older"  # a newer version is stored
    DELETED = "deleted"  # by its author, before it came
    KEY_FULL = "key full"
    STORE_FULL = "store full"

    @property
    def accepted(self) -> bool:
        return self in (Outcome.STORED, Outcome.PASSED_ON, Outcome.DUPLICATE, Outcome.OLDER)

    @property
    def told(self) -> str:
        """As NIP-01 has it: a word for machines, a sentence for people."""
        return _TOLD[self]


_TOLD = {
    Outcome.STORED: "",
    Outcome.PASSED_ON: "",
    Outcome.DUPLICATE: "duplicate: this event is here already",
    Outcome.OLDER: "duplicate: a newer version of it is here",
    Outcome.DELETED: "blocked: its author has deleted it",
    Outcome.KEY_FULL: "restricted: this key has as many events here as it may; delete some",
    Outcome.STORE_FULL: "restricted: the relay is full, and takes no new keys",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Stored events as they travel, newest first."""

    bodies: tuple[str, ...]
    ids: tuple[bytes, ...]
    last: tuple[int, bytes] | None  # where the next page begins; nothing if this is the last


def may_see(event: NostrEvent, keys: frozenset[bytes]) -> bool:
    """Whether whoever has proven these keys may see an event."""
    if event.kind not in PRIVATE_KINDS or event.pubkey in keys:
        return True
    return not keys.isdisjoint(bytes.fromhex(text) for text in event.values("p") if _is_key(text))


def _is_key(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
