"""Account keys: Nostr keys that the node keeps, encrypted, for people and their agents."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from choir.doors.http.access import AccessRoute, FreshDep, NodeDep, OptionalKeyDep, PersonReaderDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.keys.shapes import BroughtKeyIn, KeyIn, KeyList, KeyOut, NewKeyOut, PhraseIn
from choir.identity.agents.model import UnknownAgent
from choir.identity.keys.nostr_keys import parse_public, parse_secret
from choir.identity.keys.phrases import parse_phrase
from choir.identity.keys.service import NewKey
from choir.identity.model import Principal, owner_id, person_owner
from choir.identity.people.model import UnknownPerson
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["keys"], route_class=AccessRoute, prefix="/keys")

Owner = Annotated[
    str | None, Query(max_length=80, description="The caller or one of their agents. Default: the calling person.")
]


@router.get("", responses=problems(404))
def list_keys(who: PersonReaderDep, node: NodeDep, owner: Owner = None) -> KeyList:
    """List keys of the person or one of their agents, oldest first, including retired ones."""
    with node.read() as tx:
        found = node.account_keys.of_owner(tx, _own(tx, node, who, owner))
    return KeyList(items=[KeyOut.of(item) for item in found])


@router.post(
    "",
    status_code=201,
    responses=also(200, NewKeyOut, "This key had created it before; the phrase is no longer available.")
    | problems(404, 409),
)
def create_key(body: KeyIn, who: FreshDep, key: OptionalKeyDep, node: NodeDep, response: Response) -> NewKeyOut:
    """Create a key from a new phrase. The phrase is shown only once and not stored."""
    made: list[NewKey] = []

    def make(tx: Tx) -> UUID:
        made.append(node.account_keys.create(tx, who, body.owner or who.source))
        return made[-1].key.id

    def work(tx: Tx) -> tuple[KeyOut, bool]:
        id_, new = node.repeats.once(tx, who, key, ["key", body.owner], lambda: make(tx))
        return KeyOut.of(node.account_keys.get(tx, id_)), new

    shown, new = node.write(work)
    if not new:
        response.status_code = 200
        return NewKeyOut(key=shown, phrase=None)
    return NewKeyOut(key=shown, phrase=made[-1].phrase.reveal())


@router.post("/restore", status_code=201, responses=problems(404, 409))
def restore_key(body: PhraseIn, who: FreshDep, node: NodeDep) -> KeyOut:
    """Import the key of a phrase. Idempotent."""
    phrase = parse_phrase(body.phrase)
    owner = body.owner or who.source
    return KeyOut.of(node.write(lambda tx: node.account_keys.restore(tx, who, owner, phrase, body.account)))


@router.post("/bring", status_code=201, responses=problems(404, 409))
def bring_key(body: BroughtKeyIn, who: FreshDep, node: NodeDep) -> KeyOut:
    """Import an existing key. Idempotent."""
    secret = parse_secret(body.secret)
    owner = body.owner or who.source
    return KeyOut.of(node.write(lambda tx: node.account_keys.bring(tx, who, owner, secret)))


@router.delete("/{public}", status_code=204, responses=problems(404))
def retire_key(public: str, who: FreshDep, node: NodeDep, owner: Owner = None) -> None:
    """Retire a key and delete its secret. `public` is 64 hex digits or npub."""
    key = parse_public(public)
    node.write(lambda tx: node.account_keys.retire(tx, who, owner or who.source, key))


def _own(tx: Tx, node: Node, who: Principal, owner: str | None) -> str:
    """The owner asked for, if it is the person or an agent of theirs."""
    assert who.person is not None
    own = person_owner(who.person)
    if owner is None or owner == own:
        return own
    kind, id_ = owner_id(owner)
    if kind != "agent":
        raise UnknownPerson(person=owner)
    if node.agents.visible(tx, who, id_).owner != who.person:
        raise UnknownAgent(agent=owner)
    return owner
