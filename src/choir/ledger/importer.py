"""Loading an export into an empty ledger, byte for byte what it was.

Guarantees: the whole file is verified before the first row is written; the import is one
transaction; entries keep their numbers, ids, times and hashes, so every checkpoint and proof that
anyone holds stays true. The node must have the key that the ledger is signed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from choir.foundation.errors import Broken, Refusal
from choir.foundation.signing import Ed25519Signer
from choir.ledger.export_file import (
    ExportKeys,
    ExportReader,
    Line,
    act_of,
    add_rotation,
    content_of,
    hash_of,
    header_keys,
    id_of,
)
from choir.ledger.journal_check import CheckedHold, JournalCheck
from choir.ledger.keys import NotTheNodeKey
from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from choir.ledger.streams import Progress
from choir.ledger.verification import Report, verify_export
from choir.storage.database import Connection

_ROWS_AT_ONCE = 5_000


class LedgerNotEmpty(Refusal):
    """There is something already."""

    code = "ledger.import.not_empty"
    sentence = "This ledger has {entries} entries and its own key; an import needs an unused one."
    hint = "Import into a new CHOIR_HOME, with the node.key of the ledger, before its first `choir up`."


class ExportDoesNotVerify(Broken):
    """The file must not be imported."""

    code = "ledger.import.bad"
    sentence = "The export is not valid at {where}: {what}."
    hint = "`choir ledger verify --file FILE` lists all differences."


def import_export(owner: Connection, path: Path, signer: Ed25519Signer, on_progress: Progress) -> Report:
    """Verify the file, then load it. The connection is the owner's, in no transaction."""
    with path.open("rb") as file:
        report = verify_export(file, on_progress=on_progress)
    if not report.good:
        first = report.differences[0]
        raise ExportDoesNotVerify(where=first.where, what=first.what)
    current = VerifierKey.parse(report.key)
    if current.public != signer.public:
        loaded = VerifierKey(current.name, signer.public)
        raise NotTheNodeKey(loaded=loaded.hash.hex(), current=current.hash.hex())
    try:
        with owner.transaction(), path.open("rb") as file:
            _Load(owner).run(ExportReader(file))
    except psycopg.errors.UniqueViolation as error:
        what = f"an id or key appears in it twice ({error.diag.constraint_name})"
        raise ExportDoesNotVerify(where="import", what=what) from None
    return report


class _Load:
    """One pass over a verified file, writing rows in groups."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._check = JournalCheck()
        self._ids: dict[str, int] = {}
        self._entries: list[tuple[Any, ...]] = []
        self._postings: list[tuple[Any, ...]] = []

    def run(self, reader: ExportReader) -> None:
        self._must_be_empty()
        keys: ExportKeys | None = None
        for line in reader.lines():
            if line.type == "header":
                keys = header_keys(line)
                self._must_have_same_first_key(keys)
            elif line.type == "rotation" and keys is not None:
                add_rotation(keys, line)
            elif line.type == "account":
                self._act(line)
            elif line.type == "entry":
                self._entry(line)
            elif keys is not None:
                self._finish(keys, line)

    def _must_have_same_first_key(self, keys: ExportKeys) -> None:
        """A ledger that signed something keeps its first key for ever."""
        row = self._db.execute("select vkey from node_keys where n = 1").fetchone()
        if row is not None and row[0] != str(keys.keys[0]):
            raise LedgerNotEmpty(entries=0)

    def _must_be_empty(self) -> None:
        row = self._db.execute("select seq, acts from ledger_head for update").fetchone()
        assert row is not None
        if row != (0, 0):
            raise LedgerNotEmpty(entries=row[0])

    def _act(self, line: Line) -> None:
        act = act_of(line)
        self._check.act(act, "")
        if act.act == "open":
            self._open(act.account)
        else:
            self._db.execute(
                "update accounts set state = %s where id = %s",
                [self._check.states[act.account], self._ids[act.account]],
            )
        self._db.execute(
            "insert into account_acts (n, account, act, after_seq, at_us, reason, source, hash)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s)",
            [act.n, self._ids[act.account], act.act, act.after, act.at_us, act.reason, act.source, act.hash],
        )

    def _open(self, name: str) -> int:
        row = self._db.execute("insert into accounts (name) values (%s) returning id", [name]).fetchone()
        assert row is not None
        self._ids[name] = row[0]
        return int(row[0])

    def _entry(self, line: Line) -> None:
        value = line.value
        content = content_of(line)
        hash_ = hash_of(line, "hash")
        postings = self._check.entry(value["seq"], id_of(line), value["at_us"], content, hash_, "")
        self._entries.append(
            (
                value["seq"],
                id_of(line),
                value["at_us"],
                value["content"]["source"],
                value["content"]["key"],
                content,
                hash_,
            )
        )
        for name, leg, delta, balance in postings:
            account = self._ids.get(name) or self._open(name)
            self._postings.append((account, value["seq"], leg, delta, balance))
        if "captures" in value["content"].get("hold", {}):
            self._place(value["seq"], value["content"]["hold"]["id"])
        if len(self._entries) >= _ROWS_AT_ONCE:
            self._flush()

    def _place(self, seq: int, id_: str) -> None:
        hold = self._check.holds[UUID(id_)]
        self._db.execute(
            "insert into holds (id, account, payer, placed_seq, expires_us, captures_max)"
            " values (%s, %s, %s, %s, %s, %s)",
            [id_, self._ids[hold.account], self._ids[hold.payer], seq, hold.expires_us, hold.captures_max],
        )

    def _flush(self) -> None:
        with self._db.cursor() as cursor:
            with cursor.copy("copy entries from stdin") as copy:
                for row in self._entries:
                    copy.write_row(row)
            with cursor.copy("copy postings from stdin") as copy:
                for row in self._postings:
                    copy.write_row(row)
        for id_, hold in self._check.closed:
            self._update_hold(str(id_), hold)
        self._entries.clear()
        self._postings.clear()
        self._check.closed.clear()

    def _update_hold(self, id_: str, hold: CheckedHold) -> None:
        self._db.execute(
            "update holds set captures = %s, closed_seq = %s where id = %s", [hold.captures, hold.closed_seq, id_]
        )

    def _finish(self, keys: ExportKeys, trailer: Line) -> None:
        self._flush()
        for id_, hold in self._check.holds.items():
            self._update_hold(str(id_), hold)
        check = self._check
        self._db.execute(
            "update ledger_head set seq = %s, hash = %s, at_us = %s, acts = %s, acts_hash = %s",
            [check.seq, check.hash, check.at_us, check.acts, check.acts_hash],
        )
        self._db.execute("update node set origin = %s", [keys.origin])
        self._write_keys(keys)
        note = trailer.value["checkpoint"]
        checkpoint = Checkpoint.parse(open_note(note, keys.keys).text)
        self._db.execute(
            "insert into checkpoints (size, root, acts, acts_hash, at_us, note) values (%s, %s, %s, %s, %s, %s)",
            [checkpoint.size, checkpoint.root, checkpoint.acts, checkpoint.acts_hash, check.at_us, note],
        )

    def _write_keys(self, keys: ExportKeys) -> None:
        notes: Iterator[str | None] = iter([None, *keys.notes])
        for n, (key, note) in enumerate(zip(keys.keys, notes, strict=True), start=1):
            self._db.execute(
                "insert into node_keys (n, vkey, at_us, rotation) values (%s, %s, %s, %s) on conflict do nothing",
                [n, str(key), self._check.at_us, note],
            )
