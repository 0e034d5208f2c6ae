"""`choir ledger verify`: recompute everything, of a database or of an export, and say what differs.

Guarantees: every hash, balance, hold, tile, checkpoint and signature is computed anew from the
journal; nothing stored is believed; memory does not grow with the number of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

from choir.foundation.errors import ChoirError
from choir.ledger import hashing, reading
from choir.ledger.checking import Act, CheckedHold, Difference, JournalCheck
from choir.ledger.checkpoints import Tree
from choir.ledger.export_file import (
    BadExport,
    ExportKeys,
    ExportReader,
    Line,
    act_of,
    add_rotation,
    content_of,
    hash_of,
    header_keys,
    id_of,
    trailer_checkpoint,
)
from choir.ledger.keys import NodeKeys
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, open_note
from choir.storage.database import Tx

Progress = Callable[[int, int], None]
_HOLDS_AT_ONCE = 500
_TELL_EVERY = 10_000


def silent(_done: int, _total: int) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification."""

    entries: int
    accounts: int
    root: bytes
    key: str  # the key that signs now
    key_pinned: bool  # whether the caller said which key to trust
    differences: tuple[Difference, ...]

    @property
    def good(self) -> bool:
        return not self.differences


def verify_export(
    file: BinaryIO,
    *,
    trusted: VerifierKey | None = None,
    held: Sequence[str] = (),
    on_progress: Progress = silent,
) -> Report:
    """Check an export with no database. `held` are checkpoint notes that the caller kept."""
    check = JournalCheck()
    keys: ExportKeys | None = None
    try:
        keys = _read_export(ExportReader(file), check, held, on_progress)
        check.finish()
    except BadExport as error:
        check.differences.insert(0, Difference(f"line {error.fields['line']}", error.fields["why"]))
    if keys is not None and trusted is not None and trusted not in keys.keys:
        check.differ("line 1", f"the export is not signed by the key {trusted}")
    current = str(keys.current) if keys else ""
    return _report(check, current, pinned=trusted is not None)


def verify_database(tx: Tx, keys: NodeKeys, *, held: Sequence[str] = (), on_progress: Progress = silent) -> Report:
    """Check everything in the database against the journal, in one snapshot. The transaction must be new."""
    tx.run("set transaction isolation level repeatable read")
    head = reading.head(tx)
    check = JournalCheck(roots=_database_roots(tx, keys, held))
    _check_keys(tx, keys, check)
    for row in tx.stream(_ACTS):
        check.act(Act(*row), f"account act {row[0]}")
    check.start()
    _check_entries(tx, check, head.seq, on_progress)
    check.finish()
    if (check.seq, check.hash) != (head.seq, head.hash):
        check.differ("ledger_head", f"it says entry {head.seq}; the journal ends with {check.seq}")
    if (check.acts, check.acts_hash) != (head.acts, head.acts_hash):
        check.differ("ledger_head", f"it says account act {head.acts}; the acts end with {check.acts}")
    _check_accounts(tx, check)
    _check_open_holds(tx, check)
    _check_tiles(tx, check)
    return _report(check, str(keys.current(tx).vkey), pinned=False)


def _report(check: JournalCheck, key: str, *, pinned: bool) -> Report:
    return Report(check.seq, len(check.states), check.frontier.root(), key, pinned, tuple(check.differences))


def _read_export(reader: ExportReader, check: JournalCheck, held: Sequence[str], on_progress: Progress) -> ExportKeys:
    keys: ExportKeys | None = None
    started = False
    for line in reader.lines():
        if line.type == "header":
            keys = header_keys(line)
            continue
        assert keys is not None
        if line.type == "rotation":
            add_rotation(keys, line)
        elif line.type == "account":
            _feed_act(check, line)
        else:
            if not started:
                check.roots = _export_roots(keys, held)
                check.start()
                started = True
            if line.type == "entry":
                _feed_entry(check, line)
                if check.seq % _TELL_EVERY == 0:
                    on_progress(check.seq, 0)
            else:
                _check_trailer(check, keys, line)
    assert keys is not None
    return keys


def _feed_act(check: JournalCheck, line: Line) -> None:
    if hash_of(line, "prev") != check.acts_hash:
        check.differ(f"line {line.number}", "its prev is not the hash of the act before it")
    check.act(act_of(line), f"line {line.number}")


def _feed_entry(check: JournalCheck, line: Line) -> None:
    where = f"line {line.number}"
    if hash_of(line, "prev") != check.hash:
        check.differ(where, "its prev is not the hash of the entry before it")
    value = line.value
    check.entry(value["seq"], id_of(line), value["at_us"], content_of(line), hash_of(line, "hash"), where)
    check.closed.clear()


def _check_trailer(check: JournalCheck, keys: ExportKeys, line: Line) -> None:
    where = f"line {line.number}"
    value = line.value
    checkpoint = trailer_checkpoint(keys, line)
    if value["entries"] != check.seq or checkpoint.size != check.seq:
        check.differ(where, f"it speaks of {value['entries']} entries; there are {check.seq}")
    elif checkpoint.root != check.frontier.root():
        check.differ(where, "the Merkle root is not the one of its checkpoint")
    if value["accounts"] != check.acts or hash_of(line, "account_head") != check.acts_hash:
        check.differ(where, f"it speaks of {value['accounts']} account acts; there are {check.acts}")


def _export_roots(keys: ExportKeys, held: Sequence[str]) -> dict[int, list[tuple[bytes, str]]]:
    roots = _held_roots(held, keys.keys)
    for rotation in keys.rotations:
        roots.setdefault(rotation.size, []).append((rotation.root, "a key rotation"))
    return roots


def _held_roots(held: Sequence[str], keys: Sequence[VerifierKey]) -> dict[int, list[tuple[bytes, str]]]:
    roots: dict[int, list[tuple[bytes, str]]] = {}
    for note in held:
        checkpoint = Checkpoint.parse(open_note(note, keys).text)
        roots.setdefault(checkpoint.size, []).append((checkpoint.root, "the checkpoint you hold"))
    return roots


def _database_roots(tx: Tx, keys: NodeKeys, held: Sequence[str]) -> dict[int, list[tuple[bytes, str]]]:
    roots = _held_roots(held, [key.vkey for key in keys.history(tx)])
    for n, size, root in tx.stream("select n, size, root from checkpoints order by n"):
        roots.setdefault(size, []).append((root, f"checkpoint {n}"))
    for key in keys.history(tx):
        if key.rotation is not None:
            rotation = KeyRotation.parse(key.rotation.partition("\n\n")[0] + "\n")
            roots.setdefault(rotation.size, []).append((rotation.root, f"the rotation to key {key.n}"))
    return roots


def _check_keys(tx: Tx, keys: NodeKeys, check: JournalCheck) -> None:
    """Every rotation is signed by both keys, every checkpoint by a key on record."""
    history = keys.history(tx)
    for before, after in pairwise(history):
        try:
            assert after.rotation is not None
            rotation = KeyRotation.parse(open_note(after.rotation, [before.vkey]).text)
            open_note(after.rotation, [after.vkey])
            if (rotation.old, rotation.new) != (before.vkey, after.vkey):
                check.differ(f"key {after.n}", "its rotation is between other keys")
        except (ChoirError, AssertionError) as error:
            check.differ(f"key {after.n}", f"its rotation does not verify: {error}")
    known = [key.vkey for key in history]
    for n, size, root, note in tx.stream("select n, size, root, note from checkpoints order by n"):
        try:
            checkpoint = Checkpoint.parse(open_note(note, known).text)
            if (checkpoint.origin, checkpoint.size, checkpoint.root) != (keys.origin, size, root):
                check.differ(f"checkpoint {n}", "its note says something else than its row")
        except ChoirError as error:
            check.differ(f"checkpoint {n}", str(error))


def _check_entries(tx: Tx, check: JournalCheck, total: int, on_progress: Progress) -> None:
    postings = _postings_by_entry(tx)
    given = next(postings, None)
    for seq, id_, at_us, content, hash_, source, key in tx.stream(_ENTRIES):
        where = f"entry {seq}"
        expected = check.entry(seq, id_, at_us, content, hash_, where)
        if hashing.parse_key(content) != (source, key):
            check.differ(where, "its source and key are not those of its content")
        found: list[tuple[Any, ...]] = []
        while given is not None and given[0] <= seq:
            if given[0] == seq:
                found = given[1]
            else:
                check.differ(f"entry {given[0]}", "it has postings and does not exist")
            given = next(postings, None)
        if found != expected:
            check.differ(where, f"its postings are {found}, they should be {expected}"[:500])
        if len(check.closed) >= _HOLDS_AT_ONCE:
            _check_closed_holds(tx, check)
        if seq % _TELL_EVERY == 0:
            on_progress(seq, total)
    while given is not None:
        check.differ(f"entry {given[0]}", "it has postings and does not exist")
        given = next(postings, None)
    _check_closed_holds(tx, check)


def _postings_by_entry(tx: Tx) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    current: int | None = None
    rows: list[tuple[Any, ...]] = []
    for seq, *posting in tx.stream(_POSTINGS, name="postings"):
        if current is not None and seq != current:
            yield current, rows
            rows = []
        current = seq
        rows.append(tuple(posting))
    if current is not None:
        yield current, rows


def _check_closed_holds(tx: Tx, check: JournalCheck) -> None:
    """Compare holds that ended with their rows, some hundreds at a time."""
    if not check.closed:
        return
    rows = {row[0]: row[1:] for row in tx.rows(_HOLDS, [id_ for id_, _ in check.closed])}
    for id_, hold in check.closed:
        _compare_hold(check, str(id_), hold, rows.get(id_))
    check.closed.clear()


def _check_open_holds(tx: Tx, check: JournalCheck) -> None:
    for id_, *row in tx.stream(_OPEN_HOLDS):
        hold = check.holds.pop(id_, None)
        if hold is None:
            check.differ(f"hold {id_}", "it is open in the table and not in the journal")
        else:
            _compare_hold(check, str(id_), hold, tuple(row))
    for id_ in check.holds:
        check.differ(f"hold {id_}", "it is open in the journal and not in the table")


def _compare_hold(check: JournalCheck, id_: str, hold: CheckedHold, row: tuple[Any, ...] | None) -> None:
    expected = (hold.account, hold.payer, hold.expires_us, hold.captures_max, hold.captures, hold.closed_seq)
    if row != expected:
        check.differ(f"hold {id_}", f"its row is {row}, it should be {expected}"[:500])


def _check_accounts(tx: Tx, check: JournalCheck) -> None:
    """The state of each account is what its acts made it."""
    left = dict(check.states)
    for name, state in tx.stream("select name, state from accounts where name !~ '^hold:' order by name"):
        expected = left.pop(name, None)
        if expected != state:
            check.differ(f"account {name}", f"it is {state}; its acts made it {expected}")
    for name in left:
        check.differ(f"account {name}", "it was opened and is not in the table")


def _check_tiles(tx: Tx, check: JournalCheck) -> None:
    """Each stored tile is what the journal gives; the highest ones cover the rest."""
    for level, n, hashes in tx.stream("select level, n, hashes from merkle_tiles order by level, n"):
        if b"".join(Tree(tx, stored=level).row(level, n << 8, 256)) != hashes:
            check.differ(f"Merkle tile {level}/{n}", "its hashes are not those of the journal")


_ACTS = (
    "select x.n, a.name, x.act, x.at_us, x.reason, x.source, x.hash"
    " from account_acts x join accounts a on a.id = x.account order by x.n"
)
_ENTRIES = "select seq, id, at_us, content, hash, source, key from entries order by seq"
_POSTINGS = (
    "select p.seq, a.name, p.leg, p.delta, p.balance"
    " from postings p left join accounts a on a.id = p.account order by p.seq, p.leg"
)
_HOLD_COLUMNS = "h.id, a.name, p.name, h.expires_us, h.captures_max, h.captures, h.closed_seq"
_HOLDS_FROM = "from holds h join accounts a on a.id = h.account join accounts p on p.id = h.payer"
_HOLDS = f"select {_HOLD_COLUMNS} {_HOLDS_FROM} where h.id = any(%s)"
_OPEN_HOLDS = f"select {_HOLD_COLUMNS} {_HOLDS_FROM} where h.closed_seq is null"
