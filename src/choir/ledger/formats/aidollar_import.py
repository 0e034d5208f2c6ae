"""Bringing an ai$ file into the ledger, by entries like all others.

Guarantees: all of the file or nothing; every line is one entry whose idempotency key is the line's id, so that a file
brought in again, or a longer one that begins the same, has each line once. The AID of a ledger comes from such files or
from the ledger's own life, never from both when a file is brought in: else an export could be imported where it came
from, and double everything. It is money out of nothing, so a production node refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO, NamedTuple

from choir.foundation.clock import Entropy
from choir.foundation.errors import Invalid, Refusal
from choir.ledger import reading
from choir.ledger.accounts import Accounts
from choir.ledger.formats.aidollar import BadAidollarLine, Line, account_of, read_line
from choir.ledger.formats.aidollar_export import CREATED_AT, KIND, SOURCE
from choir.ledger.formats.journal import Progress
from choir.ledger.model import DevelopmentOnly, Draft, Leg
from choir.ledger.rules import MEMO_SALT_BYTES
from choir.ledger.service import Ledger
from choir.storage.database import Tx

_REASON = "imported from an ai$ file"
_LINES_AT_ONCE = 1_000
_LINE_BYTES_MAX = 100_000

_OTHERS = """
    select 1 from accounts a join postings p on p.account = a.id join entries e on e.seq = p.seq
    where a.name like '%%/AID' and e.source <> %s limit 1
"""


class AidInUse(Refusal):
    """The ledger's AID has a life of its own."""

    code = "ledger.aidollar.in_use"
    sentence = "This ledger has AID entries that did not come from an ai$ file."
    hint = "Import into a new CHOIR_HOME, where nobody has any yet."


class Imported(NamedTuple):
    """How many lines the file has, and how many of them were new."""

    lines: int
    new: int


class AidollarImport:
    """The one use case; inside the caller's transaction."""

    def __init__(self, ledger: Ledger, accounts: Accounts, entropy: Entropy, *, production: bool) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._entropy = entropy
        self._production = production

    def run(self, tx: Tx, file: BinaryIO, on_progress: Progress) -> Imported:
        """Bring in every line, or raise with the number of the first that cannot be."""
        if self._production:
            raise DevelopmentOnly(what="Importing an ai$ file")
        self._ledger.lock(tx)  # so that no AID comes from elsewhere meanwhile
        if tx.value(_OTHERS, SOURCE):
            raise AidInUse()
        before = reading.head(tx).seq
        lines = _lines(file)
        done = 0
        while several := list(islice(lines, min(_LINES_AT_ONCE, self._ledger.policy.batch_entries_max))):
            self._post(tx, several, before)
            done += len(several)
            on_progress(done, 0)
        return Imported(done, reading.head(tx).seq - before)

    def _post(self, tx: Tx, lines: Sequence[tuple[int, Line]], before: int) -> None:
        groups = [[self._draft(number, line)] for number, line in lines]
        names = [name for [draft] in groups for leg in draft.legs for name in (leg.from_, leg.to)]
        self._accounts.open(tx, list(dict.fromkeys(names)), reason=_REASON, source=SOURCE)
        for (number, _line), outcome in zip(lines, self._ledger.post_batch(tx, groups), strict=True):
            if isinstance(outcome, Refusal):
                raise BadAidollarLine(line=number, why=str(outcome).rstrip("."))
            if outcome.again and outcome.seq > before:
                raise BadAidollarLine(line=number, why="its entry_id stands on an earlier line too")

    def _draft(self, number: int, line: Line) -> Draft:
        try:
            leg = Leg(account_of(line.from_id), account_of(line.to_id), line.units)
        except Invalid as error:
            raise BadAidollarLine(line=number, why=str(error).rstrip(".")) from None
        return Draft(
            KIND + line.entry_type,
            _REASON,
            SOURCE,
            line.entry_id,
            (leg,),
            refs=(CREATED_AT + line.created_at,),
            memo=line.memo or None,
            memo_salt=self._entropy.bytes(MEMO_SALT_BYTES),
        )


def _lines(file: BinaryIO) -> Iterator[tuple[int, Line]]:
    """The lines with their numbers; empty ones are skipped, as the program does whose format this is."""
    number = 0
    while raw := file.readline(_LINE_BYTES_MAX + 1):
        number += 1
        if len(raw) > _LINE_BYTES_MAX:
            raise BadAidollarLine(line=number, why="it is longer than any line may be")
        if raw.strip():
            yield number, read_line(number, raw)
