"""Logins of programs: a terminal asks, a person approves in the browser, the terminal fetches its token.

So it goes with one act of a person too, such as a new agent: the terminal asks, the person confirms with a passkey, and
the terminal fetches what was made. Both are approved and denied by the same routes.
"""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from choir.doors.agents.shapes import AgentOut
from choir.doors.delegations.shapes import DelegationIn, DelegationOut, Lasting
from choir.doors.http.access import (
    AccessRoute,
    AddressDep,
    AnyoneDep,
    AnyPersonDep,
    FreshDep,
    NodeDep,
    PersonDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import expires_us
from choir.doors.http.rooms import RoomRouter
from choir.doors.logins.confirmation_shapes import ConfirmationIn, ConfirmedOut, NewAgentIn
from choir.doors.logins.shapes import LoginIn, LoginOut, LoginStartedOut, LoginWaitingOut, VerifierIn
from choir.doors.tokens.shapes import NewTokenOut, TokenIn, TokenOut
from choir.foundation.clock import format_time
from choir.foundation.errors import Invalid
from choir.identity.credentials.confirmations import Confirmations, FetchedAct
from choir.identity.credentials.logins import challenge_of
from choir.identity.credentials.model import ActKind, AskedAct, login_id, parse_login_id
from choir.identity.credentials.tries import settled
from choir.identity.policy import DelegationsPolicy
from choir.node import Node

router = RoomRouter(tags=["logins"], route_class=AccessRoute, prefix="/logins")
confirmations = RoomRouter(tags=["logins"], route_class=AccessRoute, prefix="/confirmations")


@router.post("", status_code=201, responses=problems(429))
def begin_login(body: LoginIn, _: AnyoneDep, address: AddressDep, node: NodeDep) -> LoginStartedOut:
    """Request a login token; a person approves it at the returned URL."""
    challenge = challenge_of(body.challenge)
    begun = node.write(
        lambda tx: node.logins.begin(tx, challenge, name=body.name, scopes=body.scopes, days=body.days, address=address)
    )
    return LoginStartedOut(
        login=login_id(begun.id),
        code=begun.code,
        url=f"{node.settings.public_url}/login/{login_id(begun.id)}",
        expires_at=format_time(begun.expires_us),
        interval_s=node.policy.of(DelegationsPolicy).login_interval_s,
    )


@router.post(
    "/{login}/token",
    responses=also(202, LoginWaitingOut, "Not decided yet.") | problems(404, 409, 429),
    response_model=NewTokenOut,
)
def fetch_token(login: str, body: VerifierIn, _: AnyoneDep, node: NodeDep) -> NewTokenOut | Response:
    """Fetch the token of an approved login, once. The verifier authenticates the program."""
    id_ = parse_login_id(login)
    made = settled(node.database, lambda tx: node.logins.fetch(tx, id_, body.verifier)).made
    if made is None:
        waiting = LoginWaitingOut(interval_s=node.policy.of(DelegationsPolicy).login_interval_s)
        return Response(waiting.model_dump_json(), status_code=202, media_type="application/json")
    return NewTokenOut(token=TokenOut.of(made.token), secret=made.text.reveal())


@router.get("/{login}", responses=problems(404))
def get_login(login: str, who: PersonDep, node: NodeDep) -> LoginOut:
    """Get a login request, for the person who is to approve it."""
    with node.read() as tx:
        return LoginOut.of(node.logins.get(tx, who, parse_login_id(login)))


@router.post("/{login}/approve", responses=problems(404, 409))
def approve_login(login: str, who: FreshDep, node: NodeDep) -> LoginOut:
    """Approve a login request. Compare the code first."""
    id_ = parse_login_id(login)
    return LoginOut.of(node.write(lambda tx: node.logins.approve(tx, who, id_)))


@router.post("/{login}/deny", responses=problems(404, 409))
def deny_login(login: str, who: PersonDep, node: NodeDep) -> LoginOut:
    """Deny a login request; possible until the program has fetched its token."""
    id_ = parse_login_id(login)
    return LoginOut.of(node.write(lambda tx: node.logins.deny(tx, who, id_)))


@confirmations.post("", status_code=201, responses=problems(404, 409, 429))
def begin_confirmation(body: ConfirmationIn, who: AnyPersonDep, address: AddressDep, node: NodeDep) -> LoginStartedOut:
    """Ask for one act that needs a passkey; the same person confirms it at the returned URL, or denies it."""
    act, challenge = _asked(node, body), challenge_of(body.challenge)
    begun = node.write(lambda tx: node.of(Confirmations).ask(tx, who, challenge, act, name=body.name, address=address))
    return LoginStartedOut(
        login=login_id(begun.id),
        code=begun.code,
        url=f"{node.settings.public_url}/confirm/{login_id(begun.id)}",
        expires_at=format_time(begun.expires_us),
        interval_s=node.policy.of(DelegationsPolicy).login_interval_s,
    )


@confirmations.post(
    "/{login}/result",
    responses=also(202, ConfirmedOut, "Not decided yet.") | problems(404, 409, 429),
)
def fetch_result(login: str, body: VerifierIn, _: AnyoneDep, node: NodeDep, response: Response) -> ConfirmedOut:
    """Do a confirmed act and get what it made. The verifier authenticates the program."""
    id_ = parse_login_id(login)
    done = settled(node.database, lambda tx: node.of(Confirmations).fetch(tx, id_, body.verifier))
    if done.made is None:
        response.status_code = 202
        return ConfirmedOut(state="waiting", interval_s=node.policy.of(DelegationsPolicy).login_interval_s)
    return _shown(node, done, done.made)


def _asked(node: Node, body: ConfirmationIn) -> AskedAct:
    found: list[tuple[ActKind, NewAgentIn | DelegationIn | TokenIn]] = [
        (kind, asked)
        for kind, asked in (
            (ActKind.AGENT, body.agent),
            (ActKind.DELEGATION, body.delegation),
            (ActKind.TOKEN, body.token),
        )
        if asked is not None
    ]
    if len(found) != 1:
        raise Invalid(what="The request", why="give exactly one of `agent`, `delegation` and `token`")
    [(kind, asked)] = found
    ends_us = expires_us(node, asked) if isinstance(asked, Lasting) else 0
    return AskedAct(kind, asked.model_dump(mode="json"), ends_us, body.key)


def _shown(node: Node, done: FetchedAct, made: UUID) -> ConfirmedOut:
    with node.read() as tx:
        if done.kind is ActKind.AGENT:
            return ConfirmedOut(state="done", agent=AgentOut.of(node.agents.get(tx, made)))
        if done.kind is ActKind.DELEGATION:
            found, usage = node.delegations.get(tx, made), node.delegations.usage(tx, made)
            return ConfirmedOut(state="done", delegation=DelegationOut.of(found, usage))
        secret = None if done.text is None else done.text.reveal()
        return ConfirmedOut(state="done", token=TokenOut.of(node.tokens.get(tx, made)), secret=secret)
