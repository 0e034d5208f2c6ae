"""Articles, their authors and drafts in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from choir.commons.articles.model import Article, ArticleState, Draft
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx

_COLUMNS = "id, owner, state, title, topics, draft, versions, created_us, changed_us"


def insert(tx: Tx, article: Article) -> None:
    tx.run(
        f"insert into articles ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
        article.id, article.owner, article.state, article.title, list(article.topics), article.draft,
        article.versions, article.created_us, article.changed_us,
    )  # fmt: skip


def save(tx: Tx, article: Article) -> None:
    tx.run(
        "update articles set state = %s, title = %s, topics = %s, draft = %s, versions = %s, changed_us = %s"
        " where id = %s",
        article.state, article.title, list(article.topics), article.draft, article.versions, article.changed_us,
        article.id,
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Article | None:
    row = tx.row(f"select {_COLUMNS} from articles where id = %s" + (" for update" if lock else ""), id_)  # noqa: S608
    return None if row is None else _article(row)


def titles(tx: Tx, articles: Collection[UUID]) -> dict[UUID, str]:
    """What these articles are called, of those of which a version was published and that are not taken down."""
    rows = tx.rows(
        "select id, title from articles a where id = any(%s) and versions > 0"
        " and not exists (select from takedowns t where t.article = a.id and t.restored_us is null)",
        list(articles),
    )
    return {row[0]: row[1] for row in rows}


def count(tx: Tx, owner: str, limit: int) -> int:
    """How many articles an owner has, counted up to a limit."""
    counted: int = tx.value(
        "select count(*) from (select from articles where owner = %s limit %s) as found", owner, limit
    )
    return counted


def lock_owner(tx: Tx, owner: str) -> None:
    """Have one transaction of an owner after the other, where what one may do depends on what others did."""
    tx.run("select pg_advisory_xact_lock(hashtextextended('commons:' || %s, 0))", owner)


def own_page(tx: Tx, owners: Collection[str], before: UUID | None, limit: int) -> list[Article]:
    rows = tx.rows(
        f"select {_COLUMNS} from articles where id < %s"  # noqa: S608
        " and id in (select article from article_authors where owner = any(%s)) order by id desc limit %s",
        before or LAST_ID, list(owners), limit,
    )  # fmt: skip
    return [_article(row) for row in rows]


def public_page(tx: Tx, before: UUID | None, limit: int) -> list[Article]:
    rows = tx.rows(
        f"select {_COLUMNS} from articles where state = 'promoted' and id < %s and not exists (select"  # noqa: S608
        " from takedowns t where t.article = articles.id and t.restored_us is null) order by id desc limit %s",
        before or LAST_ID, limit,
    )  # fmt: skip
    return [_article(row) for row in rows]


def ids_between(tx: Tx, first: UUID, last: UUID, owners: Collection[str], limit: int) -> list[UUID]:
    """Ids of articles in a range that these may see."""
    rows = tx.rows(
        "select id from articles where id between %s and %s and (versions > 0 or id in"
        " (select article from article_authors where owner = any(%s))) order by id limit %s",
        first, last, list(owners), limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def add_author(tx: Tx, article: UUID, owner: str, at_us: int) -> None:
    tx.run("insert into article_authors values (%s, %s, %s) on conflict do nothing", article, owner, at_us)


def authors(tx: Tx, article: UUID) -> list[str]:
    """Oldest first."""
    rows = tx.rows("select owner from article_authors where article = %s order by since_us, owner", article)
    return [row[0] for row in rows]


def add_draft(tx: Tx, draft: Draft, keep: int) -> None:
    """Keep a draft, and let go of those that are too many; what was published is an object of its own."""
    tx.run(
        "insert into article_drafts values (%s, %s, %s, %s, %s, %s, %s)",
        draft.article, draft.n, draft.title, list(draft.topics), draft.text, draft.saved_by, draft.saved_us,
    )  # fmt: skip
    tx.run("delete from article_drafts where article = %s and n <= %s", draft.article, draft.n - keep)


def draft(tx: Tx, article: UUID, n: int) -> Draft | None:
    row = tx.row(
        "select article, n, title, topics, text, saved_by, saved_us from article_drafts where article = %s and n = %s",
        article, n,
    )  # fmt: skip
    return None if row is None else _draft(row)


def drafts(tx: Tx, article: UUID) -> list[Draft]:
    """Newest first, without their texts."""
    rows = tx.rows(
        "select article, n, title, topics, '', saved_by, saved_us from article_drafts where article = %s"
        " order by n desc",
        article,
    )
    return [_draft(row) for row in rows]


def forget(tx: Tx, owner: str) -> None:
    """Drop an erased owner's articles that nobody else has seen, and all their drafts that nobody else shares."""
    alone = (
        "select a.id from articles a where a.owner = %s and not exists"
        " (select from article_authors o where o.article = a.id and o.owner <> a.owner)"
    )
    tx.run(f"delete from article_drafts where article in ({alone})", owner)  # noqa: S608 - our own text
    unseen = f"{alone} and a.versions = 0 and not exists (select from revisions r where r.article = a.id)"
    tx.run(f"delete from article_authors where article in ({unseen})", owner)  # noqa: S608 - our own text
    tx.run(
        "delete from articles a where a.owner = %s and a.versions = 0 and not exists"
        " (select from article_authors o where o.article = a.id)"
        " and not exists (select from revisions r where r.article = a.id)",
        owner,
    )


def _article(row: Sequence[Any]) -> Article:
    id_, owner, state, title, topics, *rest = row
    return Article(id_, owner, ArticleState(state), title, tuple(topics), *rest)


def _draft(row: Sequence[Any]) -> Draft:
    article, n, title, topics, *rest = row
    return Draft(article, n, title, tuple(topics), *rest)
