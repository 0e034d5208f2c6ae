"""Attempts over HTTP: what a provider works on, hands in and gives back, and what both sides may see of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response

from choir.bazaar.attempts.model import attempt_id, parse_attempt_id
from choir.bazaar.attempts.service import ARTIFACT, TRAJECTORY, SentDelivery
from choir.bazaar.jobs.model import SOURCE
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.settlement.service import pay_key
from choir.bazaar.uploads.blobs import read_blob
from choir.doors.http.access import AccessRoute, MarketReaderDep, NodeDep, ReaderOrSellerDep, SellerDep
from choir.doors.http.openapi import problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.blob_parts import BYTES, Part, answer_part
from choir.doors.jobs.shapes import (
    AttemptOut,
    AttemptPage,
    GiveBackIn,
    HandIn,
    ReceiptFileOut,
    SignatureOut,
    SignedOut,
    StartedOut,
    VerdictOut,
)
from choir.doors.ledger.shapes import ProofOut
from choir.foundation.canonical import ObjectHash, parse_object_hash
from choir.ledger import queries
from choir.ledger.checkpoints import SignedCheckpoint
from choir.ledger.publication import publish_checkpoint
from choir.node import Node
from choir.storage.database import Tx

WithOrder = Annotated[bool, Query(description="Include the order in the response.")]

router = RoomRouter(prefix="/attempts", tags=["attempts"], route_class=AccessRoute)


@router.get("", responses=problems(404))
def list_attempts(
    who: ReaderOrSellerDep, node: NodeDep, live: bool = True, cursor: IdCursor = "", limit: Limit = 100
) -> AttemptPage:
    """List your own provider's attempts, newest first: those in progress, or all."""
    size, before = page_rows(limit, node.policy.of(BazaarPolicy)), before_id(cursor, parse_attempt_id)
    with node.read() as tx:
        own = node.bazaar.providers.of(tx, who).id
        found = node.bazaar.attempts.page(tx, own, live=live, before=before, limit=size)
    following = attempt_id(found[-1].id) if len(found) == size else None
    return AttemptPage(items=[AttemptOut.of(item) for item in found], next=following)


@router.get("/{attempt}", responses=problems(404))
def get_attempt(attempt: str, who: MarketReaderDep, node: NodeDep) -> AttemptOut:
    """Get an attempt. For its provider, the job's buyer, and operators."""
    id_ = parse_attempt_id(attempt)
    with node.read() as tx:
        return AttemptOut.of(node.bazaar.access.attempt(tx, who, id_))


@router.post("/{attempt}/start", responses=problems(404, 409))
def start_attempt(attempt: str, who: SellerDep, node: NodeDep, order: WithOrder = False) -> StartedOut:
    """Start the attempt. Idempotent."""
    id_ = parse_attempt_id(attempt)
    job, found = node.write(lambda tx: node.bazaar.attempts.start_job(tx, who, id_))
    if not order:
        return StartedOut.of(found)
    with node.read() as tx:
        return StartedOut.of(found, job, node.objects.get_atom(tx, job.request))


@router.post("/{attempt}/give-back", responses=problems(404, 409))
def give_back(attempt: str, body: GiveBackIn, who: SellerDep, node: NodeDep) -> AttemptOut:
    """Withdraw from the attempt; the job goes to another provider."""
    id_ = parse_attempt_id(attempt)
    return AttemptOut.of(
        node.write(lambda tx: node.bazaar.attempts.give_back(tx, who, id_, body.reason, again=body.again))
    )


@router.post("/{attempt}/hand-in", responses=problems(404, 409))
def hand_in(attempt: str, body: HandIn, who: SellerDep, node: NodeDep) -> AttemptOut:
    """Deliver. The artifact stays in escrow until it is verified and paid. Idempotent."""
    id_ = parse_attempt_id(attempt)
    sent = SentDelivery(
        artifact=read_blob(ARTIFACT, body.artifact.data, body.artifact.hash),
        claimed=parse_object_hash(body.claimed),
        result=body.result,
        trajectory=read_blob(TRAJECTORY, body.trajectory.data, body.trajectory.hash),
        result_signature=bytes.fromhex(body.result_signature),
        trajectory_signature=bytes.fromhex(body.trajectory_signature),
    )
    return AttemptOut.of(node.write(lambda tx: node.bazaar.deliveries.hand_in(tx, who, id_, sent)))


@router.get("/{attempt}/verdict", responses=problems(404))
def get_verdict(attempt: str, who: MarketReaderDep, node: NodeDep) -> VerdictOut:
    """Get the verdict with the evidence for its checks. For buyer and provider."""
    id_ = parse_attempt_id(attempt)
    with node.read() as tx:
        name, verdict, evidence = node.bazaar.access.verdict(tx, who, id_)
    return VerdictOut(hash=name, verdict=verdict, evidence=evidence)


@router.get("/{attempt}/result", responses=problems(404))
def get_result(attempt: str, who: MarketReaderDep, node: NodeDep) -> SignedOut:
    """Get the provider's signed result. For the same readers as the artifact."""
    id_ = parse_attempt_id(attempt)
    with node.read() as tx:
        name = node.bazaar.access.result(tx, who, id_)
        by = node.bazaar.market.result_keys(tx, node.bazaar.access.attempt(tx, who, id_))
        return _signed(tx, node, name, by)  # others may have said the very same, of other jobs


@router.get("/{attempt}/receipt", responses=problems(404))
def get_receipt(attempt: str, who: MarketReaderDep, node: NodeDep) -> SignedOut:
    """Get the receipt: the node's signed statement of what was done, checked and paid. For buyer and provider."""
    id_ = parse_attempt_id(attempt)
    with node.read() as tx:
        return signed_receipt(tx, node, node.bazaar.access.receipt(tx, who, id_))


@router.get("/{attempt}/receipt/file", responses=problems(404))
def get_receipt_file(attempt: str, who: MarketReaderDep, node: NodeDep) -> ReceiptFileOut:
    """Get the receipt with all a third party needs to verify it: verdict, evidence, payment, proof. For both.

    Signs a checkpoint if none covers the payment yet.
    """
    id_, access = parse_attempt_id(attempt), node.bazaar.access
    return receipt_file(node, id_, lambda tx: access.receipt(tx, who, id_), lambda tx: access.verdict(tx, who, id_))


@router.get("/{attempt}/artifact", response_class=Response, responses=BYTES | problems(404))
def get_attempt_artifact(attempt: str, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the artifact. For its provider always, for the buyer once it is paid."""
    id_ = parse_attempt_id(attempt)
    return answer_part(node, part, lambda tx: node.bazaar.access.artifact(tx, who, id_))


@router.get("/{attempt}/trajectory", response_class=Response, responses=BYTES | problems(404))
def get_trajectory(attempt: str, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the trajectory. For the same readers as the artifact."""
    id_ = parse_attempt_id(attempt)
    return answer_part(node, part, lambda tx: node.bazaar.access.trajectory(tx, who, id_))


@router.get("/{attempt}/hidden", response_class=Response, responses=BYTES | problems(404))
def get_hidden(attempt: str, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the hidden checks. For the buyer, and for the provider whose delivery failed them."""
    id_ = parse_attempt_id(attempt)
    return answer_part(node, part, lambda tx: node.bazaar.access.hidden(tx, who, id_))


def receipt_file(
    node: Node,
    attempt: UUID,
    receipt_of: Callable[[Tx], ObjectHash],
    verdict_of: Callable[[Tx], tuple[ObjectHash, dict[str, Any], dict[str, Any]]],
) -> ReceiptFileOut:
    """A receipt with what it rests on, as far as these let the caller read it."""

    def work(tx: Tx) -> tuple[ReceiptFileOut, SignedCheckpoint | None]:
        receipt = signed_receipt(tx, node, receipt_of(tx))
        _, verdict, evidence = verdict_of(tx)
        paid = queries.entry_of_key(tx, SOURCE, pay_key(attempt))
        last = node.checkpoints.latest(tx)
        short = paid is not None and (last is None or last.size < paid.seq)
        signed = node.checkpoints.sign(tx) if short else None
        payment = None if paid is None else ProofOut.of(node.checkpoints.prove(tx, paid))
        rotations = node.checkpoints.rotations(tx)
        return ReceiptFileOut.of(receipt, verdict, evidence, payment, rotations), signed

    file, signed = node.write(work)
    if signed is not None:
        publish_checkpoint(node.settings.home, signed.note)
    return file


def signed_receipt(tx: Tx, node: Node, name: ObjectHash) -> SignedOut:
    """With the node's own signatures alone: anybody may have signed the same bytes, and it would say nothing."""
    keys = [key.vkey.public for key in node.keys.history(tx)]
    return _signed(tx, node, name, keys)


def _signed(tx: Tx, node: Node, name: ObjectHash, by: Collection[bytes] | None = None) -> SignedOut:
    signatures = [SignatureOut.of(item) for item in node.objects.signatures(tx, name, by)]
    return SignedOut(hash=name, value=node.objects.get_atom(tx, name), signatures=signatures)
