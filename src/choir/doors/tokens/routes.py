"""API tokens."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from choir.doors.http.access import AccessRoute, NodeDep, OptionalKeyDep, PersonReaderDep, SignedInDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, expires_us, last_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.tokens.shapes import NewTokenOut, TokenIn, TokenOut, TokenPage
from choir.identity.credentials.model import parse_token_id, token_id
from choir.identity.credentials.tokens import NewToken
from choir.identity.delegations.model import parse_delegation_id
from choir.identity.model import Principal, Role
from choir.identity.policy import DelegationsPolicy
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["tokens"], route_class=AccessRoute, prefix="/tokens")


@router.get("")
def list_tokens(who: PersonReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> TokenPage:
    """List a person's tokens and those under their delegations; oldest first, including ended ones."""
    size = page_rows(limit, node.policy.of(DelegationsPolicy))
    after = last_id(cursor, parse_token_id)
    assert who.person is not None
    with node.read() as tx:
        found = node.tokens.of_person(tx, who.person, after=after, limit=size)
    following = token_id(found[-1].id) if len(found) == size else None
    return TokenPage(items=[TokenOut.of(item) for item in found], next=following)


@router.post(
    "",
    status_code=201,
    responses=also(200, NewTokenOut, "This key had created it before; the secret is no longer available.")
    | problems(404, 409),
)
def make_token(body: TokenIn, who: SignedInDep, key: OptionalKeyDep, node: NodeDep, response: Response) -> NewTokenOut:
    """Create a token, shown only once. For a person after a fresh passkey check, or an agent with its own key."""
    if who.role is Role.PERSON:
        who.must_be_fresh(node.clock.now_us())
    ends_us = expires_us(node, body)
    made: list[NewToken] = []

    def make(tx: Tx) -> UUID:
        made.append(_make(tx, node, who, body, ends_us))
        return made[-1].token.id

    def work(tx: Tx) -> tuple[TokenOut, bool]:
        content = ["token", body.model_dump(mode="json")]
        id_, new = node.repeats.once(tx, who, key, content, lambda: make(tx))
        return TokenOut.of(node.tokens.get(tx, id_)), new

    shown, new = node.write(work)
    if not new:
        response.status_code = 200
        return NewTokenOut(token=shown, secret=None)
    return NewTokenOut(token=shown, secret=made[-1].text.reveal())


@router.delete("/{token}", status_code=204, responses=problems(404))
def revoke_token(token: str, who: SignedInDep, node: NodeDep) -> None:
    """Revoke a token at once. For its person, its agent, or the token itself."""
    id_ = parse_token_id(token)
    node.write(lambda tx: node.tokens.revoke(tx, who, id_))


def _make(tx: Tx, node: Node, who: Principal, body: TokenIn, ends_us: int) -> NewToken:
    if body.delegation is None:
        return node.tokens.for_person(tx, who, name=body.name, scopes=body.scopes, expires_us=ends_us)
    delegation = parse_delegation_id(body.delegation)
    return node.tokens.for_delegation(tx, who, delegation, name=body.name, scopes=body.scopes, expires_us=ends_us)
