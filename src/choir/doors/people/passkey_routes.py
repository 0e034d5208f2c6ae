"""A person's passkeys."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode

from choir.doors.http.access import AccessRoute, FreshDep, NodeDep, PersonDep, SessionDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.people.shapes import CeremonyOut, NameIn, NewPasskeyIn, PasskeyList, PasskeyOut
from choir.identity.credentials.model import UnknownPasskey, parse_ceremony_id
from choir.identity.credentials.tries import settled

router = RoomRouter(tags=["passkeys"], route_class=AccessRoute, prefix="/me/passkeys")


@router.get("")
def list_passkeys(_: PersonDep, token: SessionDep, node: NodeDep) -> PasskeyList:
    """List your own passkeys, oldest first."""
    with node.read() as tx:
        current = node.sessions.find(tx, token)
        found = node.passkeys.of(tx, current.person)
    return PasskeyList(items=[PasskeyOut.of(item, current) for item in found])


@router.post("/begin", responses=problems(404, 429))
def begin_adding(who: FreshDep, node: NodeDep) -> CeremonyOut:
    """Begin adding a passkey."""
    return CeremonyOut.of(node.write(lambda tx: node.passkeys.begin_adding(tx, who)))


@router.post("/finish", status_code=201, responses=problems(404, 409))
def finish_adding(body: NewPasskeyIn, who: FreshDep, node: NodeDep) -> PasskeyOut:
    """Finish adding a passkey."""
    ceremony = parse_ceremony_id(body.ceremony)
    made = settled(node.database, lambda tx: node.passkeys.finish_adding(tx, who, ceremony, body.answer, body.name))
    return PasskeyOut.of(made, None)


@router.patch("/{passkey}", status_code=204, responses=problems(404))
def rename_passkey(passkey: str, body: NameIn, who: PersonDep, node: NodeDep) -> None:
    """Rename a passkey."""
    id_ = _id(passkey)
    node.write(lambda tx: node.passkeys.rename(tx, who, id_, body.name))


@router.delete("/{passkey}", status_code=204, responses=problems(404, 409))
def remove_passkey(passkey: str, who: FreshDep, node: NodeDep) -> None:
    """Remove a passkey and every session started with it. The last passkey cannot be removed."""
    id_ = _id(passkey)
    node.write(lambda tx: node.passkeys.remove(tx, who, id_))


def _id(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise UnknownPasskey from None
