"""A database is compared with the checkpoint that was published last: entries and account acts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from choir.foundation.settings import PUBLISHED
from choir.ledger.publication import publish_checkpoint
from choir.operations.preparation import RolledBack, compare_published
from choir.storage.database import Database
from tests.ledger.books import ALICE, BOB, EVERYONE, Books


@pytest.fixture
def books(database: Database) -> Iterator[Books]:
    made = Books(database).sign_from_now()
    made.open(*EVERYONE)
    made.fund(ALICE, 5)
    made.change("freeze", BOB)
    yield made
    made.close()


def compare(books: Books, home: Path) -> None:
    with books.tx() as tx:
        compare_published(tx, home / PUBLISHED)


def test_what_was_published_is_still_there_when_the_ledger_has_grown(books: Books, tmp_path: Path) -> None:
    compare(books, tmp_path)  # nothing was published yet
    publish_checkpoint(tmp_path, books.checkpoint().note)
    compare(books, tmp_path)
    books.change("unfreeze", BOB)
    books.fund(ALICE, 6)
    compare(books, tmp_path)


def test_a_database_that_went_back_while_the_node_runs_is_not_signed(
    books: Books, tmp_path: Path, superuser_dsn: str
) -> None:
    books.checkpoints.compare_first(lambda tx: compare_published(tx, tmp_path / PUBLISHED))
    with books.tx() as tx:
        before = tx.row("select seq, hash from ledger_head")
    books.fund(ALICE, 6)
    publish_checkpoint(tmp_path, books.checkpoint().note)
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        for table in ("entries", "postings", "checkpoints"):
            superuser.execute(f"alter table {table} disable trigger all")
        superuser.execute("delete from checkpoints")
        superuser.execute("delete from postings where seq = 2")
        superuser.execute("delete from entries where seq = 2")
        superuser.execute("update ledger_head set seq = %s, hash = %s", before)
    with pytest.raises(RolledBack):
        books.checkpoint()
    books.fund(ALICE, 7)  # as many entries as before, and others
    with pytest.raises(RolledBack):
        books.checkpoint()


def test_of_several_who_publish_at_once_the_largest_stays(books: Books, tmp_path: Path) -> None:
    notes = []
    for amount in range(1, 9):
        books.fund(ALICE, amount)
        notes.append(books.checkpoint().note)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            list(pool.map(lambda note: publish_checkpoint(tmp_path, note), notes))
            assert (tmp_path / PUBLISHED).read_text() == notes[-1]
            (tmp_path / PUBLISHED).unlink()


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("update ledger_head set seq = 0", "the end of history is missing"),
        ("update ledger_head set acts = 7", "the end of the account history is missing"),
        ("update account_acts set hash = decode(repeat('ab', 32), 'hex') where n = 8", "account history was changed"),
        ("update account_acts set after_seq = 9 where n = 8", "account history was changed"),
        ("update entries set content = replace(content, '\"5\"', '\"6\"')", "history was changed"),
    ],
)
def test_what_is_missing_or_changed_keeps_the_node_from_starting(
    books: Books, tmp_path: Path, superuser_dsn: str, statement: str, why: str
) -> None:
    publish_checkpoint(tmp_path, books.checkpoint().note)
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        for table in ("entries", "account_acts"):
            superuser.execute(f"alter table {table} disable trigger all")
        superuser.execute(statement)
    with pytest.raises(RolledBack) as refused:
        compare(books, tmp_path)
    assert refused.value.fields["why"] == why
