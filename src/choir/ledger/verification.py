"""`choir ledger verify`: recompute everything, of a database or of an export, and say what differs.

Guarantees: every hash, balance, hold, tile, checkpoint and signature is computed anew from the
journal; nothing stored is believed; memory grows with accounts, holds and checkpoints, not with the
number of entries. What was signed as owed is compared with the journal, too; the trees behind it are
made anew where they are still kept.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, BinaryIO

from choir.foundation.errors import ChoirError
from choir.ledger import hashing, queries, streams
from choir.ledger.checkpoints import JournalGap, Tree
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
from choir.ledger.journal_check import Act, CheckedHold, Difference, JournalCheck
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities.verification import NotesCheck, check_kept
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, open_note
from choir.ledger.streams import TELL_EVERY, Progress, silent
from choir.storage.database import Tx

_HOLDS_AT_ONCE = 500


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
    head = queries.head(tx)
    check = JournalCheck()
    known = _check_keys(tx, keys.origin, check)
    _check_checkpoints(tx, keys.origin, known, check)
    _expect_held(check, known, held)
    notes = NotesCheck(tx, known, check)
    notes.start()
    check.start()
    _check_journal(tx, check, notes, head.seq, on_progress)
    notes.finish()
    check.finish()
    if (check.seq, check.hash) != (head.seq, head.hash):
        check.differ("ledger_head", f"it says entry {head.seq}; the journal ends with {check.seq}")
    if (check.acts, check.acts_hash) != (head.acts, head.acts_hash):
        check.differ("ledger_head", f"it says account act {head.acts}; the acts end with {check.acts}")
    if head.at_us != check.at_us:
        check.differ("ledger_head", f"its time is {head.at_us}, not that of the last entry or act")
    _check_accounts(tx, check)
    _check_hold_accounts(tx, check)
    _check_open_holds(tx, check)
    _check_memos(tx, check)
    _check_tiles(tx, check)
    check_kept(tx, check, notes.wrong)
    return _report(check, str(known[-1]) if known else "", pinned=False)


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
            continue
        if not started:
            _expect_roots(check, keys, held)
            check.start()
            started = True
        if line.type == "account":
            _feed_act(check, line)
        elif line.type == "entry":
            _feed_entry(check, line)
            if check.seq % TELL_EVERY == 0:
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
        check.differ(where, f"it says {value['entries']} entries; there are {check.seq}")
    elif checkpoint.root != check.frontier.root():
        check.differ(where, "the Merkle root is not the one of its checkpoint")
    if value["accounts"] != check.acts or hash_of(line, "account_head") != check.acts_hash:
        check.differ(where, f"it says {value['accounts']} account acts; there are {check.acts}")
    if checkpoint.acts != value["accounts"] or checkpoint.acts_hash != hash_of(line, "account_head"):
        check.differ(where, "its checkpoint has other account acts")


def _expect_roots(check: JournalCheck, keys: ExportKeys, held: Sequence[str]) -> None:
    for rotation in keys.rotations:
        check.expect_root(rotation.size, rotation.root, "a key rotation")
    _expect_held(check, keys.keys, held)


def _expect_held(check: JournalCheck, keys: Sequence[VerifierKey], held: Sequence[str]) -> None:
    """Checkpoints that the caller kept must be part of this history."""
    for note in held:
        try:
            checkpoint = Checkpoint.parse(open_note(note, keys).text)
        except ChoirError as error:
            check.differ("the checkpoint you hold", str(error))
        else:
            check.expect_root(checkpoint.size, checkpoint.root, "the checkpoint you hold")
            if checkpoint.acts is not None:
                acts, hash_ = checkpoint.acts, checkpoint.acts_hash
                check.expect_acts(acts, hash_, checkpoint.size, "the checkpoint you hold")


def _check_keys(tx: Tx, origin: str, check: JournalCheck) -> list[VerifierKey]:
    """Every rotation is signed by both keys and over the journal as it was; returns the keys."""
    known: list[VerifierKey] = []
    for place, (n, vkey, note) in enumerate(tx.rows("select n, vkey, rotation from node_keys order by n"), start=1):
        where = f"key {n}"
        if n != place or (note is None) != (place == 1):
            check.differ(where, "its number or its rotation does not follow from the key before it")
        try:
            known.append(VerifierKey.parse(vkey))
            if known[-1].name != origin:
                check.differ(where, f"it is a key of {known[-1].name}, not of this ledger")
            if len(known) > 1 and note is not None:
                _check_rotation(note, origin, known[-2], known[-1], check, where)
        except ChoirError as error:
            check.differ(where, str(error))
    if not known:
        check.differ("node_keys", "there is no key on record")
    return known


def _check_rotation(
    note: str, origin: str, old: VerifierKey, new: VerifierKey, check: JournalCheck, where: str
) -> None:
    rotation = KeyRotation.parse(open_note(note, [old]).text)
    open_note(note, [new])
    if (rotation.origin, rotation.old, rotation.new) != (origin, old, new):
        check.differ(where, "its rotation is between other keys")
    check.expect_root(rotation.size, rotation.root, f"the rotation to {where}")


def _check_checkpoints(tx: Tx, origin: str, known: Sequence[VerifierKey], check: JournalCheck) -> None:
    """Every checkpoint is signed by a key on record and says what its row says."""
    for n, note, *row in tx.stream("select n, note, size, root, acts, acts_hash from checkpoints order by n"):
        where = f"checkpoint {n}"
        size, root, acts, acts_hash = row
        check.expect_root(size, root, where)
        check.expect_acts(acts, acts_hash, size, where)
        try:
            checkpoint = Checkpoint.parse(open_note(note, known).text)
            if checkpoint != Checkpoint(origin, *row):
                check.differ(where, "its note says something else than its row")
        except ChoirError as error:
            check.differ(where, str(error))


def _check_journal(tx: Tx, check: JournalCheck, notes: NotesCheck, total: int, on_progress: Progress) -> None:
    """Entries with their postings, the acts between them, and what was signed as owed after some of them."""
    postings = _postings_by_entry(tx)
    given = next(postings, None)
    entries = (((row[0], False), row) for row in tx.stream(_ENTRIES, name="entries"))
    for (seq, is_act), row in heapq.merge(entries, _linked_acts(tx, check), key=itemgetter(0)):
        if is_act:
            check.apply_act(Act(*row), f"account act {row[0]}")
            continue
        _, id_, at_us, content, hash_, source, key = row
        where = f"entry {seq}"
        expected = check.entry(seq, id_, at_us, content, hash_, where)
        notes.entry(seq, expected)
        if hashing.parse_key(content) != (source, key):
            check.differ(where, "its source and key are not those of its content")
        found: list[tuple[Any, ...]] = []
        while given is not None and given[0] <= seq:
            if given[0] == seq:
                found = given[1]
            else:
                check.differ(f"entry {given[0]}", "it has postings but does not exist")
            given = next(postings, None)
        if found != expected:
            check.differ(where, f"its postings are {found}, they should be {expected}"[:500])
        if len(check.closed) >= _HOLDS_AT_ONCE:
            _check_closed_holds(tx, check)
        if seq % TELL_EVERY == 0:
            on_progress(seq, total)
    while given is not None:
        check.differ(f"entry {given[0]}", "it has postings but does not exist")
        given = next(postings, None)
    _check_closed_holds(tx, check)


def _linked_acts(tx: Tx, check: JournalCheck) -> Iterator[tuple[tuple[int, bool], tuple[Any, ...]]]:
    """The acts with their places among the entries.

    Each is checked as a link of its chain as soon as it is read, one act ahead: one that was changed is
    then reported before all the entries that suffer from being judged too early or too late.
    """
    for act in streams.acts(tx):
        check.link_act(act, f"account act {act.n}")
        yield (act.after, True), act


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
            check.differ(f"hold {id_}", "it is open in the table but not in the journal")
        else:
            _compare_hold(check, str(id_), hold, tuple(row))
    for id_ in check.holds:
        check.differ(f"hold {id_}", "it is open in the journal but not in the table")
    rows = tx.value("select count(*) from holds")
    if rows != check.placed:
        check.differ("holds", f"the table has {rows}, the journal placed {check.placed}")


def _compare_hold(check: JournalCheck, id_: str, hold: CheckedHold, row: tuple[Any, ...] | None) -> None:
    terms = (hold.account, hold.payer, hold.expires_us, hold.captures_max)
    expected = (*terms, hold.captures, hold.placed_seq, hold.closed_seq)
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


def _check_hold_accounts(tx: Tx, check: JournalCheck) -> None:
    """The account of a hold has no acts: it is there with its hold, and always open."""
    for name, state, hold in tx.stream(_HOLD_ACCOUNTS):
        what = "no hold has it" if hold is None else f"it is {state}; no act can change the account of a hold"
        check.differ(f"account {name}", what)


def _check_memos(tx: Tx, check: JournalCheck) -> None:
    """Each memo that was not erased is the one that its entry commits to."""
    for seq, salt, memo, content in tx.stream(_MEMOS):
        if content is None or hashing.parse_memo(content) != hashing.memo_commitment(salt, memo):
            check.differ(f"entry {seq}", "its memo does not match its commitment")


def _check_tiles(tx: Tx, check: JournalCheck) -> None:
    """Each stored tile is what the journal gives; the highest ones cover the rest."""
    following: dict[int, int] = {}
    for level, n, hashes in tx.stream("select level, n, hashes from merkle_tiles order by level, n"):
        where = f"Merkle tile {level}/{n}"
        if n != following.get(level, 0):
            check.differ(where, "it does not follow the tile before it")
        following[level] = n + 1
        if level < 0 or n < 0 or (n + 1) << 8 * (level + 1) > check.seq:
            check.differ(where, "it covers entries that do not exist")
            continue
        try:
            if b"".join(Tree(tx, stored=level).row(level, n << 8, 256)) != hashes:
                check.differ(where, "its hashes are not those of the journal")
        except (JournalGap, struct.error) as error:  # the latter: a time that no hash can hold
            check.differ(where, str(error))


# Not `streams.entries`: here also what stands beside the content, and behind the head, is checked.
_ENTRIES = "select seq, id, at_us, content, hash, source, key from entries order by seq"
_POSTINGS = (
    "select p.seq, a.name, p.leg, p.delta, p.balance"
    " from postings p left join accounts a on a.id = p.account order by p.seq, p.leg"
)
_HOLD_COLUMNS = "h.id, a.name, p.name, h.expires_us, h.captures_max, h.captures, h.placed_seq, h.closed_seq"
_HOLDS_FROM = "from holds h join accounts a on a.id = h.account join accounts p on p.id = h.payer"
_HOLDS = f"select {_HOLD_COLUMNS} {_HOLDS_FROM} where h.id = any(%s)"
_HOLD_ACCOUNTS = (
    "select a.name, a.state, h.id from accounts a left join holds h on h.account = a.id"
    " where a.name ~ '^hold:' and (h.id is null or a.state <> 'open')"
)
_MEMOS = (
    "select m.seq, m.salt, m.memo, e.content from entry_memos m left join entries e on e.seq = m.seq order by m.seq"
)
_OPEN_HOLDS = f"select {_HOLD_COLUMNS} {_HOLDS_FROM} where h.closed_seq is null"
