"""Signing up, in and out, recovering, and the browsers that are signed in."""

from __future__ import annotations

from fastapi import Response

from choir.doors.http.access import (
    AccessRoute,
    AddressDep,
    AnyoneDep,
    NodeDep,
    PersonDep,
    SessionDep,
)
from choir.doors.http.cookies import clear_session, set_session
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.people.routes import me_view, person_view
from choir.doors.people.shapes import (
    CeremonyOut,
    EndedOut,
    MeOut,
    NewPasskeyIn,
    RecoveredIn,
    RecoveredOut,
    RecoveryIn,
    SessionList,
    SessionOut,
    ShownPasskeyIn,
    SignedUpOut,
    SignUpIn,
    gifts,
)
from choir.foundation.errors import Refusal
from choir.identity.credentials.model import parse_ceremony_id
from choir.identity.credentials.passkeys import ShownPasskey
from choir.identity.credentials.sessions import Session, StartedSession
from choir.identity.credentials.tries import settled
from choir.storage.database import Tx

router = RoomRouter(tags=["signing in"], route_class=AccessRoute)


@router.post("/sign-up/begin", responses=problems(409, 429))
def begin_sign_up(body: SignUpIn, _: AnyoneDep, address: AddressDep, node: NodeDep) -> CeremonyOut:
    """Begin a sign-up with a free handle. The handle is taken when the sign-up finishes."""
    referrer = body.referrer or None
    return CeremonyOut.of(node.write(lambda tx: node.people.begin_sign_up(tx, body.handle, address, referrer)))


@router.post("/sign-up/finish", status_code=201, responses=problems(409, 429))
def finish_sign_up(body: NewPasskeyIn, _: AnyoneDep, node: NodeDep, response: Response) -> SignedUpOut:
    """Finish a sign-up and log in. Grants the starting balance; recovery codes are shown only once."""
    ceremony = parse_ceremony_id(body.ceremony)

    def finish(tx: Tx) -> tuple[StartedSession, SignedUpOut] | Refusal:
        done = node.people.finish_sign_up(tx, ceremony, body.answer, body.name)
        if isinstance(done, Refusal):
            return done
        started = node.sessions.start(tx, done.shown)
        codes = node.recovery.make(tx, node.sessions.principal_of(tx, started.token))
        given = gifts(node.people.gift(done.person.id))
        return started, SignedUpOut(person=person_view(tx, node, done.person), recovery_codes=codes, gifts=given)

    started, shown = settled(node.database, finish)
    set_session(response, node, started.token)
    return shown


@router.post("/sign-in/begin", responses=problems(429))
def begin_sign_in(_: AnyoneDep, address: AddressDep, node: NodeDep) -> CeremonyOut:
    """Begin a login with any passkey of this node."""
    return CeremonyOut.of(node.write(lambda tx: node.passkeys.begin_sign_in(tx, address)))


@router.post("/sign-in/finish")
def finish_sign_in(body: ShownPasskeyIn, _: AnyoneDep, node: NodeDep, response: Response) -> MeOut:
    """Finish a login with a passkey."""
    ceremony = parse_ceremony_id(body.ceremony)

    def finish(tx: Tx) -> tuple[StartedSession, MeOut] | Refusal:
        shown = node.passkeys.finish_sign_in(tx, ceremony, body.answer)
        if isinstance(shown, Refusal):
            return shown
        started = node.sessions.start(tx, shown)
        return started, me_view(tx, node, node.sessions.principal_of(tx, started.token))

    started, me = settled(node.database, finish)
    set_session(response, node, started.token)
    return me


@router.post("/recovery/begin", responses=problems(429))
def begin_recovery(body: RecoveryIn, _: AnyoneDep, address: AddressDep, node: NodeDep) -> CeremonyOut:
    """Begin a recovery with a recovery code. The code is used up when the recovery finishes."""
    return CeremonyOut.of(settled(node.database, lambda tx: node.recovery.begin(tx, body.handle, body.code, address)))


@router.post("/recovery/finish", status_code=201, responses=problems(409))
def finish_recovery(body: RecoveredIn, _: AnyoneDep, node: NodeDep) -> RecoveredOut:
    """Finish a recovery with a new passkey. All sessions end and none is started: log in with it.

    Older passkeys, tokens and delegations end too, unless kept: whoever has the lost device could
    have created any of them.
    """
    ceremony = parse_ceremony_id(body.ceremony)
    return RecoveredOut.of(
        settled(
            node.database,
            lambda tx: node.recovery.finish(tx, ceremony, body.answer, body.name, keep=body.keep),
        )
    )


@router.post("/sign-out", status_code=204)
def sign_out(_: PersonDep, token: SessionDep, node: NodeDep, response: Response) -> None:
    """End this session."""
    node.write(lambda tx: node.sessions.end(tx, token))
    clear_session(response, node)


@router.post("/me/confirm/begin", responses=problems(429))
def begin_confirming(_: PersonDep, token: SessionDep, node: NodeDep) -> CeremonyOut:
    """Begin a fresh passkey check, before a sensitive action."""

    def begin(tx: Tx) -> CeremonyOut:
        session = node.sessions.find(tx, token)
        return CeremonyOut.of(node.passkeys.begin_confirming(tx, session.person, session.passkey))

    return node.write(begin)


@router.post("/me/confirm/finish")
def finish_confirming(body: ShownPasskeyIn, _: PersonDep, token: SessionDep, node: NodeDep) -> SessionOut:
    """Finish a fresh passkey check: for a few minutes the session may do sensitive actions."""
    ceremony = parse_ceremony_id(body.ceremony)

    def finish(tx: Tx) -> Session | Refusal:
        session = node.sessions.find(tx, token)
        shown = node.passkeys.finish_confirming(tx, session.person, session.passkey, ceremony, body.answer)
        return node.sessions.confirm(tx, token, shown) if isinstance(shown, ShownPasskey) else shown

    confirmed = settled(node.database, finish)
    return SessionOut.of(confirmed, confirmed)


@router.get("/me/sessions")
def list_sessions(_: PersonDep, token: SessionDep, node: NodeDep) -> SessionList:
    """List your own sessions, newest first."""
    with node.read() as tx:
        current = node.sessions.find(tx, token)
        found = node.sessions.of(tx, current.person)
    return SessionList(items=[SessionOut.of(item, current) for item in found])


@router.delete("/me/sessions")
def end_other_sessions(who: PersonDep, token: SessionDep, node: NodeDep) -> EndedOut:
    """End all sessions but this one."""
    return EndedOut(ended=node.write(lambda tx: node.sessions.end_all(tx, who, keep=token)))


@router.delete("/me/sessions/{session}", status_code=204, responses=problems(404))
def end_session(session: str, who: PersonDep, node: NodeDep) -> None:
    """End one session."""
    node.write(lambda tx: node.sessions.end_one(tx, who, session))
