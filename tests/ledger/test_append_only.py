"""The journal can only grow: the database itself refuses everything else, whoever asks."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from choir.foundation.clock import SeededEntropy
from choir.ledger.liabilities.service import Liabilities
from tests.ledger.books import ALICE, Books, moved
from tests.ledger.books import ISSUANCE as ISSUER

JOURNAL = {
    "entries": "content",
    "postings": "balance",
    "account_acts": "reason",
    "merkle_tiles": "hashes",
    "checkpoints": "note",
    "node_keys": "vkey",
    "liability_snapshots": "note",
}


def changes(table: str) -> list[sql.Composed]:
    name, column = sql.Identifier(table), sql.Identifier(JOURNAL[table])
    return [
        sql.SQL("update {} set {} = {}").format(name, column, column),
        sql.SQL("update {} set {} = {} where false").format(name, column, column),
        sql.SQL("delete from {}").format(name),
        sql.SQL("truncate {} cascade").format(name),
    ]


@pytest.fixture
def written(books: Books) -> Books:
    """A ledger with rows in every journal table."""
    books.batch([[moved(f"k{n}", ISSUER, ALICE, 1)] for n in range(257)])
    books.checkpoint()
    with books.tx() as tx:
        books.checkpoints.keep_tiles(tx)
    Liabilities(
        books.database, books.keys, books.checkpoints, books.clock, SeededEntropy(3), books.policy, lambda: books.secret
    ).publish()
    return books


@pytest.mark.parametrize("table", JOURNAL)
def test_the_application_may_add_and_read_and_nothing_else(written: Books, table: str) -> None:
    with written.tx() as tx:
        assert tx.value("select has_table_privilege(%s, 'insert')", table)
        assert tx.value("select has_table_privilege(%s, 'select')", table)
    for change in changes(table):
        with psycopg.connect(written.database.conninfo) as app, pytest.raises(pg.InsufficientPrivilege):
            app.execute(change)


@pytest.mark.parametrize("setting", ["origin", "replica", "local"])
@pytest.mark.parametrize("table", JOURNAL)
def test_owner_and_superuser_are_refused_too(
    written: Books, owner_dsn: str, superuser_dsn: str, table: str, setting: str
) -> None:
    for dsn in (owner_dsn, superuser_dsn):
        for change in changes(table):
            with psycopg.connect(dsn, autocommit=True) as db:
                if dsn == superuser_dsn:  # only a superuser can ask for this
                    db.execute(sql.SQL("set session_replication_role = {}").format(sql.Literal(setting)))
                with pytest.raises(pg.RestrictViolation, match="append-only"):
                    db.execute(change)


@pytest.mark.parametrize("table", JOURNAL)
def test_it_is_the_trigger_that_refuses(written: Books, superuser_dsn: str, table: str) -> None:
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute(sql.SQL("drop trigger append_only on {}").format(sql.Identifier(table)))
        for change in changes(table):
            db.execute(change)
        rows = db.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table))).fetchone()
    assert rows == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "update accounts set name = name",
        "delete from accounts",
        "delete from ledger_head",
        "insert into ledger_head select false, seq, hash, at_us, acts, acts_hash from ledger_head",
        "update holds set payer = payer",
        "update holds set expires_us = 0",
        "delete from holds",
        "update entry_memos set memo = memo",
        "update node set mode = 'dev'",
        "alter table entries disable trigger append_only",
        "drop trigger append_only on entries",
        "alter table entries disable trigger all",
        "set session_replication_role = replica",
        "create or replace function refuse_change() returns trigger language sql as 'select null'",
        "delete from schema_migrations",
    ],
)
def test_the_application_cannot_get_around_it(written: Books, statement: str) -> None:
    refusals = (pg.InsufficientPrivilege, pg.CheckViolation)
    with psycopg.connect(written.database.conninfo) as app, pytest.raises(refusals):
        app.execute(sql.SQL(statement))
