"""Verifying a database: whatever is changed behind the ledger's back is found, and where it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from choir.foundation.signing import NodeSecret
from choir.ledger import hashing, holds
from choir.ledger.checkpoints import Tree
from choir.ledger.model import Leg
from choir.ledger.verification import verify_database
from choir.storage.database import Database
from tests.conftest import DatabaseFactory
from tests.ledger.books import ALICE, BOB, EVERYONE, ISSUANCE, Books, draft, moved

SECOND = NodeSecret(b"\x08" * 32)
TABLES = ("entries", "postings", "account_acts", "merkle_tiles", "checkpoints", "node_keys")


@pytest.fixture(scope="module")
def full_name(databases: DatabaseFactory) -> Iterator[str]:
    """A ledger in which everything occurs once, to be cloned: holds, memos, tiles, keys, checkpoints."""
    name = databases.make()
    database = Database(databases.server.dsn("choir_app", name), wait_s=30).open()
    books = Books(database).sign_from_now()
    books.open(*EVERYONE)
    books.fund(ALICE, 10_000)  # entry 1
    books.post(draft("two", Leg(ALICE, BOB, 10), Leg(ALICE, BOB, 20)))  # entry 2
    books.post(replace(moved("memo", ALICE, BOB, 1), memo="hello"))  # entry 3
    done = books.place(ALICE, 50, key="done")  # entry 4
    account = books.hold(done).account
    books.post(holds.capture(done, (Leg(account, BOB, 5),), reason="r", source="test", key="c"))  # entry 5
    books.place(ALICE, 70, key="open", captures=3)  # entry 6
    books.checkpoint()
    books.batch([[moved(f"k{n}", ALICE, BOB, 1)] for n in range(300)])
    books.change("freeze", BOB)
    with books.tx() as tx:
        books.checkpoints.keep_tiles(tx)
        size = tx.value("select seq from ledger_head")
        books.keys.rotate(tx, SECOND.signer(), size, Tree(tx).root(size))
    books.secret = SECOND
    books.checkpoint()
    books.check()
    books.close()
    database.close()
    yield name
    databases.drop(name)


@pytest.fixture
def database_name(databases: DatabaseFactory, full_name: str) -> Iterator[str]:
    """A copy of the full ledger, to be tampered with."""
    name = databases.make(template=full_name)
    yield name
    databases.drop(name)


@pytest.fixture
def full(database: Database) -> Iterator[Books]:
    books = Books(database, secret=SECOND)
    yield books
    books.close()


@pytest.fixture
def tamper(superuser_dsn: str, full: Books) -> Iterator[psycopg.Connection]:
    """A superuser's connection, with the triggers out of the way."""
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        for table in TABLES:
            db.execute(f"alter table {table} disable trigger all")
        yield db


ALICE_ID = f"(select id from accounts where name = '{ALICE}')"
BOB_ID = f"(select id from accounts where name = '{BOB}')"
OPEN_HOLD = "(select id from holds where closed_seq is null)"
DONE_HOLD = "(select id from holds where closed_seq is not null)"
OTHER_HASH = "decode(repeat('ab', 32), 'hex')"

CHANGES = {
    # what is done: where it must be found
    "update entries set content = replace(content, '\"10\"', '\"11\"') where seq = 2": "entry 2",
    "update entries set content = replace(content, 'because', 'Because') where seq = 9": "entry 9",
    "update entries set content = 'not json' where seq = 9": "entry 9",
    "update entries set content = '[]' where seq = 9": "entry 9",
    "update entries set content = '\"x\"' where seq = 9": "entry 9",
    "update entries set content = content || ' ' where seq = 9": "entry 9",
    "update entries set content = replace(content, 'person:bob', 'person:??') where seq = 5": "entry 5",
    "update entries set content = replace(content, 'person:alice', 'person:a?') where seq = 6": "entry 6",
    "update entries set content = replace(content, 'hold.place', 'hold.plant') where seq = 6": "entry 6",
    f"update entries set hash = {OTHER_HASH} where seq = 7": "entry 7",
    "update entries set at_us = at_us + 1 where seq = 7": "entry 7",
    "update entries set at_us = 0 where seq = 7": "entry 7",
    "update entries set id = gen_random_uuid() where seq = 7": "entry 7",
    "update entries set source = 'somebody else' where seq = 7": "entry 7",
    "update entries set key = 'another' where seq = 7": "entry 7",
    "update entries set at_us = -1 where seq = 7": "entry 7",
    "update entries set seq = -1 where seq = 7": "entry -1",
    "update account_acts set at_us = -1 where n = 2": "account act 2",
    "delete from entries where seq = 1": "entry 2",
    "delete from entries where seq = 7": "entry 8",
    "delete from entries where seq = 306": "ledger_head",
    "delete from entries; delete from postings": "ledger_head",
    "insert into entries select 307, gen_random_uuid(), at_us, source, 'twin', content, hash from entries"
    " where seq = 306": "entry 307",
    "update entries set seq = seq + 1000 where seq = 306": "entry 1306",
    f"update postings set delta = delta + 1 where seq = 2 and account = {BOB_ID} and leg = 1": "entry 2",
    f"update postings set balance = balance + 1 where seq = 306 and account = {BOB_ID}": "entry 306",
    f"update postings set account = {ALICE_ID} where seq = 7 and account = {BOB_ID}": "entry 7",
    "update postings set account = 999999 where seq = 7 and leg = 0": "entry 7",
    "delete from postings where seq = 2 and leg = 3": "entry 2",
    "delete from postings where seq = 7": "entry 7",
    "insert into postings select account, seq, 7, delta, balance from postings where seq = 7 and leg = 0": "entry 7",
    "insert into postings select account, 9999, leg, delta, balance from postings where seq = 7": "entry 9999",
    "insert into postings select account, 0, leg, delta, balance from postings where seq = 7": "entry 0",
    "update postings set leg = 5 where seq = 7 and leg = 1": "entry 7",
    "update account_acts set reason = 'another' where n = 2": "account act 2",
    "update account_acts set act = 'close' where n = 2": "account act 2",
    "update account_acts set at_us = at_us + 1 where n = 2": "account act 2",
    f"update account_acts set account = {ALICE_ID} where n = 1": "account act 1",
    "update account_acts set after_seq = 1 where n = 2": "account act 2",
    "update account_acts set after_seq = 300 where n = 2": "account act 2",
    "update account_acts set after_seq = 9007199254740993 where n = 2": "account act 2",
    "update account_acts set after_seq = -1 where n = 2": "account act 2",
    "update account_acts set after_seq = 5 where n = 8": "account act 8",
    "update account_acts set after_seq = 307 where n = 8": "account act 8",
    "delete from account_acts where n = 3": "account act 4",
    "delete from account_acts where n = 8": "ledger_head",
    f"update account_acts set hash = {OTHER_HASH} where n = 8": "account act 8",
    f"update accounts set state = 'open' where id = {BOB_ID}": f"account {BOB}",
    f"update accounts set state = 'closed' where id = {ALICE_ID}": f"account {ALICE}",
    f"update accounts set name = 'person:eve/available/CREDIT' where id = {ALICE_ID}": "entry 1",
    "insert into accounts (name) values ('person:eve/available/CREDIT')": "account person:eve/available/CREDIT",
    "insert into accounts (name) values ('hold:0190b3f0-0000-7000-8000-000000000000/escrow/CREDIT')":
        "account hold:0190b3f0-0000-7000-8000-000000000000/escrow/CREDIT",
    "update accounts set state = 'frozen' where name like 'hold:%'": "account hold:",
    f"update holds set expires_us = expires_us + 1 where id = {OPEN_HOLD}": "hold ",
    f"update holds set captures_max = 9 where id = {OPEN_HOLD}": "hold ",
    f"update holds set captures = 1 where id = {OPEN_HOLD}": "hold ",
    f"update holds set payer = {BOB_ID} where id = {OPEN_HOLD}": "hold ",
    f"update holds set placed_seq = 1 where id = {OPEN_HOLD}": "hold ",
    f"update holds set closed_seq = 6 where id = {OPEN_HOLD}": "hold ",
    f"delete from holds where id = {OPEN_HOLD}": "hold ",
    f"update holds set captures = 0 where id = {DONE_HOLD}": "hold ",
    f"update holds set closed_seq = null where id = {DONE_HOLD}": "hold ",
    f"update holds set closed_seq = 4 where id = {DONE_HOLD}": "hold ",
    f"update holds set placed_seq = 5 where id = {DONE_HOLD}": "hold ",
    f"delete from holds where id = {DONE_HOLD}": "hold ",
    "insert into holds select gen_random_uuid(), account, payer, placed_seq, expires_us, captures_max, captures,"
    " closed_seq from holds where closed_seq is not null": "hold",
    "insert into holds select gen_random_uuid(), account, payer, placed_seq, expires_us, captures_max, captures,"
    " closed_seq from holds where closed_seq is null": "hold",
    "update merkle_tiles set hashes = set_byte(hashes, 4000, get_byte(hashes, 4000) # 1)": "Merkle tile 0/0",
    "update merkle_tiles set n = 7": "Merkle tile 0/7",
    "update merkle_tiles set level = 1": "Merkle tile 1/0",
    "insert into merkle_tiles select 0, 1, hashes from merkle_tiles": "Merkle tile 0/1",
    f"update checkpoints set root = {OTHER_HASH} where n = 1": "checkpoint 1",
    "update checkpoints set size = 5 where n = 1": "checkpoint 1",
    "update checkpoints set acts = 6 where n = 1": "checkpoint 1",
    "update checkpoints set acts = 9 where n = 2": "checkpoint 2",
    f"update checkpoints set acts_hash = {OTHER_HASH} where n = 1": "checkpoint 1",
    "update checkpoints set note = regexp_replace(note, 'acts [^\n]*\n', '') where n = 1": "checkpoint 1",
    "update checkpoints set note = replace(note, 'choir', 'chair') where n = 1": "checkpoint 1",
    "update checkpoints set note = 'nonsense' where n = 2": "checkpoint 2",
    "update checkpoints set note = (select note from checkpoints where n = 1) where n = 2": "checkpoint 2",
    "update node_keys set rotation = replace(rotation, 'choir-key-rotation/1', 'choir-key-rotation/2')": "key 2",
    "update node_keys set rotation = null where n = 2": "key 2",
    "update node_keys set rotation = 'nonsense' where n = 2": "key 2",
    "update node_keys set vkey = 'nonsense' where n = 1": "key 1",
    "update node_keys set n = 3 where n = 2": "key 3",
    "delete from node_keys where n = 1": "key 2",
    "delete from node_keys where n = 2": "checkpoint 2",
    "delete from node_keys": "node_keys",
    f"update ledger_head set hash = {OTHER_HASH}": "ledger_head",
    "update ledger_head set seq = 305": "ledger_head",
    "update ledger_head set seq = 307": "ledger_head",
    f"update ledger_head set acts_hash = {OTHER_HASH}": "ledger_head",
    "update ledger_head set acts = 7": "ledger_head",
    "update ledger_head set at_us = at_us + 1": "ledger_head",
    "update entry_memos set memo = 'goodbye'": "entry 3",
    "update entry_memos set salt = 'another salt for'": "entry 3",
    "update entry_memos set seq = 2": "entry 2",
    "update entry_memos set seq = 999": "entry 999",
}  # fmt: skip


@pytest.mark.parametrize(("statement", "where"), CHANGES.items(), ids=[str(n) for n in range(len(CHANGES))])
def test_a_change_behind_the_ledgers_back_is_found_where_it_is(
    full: Books, tamper: psycopg.Connection, statement: str, where: str
) -> None:
    for part in statement.split("; "):
        done = tamper.execute(part)
        assert done.rowcount > 0, "the test itself must change something"
    report = full.verify()
    places = [difference.where for difference in report.differences]
    assert any(place.startswith(where) for place in places), report.differences


def test_a_journal_that_was_replaced_whole_is_exposed_by_its_checkpoints(
    full: Books, tamper: psycopg.Connection
) -> None:
    """Someone who can hash but not sign makes a consistent history: the signed roots say otherwise."""
    tamper.execute("delete from entries; delete from postings; delete from holds; delete from entry_memos")
    tamper.execute("delete from accounts where name like 'hold:%'")
    tamper.execute("delete from merkle_tiles")
    tamper.execute("update ledger_head set seq = 0, hash = decode(repeat('00', 32), 'hex')")
    tamper.execute("update accounts set state = 'open'; update ledger_head set acts = 7")
    tamper.execute("delete from account_acts where n = 8")
    tamper.execute("update ledger_head set acts_hash = (select hash from account_acts where n = 7)")
    full.batch([[moved(f"new{n}", ISSUANCE, ALICE, 1)] for n in range(306)])
    report = full.verify()
    assert {difference.where for difference in report.differences} == {"entry 6", "entry 306", "account act 7"}
    assert all("forked" in found.what or found.where == "account act 7" for found in report.differences)


def rewrite_acts(tamper: psycopg.Connection, acts: list[list[Any]]) -> None:
    """Another history of acts, with a chain that is right and a head and states that fit."""
    tamper.execute("delete from account_acts")
    hash_ = bytes(32)
    for n, (id_, name, act, after, at_us) in enumerate(acts, start=1):
        hash_ = hashing.act_hash(hash_, n, at_us, hashing.act_content(name, act, after, "a test", "test"))
        row = [n, id_, act, after, at_us, "a test", "test", hash_]
        tamper.execute(
            "insert into account_acts (n, account, act, after_seq, at_us, reason, source, hash)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s)",
            row,
        )
    tamper.execute("update ledger_head set acts = %s, acts_hash = %s", [len(acts), hash_])


def acts_of(tamper: psycopg.Connection) -> list[list[Any]]:
    rows = tamper.execute(
        "select a.id, a.name, x.act, x.after_seq, x.at_us from account_acts x join accounts a on a.id = x.account"
        " order by x.n"
    )
    return [list(row) for row in rows]


def test_account_history_that_was_rewritten_whole_is_exposed_by_checkpoints(
    full: Books, tamper: psycopg.Connection
) -> None:
    acts = acts_of(tamper)
    rewrite_acts(tamper, acts)
    assert full.verify().good, "the same history again"

    def found() -> set[tuple[str, bool]]:
        return {(one.where, "account history was forked" in one.what) for one in full.verify().differences}

    acts[-1][0:2] = acts[6][0:2]  # somebody else was frozen
    rewrite_acts(tamper, acts)
    tamper.execute("update accounts set state = 'open' where id = %s", [acts_of(tamper)[2][0]])
    tamper.execute("update accounts set state = 'frozen' where id = %s", [acts[6][0]])
    assert found() == {("account act 8", True)}
    acts[-1][3] = 5  # and earlier than the first checkpoint, which has 6 entries
    rewrite_acts(tamper, acts)
    assert found() == {("account act 8", True)}
    assert len(full.verify().differences) == 2, "both checkpoints say so"


def test_an_entry_on_an_account_that_was_frozen_is_found(full: Books, tamper: psycopg.Connection) -> None:
    """Everything is hashed as it should be; only the moment is wrong."""
    acts = acts_of(tamper)
    acts[-1][3] = 300
    rewrite_acts(tamper, acts)
    found = {(one.where, one.what) for one in full.verify().differences if one.where.startswith("entry")}
    assert found == {(f"entry {seq}", f"the account {BOB} was frozen") for seq in range(301, 307)}


def test_a_small_crime_is_not_drowned_and_a_large_one_does_not_flood(full: Books, tamper: psycopg.Connection) -> None:
    tamper.execute("update postings set balance = balance + 1")
    assert len(full.verify().differences) == 50
    tamper.execute("update postings set balance = balance - 1")
    assert full.verify().good


@pytest.mark.deep
def test_progress_is_told_and_memory_does_not_grow_with_the_journal(databases: DatabaseFactory) -> None:
    name = databases.make()
    database = Database(databases.server.dsn("choir_app", name), wait_s=30).open()
    books = Books(database).sign_from_now()
    books.open(*EVERYONE)

    def measured() -> int:
        told.clear()
        tracemalloc.start()
        with books.tx() as tx:
            report = verify_database(tx, books.keys, on_progress=lambda done, total: told.append((done, total)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.good, report.differences
        return peak

    told: list[tuple[int, int]] = []
    books.fund(ALICE, 10**6)
    books.batch([[moved(f"a{n}", ALICE, BOB, 1)] for n in range(4_999)])
    small = measured()
    for start in range(0, 15_000, 5_000):
        books.batch([[moved(f"b{n}", ALICE, BOB, 1)] for n in range(start, start + 5_000)])
    large = measured()
    assert told == [(10_000, 20_000), (20_000, 20_000)]
    assert large < small * 1.3, (small, large)
    books.close()
    database.close()
    databases.drop(name)
