"""What the relay does with events, inside the caller's transaction.

Guarantees: an event that is taken is stored (or passed on, if it is ephemeral) and told to every process when the
transaction commits, and not otherwise; of a slot only the newest version is there; what an author deleted does not come
back; nobody sees what has expired, or what is private to others. Events were read and verified before they come here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from choir.foundation.clock import MICROSECONDS, Clock
from choir.nostr.events import DELETION_KIND, BadEvent, EventLimits, NostrEvent, event_json, parse_event, read_event
from choir.nostr.filters import Filter, FilterLimits
from choir.relay import store
from choir.relay.model import Outcome, Page
from choir.relay.policy import RelayPolicy
from choir.storage.database import Tx

_PIECE_BYTES = 7_800  # PostgreSQL: a notice has fewer than 8000 bytes
_HEX_CHARS = 64


class Relay:
    """Events of anybody."""

    def __init__(self, clock: Clock, policy: RelayPolicy) -> None:
        self._clock = clock
        self._policy = policy
        self.event_limits = EventLimits(
            policy.event_bytes_max, policy.tags_max, policy.tag_items_max, policy.tag_bytes_max, policy.future_s_max
        )
        self.filter_limits = FilterLimits(policy.filter_values_max, policy.tag_bytes_max, policy.filter_events_max)

    @property
    def now_s(self) -> int:
        return self._clock.now_us() // MICROSECONDS

    def read(self, value: Any) -> NostrEvent:
        """An event of a stranger, within this relay's limits, believed; takes some time and no database."""
        event = read_event(value, self.event_limits, self.now_s)
        if len(store.digests(event)) > self._policy.indexed_tags_max:
            raise BadEvent(why=f"it has more than {self._policy.indexed_tags_max} tags of one letter")
        event.verify()
        return event

    def take(self, tx: Tx, events: Sequence[NostrEvent]) -> list[Outcome]:
        """Take events, in their order; those that are new are told when this commits."""
        outcomes: dict[int, Outcome] = {}
        lasting = [number for number, event in enumerate(events) if not event.is_ephemeral]
        refused = self._beyond_quota(tx, [events[number] for number in lasting])
        wanted = [number for place, number in enumerate(lasting) if place not in refused]
        now_us = self._clock.now_us()
        outcomes |= {number: Outcome.PASSED_ON for number in range(len(events)) if events[number].is_ephemeral}
        outcomes |= {lasting[place]: outcome for place, outcome in refused.items()}
        for run in _runs([(number, events[number]) for number in wanted]):
            outcomes |= dict(
                zip((number for number, _ in run), store.take(tx, [event for _, event in run], now_us), strict=True)
            )
            number, last = run[-1]
            if last.kind == DELETION_KIND and outcomes[number] is Outcome.STORED:
                self._delete(tx, last, now_us)
        new = (Outcome.STORED, Outcome.PASSED_ON)
        store.tell(tx, pieces([event for number, event in enumerate(events) if outcomes[number] in new]))
        return [outcomes[number] for number in range(len(events))]

    def page(self, tx: Tx, wanted: Filter, keys: frozenset[bytes], rows: int, after: tuple[int, bytes] | None) -> Page:
        """Stored events, newest first."""
        return Page((), (), None) if wanted.is_empty else store.page(tx, wanted, keys, self.now_s, rows, after)

    def count(self, tx: Tx, wanted: Filter, keys: frozenset[bytes]) -> tuple[int, bool]:
        """How many events a filter asks for, and whether there may be more than that."""
        most = self._policy.count_max
        found = 0 if wanted.is_empty else store.count(tx, wanted, keys, self.now_s, most)
        return found, found >= most

    def forget(self, tx: Tx) -> bool:
        """Drop some of what has expired or is too old; says whether there is more."""
        before_us = self._clock.now_us() - self._policy.keep_s * MICROSECONDS
        return store.forget(tx, self.now_s, before_us, self._policy.forget_rows_max) >= self._policy.forget_rows_max

    def forget_keys(self, tx: Tx, keys: Sequence[bytes]) -> None:
        """Whoever had these keys is erased."""
        store.forget_keys(tx, keys)

    def _beyond_quota(self, tx: Tx, events: Sequence[NostrEvent]) -> dict[int, Outcome]:
        """Those that cannot stay, by their place. A deletion may always come: it makes room."""
        if not events:
            return {}
        most = self._policy.key_events_max
        have = Counter(store.counts(tx, list({event.pubkey for event in events}), most))
        full = store.size_bytes(tx) >= self._policy.store_bytes_max
        refused: dict[int, Outcome] = {}
        for place, event in enumerate(events):
            if full and not have[event.pubkey]:
                refused[place] = Outcome.STORE_FULL
            elif have[event.pubkey] >= most and event.kind != DELETION_KIND and event.slot is None:
                refused[place] = Outcome.KEY_FULL
            else:
                have[event.pubkey] += 1
        return refused

    def _delete(self, tx: Tx, event: NostrEvent, now_us: int) -> None:
        """What an author's deletion names (NIP-09): its own events only."""
        ids = [bytes.fromhex(text) for text in event.values("e") if _is_id(text)]
        addresses = [text for text in event.values("a") if _is_address_of(text, event.pubkey)]
        store.delete(tx, event.pubkey, ids, addresses, event.created_at, now_us)


def _runs(events: list[tuple[int, NostrEvent]]) -> Iterator[list[tuple[int, NostrEvent]]]:
    """Events that can be stored together: up to a deletion, which counts for what comes behind it."""
    run: list[tuple[int, NostrEvent]] = []
    for item in events:
        run.append(item)
        if item[1].kind == DELETION_KIND:
            yield run
            run = []
    if run:
        yield run


def pieces(events: Sequence[NostrEvent]) -> Iterator[str]:
    """Events as texts that fit into notices: all of one transaction come one behind the other, in order."""
    if not events:
        return
    text = json.dumps([event_json(event) for event in events], separators=(",", ":"))  # ASCII: a character is a byte
    parts = [text[start : start + _PIECE_BYTES] for start in range(0, len(text), _PIECE_BYTES)]
    for number, part in enumerate(parts, 1):
        yield f"{number}/{len(parts)} {part}"


class Pieces:
    """Puts notices together again."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, piece: str) -> list[NostrEvent]:
        """The events of a transaction, with its last piece."""
        head, _, part = piece.partition(" ")
        number, _, total = head.partition("/")
        if number == "1":
            self._parts = []
        self._parts.append(part)
        if number != total or len(self._parts) != int(total):
            return []
        text, self._parts = "".join(self._parts), []
        return [parse_event(value) for value in json.loads(text)]


def _is_id(text: str) -> bool:
    return len(text) == _HEX_CHARS and set(text) <= set("0123456789abcdef")


def _is_address_of(text: str, pubkey: bytes) -> bool:
    kind, _, rest = text.partition(":")
    return kind.isascii() and kind.isdecimal() and len(kind) <= 5 and rest.startswith(f"{pubkey.hex()}:")
