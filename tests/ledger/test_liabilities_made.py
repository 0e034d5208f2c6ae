"""Making snapshots of what is owed: one at a time, whatever cuts it off, and never two notes for one size."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from choir.doors.liabilities import proof
from choir.doors.liabilities import routes as door
from choir.foundation.errors import Broken
from choir.foundation.signing import NodeSecret
from choir.ledger import queries
from choir.ledger.checkpoints import Tree
from choir.ledger.liabilities import rules
from choir.ledger.liabilities.model import NothingPublished, Snapshot, TooManyAccounts, WaitsForAnEntry
from choir.ledger.notes import VerifierKey
from choir.storage.database import DatabaseUnavailable
from tests.conftest import DatabaseFactory
from tests.ledger.books import CAROL, SECRET, Books
from tests.ledger.owing import OWNERS, check, make, prove
from tests.ledger.test_export import other_books

SECOND = NodeSecret(b"\x08" * 32)


def rotate(books: Books, secret: NodeSecret = SECOND) -> None:
    """Hand over to another key, after the last entry."""
    with books.tx() as tx:
        size = queries.head(tx).seq
        books.keys.rotate(tx, secret.signer(), size, Tree(tx).root(size))
    books.secret = secret


class Stopped(Exception):
    """What ends a snapshot at some step."""


def rows_of(books: Books) -> dict[str, set[UUID]]:
    """Of which snapshots there is something in each table of parts."""
    tables = ("liability_tiles", "liability_pages", "liability_drafts")
    with books.tx() as tx:
        return {table: {row[0] for row in tx.rows(f"select distinct snapshot from {table}")} for table in tables}


def test_what_was_begun_and_never_finished_is_forgotten_by_who_begins_next(town: Books) -> None:
    """Wherever it was cut off; and not while somebody may be at it."""
    steps = iter(range(1_000))
    published: list[Snapshot] = []

    def until(stop: int) -> Callable[[], None]:
        count_down = iter(range(stop))

        def step() -> None:
            if next(count_down, None) is None:
                raise Stopped

        return step

    for stop in steps:
        with contextlib.suppress(Stopped):
            published.append(make(town).publish(until(stop))[0])
            break
        assert not published
        left = rows_of(town)
        assert len(left["liability_drafts"]) == (stop > 0)
        assert left["liability_tiles"] | left["liability_pages"] <= left["liability_drafts"]
    assert next(steps) > 4, "there were parts of it in between"
    id_ = published[0].id
    assert rows_of(town) == {"liability_tiles": {id_}, "liability_pages": {id_}, "liability_drafts": set()}
    for owner in OWNERS:
        check(town, prove(town, make(town), owner))


def test_one_is_made_at_a_time_and_who_lost_the_lock_cannot_write(town: Books, superuser_dsn: str) -> None:
    """However long the first one takes; and if its connection breaks, the second one does not meet it any more."""
    reached, go = threading.Event(), threading.Event()
    outcomes: list[object] = []

    def slowly() -> None:
        reached.set()
        go.wait(30)

    def first() -> None:
        try:
            outcomes.append(make(town).publish(slowly))
        except DatabaseUnavailable as error:
            outcomes.append(error)

    waited = iter(range(5))

    def impatient() -> None:
        if next(waited, None) is None:
            raise Stopped

    thread = threading.Thread(target=first)
    thread.start()
    assert reached.wait(30)
    with pytest.raises(Stopped):
        make(town).publish(impatient)
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        [(pid,)] = db.execute("select pid from pg_locks where locktype = 'advisory'").fetchall()
        db.execute("select pg_terminate_backend(%s, 10000)", [pid])
    second, new = make(town).publish()
    assert new
    go.set()
    thread.join(30)
    assert isinstance(outcomes[0], DatabaseUnavailable)
    assert rows_of(town) == {
        "liability_tiles": {second.id}, "liability_pages": {second.id}, "liability_drafts": set()
    }  # fmt: skip


def test_a_snapshot_of_an_earlier_key_is_followed(town: Books) -> None:
    service = make(town)
    service.publish()
    rotate(town)
    assert service.publish()[1] is False, "there is one for this size already"
    check(town, prove(town, service, "person:bob"))
    stranger = VerifierKey(town.keys.origin, NodeSecret(b"\x0b" * 32).signer().public)
    with pytest.raises(Broken):
        proof.check_proof(door.proof(prove(town, service, "person:bob")), stranger)
    assert town.secret is not SECRET


def test_a_new_key_signs_for_no_size_that_the_former_one_may_have_signed_for(town: Books) -> None:
    """What hides the leaves follows from the key, so the note would be another one."""
    rotate(town)
    service = make(town)
    with pytest.raises(WaitsForAnEntry):
        service.publish()
    with town.tx() as tx, pytest.raises(WaitsForAnEntry):
        service.ask(tx)
    with town.tx() as tx, pytest.raises(NothingPublished):
        service.latest(tx)
    town.fund(CAROL, 5)
    assert service.publish()[1]
    for owner in OWNERS:
        check(town, prove(town, service, owner))


def test_a_key_that_changes_while_it_is_counted_leaves_it_to_the_next_entry(town: Books) -> None:
    service = make(town)
    steps = iter(range(100))

    def step() -> None:
        if next(steps) == 2:
            rotate(town)

    with pytest.raises(WaitsForAnEntry):
        service.publish(step)
    with town.tx() as tx, pytest.raises(NothingPublished):
        service.latest(tx)
    town.fund(CAROL, 5)
    made, _ = service.publish()
    assert rows_of(town) == {"liability_tiles": {made.id}, "liability_pages": {made.id}, "liability_drafts": set()}
    town.check()


@pytest.mark.parametrize("rotated", [False, True])
def test_books_that_were_taken_elsewhere_give_the_same_note_or_none(
    databases: DatabaseFactory, town: Books, tmp_path: Path, rotated: bool
) -> None:
    """Else an honest node would seem to say different things to different people: an export has no such notes."""
    before, _ = make(town).publish()
    if rotated:
        rotate(town)
    with other_books(databases) as other:
        copy = other.load(town.export(), tmp_path, town.secret)
        if rotated:
            with pytest.raises(WaitsForAnEntry):
                make(copy).publish()
        else:
            again, new = make(copy, seed=8).publish()
            assert new
            assert again.note == before.note
        copy.close()


def test_there_is_a_limit_to_the_places_of_shares(town: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "ACCOUNTS_MAX", 5)
    make(town).publish()
    town.open("person:dora/available/CREDIT")
    town.fund("person:dora/available/CREDIT", 1)
    with pytest.raises(TooManyAccounts, match="more than 5 accounts"):
        make(town).publish()
