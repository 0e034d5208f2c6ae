"""People: who one is, who others are, vouching, recovery codes, the audit, erasure, clusters."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from choir.doors.http.access import (
    AccessRoute,
    AnyoneDep,
    FreshDep,
    NodeDep,
    OperatorDep,
    PersonDep,
    SignedInDep,
)
from choir.doors.http.cookies import clear_session
from choir.doors.http.openapi import problems
from choir.doors.http.paging import Limit, NumberCursor, last_number, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.people.shapes import ActOut, ActPage, ClusterOut, CodesLeftOut, CodesOut, HomeIn, MeOut, PersonOut
from choir.foundation.clock import format_time
from choir.identity import audit
from choir.identity.model import Principal
from choir.identity.people.model import Person
from choir.identity.policy import DelegationsPolicy
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["people"], route_class=AccessRoute)

Owner = Annotated[str, Query(max_length=80, examples=["person:01j9zq4n8ve5trx0k2m3b4c5d6"])]


@router.get("/people/{handle}", responses=problems(404))
def get_person(handle: str, _: AnyoneDep, node: NodeDep) -> PersonOut:
    """Get a person's public profile."""
    with node.read() as tx:
        return person_view(tx, node, node.people.by_handle(tx, handle))


@router.put("/people/{handle}/vouch", status_code=204, responses=problems(404, 409, 429))
def vouch(handle: str, who: PersonDep, node: NodeDep) -> None:
    """Vouch that this is a distinct person. Idempotent."""
    node.write(lambda tx: node.people.vouch(tx, who, node.people.by_handle(tx, handle).id))


@router.delete("/people/{handle}/vouch", status_code=204, responses=problems(404))
def revoke_vouch(handle: str, who: PersonDep, node: NodeDep) -> None:
    """Withdraw a vouch, if there is one."""
    node.write(lambda tx: node.people.revoke_vouch(tx, who, node.people.by_handle(tx, handle).id))


@router.delete("/people/{handle}", status_code=204, responses=problems(404))
def erase_person(handle: str, who: OperatorDep, node: NodeDep) -> None:
    """Erase a person: all data that names them is deleted; the journal stays intact."""
    node.write(lambda tx: node.erasure.erase(tx, node.people.by_handle(tx, handle).id, actor=who.source))


@router.get("/me")
def get_me(who: SignedInDep, node: NodeDep) -> MeOut:
    """Get the caller's principal and scopes."""
    with node.read() as tx:
        return me_view(tx, node, who)


@router.delete("/me", status_code=204, responses=problems(404))
def erase_me(who: FreshDep, node: NodeDep, response: Response) -> None:
    """Erase the calling person: all data that names them is deleted; the journal stays intact. Irreversible."""
    node.write(lambda tx: node.erasure.erase_self(tx, who))
    clear_session(response, node)


@router.get("/me/recovery-codes")
def count_codes(who: PersonDep, node: NodeDep) -> CodesLeftOut:
    """Get the number of unused recovery codes."""
    with node.read() as tx:
        return CodesLeftOut(unused=node.recovery.left(tx, who.must_be_person()).unused)


@router.post("/me/recovery-codes", status_code=201, responses=problems(404))
def make_codes(who: FreshDep, node: NodeDep) -> CodesOut:
    """Create new recovery codes, shown only once. Earlier ones stop working."""
    return CodesOut(codes=node.write(lambda tx: node.recovery.make(tx, who)))


@router.put("/me/home", status_code=204, responses=problems(409))
def declare_home(body: HomeIn, who: SignedInDep, node: NodeDep) -> None:
    """Declare the machine home you act from: owners with the same home are treated as one. Never shown to others."""
    node.write(lambda tx: node.clusters.declare_home(tx, who.source, bytes.fromhex(body.home)))


@router.get("/me/audit")
def list_acts(who: PersonDep, node: NodeDep, cursor: NumberCursor = "", limit: Limit = 100) -> ActPage:
    """List changes to your identity, newest first."""
    rows = page_rows(limit, node.policy.of(DelegationsPolicy))
    with node.read() as tx:
        found = audit.acts(tx, who.source, before=last_number(cursor), limit=rows)
    following = str(found[-1].n) if len(found) == rows else None
    return ActPage(items=[ActOut.of(item) for item in found], next=following)


@router.get("/clusters")
def get_cluster(owner: Owner, _: OperatorDep, node: NodeDep) -> ClusterOut:
    """List owners that are treated as one with an owner, and why."""
    with node.read() as tx:
        return ClusterOut.of(owner, node.clusters.cluster_of(tx, owner))


def person_view(tx: Tx, node: Node, person: Person) -> PersonOut:
    assert person.handle is not None  # erased people have none to be found by
    return PersonOut(
        handle=person.handle,
        owner=person.owner,
        since=format_time(person.created_us),
        vouches=len(node.people.vouchers(tx, person.id)),
    )


def me_view(tx: Tx, node: Node, who: Principal) -> MeOut:
    handle = None if who.person is None else node.people.get(tx, who.person).handle
    referral = None if who.person is None else referral_line(tx, node, who.person)
    return MeOut.of(who, handle, referral)


def referral_line(tx: Tx, node: Node, person: UUID) -> tuple[str, int] | None:
    """The handle of who brought a person here, and until when they have a part in what the person pays."""
    found = node.people.referral(tx, person)
    if found is None:
        return None
    handle = node.people.get(tx, found.referrer).handle
    return None if handle is None else (handle, found.until_us)
