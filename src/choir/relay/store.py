"""SQL of the relay."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString
from uuid import UUID

from choir.nostr.events import NostrEvent, event_text
from choir.nostr.filters import Filter
from choir.relay.model import PRIVATE_KINDS, Outcome, Page
from choir.storage.database import Tx

CHANNEL: LiteralString = "choir_relay"


def tag_digest(name: str, value: str) -> UUID:
    """What stands for a tag in the index."""
    return UUID(bytes=hashlib.sha256(f"{name}\x00{value}".encode()).digest()[:16])


def digests(event: NostrEvent) -> list[UUID]:
    """Of all tags that a filter can ask for."""
    found = (tag_digest(tag[0], tag[1]) for tag in event.tags if len(tag) > 1 and len(tag[0]) == 1)
    return list(dict.fromkeys(found))


def take(tx: Tx, events: Sequence[NostrEvent], now_us: int) -> list[Outcome]:
    """Store each, or say why not."""
    with tx.connection.cursor() as cursor:
        rows = [_row(event, now_us) for event in events]
        cursor.executemany("select relay_take(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", rows, returning=True)
        found: list[Outcome] = []
        while True:
            row = cursor.fetchone()
            assert row is not None
            found.append(Outcome(row[0]))
            if not cursor.nextset():
                return found


def _row(event: NostrEvent, now_us: int) -> tuple[Any, ...]:
    slot, address = event.slot, event.address
    return (
        event.id,
        event.pubkey,
        event.created_at,
        event.kind,
        None if slot is None else _sha256(slot),
        None if address is None else _sha256(address),
        event.expires_at,
        digests(event),
        event_text(event),
        now_us,
    )


def counts(tx: Tx, keys: Sequence[bytes], most: int) -> dict[bytes, int]:
    """How many events each key has, counted up to a number."""
    rows = tx.rows(
        "select key, (select count(*) from (select from relay_events where pubkey = key limit %s) as few)"
        " from unnest(%s::bytea[]) as key",
        most,
        list(keys),
    )
    return {bytes(key): count for key, count in rows}


def size_bytes(tx: Tx) -> int:
    """What the events take on disk."""
    return int(tx.value("select pg_total_relation_size('relay_events')"))


def tell(tx: Tx, pieces: Iterable[str]) -> None:
    """Tell every process, once this commits."""
    with tx.connection.cursor() as cursor:
        cursor.executemany("select pg_notify(%s, %s)", [(CHANNEL, piece) for piece in pieces])


def delete(tx: Tx, author: bytes, ids: Sequence[bytes], addresses: Sequence[str], until_at: int, now_us: int) -> None:
    """An author deletes: what is here goes, and what comes later does not stay."""
    targets = [(id_, 2**62) for id_ in ids] + [(_sha256(address), until_at) for address in addresses]
    tx.run("delete from relay_events where id = any(%s) and pubkey = %s and kind <> 5", list(ids), author)
    for address in addresses:
        kind, _, slot = address.split(":", 2)
        tx.run(
            "delete from relay_events where pubkey = %s and kind = %s and slot = %s and created_at <= %s",
            author,
            int(kind),
            _sha256(slot),
            until_at,
        )
    tx.run(
        "insert into relay_deletions (pubkey, target, until_at, received_us)"
        " select %s, target, until_at, %s from unnest(%s::bytea[], %s::bigint[]) as deleted (target, until_at)"
        " order by target"
        " on conflict (pubkey, target) do update set"
        " until_at = greatest(relay_deletions.until_at, excluded.until_at), received_us = excluded.received_us",
        author,
        now_us,
        list(dict(targets)),
        list(dict(targets).values()),
    )


def page(
    tx: Tx, wanted: Filter, keys: frozenset[bytes], now_s: int, rows_max: int, after: tuple[int, bytes] | None
) -> Page:
    """The newest stored events that a filter asks for and that these keys may see, behind a place."""
    where, params = _where(wanted, keys, now_s)
    if after is not None:
        where += " and (created_at < %s or (created_at = %s and id > %s))"
        params += [after[0], after[0], after[1]]
    # A tag is rare: the database, which does not know that, would else walk through all events from the newest on.
    found: LiteralString = "offset 0" if wanted.tags else ""
    sql: LiteralString = "select created_at, id, body from (select * from relay_events where "
    sql += where + " " + found + ") as found order by created_at desc, id limit %s"
    rows = tx.rows(sql, *params, rows_max)
    last = (rows[-1][0], bytes(rows[-1][1])) if len(rows) == rows_max else None
    return Page(tuple(row[2] for row in rows), tuple(bytes(row[1]) for row in rows), last)


def count(tx: Tx, wanted: Filter, keys: frozenset[bytes], now_s: int, most: int) -> int:
    """How many there are, counted up to a number."""
    where, params = _where(wanted, keys, now_s)
    sql: LiteralString = "select count(*) from (select from relay_events where "
    return int(tx.value(sql + where + " limit %s) as few", *params, most))


def _where(wanted: Filter, keys: frozenset[bytes], now_s: int) -> tuple[LiteralString, list[Any]]:
    where: LiteralString = "(expires_at is null or expires_at > %s)"
    params: list[Any] = [now_s]
    for column, values in (_IDS, wanted.ids), (_AUTHORS, wanted.authors), (_KINDS, wanted.kinds):
        if values is not None:
            where += column
            params.append(sorted(values))
    for name, texts in wanted.tags.items():
        where += " and tags && %s::uuid[]"
        params.append([tag_digest(name, text) for text in texts])
    for bound, at in (_SINCE, wanted.since), (_UNTIL, wanted.until):
        if at is not None:
            where += bound
            params.append(at)
    where += " and (kind <> all(%s) or pubkey = any(%s::bytea[]) or tags && %s::uuid[])"
    own = [tag_digest("p", key.hex()) for key in keys]
    return where, [*params, sorted(PRIVATE_KINDS), list(keys), own]


_IDS: LiteralString = " and id = any(%s::bytea[])"
_AUTHORS: LiteralString = " and pubkey = any(%s::bytea[])"
_KINDS: LiteralString = " and kind = any(%s::int[])"
_SINCE: LiteralString = " and created_at >= %s"
_UNTIL: LiteralString = " and created_at <= %s"


def forget(tx: Tx, now_s: int, received_before_us: int, rows_max: int) -> int:
    """Drop some events that have expired or are too old, and deletions that are; says how many rows."""
    expired = tx.run(
        "delete from relay_events where id in (select id from relay_events where expires_at <= %s limit %s)",
        now_s,
        rows_max,
    )
    old = tx.run(
        "delete from relay_events where id in"
        " (select id from relay_events where slot is null and received_us < %s order by received_us limit %s)",
        received_before_us,
        rows_max,
    )
    deletions = tx.run(
        "delete from relay_deletions where (pubkey, target) in"
        " (select pubkey, target from relay_deletions where received_us < %s order by received_us limit %s)",
        received_before_us,
        rows_max,
    )
    return expired + old + deletions


def forget_keys(tx: Tx, keys: Sequence[bytes]) -> None:
    """Drop all that these keys have here."""
    tx.run("delete from relay_events where pubkey = any(%s::bytea[])", list(keys))
    tx.run("delete from relay_deletions where pubkey = any(%s::bytea[])", list(keys))


def total(tx: Tx) -> int:
    """About how many events there are; the database keeps the estimate."""
    return int(tx.value("select greatest(reltuples, 0)::bigint from pg_class where oid = 'relay_events'::regclass"))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
