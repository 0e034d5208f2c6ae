"""Pages of the ledger, for everybody: where it stands, what there is, its entries, and a proof that the browser checks.

Guarantee: what of an entry is shown is decided by `choir.ledger.visibility` and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.http.paging import last_number
from choir.doors.http.paging import page as cut
from choir.doors.ledger.readers import found_entry, reader_of
from choir.doors.web import words
from choir.doors.web.names import names
from choir.doors.web.purse import about
from choir.doors.web.rendering import page
from choir.doors.web.visitors import Visitor, VisitorDep
from choir.foundation.errors import Invalid, NotFound
from choir.foundation.money import Asset
from choir.foundation.words import shown
from choir.ledger import books, queries
from choir.ledger.explanation import tell_entry
from choir.ledger.model import Entry, account_name, entry_id
from choir.ledger.policy import LedgerPolicy
from choir.ledger.visibility import Side, VisibleEntry, visible
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_CHECKPOINTS_SHOWN = 10
_ADDRESSES = (("job_", "/jobs/"), ("article_", "/articles/"))
_A = {"person": "a person", "agent": "an agent", "hold": "a hold", "operator": "an operator"}
Cursor = Annotated[str, Query(max_length=18)]


@dataclass(frozen=True, slots=True)
class EntryLine:
    """An entry in a listing, without its legs."""

    entry: Entry
    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class LegLine:
    from_: str
    to: str
    units: int
    asset: str
    rest: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that an entry belongs to, and its page if it has one."""

    text: str
    href: str


@router.get("/ledger")
def ledger_page(
    request: Request, node: NodeDep, visitor: VisitorDep, before: Cursor = "", signed_before: Cursor = ""
) -> Response:
    """Where the ledger stands, what there is of each asset, the newest entries and checkpoints."""
    policy = node.policy.of(LedgerPolicy)
    with node.read() as tx:
        found = books.newest(tx, before=_number(before), limit=policy.shown_rows + 1)
        signed = books.checkpoints(tx, before=_number(signed_before), limit=_CHECKPOINTS_SHOWN + 1)
        facts = {
            "head": queries.head(tx),
            "last": node.checkpoints.latest(tx),
            "supply": books.supply(tx, policy.supply_rows_max),
            "key": str(node.keys.current(tx).vkey),
        }
    entries, older = cut(found, policy.shown_rows, lambda last: str(last.seq))
    checkpoints, signed_older = cut(signed, _CHECKPOINTS_SHOWN, lambda last: str(last[0]))
    lines = [EntryLine(each, entry_id(each.id), words.kind(each.content["kind"])) for each in entries]
    pages = {"entries": lines, "older": older, "checkpoints": [item for _, item in checkpoints]}
    abouts = {asset.name: about(node, asset) for asset in Asset}
    rest = {"abouts": abouts, "signed_older": signed_older, "signed_s": policy.checkpoint_s, "visitor": visitor}
    return page(request, "ledger.html", {**facts, **pages, **rest})


@router.get("/ledger/entries")
def find_entry(
    request: Request, node: NodeDep, visitor: VisitorDep, q: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Lead to an entry by its id or number."""
    if not q.strip():
        return RedirectResponse("/ledger", status_code=303)
    try:
        with node.read() as tx:
            found = found_entry(tx, q)
    except NotFound:
        facts = {"asked": q.strip(), "visitor": visitor}
        return page(request, "no_entry.html", facts, status=404)
    return RedirectResponse(f"/ledger/entries/{found.seq}", status_code=303)


@router.get("/ledger/entries/{entry}")
def entry_page(request: Request, entry: str, node: NodeDep, visitor: VisitorDep) -> Response:
    """One entry in words, its legs, what it belongs to, and the proof."""
    with node.read() as tx:
        found = found_entry(tx, entry)
        seen = _seen(node, tx, found, visitor)
        told = _names(node, tx, seen)
        memo = queries.memo(tx, found.seq) if seen.party else None
        last = node.checkpoints.latest(tx)
        facts = {"size": queries.head(tx).seq, "covered": last is not None and last.size >= found.seq}
    legs = [LegLine(_side(leg.from_, told), _side(leg.to, told), leg.amount, leg.asset, leg.rest) for leg in seen.legs]
    sides = [(leg.from_, leg.to) for leg in legs]
    context = {
        "entry": found,
        "id": entry_id(found.id),
        "kind": words.kind(found.content["kind"]),
        "seen": seen,
        "sentences": tell_entry(found, _by(seen, told), sides, whole=seen.whole),
        "legs": legs,
        "memo": memo,
        "refs": references(found.content.get("refs", [])) if seen.whole else [],
        "receipt": found.content.get("receipt") if seen.whole else None,
        "signed_s": node.policy.of(LedgerPolicy).checkpoint_s,
    }
    return page(request, "entry.html", {**context, **facts, "visitor": visitor})


def references(refs: list[str] | tuple[str, ...]) -> list[Reference]:
    """What an entry belongs to, with the addresses of what has a page."""
    return [Reference(ref, _address(ref)) for ref in refs]


def _address(ref: str) -> str:
    return next((place + quote(ref, safe="") for kind, place in _ADDRESSES if ref.startswith(kind)), "")


def _seen(node: Node, tx: Tx, entry: Entry, visitor: Visitor | None) -> VisibleEntry:
    who = None if visitor is None else visitor.principal
    return visible(entry.content, reader_of(node, tx, who, [entry]))


def _names(node: Node, tx: Tx, seen: VisibleEntry) -> dict[str, str]:
    """What those are called whom the reader may know."""
    owners = {side.owner for leg in seen.legs for side in (leg.from_, leg.to)} | {seen.source}
    return {owner: name.text for owner, name in names(node, tx, [each for each in owners if each]).items()}


def _side(side: Side, told: dict[str, str]) -> str:
    """An account in words: whose it is, and which of theirs."""
    if side.account is None or side.owner is None:
        return _A[side.kind]
    name = account_name(side.account)
    if name.is_hold:
        return "the hold"
    role = name.role if name.purpose is None else f"{name.role}.{name.purpose}"
    return f"{told[side.owner]} ({words.place(role)})"


def _by(seen: VisibleEntry, told: dict[str, str]) -> str:
    if seen.source is None:
        return _A.get(seen.source_kind, "somebody")
    return told[seen.source] if seen.source_kind in ("person", "agent") else shown(seen.source)


def _number(cursor: str) -> int:
    """The number that a page begins before; what is no number begins at the newest."""
    try:
        return last_number(cursor) or books.END
    except Invalid:
        return books.END
