"""What a round of the ledger reads and what it writes: the data between `store` and `deciding`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from choir.ledger.model import Head, Posted
from choir.ledger.rules import Outcome


@dataclass(slots=True)
class HoldState:
    """A hold as the round sees it."""

    id: UUID
    account: str
    payer: str
    expires_us: int
    captures_max: int
    captures: int
    closed_seq: int | None = None
    placed_seq: int = 0
    changed: bool = False


class KnownEntry(NamedTuple):
    """An entry that already has one of the keys."""

    posted: Posted
    content: str
    memo_salt: bytes | None


@dataclass(slots=True)
class View:
    """What was known when the journal's head was `head`. Accounts are plain numbers: there are thousands in a batch."""

    head: Head
    ids: dict[str, int]  # of the accounts that there are
    balances: dict[int, int]  # by the account's id; they move while the round decides
    states: dict[int, str] = field(default_factory=dict)  # of the accounts that are not open
    holds: dict[UUID, HoldState] = field(default_factory=dict)
    known: dict[tuple[str, str], KnownEntry] = field(default_factory=dict)
    known_ids: frozenset[UUID] = frozenset()  # of the entries that drafts say they correct
    new_account_ids: list[int] = field(default_factory=list)  # reserved for the holds that this round places


NEWS_CHARS_MAX = 1 << 17  # of all contents; they are read under the head's lock
NEWS_MAX = 256  # entries, or changed accounts; who missed more forgets, because to look balances up is no slower then


@dataclass(frozen=True, slots=True)
class News:
    """What happened since a head that somebody knew, and balances as they are now; nothing where it was too much."""

    head: Head  # where the journal is now
    since_hash: bytes | None  # of the entry where the known head was; another, or none, in another journal
    since_acts_hash: bytes | None  # the same of its last act
    contents: list[str]  # of the entries since
    changed: list[str]  # the accounts that were frozen, unfrozen or closed since
    balances: dict[str, int]  # of the accounts that were asked for, if all of them are open


EntryRow = tuple[int, bytes, int, str, str, str, bytes]  # seq, id, at_us, source, key, content, hash
PostingRow = tuple[int, int, int, int, int]  # account, seq, leg, delta, balance


@dataclass(slots=True)
class Decision:
    """What to answer and what to write."""

    outcomes: list[Outcome] = field(default_factory=list)
    refused: bool = False  # whether one of the outcomes is a refusal
    entries: list[EntryRow] = field(default_factory=list)
    postings: list[PostingRow] = field(default_factory=list)
    memos: list[tuple[int, bytes, str]] = field(default_factory=list)
    new_accounts: list[tuple[str, int]] = field(default_factory=list)  # name and id
    new_holds: list[HoldState] = field(default_factory=list)
    changed_holds: list[HoldState] = field(default_factory=list)
    head_hash: bytes = b""
    at_us: int = 0

    def after(self, head: Head) -> Head:
        """Where the journal is when this was appended to it."""
        if not self.entries:
            return head
        return Head(self.entries[-1][0], self.head_hash, self.at_us, head.acts, head.acts_hash)
