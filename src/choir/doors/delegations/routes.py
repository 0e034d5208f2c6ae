"""Delegations: granting, narrowing, looking at and revoking an agent's authority."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from choir.doors.delegations.shapes import DelegationIn, DelegationOut, DelegationPage
from choir.doors.http.access import AccessRoute, FreshDep, NodeDep, OptionalKeyDep, ReaderDep, SignedInDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, expires_us, last_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.identity.agents.model import parse_agent_id
from choir.identity.delegations.model import Cap, Delegation, delegation_id, parse_delegation_id
from choir.identity.model import Role
from choir.identity.policy import DelegationsPolicy
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["delegations"], route_class=AccessRoute, prefix="/delegations")

_AGAIN = also(200, DelegationOut, "This key had created it before.")


@router.get("")
def list_delegations(who: ReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> DelegationPage:
    """List a person's delegations, or those given to an agent; oldest first, including ended ones."""
    size = page_rows(limit, node.policy.of(DelegationsPolicy))
    after = last_id(cursor, parse_delegation_id)
    with node.read() as tx:
        if who.role is Role.PERSON:
            assert who.person is not None
            found = node.delegations.of_person(tx, who.person, after=after, limit=size)
        else:
            found = [] if who.agent is None else node.delegations.of_agent(tx, who.agent, after=after, limit=size)
        usage = node.delegations.usage(tx, *(item.id for item in found))
    following = delegation_id(found[-1].id) if len(found) == size else None
    return DelegationPage(items=[DelegationOut.of(item, usage) for item in found], next=following)


@router.post("", status_code=201, responses=_AGAIN | problems(404, 409))
def grant(body: DelegationIn, who: FreshDep, key: OptionalKeyDep, node: NodeDep, response: Response) -> DelegationOut:
    """Grant a delegation from the calling person to an agent. Needs a fresh passkey check."""
    agent, ends_us = parse_agent_id(body.agent), expires_us(node, body)

    def make(tx: Tx) -> UUID:
        return node.delegations.grant(
            tx, who.must_be_person(), agent, scopes=body.scopes, caps=_caps(body), expires_us=ends_us, name=body.name
        ).id

    def work(tx: Tx) -> tuple[DelegationOut, bool]:
        made, new = node.repeats.once(tx, who, key, ["delegation", _content(body)], lambda: make(tx))
        return _view(tx, node, node.delegations.get(tx, made)), new

    return _created(node.write(work), response)


@router.get("/{delegation}", responses=problems(404))
def get_delegation(delegation: str, who: ReaderDep, node: NodeDep) -> DelegationOut:
    """Get a delegation and the use of its caps."""
    with node.read() as tx:
        return _view(tx, node, node.delegations.visible(tx, who, parse_delegation_id(delegation)))


@router.post("/{delegation}/narrow", status_code=201, responses=_AGAIN | problems(404, 409))
def narrow(
    delegation: str, body: DelegationIn, who: SignedInDep, key: OptionalKeyDep, node: NodeDep, response: Response
) -> DelegationOut:
    """Narrow a delegation: grant a subset of it to an agent. For its person, or whoever acts under it."""
    parent, agent, ends_us = parse_delegation_id(delegation), parse_agent_id(body.agent), expires_us(node, body)

    def make(tx: Tx) -> UUID:
        return node.delegations.narrow(
            tx, who, parent, agent, scopes=body.scopes, caps=_caps(body), expires_us=ends_us, name=body.name
        ).id

    def work(tx: Tx) -> tuple[DelegationOut, bool]:
        content = ["narrow", delegation_id(parent), _content(body)]
        made, new = node.repeats.once(tx, who, key, content, lambda: make(tx))
        return _view(tx, node, node.delegations.get(tx, made)), new

    return _created(node.write(work), response)


@router.delete("/{delegation}", status_code=204, responses=problems(404))
def revoke_delegation(delegation: str, who: SignedInDep, node: NodeDep) -> None:
    """Revoke a delegation at once, with all that was narrowed from it. Idempotent."""
    id_ = parse_delegation_id(delegation)
    node.write(lambda tx: node.delegations.revoke(tx, who, id_))


def _caps(body: DelegationIn) -> list[Cap]:
    return [Cap(cap.asset, cap.period, int(cap.cap)) for cap in body.caps]


def _content(body: DelegationIn) -> dict[str, object]:
    return body.model_dump(mode="json")


def _view(tx: Tx, node: Node, found: Delegation) -> DelegationOut:
    return DelegationOut.of(found, node.delegations.usage(tx, found.id))


def _created(done: tuple[DelegationOut, bool], response: Response) -> DelegationOut:
    shown, new = done
    if not new:
        response.status_code = 200
    return shown
