"""Pages about a person's money: the statement, what is held, what agents spend, and sending.

Guarantee: what a page shows is its visitor's and nothing else's; money moves only by `POST /v1/transfers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import InvalidOperation
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from choir.doors.accounts import statements
from choir.doors.accounts.spending import spending
from choir.doors.accounts.statements import Search
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import page as cut
from choir.doors.ledger.pages import Reference, references
from choir.doors.web import words
from choir.doors.web.purse import about
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor
from choir.foundation.errors import Invalid, NotFound
from choir.foundation.ids import parse_id
from choir.foundation.money import Asset
from choir.ledger import books, queries
from choir.ledger.books import OpenHold
from choir.ledger.model import UnknownAccount, account_name
from choir.ledger.policy import LedgerPolicy
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

MOVABLE = (Asset.SAT, Asset.USDC)  # what may go from person to person
_FILES = {"csv": ("text/csv; charset=utf-8", statements.as_csv), "json": ("application/json", statements.as_json)}
_DIGITS_MAX, _LEG_MAX = 18, 2**15 - 1


class Asked(BaseModel):
    """What the form of a statement has, as it was typed."""

    account: str = Field(default="", max_length=200)
    q: str = Field(default="", max_length=200)
    kind: str = Field(default="", max_length=200)
    least: str = Field(default="", max_length=60)
    most: str = Field(default="", max_length=60)
    since: str = Field(default="", max_length=40)
    until: str = Field(default="", max_length=40)
    before: str = Field(default="", max_length=40)

    def query(self, **more: str) -> str:
        """The same as an address has it, on its first page unless another is named."""
        fields = self.model_dump() | {"before": ""} | more
        return urlencode({name: value for name, value in fields.items() if value})


AskedDep = Annotated[Asked, Query()]


@dataclass(frozen=True, slots=True)
class HoldLine:
    hold: OpenHold
    asset: str
    refs: list[Reference]


@dataclass(frozen=True, slots=True)
class Sendable:
    """An asset that can be sent, and how much of it is there."""

    asset: Asset
    about: str
    units: int


@router.get("/account/statement")
def statement_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep, asked: AskedDep) -> Response:
    """Movements of the visitor's accounts, newest first."""
    size = node.policy.of(LedgerPolicy).shown_rows
    with node.read() as tx:
        own = statements.own_accounts(node, tx, visitor.person)
        search, wrong = _search(tx, own, asked)
        found = statements.find(node, tx, search, _place(asked.before), size)
    older = "" if found.following is None else asked.query(before="{}-{}".format(*found.following))
    context = {"own": own, "asked": asked, "wrong": wrong, "found": found, "older": older, "kinds": words.KINDS}
    return page(request, "statement.html", {**context, "most_rows": _download_rows(node), "visitor": visitor})


@router.get("/account/statement.{format_}")
def statement_file(format_: str, node: NodeDep, visitor: SignedInVisitorDep, asked: AskedDep) -> Response:
    """The same as a file."""
    if format_ not in _FILES:
        raise NoSuchFile(format=format_[:20])
    with node.read() as tx:
        search, _ = _search(tx, statements.own_accounts(node, tx, visitor.person), asked)
    type_, write = _FILES[format_]
    headers = {"Content-Disposition": f'attachment; filename="statement.{format_}"', "Cache-Control": "no-store"}
    return StreamingResponse(write(node, search), media_type=type_, headers=headers)


@router.get("/account/holds")
def holds_page(
    request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: Annotated[str, Query(max_length=18)] = ""
) -> Response:
    """What is held of the visitor's money, and of their agents'."""
    size = node.policy.of(LedgerPolicy).shown_rows
    first = int(before) if before.isascii() and before.isdecimal() else books.END
    with node.read() as tx:
        own = [each.name for each in statements.own_accounts(node, tx, visitor.person)]
        found = books.open_holds(tx, own, before=first, limit=size + 1)
    shown, older = cut(found, size, lambda last: str(last.placed_seq))
    lines = [HoldLine(each, account_name(each.payer).asset.name, references(each.refs)) for each in shown]
    return page(request, "holds.html", {"holds": lines, "older": older, "visitor": visitor})


@router.get("/account/spending")
def spending_page(
    request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: Annotated[str, Query(max_length=60)] = ""
) -> Response:
    """What agents spent of the visitor's money, delegation by delegation."""
    try:
        last = parse_id("delegation", before) if before else None
    except Invalid:
        last = None
    with node.read() as tx:
        lines, older = spending(node, tx, visitor.person.id, last)
    return page(request, "spending.html", {"lines": lines, "older": older, "visitor": visitor})


@router.get("/account/send")
def send_page(
    request: Request, node: NodeDep, visitor: SignedInVisitorDep, to: Annotated[str, Query(max_length=80)] = ""
) -> Response:
    """First to whom, then how much."""
    handle, receiver, wrong = to.strip().removeprefix("@"), None, ""
    with node.read() as tx:
        coins = [Sendable(asset, about(node, asset), _available(tx, visitor, asset)) for asset in MOVABLE]
        if handle:
            try:
                receiver = node.people.by_handle(tx, handle)
            except (Invalid, NotFound):
                wrong = f"There is nobody with the handle “{handle}”."
    if receiver is not None and receiver.id == visitor.person.id:
        receiver, wrong = None, "That is you. Choose somebody else."
    memo_max = node.policy.of(LedgerPolicy).memo_chars_max
    context = {"to": handle, "receiver": receiver, "wrong": wrong, "coins": coins, "memo_max": memo_max}
    return page(request, "send.html", {**context, "visitor": visitor})


class NoSuchFile(NotFound):
    code = "web.statement_format_unknown"
    sentence = "There is no statement as {format}; there are csv and json."


def _search(tx: Tx, own: list[statements.OwnAccount], asked: Asked) -> tuple[Search, list[str]]:
    """What is looked for, and what of it could not be read."""
    search, wrong = statements.between(tx, Search(statements.chosen(own, asked.account)), asked.since, asked.until)
    limits: dict[str, Any] = {}
    for name, text in (("least", asked.least), ("most", asked.most)):
        try:
            limits[name] = statements.amount_of(text)
        except InvalidOperation:
            wrong.append(f"“{text[:20]}” is not an amount. Write digits with at most one point, such as 12.5.")
    return replace(search, text=asked.q.strip(), kind=asked.kind, **limits), wrong


def _place(cursor: str) -> tuple[int, int] | None:
    seq, _, leg = cursor.partition("-")
    plain = all(part.isascii() and part.isdecimal() and len(part) <= _DIGITS_MAX for part in (seq, leg))
    return (int(seq), min(int(leg), _LEG_MAX)) if plain else None


def _available(tx: Tx, visitor: Visitor, asset: Asset) -> int:
    try:
        return queries.balance(tx, f"{visitor.person.owner}/available/{asset.name}").balance
    except UnknownAccount:
        return 0


def _download_rows(node: Node) -> int:
    return node.policy.of(LedgerPolicy).download_rows_max
