"""Who looks at a page: nobody, or a person by the session cookie of this browser.

A page is for people: tokens and signatures are not looked at. An ended session makes a nobody, who is asked
to sign in where somebody is needed, and then led back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from choir.doors.http.cookies import session_token
from choir.doors.http.credentials import node_of
from choir.foundation.errors import Unauthenticated
from choir.identity.credentials.sessions import Session
from choir.identity.model import NOBODY, Principal
from choir.identity.people.model import Person


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in person."""

    principal: Principal
    person: Person
    session: Session


class SignInFirst(Unauthenticated):
    """The page is for signed-in people; answered by leading them to the sign-in."""

    code = "web.sign_in_first"
    sentence = "Log in to see this page."
    hint = ""


def current_visitor(request: Request) -> Visitor | None:
    """Who looks, if it is somebody."""
    node = node_of(request)
    token = session_token(request, node)
    if token is None:
        return None
    with node.read() as tx:
        try:
            principal = node.sessions.principal_of(tx, token)
            session = node.sessions.find(tx, token)
        except Unauthenticated:
            return None
        return Visitor(principal, node.people.get(tx, session.person), session)


def signed_in(visitor: Annotated[Visitor | None, Depends(current_visitor)]) -> Visitor:
    if visitor is None:
        raise SignInFirst
    return visitor


async def on_sign_in_first(request: Request, _: Exception) -> Response:
    """Lead to the sign-in and from there back."""
    return RedirectResponse(f"/sign-in?next={quote(request.url.path, safe='')}", status_code=303)


def reader(visitor: Visitor | None) -> Principal:
    """As whom a visitor reads what is public: as oneself, or as nobody."""
    return NOBODY if visitor is None else visitor.principal


def own_path(text: str, default: str = "/account") -> str:
    """A path on this node, and never another place that somebody put into a link."""
    plain = text.isascii() and text.isprintable() and "\\" not in text
    return text if plain and text.startswith("/") and not text.startswith("//") else default


VisitorDep = Annotated[Visitor | None, Depends(current_visitor)]
SignedInVisitorDep = Annotated[Visitor, Depends(signed_in)]
