"""Citations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.commons.citations.model import Citation, CitationState, Cited
from choir.commons.citations.rules import Ties
from choir.storage.database import Tx

_COLUMNS = (
    "id, citing, citing_article, cited, cited_article, owner, month, rate, independence_ppm, asked, amount, reasons,"
    " state, at_us"
)


def cited_by(tx: Tx, synthesis: int, article: UUID) -> list[Cited]:
    """Promoted versions of other articles whose text a binding of this one rests on; one of each article."""
    rows = tx.rows(
        "select distinct on (p.article) p.id, p.article from atom_edges b"
        " join atoms binding on binding.id = b.rests_on and binding.kind = 'BINDING' and binding.state = 'PROMOTED'"
        " join atom_edges e on e.atom = b.rests_on"
        " join atom_edges s on s.atom = e.rests_on"
        " join sources t on t.atom = s.rests_on and t.origin = 'article'"
        " join atom_edges y on y.atom = t.atom"
        " join publications p on p.synthesis = y.rests_on and p.state = 'promoted'"
        " where b.atom = %s and p.article <> %s order by p.article, p.version",
        synthesis, article,
    )  # fmt: skip
    return [Cited(*row) for row in rows]


def known(tx: Tx, citing_article: UUID) -> set[UUID]:
    """Which articles an article cited before, in any version."""
    return {row[0] for row in tx.rows("select cited_article from citations where citing_article = %s", citing_article)}


def insert(tx: Tx, item: Citation) -> None:
    tx.run(
        f"insert into citations ({_COLUMNS})"  # noqa: S608 - names of columns
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        item.id, item.citing, item.citing_article, item.cited, item.cited_article, item.owner, item.month, item.rate,
        item.independence_ppm, item.asked, item.amount, Jsonb(list(item.reasons)), item.state.value, item.at_us,
    )  # fmt: skip


def set_state(tx: Tx, id_: UUID, state: CitationState) -> None:
    tx.run("update citations set state = %s where id = %s", state.value, id_)


def get(tx: Tx, id_: UUID) -> Citation | None:
    row = tx.row(f"select {_COLUMNS} from citations where id = %s", id_)  # noqa: S608
    return None if row is None else _citation(row)


def of_article(tx: Tx, cited: UUID, before: UUID | None, limit: int) -> list[Citation]:
    """Who cites an article, newest first."""
    rows = tx.rows(
        f"select {_COLUMNS} from citations where cited_article = %s and (%s::uuid is null or id < %s)"  # noqa: S608
        " order by id desc limit %s",
        cited, before, before, limit,
    )  # fmt: skip
    return [_citation(row) for row in rows]


def from_article(tx: Tx, citing: UUID, before: UUID | None, limit: int) -> list[Citation]:
    """What an article cites, newest first."""
    rows = tx.rows(
        f"select {_COLUMNS} from citations where citing_article = %s and (%s::uuid is null or id < %s)"  # noqa: S608
        " order by id desc limit %s",
        citing, before, before, limit,
    )  # fmt: skip
    return [_citation(row) for row in rows]


def still_promoted(tx: Tx, items: Sequence[Cited]) -> list[Cited]:
    """Those that stand, and that nobody can bring down until this transaction ends."""
    rows = tx.rows(
        "select id from publications where id = any(%s) and state = 'promoted' order by id for share",
        [item.publication for item in items],
    )
    standing = {row[0] for row in rows}
    return [item for item in items if item.publication in standing]


def standing_with(tx: Tx, publications: Collection[UUID]) -> list[Citation]:
    """Citations from and of versions that were not taken back."""
    rows = tx.rows(
        f"select {_COLUMNS} from citations where (citing = any(%s) or cited = any(%s))"  # noqa: S608
        " and state <> 'taken_back' order by id",
        list(publications), list(publications),
    )  # fmt: skip
    return [_citation(row) for row in rows]


def triggered(tx: Tx, owner: str, month: str) -> int:
    """What an owner's articles have triggered in a month; what was taken back stays used."""
    return int(tx.value("select coalesce(sum(amount), 0) from citations where owner = %s and month = %s", owner, month))


def independent(tx: Tx, article: UUID) -> int:
    """How many people cite an article independently, in full or in part."""
    return int(
        tx.value(
            "select count(distinct owner) from citations where cited_article = %s and independence_ppm > 0"
            " and state <> 'taken_back'",
            article,
        )
    )


def counts(tx: Tx, articles: Collection[UUID]) -> dict[UUID, tuple[int, int, int]]:
    """Of these articles: citations by others, those that are independent, and the weight of those in millionths."""
    rows = tx.rows(
        "select cited_article, count(*), count(*) filter (where independence_ppm > 0), sum(independence_ppm)"
        " from citations where cited_article = any(%s) and state <> 'taken_back' group by cited_article",
        list(articles),
    )
    return {row[0]: (row[1], row[2], int(row[3])) for row in rows}


# Who cites whom


def count_between(tx: Tx, citing: str, cited: str) -> None:
    tx.run(
        "insert into author_citations values (%s, %s, 1)"
        " on conflict (citing, cited) do update set n = author_citations.n + 1",
        citing, cited,
    )  # fmt: skip


def ties(tx: Tx, citing: str, cited: str, thirds_max: int) -> Ties:
    """How often two authors cite each other, and who closes a cycle of three with them."""
    row = tx.row(
        "select coalesce((select n from author_citations where citing = %s and cited = %s), 0),"
        " coalesce((select n from author_citations where citing = %s and cited = %s), 0)",
        citing, cited, cited, citing,
    )  # fmt: skip
    assert row is not None
    around = tx.rows(
        "select on_.cited, on_.n, home.n from author_citations on_"
        " join author_citations home on home.citing = on_.cited and home.cited = %s"
        " where on_.citing = %s order by least(on_.n, home.n) desc, on_.cited limit %s",
        citing, cited, thirds_max,
    )  # fmt: skip
    made = _made(tx, {citing, cited, *(item[0] for item in around)})
    return Ties(
        row[0],
        row[1],
        made.get(citing, 0),
        made.get(cited, 0),
        tuple((item[1], item[2]) for item in around),
        tuple(made.get(item[0], 0) for item in around),
    )


def _made(tx: Tx, authors: Collection[str]) -> dict[str, int]:
    rows = tx.rows(
        "select citing, sum(n) from author_citations where citing = any(%s) group by citing", sorted(authors)
    )
    return {row[0]: int(row[1]) for row in rows}


# Income


def add_income(tx: Tx, owner: str, month: str, amount: int) -> tuple[int, int]:
    """Note vested income; says all of it so far, and how many bonuses were given for it."""
    tx.run(
        "insert into citation_income_months values (%s, %s, %s)"
        " on conflict (owner, month) do update set vested = citation_income_months.vested + excluded.vested",
        owner, month, amount,
    )  # fmt: skip
    row = tx.row(
        "insert into citation_income values (%s, %s, 0)"
        " on conflict (owner) do update set vested = citation_income.vested + excluded.vested"
        " returning vested, credited",
        owner, amount,
    )  # fmt: skip
    assert row is not None
    return row[0], row[1]


def set_credited(tx: Tx, owner: str, bonuses: int) -> None:
    tx.run("update citation_income set credited = %s where owner = %s", bonuses, owner)


def income_of(tx: Tx, owner: str, month: str) -> int:
    row = tx.row("select vested from citation_income_months where owner = %s and month = %s", owner, month)
    return 0 if row is None else row[0]


def _citation(row: Sequence[Any]) -> Citation:
    values = list(row)
    values[11], values[12] = tuple(values[11]), CitationState(values[12])
    return Citation(*values)
