"""Checking every published snapshot against the journal: part of `choir ledger verify`.

Guarantees: a note that no key of the node signed is found, and so is one that says something else than the journal
about its root or about what was owed then. Notes are read one by one while the journal is gone through once, so the
cost does not grow with notes times accounts, and memory does not grow with the notes. Of what proofs are made from, all
that is still kept is made anew from the postings, which were compared with the journal before: the roots, the numbers
of accounts, every tile and page. Of older snapshots only the notes are left, and of their roots nothing can be said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from typing import Any

from choir.foundation.errors import ChoirError
from choir.ledger.journal_check import JournalCheck, Posting
from choir.ledger.liabilities import rules, store
from choir.ledger.liabilities.count import count
from choir.ledger.liabilities.model import Snapshot
from choir.ledger.liabilities.note import AssetTotal, LiabilitiesNote
from choir.ledger.model import HOLD_ACCOUNTS
from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from choir.storage.database import Tx

_OWNERS = tuple(f"{kind}:" for kind in rules.OWED_KINDS)


class NotesCheck:
    """Goes through the notes beside a check of the journal, and begins and ends just before it does."""

    def __init__(self, tx: Tx, known: Sequence[VerifierKey], check: JournalCheck) -> None:
        self._check = check
        self._known = known
        self._notes = store.notes(tx)
        self._next: tuple[int, LiabilitiesNote | None] | None = None  # a note that was read, and says so much
        self._totals: dict[str, int] = {}
        self.wrong: set[int] = set()  # the sizes of notes that say what is not so
        self._owed_holds: set[str] = set()  # the accounts of open holds whose payer is owed what is in them

    def start(self) -> None:
        self._read()
        self._compare(0)

    def entry(self, seq: int, postings: Sequence[Posting]) -> None:
        """Add what the entry moved to what is owed, then compare it with what was signed after that entry."""
        for paid, received in zip(postings[::2], postings[1::2], strict=True):
            if received[0].startswith(HOLD_ACCOUNTS) and self._is_owed(paid[0]):
                self._owed_holds.add(received[0])
            for name, _, delta, _ in (paid, received):
                if self._is_owed(name):
                    asset = name.rpartition("/")[2]
                    self._totals[asset] = self._totals.get(asset, 0) + delta
        for name, _, _, balance in postings:
            if balance == 0:
                self._owed_holds.discard(name)
        self._compare(seq)

    def finish(self) -> None:
        """Notes of more entries than there are: the check of the journal says what is missing."""
        while self._next is not None:
            self._read()

    def _is_owed(self, name: str) -> bool:
        return name.startswith(_OWNERS) or name in self._owed_holds

    def _compare(self, seq: int) -> None:
        while self._next is not None and self._next[0] <= seq:
            size, said = self._next
            owed = {asset: total for asset, total in self._totals.items() if total}
            if said is not None and size == seq and {item.asset: item.total for item in said.totals} != owed:
                self._differ(size, "its totals are not what the journal gives")
            self._read()

    def _read(self) -> None:
        """The next note. That it is signed and of its row's size is seen here, its root when the journal gets there."""
        row = next(self._notes, None)
        if row is None:
            self._next = None
            return
        size, note, checkpoint = row
        self._next = (size, None)
        try:
            said = LiabilitiesNote.parse(open_note(note, self._known).text)
            journal = Checkpoint.parse(open_note(checkpoint, self._known).text)
        except ChoirError as error:
            self._differ(size, str(error))
            return
        named = (said.journal.origin, said.journal.size, said.journal.root)
        if named != (journal.origin, size, journal.root) or journal.size != size:
            self._differ(size, "its note is of another journal or size than its checkpoint or its row")
            return
        self._check.expect_root(size, said.journal.root, _where(size))
        self._next = (size, said)

    def _differ(self, size: int, what: str) -> None:
        self.wrong.add(size)
        self._check.differ(_where(size), what)


def check_kept(tx: Tx, check: JournalCheck, wrong_notes: Collection[int]) -> None:
    """Make anew what proofs are made from, where it is kept, and compare it with its note and with what is there."""
    for snapshot in store.kept(tx):
        if snapshot.size in wrong_notes:  # there is nothing true to compare it with
            continue
        try:
            wrong = next(_wrong_in(tx, snapshot, LiabilitiesNote.inside(snapshot.note)), None)
        except ChoirError as error:  # what cannot even be counted
            wrong = str(error)
        if wrong is not None:
            check.differ(_where(snapshot.size), wrong)


def _wrong_in(tx: Tx, snapshot: Snapshot, note: LiabilitiesNote) -> Iterator[str]:
    planters = count(lambda: nullcontext(tx), snapshot.size, snapshot.secret)
    if extra := store.assets(tx, snapshot.id) - set(planters):
        yield f"there are rows for {', '.join(sorted(extra))}, which has no liabilities"
    totals: list[AssetTotal] = []
    for asset in sorted(planters):
        planter = planters.pop(asset)
        yield from _differing(f"a tile of the tree of {asset}", planter.tiles(), store.tiles(tx, snapshot.id, asset))
        yield from _differing(f"a page of {asset}", planter.pages(), store.pages(tx, snapshot.id, asset))
        totals.append(planter.asset_total(asset))
    if tuple(totals) != note.totals:
        yield "its numbers of accounts, totals or roots are not what the journal and its secret give"


def _differing(what: str, expected: Iterator[tuple[Any, ...]], found: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    """Whether two rows differ; all of the expected ones are asked for, because they are computed on the way."""
    differs = False
    for one, other in zip_longest(expected, found):
        differs = differs or one != other
    if differs:
        yield f"{what} is not what the journal and its secret give"


def _where(size: int) -> str:
    return f"liabilities after entry {size}"
