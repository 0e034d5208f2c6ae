"""Bringing an ai$ file into the ledger, by entries like all others.

Guarantees: all of the file or nothing. It is read, checked and given its canonical form first, with nothing locked;
then all of it is posted in one transaction, for which other entries wait, and which policy keeps short by the size of
a file. Every line is one entry whose idempotency key is the line's id, so that a file brought in again, or a longer one
that begins the same, has each line once; only the lines that were one entry of a ledger like this are one entry again.

The AID of a ledger comes from such files or from the ledger's own life, never from both when a file is brought in: else
an export could be imported where it came from, and double everything. It is money out of nothing, so a production node
refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from choir.foundation.clock import Entropy
from choir.foundation.errors import Invalid, Refusal
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.formats.aidollar import BadAidollarLine, Line, account_of, entry_behind, is_leg_of, read_line
from choir.ledger.formats.aidollar_export import CREATED_AT, KIND, SOURCE
from choir.ledger.model import DevelopmentOnly, Draft, Leg, account_name
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import MEMO_SALT_BYTES, Prepared
from choir.ledger.service import Ledger
from choir.ledger.streams import Progress
from choir.storage.database import Tx

_REASON = "imported from an ai$ file"
_AT_ONCE = 1_000  # entries
_LINE_BYTES_MAX = 100_000

_OTHERS = """
    select 1 from accounts a join postings p on p.account = a.id join entries e on e.seq = p.seq
    where a.name like '%%/AID' and e.source <> %s limit 1
"""
_OTHERS_SINCE = """
    select 1 from entries e cross join jsonb_array_elements(e.content::jsonb -> 'legs') leg
    where e.seq > %s and e.source <> %s and leg ->> 'to' like '%%/AID' limit 1
"""


class AidInUse(Refusal):
    """The ledger's AID has a life of its own."""

    code = "ledger.aidollar.in_use"
    sentence = "This ledger has AID entries that did not come from an ai$ file."
    hint = "Import into a new CHOIR_HOME without AID entries."


class AidollarTooLarge(Invalid):
    """A file that would keep all others waiting too long, or not fit the memory."""

    code = "ledger.aidollar.too_large"
    sentence = "The ai$ file has more than {limit} {unit}. Nothing was imported."
    hint = "Import it in parts, or raise `ledger.aidollar_{unit}_max` while nobody else uses the node."


class Imported(NamedTuple):
    """How many lines the file has, and how many of them were new."""

    lines: int
    new: int


class _Entry(NamedTuple):
    """What one or several lines become."""

    line: int  # the number of the first
    lines: int
    prepared: Prepared


@dataclass(slots=True)
class ReadFile:
    """A file that is sound in itself, ready to be posted."""

    entries: list[_Entry] = field(default_factory=list)
    accounts: dict[str, None] = field(default_factory=dict)  # in the order of the file

    @property
    def lines(self) -> int:
        return sum(entry.lines for entry in self.entries)


class AidollarImport:
    """The one use case, in two steps: `read` needs no database, `post` is inside the caller's transaction."""

    def __init__(self, ledger: Ledger, accounts: Accounts, entropy: Entropy, *, production: bool) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._entropy = entropy
        self._production = production

    def read(self, file: BinaryIO, on_progress: Progress) -> ReadFile:
        """Read and check every line, or raise with the number of the first that is not sound."""
        if self._production:
            raise DevelopmentOnly(what="Importing an ai$ file")
        found = ReadFile()
        for lines in _runs(_lines(file, self._ledger.appender.policy)):
            for entry in self._entries(lines):
                found.entries.append(entry)
                found.accounts.update((name, None) for leg in entry.prepared.draft.legs for name in (leg.from_, leg.to))
                if len(found.entries) % _AT_ONCE == 0:
                    on_progress(lines[-1][0], 0)
        return found

    def post(self, tx: Tx, file: ReadFile, on_progress: Progress) -> Imported:
        """Post all of it, or raise with the number of the first line that the ledger refuses."""
        seen = queries.head(tx).seq
        others = tx.value(_OTHERS, SOURCE)  # this takes as long as there is AID, so not under the lock
        self._ledger.lock(tx)  # so that no AID comes from elsewhere meanwhile
        if others or tx.value(_OTHERS_SINCE, seen, SOURCE):
            raise AidInUse()
        before = queries.head(tx).seq
        self._accounts.open(tx, list(file.accounts), reason=_REASON, source=SOURCE)
        new = 0
        size = min(_AT_ONCE, self._ledger.appender.policy.batch_entries_max)
        for start in range(0, len(file.entries), size):
            new += self._post(tx, file.entries[start : start + size], before)
            on_progress(start, len(file.entries))
        return Imported(file.lines, new)

    def _post(self, tx: Tx, entries: Sequence[_Entry], before: int) -> int:
        """How many lines of these are new."""
        new = 0
        outcomes = self._ledger.post_prepared(tx, [[entry.prepared] for entry in entries])
        for entry, outcome in zip(entries, outcomes, strict=True):
            if isinstance(outcome, Refusal):
                raise _bad(entry.line, outcome)
            if outcome.again and outcome.seq > before:
                raise BadAidollarLine(line=entry.line, why="its entry_id also appears on an earlier line")
            new += 0 if outcome.again else entry.lines
        return new

    def _entries(self, lines: Sequence[_Numbered]) -> Iterator[_Entry]:
        """One entry of all of these lines, if that is what they were, else one of each."""
        legs = [_leg(number, line) for number, line in lines]
        if len(lines) > 1:
            moves = [(account_name(leg.from_), account_name(leg.to), leg.amount) for leg in legs]
            behind = entry_behind([line for _, line in lines], moves)
            if behind is not None:
                yield self._entry(lines[0], behind[0], behind[1], legs)
                return
        for numbered, leg in zip(lines, legs, strict=True):
            yield self._entry(numbered, KIND + numbered[1].entry_type, numbered[1].memo, [leg])

    def _entry(self, first: _Numbered, kind: str, memo: str, legs: Sequence[Leg]) -> _Entry:
        number, line = first
        draft = Draft(
            kind,
            _REASON,
            SOURCE,
            line.entry_id,
            tuple(legs),
            refs=(CREATED_AT + line.created_at,),
            memo=memo or None,
            memo_salt=self._entropy.bytes(MEMO_SALT_BYTES),
        )
        prepared = self._ledger.prepare(draft)
        if isinstance(prepared, Refusal):
            raise _bad(number, prepared)
        return _Entry(number, len(legs), prepared)


_Numbered = tuple[int, Line]


def _runs(lines: Iterator[_Numbered]) -> Iterator[list[_Numbered]]:
    """Lines that say of themselves that they were one entry together, all others one by one."""
    run: list[_Numbered] = []
    for numbered in lines:
        if run and not is_leg_of(numbered[1], run[0][1], len(run) + 1):
            yield run
            run = []
        run.append(numbered)
    if run:
        yield run


def _lines(file: BinaryIO, policy: LedgerPolicy) -> Iterator[_Numbered]:
    """The lines with their numbers; empty ones are skipped, as the program does whose format this is."""
    number = size = 0
    while raw := file.readline(_LINE_BYTES_MAX + 1):
        number += 1
        size += len(raw)
        if len(raw) > _LINE_BYTES_MAX:
            raise BadAidollarLine(line=number, why="it is longer than any line may be")
        if number > policy.aidollar_lines_max:
            raise AidollarTooLarge(limit=policy.aidollar_lines_max, unit="lines")
        if size > policy.aidollar_bytes_max:
            raise AidollarTooLarge(limit=policy.aidollar_bytes_max, unit="bytes")
        if raw.strip():
            yield number, read_line(number, raw)


def _leg(number: int, line: Line) -> Leg:
    try:
        return Leg(account_of(line.from_id), account_of(line.to_id), line.units)
    except Invalid as error:
        raise _bad(number, error) from None


def _bad(number: int, refusal: Refusal) -> BadAidollarLine:
    return BadAidollarLine(line=number, why=str(refusal).rstrip("."))
