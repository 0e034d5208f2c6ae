"""Revisions, votes and boosts in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from choir.commons.revisions.model import Boost, Revision, RevisionState
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx

_COLUMNS = (
    "id, article, proposer, actor, base, title, topics, text, summary, stake, state, opened_us, until_us, decided_us"
)


def insert(tx: Tx, item: Revision) -> bool:
    """Keep a proposal; False if this proposer has an open one for the article."""
    return bool(
        tx.run(
            f"insert into revisions ({_COLUMNS})"  # noqa: S608 - names of columns
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
            item.id, item.article, item.proposer, item.actor, item.base, item.title, list(item.topics), item.text,
            item.summary, item.stake, item.state, item.opened_us, item.until_us, item.decided_us,
        )
    )  # fmt: skip


def decide(tx: Tx, id_: UUID, state: RevisionState, at_us: int) -> None:
    tx.run("update revisions set state = %s, decided_us = %s where id = %s", state, at_us, id_)


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Revision | None:
    suffix = " for update" if lock else ""
    row = tx.row(f"select {_COLUMNS} from revisions where id = %s{suffix}", id_)  # noqa: S608
    return None if row is None else _revision(row)


def open_by(tx: Tx, article: UUID, proposer: str) -> Revision | None:
    row = tx.row(
        f"select {_COLUMNS} from revisions where article = %s and proposer = %s and state = 'open'",  # noqa: S608
        article, proposer,
    )  # fmt: skip
    return None if row is None else _revision(row)


def page(tx: Tx, article: UUID, proposers: Collection[str] | None, before: UUID | None, limit: int) -> list[Revision]:
    """Newest first; of these proposers alone, if any are named."""
    of = None if proposers is None else list(proposers)
    rows = tx.rows(
        f"select {_COLUMNS} from revisions where article = %s and id < %s"  # noqa: S608
        " and (%s::text[] is null or proposer = any(%s)) order by id desc limit %s",
        article, before or LAST_ID, of, of, limit,
    )  # fmt: skip
    return [_revision(row) for row in rows]


def late(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    rows = tx.rows(
        "select id from revisions where state = 'open' and until_us <= %s order by until_us limit %s", now_us, limit
    )
    return [row[0] for row in rows]


def open_of(tx: Tx, owner: str) -> list[UUID]:
    """Open proposals by somebody, or for articles of theirs alone."""
    rows = tx.rows("select id from revisions where proposer = %s and state = 'open' order by id", owner)
    return [row[0] for row in rows]


def forget(tx: Tx, owner: str) -> None:
    """The words of an erased proposer go, unless authors took them over."""
    tx.run(
        "update revisions set text = '', summary = '', title = '', topics = '{}'"
        " where proposer = %s and state <> 'accepted'",
        owner,
    )


def vote(tx: Tx, id_: UUID, author: str, accepts: bool, at_us: int) -> bool:
    """Keep a vote; False if this author has voted."""
    return bool(
        tx.run("insert into revision_votes values (%s, %s, %s, %s) on conflict do nothing", id_, author, accepts, at_us)
    )


def votes(tx: Tx, id_: UUID) -> dict[str, bool]:
    return dict(tx.rows("select author, accepts from revision_votes where revision = %s order by at_us", id_))


def add_boost(tx: Tx, boost: Boost, key: str) -> None:
    tx.run(
        "insert into boosts (id, article, owner, key, amount, from_us, until_us) values (%s, %s, %s, %s, %s, %s, %s)",
        boost.id, boost.article, boost.owner, key, boost.amount, boost.from_us, boost.until_us,
    )  # fmt: skip


def boost_by_key(tx: Tx, owner: str, key: str) -> Boost | None:
    row = tx.row(
        "select id, article, owner, amount, from_us, until_us from boosts where owner = %s and key = %s", owner, key
    )
    return None if row is None else Boost(*row)


def boosted_until(tx: Tx, article: UUID) -> int | None:
    """When the last boost of an article ends."""
    found: int | None = tx.value("select max(until_us) from boosts where article = %s", article)
    return found


def boosted(tx: Tx, now_us: int, limit: int) -> list[tuple[UUID, int]]:
    """Articles that are boosted now, and until when."""
    rows = tx.rows(
        "select b.article, max(b.until_us) from boosts b join articles a on a.id = b.article and a.state = 'promoted'"
        " where b.until_us > %s and b.from_us <= %s group by b.article order by max(b.until_us) desc limit %s",
        now_us, now_us, limit,
    )  # fmt: skip
    return [(row[0], row[1]) for row in rows]


def _revision(row: Sequence[Any]) -> Revision:
    values = list(row)
    values[6], values[10] = tuple(values[6]), RevisionState(values[10])
    return Revision(*values)
