"""Books with everything in them, and plain readers of what is written of them; these share no code with the writers."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from choir.ledger import holds, queries
from choir.ledger.formats import WRITERS
from choir.ledger.model import Leg
from tests.ledger.books import ALICE, ALICE_SAT, BOB, BOB_SAT, CAROL, EVERYONE, ISSUANCE, SAT_WORLD, Books, draft

HOSTILE = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=cmd|' /C calc'!A0", "'quoted", 'say "hi", then ""', "a\nb\r\nc",
    "\\n \\", "naïve ♫ 😀 \u2028 \x85 \x01\x7f \x0b\x0c", "; no comment", '" "\n2027-01-01 open Assets:Evil', "＝1",
    "{}[],",
)  # fmt: skip
SECRET = "a memo that nobody else may read"
ODD = (
    "person:a-b_c/available/SAT", "person:a--b/available/SAT", "treasury:main/pool.citation_x/SAT",
    "person:a-b_c/claim/SAT", "system:platform/claim.fees/SAT",
)  # fmt: skip


def rich_books(books: Books) -> Books:
    """Several assets, exchanges, holds in each state, a correction, memos, hostile words, acts, amounts without end."""
    books.open(*EVERYONE, *ODD)
    books.fund(ALICE, 100_000)
    books.fund(ALICE_SAT, 2**63 - 1)
    paid = [draft(f"{text} {n}", Leg(ALICE, BOB, n + 1), refs=(text, "b")) for n, text in enumerate(HOSTILE)]
    done = books.post(*(replace(item, reason=item.refs[0], memo=SECRET, memo_salt=bytes(16)) for item in paid))
    books.clock.advance(86_400)
    books.post(draft("correction", Leg(BOB, ALICE, 1), corrects=done[0].id, receipt="sha256:" + "ab" * 32))
    books.post(draft("exchange", Leg(ALICE, BOB, 7), Leg(ALICE_SAT, BOB_SAT, 9), Leg(ALICE_SAT, ODD[0], 5)))
    books.post(draft("odd", Leg(ODD[0], ODD[1], 2), Leg(ODD[0], ODD[2], 1), Leg(ODD[0], SAT_WORLD, 1)))
    books.post(draft("claims", Leg(ALICE_SAT, ODD[3], 3), Leg(ALICE_SAT, ODD[4], 4), Leg(ODD[3], ODD[0], 1)))
    parts = books.place(ALICE, 50, key="parts", captures=3)
    inside = books.hold(parts).account
    books.post(holds.capture(parts, (Leg(inside, BOB, 5),), final=False, reason="r", source="test", key="c1"))
    books.change("freeze", CAROL)
    books.clock.advance(86_400 * 40)
    books.post(holds.expire(parts))
    books.place(ALICE_SAT, 70, key="open")
    released = books.place(ALICE, 3, key="released")
    books.post(holds.release(released, reason="not wanted", source="test", key="r1"))
    books.post(draft("back", Leg(BOB, ISSUANCE, 2)))
    books.change("unfreeze", CAROL)
    books.change("close", CAROL)
    return books


def written(books: Books, format_: str) -> bytes:
    out = io.BytesIO()
    with books.tx() as tx:
        WRITERS[format_](tx, out.write, lambda _done, _total: None)
    return out.getvalue()


def ledger_balances(books: Books) -> dict[str, int]:
    """Every account's balance as the ledger says it, holds included."""
    with books.tx() as tx:
        names = [name for (name,) in tx.rows("select name from accounts")]
        return {name: queries.balance(tx, name).balance for name in names}


def csv_rows(data: bytes) -> list[dict[str, str]]:
    text = data.decode()
    assert text.endswith("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def plain(cell: str) -> str:
    """A text of a cell, without the apostrophe that marks it."""
    return cell.removeprefix("'")


@dataclass
class BeancountFile:
    """What a file says, by the names that it uses."""

    accounts: dict[str, str] = field(default_factory=dict)  # ours, by Beancount's
    narrations: list[str] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)  # of each transaction
    sums: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    asserted: dict[str, Decimal] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    def begin(self, narration: str) -> None:
        """A transaction, of which more follows."""
        self.narrations.append(_unescape(narration))
        self.metadata.append({})


_NAME = r"(?:Assets|Liabilities|Equity|Income|Expenses)(?::[A-Z0-9][A-Za-z0-9-]*)+"
_STRING = r'"((?:[^"\\\n]|\\.)*)"'
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": "\b"}


def read_beancount(data: bytes) -> BeancountFile:
    """Read strictly what we write; a line that is none of these is an error."""
    found = BeancountFile()
    patterns: list[tuple[str, Callable[..., Any]]] = [
        (r"; .*", lambda: None),
        (rf"option {_STRING} {_STRING}", lambda *_: None),
        (r"1970-01-01 commodity [A-Z]+", lambda: None),
        (r"  decimals: \d", lambda: None),
        (rf"{_DAY} open ({_NAME}) ([A-Z]+)", lambda *opened: last.__setitem__(0, opened[0])),
        (rf"  account: {_STRING}", lambda name: found.accounts.__setitem__(last[0], name)),
        (rf"{_DAY} close ({_NAME})", found.closed.add),
        (rf"{_DAY} note {_NAME} {_STRING}", lambda *_: None),
        (rf"{_DAY} balance ({_NAME})  (-?[\d.]+) ~ 0 [A-Z]+", lambda a, n: found.asserted.__setitem__(a, Decimal(n))),
        (rf"{_DAY} \* {_STRING}", found.begin),
        (rf"  ([a-z]+): (?:{_STRING}|\d+)", lambda k, v: found.metadata and found.metadata[-1].setdefault(k, v or "")),
        (rf"  ({_NAME})  (-?[\d.]+) [A-Z]+", lambda a, n: found.sums.__setitem__(a, found.sums[a] + Decimal(n))),
    ]
    last = [""]
    for line in data.decode().removesuffix("\n").split("\n"):
        for pattern, take in patterns:
            if match := re.fullmatch(pattern, line):
                take(*match.groups())
                break
        else:
            raise AssertionError(line)
    return found


_DAY = r"\d{4}-\d{2}-\d{2}"


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _UNESCAPED.get(found[1], found[1]), text)
