"""Scores, near-copies and rewards in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.commons.novelty.model import MonthState, NoveltyReward, NoveltyScore
from choir.storage.database import Tx

_SCORE = "publication, position, score, distance_ppm, second_score, words, corpus, model, calibration, quoted, report"
_REWARD = "publication, owner, month, nominal, granted, why, promoted_us, settled"


def insert(tx: Tx, item: NoveltyScore, copies: Mapping[UUID, int]) -> None:
    tx.run(
        f"insert into novelty_scores ({_SCORE}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
        item.publication, item.position, item.score, item.distance_ppm, item.second_score, item.words, item.corpus,
        item.model, item.calibration, item.quoted, Jsonb(item.report),
    )  # fmt: skip
    for original, words in copies.items():
        tx.run("insert into near_copies values (%s, %s, %s)", item.publication, original, words)


def get(tx: Tx, publication: UUID) -> NoveltyScore | None:
    row = tx.row(f"select {_SCORE} from novelty_scores where publication = %s", publication)  # noqa: S608
    return None if row is None else NoveltyScore(*row)


def copied_words(tx: Tx, publication: UUID) -> tuple[int, dict[UUID, int]]:
    """The words of a submission, and how many of them are nearly those of which article that stands."""
    rows = tx.rows(
        "select c.original, c.words from near_copies c join articles a on a.id = c.original"
        " where c.publication = %s and a.state = 'promoted' order by c.original",
        publication,
    )
    if not rows:
        return 0, {}
    words = tx.value("select coalesce(sum(words), 0) from passages where publication = %s", publication)
    return int(words), {row[0]: row[1] for row in rows}


# The works that passages belong to


def articles(tx: Tx, ids: Collection[UUID]) -> list[tuple[UUID, str, list[str], str]]:
    """Id, title, authors in the order in which they came, and state."""
    return tx.rows(
        "select a.id, a.title, array(select owner from article_authors w where w.article = a.id"
        " order by w.since_us, w.owner), a.state"
        " from articles a where a.id = any(%s)",
        list(ids),
    )


def copies_of(tx: Tx, ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Of which articles these are known to hold near-copies."""
    rows = tx.rows(
        "select p.article, array_agg(distinct c.original) from near_copies c"
        " join publications p on p.id = c.publication where p.article = any(%s) group by p.article",
        list(ids),
    )
    return {row[0]: row[1] for row in rows}


def sources(tx: Tx, ids: Collection[int]) -> list[tuple[int, bytes, str]]:
    """Id, hash and title."""
    return tx.rows(
        "select a.id, a.hash, s.title from atoms a join sources s on s.atom = a.id where a.id = any(%s)", list(ids)
    )


# Rewards


def lock_month(tx: Tx, month: str) -> MonthState:
    """Have one transaction of a month after the other; says how far its closing is."""
    tx.run("insert into novelty_months (month, nominal) values (%s, 0) on conflict do nothing", month)
    row = tx.row("select nominal, closing, closed from novelty_months where month = %s for update", month)
    assert row is not None
    return MonthState(int(row[0]), row[1], row[2])


def begin_closing(tx: Tx, month: str) -> None:
    """From now on the total stays as it is: later rewards count for the next month."""
    tx.run("update novelty_months set closing = true where month = %s", month)


def add_to_month(tx: Tx, month: str, nominal: int) -> None:
    tx.run("update novelty_months set nominal = nominal + %s where month = %s", nominal, month)


def open_months(tx: Tx, before: str) -> list[str]:
    """Months that are over and not closed."""
    rows = tx.rows("select month from novelty_months where not closed and month < %s order by month", before)
    return [row[0] for row in rows]


def close_month(tx: Tx, month: str) -> None:
    tx.run("update novelty_months set closed = true where month = %s", month)


def unsettled(tx: Tx, month: str, limit: int) -> list[UUID]:
    rows = tx.rows(
        "select publication from novelty_rewards where month = %s and not settled order by publication limit %s",
        month, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def unrewarded(tx: Tx, until_us: int) -> bool:
    """Whether a version that was promoted before has not been rewarded yet."""
    row = tx.row(
        "select from publications p join novelty_scores s on s.publication = p.id"
        " where p.promoted_us < %s and not exists (select from novelty_rewards r where r.publication = p.id) limit 1",
        until_us,
    )
    return row is not None


def rewarded_in(tx: Tx, owner: str, month: str) -> int:
    """How many of an owner's articles are rewarded in a month."""
    return int(
        tx.value("select count(*) from novelty_rewards where owner = %s and month = %s and nominal > 0", owner, month)
    )


def add_reward(tx: Tx, item: NoveltyReward) -> bool:
    """Note a reward once; says whether it is new."""
    return bool(
        tx.run(
            f"insert into novelty_rewards ({_REWARD}) values (%s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
            " on conflict do nothing",
            item.publication, item.owner, item.month, item.nominal, item.granted, item.why, item.promoted_us,
            item.settled,
        )
    )  # fmt: skip


def reward(tx: Tx, publication: UUID, *, lock: bool = False) -> NoveltyReward | None:
    row = tx.row(
        f"select {_REWARD} from novelty_rewards where publication = %s" + (" for update" if lock else ""),  # noqa: S608
        publication,
    )
    return None if row is None else NoveltyReward(*row)


def rewards_of_article(tx: Tx, article: UUID) -> list[NoveltyReward]:
    rows = tx.rows(
        "select r.publication, r.owner, r.month, r.nominal, r.granted, r.why, r.promoted_us, r.settled"
        " from novelty_rewards r join publications p on p.id = r.publication where p.article = %s order by p.version",
        article,
    )
    return [NoveltyReward(*row) for row in rows]


def void(tx: Tx, publication: UUID) -> None:
    """A version fell before its month was over: its reward is none."""
    tx.run("update novelty_rewards set nominal = 0, granted = 0, settled = true where publication = %s", publication)


def settle(tx: Tx, publication: UUID, granted: int) -> None:
    tx.run("update novelty_rewards set granted = %s, settled = true where publication = %s", granted, publication)
