"""Pages about oneself: signing up and in, recovering, the account.

Guarantee: what a page shows is its visitor's and nothing else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from choir.doors.accounts.pages import balances
from choir.doors.http.access import NodeDep
from choir.doors.people.routes import referral_line
from choir.doors.people.shapes import passkey_id
from choir.doors.web import words
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep, VisitorDep, own_path
from choir.identity import audit
from choir.identity.credentials.sessions import Session
from choir.identity.people.store import PasskeyRow
from choir.identity.policy import PeoplePolicy
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


_ACTS_SHOWN = 12
_MONTH_S = 30 * 86_400

Referrer = Annotated[str, Query(max_length=64)]


@dataclass(frozen=True, slots=True)
class PasskeyLine:
    id: str
    row: PasskeyRow
    here: bool  # this browser's session was started with it


@dataclass(frozen=True, slots=True)
class SessionLine:
    session: Session
    passkey: str
    here: bool


@dataclass(frozen=True, slots=True)
class ActLine:
    text: str
    at_us: int
    by: str


def account(node: Node, tx: Tx, person: UUID, here: Session, owner: str) -> dict[str, Any]:
    """The account page."""
    passkeys = node.passkeys.of(tx, person)
    names = {row.id: row.name for row in passkeys}
    return {
        "passkeys": [PasskeyLine(passkey_id(row.id), row, row.id == here.passkey) for row in passkeys],
        "sessions": [
            SessionLine(each, names.get(each.passkey, "a passkey"), each.id == here.id)
            for each in node.sessions.of(tx, person)
        ],
        "codes_left": node.recovery.left(tx, person).unused,
        "codes_made": node.policy.of(PeoplePolicy).recovery_codes,
        "balances": balances(node, tx, owner),
        "referral": referral_line(tx, node, person),
        "acts": [
            ActLine(words.act(act.act), act.at_us, "" if act.actor == owner else act.actor)
            for act in audit.acts(tx, owner, limit=_ACTS_SHOWN)
        ],
    }


@router.get("/account")
def account_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """Passkeys, recovery codes, sessions, balances, recent activity."""
    person = visitor.person
    with node.read() as tx:
        shown = account(node, tx, person.id, visitor.session, person.owner)
    return page(request, "account.html", {**shown, "visitor": visitor})


@router.get("/sign-up")
def sign_up(
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    next: str = "",  # noqa: A002
    referrer: Referrer = "",
) -> Response:
    """A handle and a passkey make a person, who goes on to where they wanted to be; a link may say who sent them."""
    goal = own_path(next)
    if visitor is not None:
        return RedirectResponse(goal, status_code=303)
    policy = node.policy.of(PeoplePolicy)
    shown = {"policy": policy, "next": goal, "asked": next != "", "referrer": referrer}
    return page(request, "sign_up.html", shown | {"months": policy.referral_s // _MONTH_S})


@router.get("/sign-in")
def sign_in(request: Request, visitor: VisitorDep, next: str = "") -> Response:  # noqa: A002 - the name in the address
    """Showing a passkey; afterwards the visitor goes on to where they wanted to be."""
    goal = own_path(next)
    if visitor is not None:
        return RedirectResponse(goal, status_code=303)
    return page(request, "sign_in.html", {"next": goal, "asked": next != ""})


@router.get("/recover")
def recover(request: Request, visitor: VisitorDep) -> Response:
    """A recovery code instead of a lost passkey."""
    return page(request, "recover.html", {"visitor": visitor})
