"""What the ledger is compared with, on the same server and disk.

`CopyPeer`: PostgreSQL's fastest way in, a binary COPY of the very rows that the ledger wrote into tables
with the same constraints and indexes; with rows that it packs, as any client must, and with rows packed
beforehand. `TransactionPeer`: one transaction for each transfer with balances in rows, as statements of the
client, as most applications do it, and as one call of a server-side function, which is the best that can be
done. `InsertPeer`: a bare durable insert of one entry row.
"""

from __future__ import annotations

import psycopg

from choir.ledger.journal.records import EntryRow, PostingRow
from choir.ledger.journal.store import entry_bytes, posting_bytes
from choir.storage import copy_rows
from choir.storage.database import Connection

_PEER_SQL = """
    create table peer_accounts (id bigint primary key, balance bigint not null check (balance >= 0));
    create table peer_transfers (
        id bigint generated always as identity primary key, key text not null unique,
        payer bigint not null, payee bigint not null, amount bigint not null check (amount > 0));
    create table peer_postings (
        account bigint not null, transfer bigint not null, delta bigint not null, balance bigint not null,
        primary key (account, transfer));
    create function peer_transfer(from_id bigint, to_id bigint, units bigint, k text) returns bigint
    language plpgsql as $$
    declare made bigint; payer_balance bigint; payee_balance bigint;
    begin
        perform 1 from peer_accounts where id in (from_id, to_id) order by id for update;
        insert into peer_transfers (key, payer, payee, amount) values (k, from_id, to_id, units) returning id into made;
        update peer_accounts set balance = balance - units where id = from_id returning balance into payer_balance;
        update peer_accounts set balance = balance + units where id = to_id returning balance into payee_balance;
        insert into peer_postings values
            (from_id, made, -units, payer_balance), (to_id, made, units, payee_balance);
        return made;
    end $$;
"""


class CopyPeer:
    """The physical limit: the same rows, already packed, and nothing decided."""

    def __init__(self, owner: Connection) -> None:
        owner.execute("create table copy_entries (like entries including all)")
        owner.execute("create table copy_postings (like postings including all)")
        self._db = owner

    def pack(self, entries: list[EntryRow], postings: list[PostingRow]) -> tuple[bytes, bytes]:
        return (
            copy_rows.binary_copy([entry_bytes(*row) for row in entries]),
            copy_rows.binary_copy([posting_bytes(*row) for row in postings]),
        )

    def copy(self, packed: tuple[bytes, bytes]) -> None:
        with self._db.transaction(), self._db.cursor() as cursor:
            with cursor.copy("copy copy_entries from stdin (format binary)") as copy:
                copy.write(packed[0])
            with cursor.copy("copy copy_postings from stdin (format binary)") as copy:
                copy.write(packed[1])


class TransactionPeer:
    """One durable transaction for each transfer."""

    def __init__(self, owner: Connection, dsn: str, accounts: int, callers: int) -> None:
        owner.execute(_PEER_SQL)
        owner.execute("insert into peer_accounts select n, 1000000000000 from generate_series(0, %s) n", [accounts - 1])
        self._connections = [psycopg.connect(dsn, autocommit=True, prepare_threshold=1) for _ in range(callers)]

    def transfer(self, caller: int, payer: int, payee: int, key: str) -> None:
        self._connections[caller].execute("select peer_transfer(%s, %s, 1, %s)", [payer, payee, key])

    def transfer_by_statements(self, caller: int, payer: int, payee: int, key: str) -> None:
        """The same as statements of the client; accounts are locked in order, so that nobody deadlocks."""
        db = self._connections[caller]
        with db.transaction():
            db.execute("select balance from peer_accounts where id in (%s, %s) order by id for update", [payer, payee])
            made = db.execute(
                "insert into peer_transfers (key, payer, payee, amount) values (%s, %s, %s, 1) returning id",
                [key, payer, payee],
            ).fetchone()
            assert made is not None
            for account, delta in ((payer, -1), (payee, 1)):
                row = db.execute(
                    "update peer_accounts set balance = balance + %s where id = %s returning balance", [delta, account]
                ).fetchone()
                assert row is not None
                db.execute("insert into peer_postings values (%s, %s, %s, %s)", [account, made[0], delta, row[0]])

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class InsertPeer:
    """One row, one commit."""

    def __init__(self, owner: Connection) -> None:
        owner.execute("create table insert_entries (like entries including all)")
        self._db = owner

    def insert(self, row: EntryRow) -> None:
        self._db.execute("insert into insert_entries values (%b, encode(%b, 'hex')::uuid, %b, %b, %b, %b, %b)", row)
