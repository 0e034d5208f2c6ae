"""What the node owes, over HTTP: the signed totals for everybody, and a proof for whoever is owed something."""

from __future__ import annotations

import base64
import time
from typing import Annotated

from fastapi import Path, Query, Response

from choir.doors.http.access import AccessRoute, AnyoneDep, NodeDep, OperatorDep, ReaderDep
from choir.doors.http.etags import NOT_CHANGED, IfNoneMatch, tag_of, unchanged
from choir.doors.http.openapi import also, problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.liabilities.shapes import (
    AssetTotalOut,
    BesideOut,
    LiabilitiesOut,
    LiabilitiesProofOut,
    LiabilitiesUnderWayOut,
    OwedOut,
    OwedShareOut,
)
from choir.foundation.clock import format_time
from choir.ledger.liabilities import tree
from choir.ledger.liabilities.model import CountingFailed, OwedProof, Proof, PublicationRequest, Share, Snapshot
from choir.ledger.liabilities.service import note_of
from choir.ledger.policy import LedgerPolicy
from choir.node import Node
from choir.storage.policy import NodePolicy

router = RoomRouter(tags=["liabilities"], route_class=AccessRoute)

_LOOK_S = 2  # how often a client is asked to look
_PAUSE_S = 0.05  # how often we look


@router.post(
    "/liabilities",
    status_code=201,
    response_model=LiabilitiesOut,
    responses=also(200, LiabilitiesOut, "No entry was posted since the last signing.")
    | also(202, LiabilitiesUnderWayOut, "In progress; get the latest later.")
    | problems(409),
)
def publish_liabilities(_: OperatorDep, node: NodeDep, response: Response) -> LiabilitiesOut | Response:
    """Compute and sign the node's liabilities after all entries so far, now instead of when due.

    It takes some seconds per hundred thousand accounts, and continues whether or not anyone waits.
    """
    asked = node.write(node.liabilities.ask)
    found = _waited_for(node, asked) if isinstance(asked, PublicationRequest) else asked
    if found is None:
        assert isinstance(asked, PublicationRequest)
        under_way = LiabilitiesUnderWayOut(size=asked.size, interval_s=_LOOK_S, problem=asked.problem)
        return Response(under_way.model_dump_json(), status_code=202, media_type="application/json")
    if found is asked:
        response.status_code = 200
    with node.read() as tx:
        return shown(found, node.liabilities.rotations(tx))


def _waited_for(node: Node, asked: PublicationRequest) -> Snapshot | None:
    """What was asked for, if it is there soon; well before the request would be ended."""
    until = time.monotonic() + min(
        node.policy.of(LedgerPolicy).liabilities_wait_s, node.policy.of(NodePolicy).request_s_max / 2
    )
    while True:
        with node.read() as tx:
            failure = node.liabilities.failure(tx)
            found = node.liabilities.made_since(tx, asked)
        if found is not None:
            return found
        if failure is not None:
            raise CountingFailed(why=failure)
        if time.monotonic() >= until:
            return None
        time.sleep(_PAUSE_S)


@router.get("/liabilities/latest", response_model=LiabilitiesOut, responses=NOT_CHANGED | problems(404))
def latest_liabilities(
    _: AnyoneDep, node: NodeDep, response: Response, if_none_match: IfNoneMatch = None
) -> LiabilitiesOut | Response:
    """Get the last signed liabilities. Public: compare the note with the one that others see."""
    with node.read() as tx:
        found, rotations = node.liabilities.latest(tx), node.liabilities.rotations(tx)
    return _tagged(found, rotations, response, if_none_match)


@router.get("/liabilities/{size}", response_model=LiabilitiesOut, responses=NOT_CHANGED | problems(404))
def get_liabilities(
    size: Annotated[int, Path(ge=0, le=2**62, description="Number of entries.")],
    _: AnyoneDep,
    node: NodeDep,
    response: Response,
    if_none_match: IfNoneMatch = None,
) -> LiabilitiesOut | Response:
    """Get the liabilities signed after this many entries. They never change."""
    with node.read() as tx:
        found, rotations = node.liabilities.of_size(tx, size), node.liabilities.rotations(tx)
    return _tagged(found, rotations, response, if_none_match)


@router.get("/me/liabilities", responses=problems(404))
def prove_own_liabilities(
    who: ReaderDep,
    node: NodeDep,
    size: Annotated[int | None, Query(ge=0, le=2**62, description="Number of entries; default: last signed.")] = None,
) -> LiabilitiesProofOut:
    """Prove that the signed liabilities include what the caller is owed; for an agent, also its person's accounts."""
    with node.read() as tx:
        return proof(node.liabilities.prove(tx, who.owners, size))


def shown(snapshot: Snapshot, rotations: list[str]) -> LiabilitiesOut:
    totals = [
        AssetTotalOut(asset=item.asset, accounts=item.accounts, total=str(item.total), root=_encoded(item.root))
        for item in note_of(snapshot).totals
    ]
    return LiabilitiesOut(
        size=snapshot.size,
        at=format_time(snapshot.at_us),
        totals=totals,
        note=snapshot.note,
        checkpoint=snapshot.checkpoint,
        rotations=rotations,
    )


def proof(item: Proof) -> LiabilitiesProofOut:
    return LiabilitiesProofOut(
        accounts=[_owed(each) for each in item.accounts],
        note=item.snapshot.note,
        checkpoint=item.snapshot.checkpoint,
        rotations=item.rotations,
    )


def _owed(item: OwedProof) -> OwedOut:
    return OwedOut(
        account=item.owed.account,
        balance=str(item.owed.balance),
        held=str(item.owed.held),
        shares=[_share(each) for each in item.shares],
    )


def _share(item: Share) -> OwedShareOut:
    beside = [BesideOut(sum=str(tree.sum_of(node)), hash=_encoded(tree.hash_of(node))) for node in item.beside]
    leaf = item.leaf
    return OwedShareOut(amount=str(leaf.amount), index=leaf.index, salt=_encoded(leaf.salt), beside=beside)


def _tagged(
    snapshot: Snapshot, rotations: list[str], response: Response, if_none_match: str | None
) -> LiabilitiesOut | Response:
    tag = tag_of("".join([snapshot.note, *rotations]).encode())
    response.headers["ETag"] = tag
    return unchanged(if_none_match, tag) or shown(snapshot, rotations)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
