"""Logins of programs: a terminal asks, a person approves in the browser, the terminal fetches its token."""

from __future__ import annotations

from fastapi import Response

from choir.doors.http.access import AccessRoute, AddressDep, AnyoneDep, FreshDep, NodeDep, PersonDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.logins.shapes import LoginIn, LoginOut, LoginStartedOut, LoginWaitingOut, VerifierIn
from choir.doors.tokens.shapes import NewTokenOut, TokenOut
from choir.foundation.clock import format_time
from choir.identity.credentials.logins import challenge_of
from choir.identity.credentials.model import login_id, parse_login_id
from choir.identity.credentials.tries import settled
from choir.identity.policy import DelegationsPolicy

router = RoomRouter(tags=["logins"], route_class=AccessRoute, prefix="/logins")


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
