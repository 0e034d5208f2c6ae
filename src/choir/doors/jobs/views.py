"""Jobs, attempts, uploads and disputes as they travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from choir.bazaar.blobs import Given, read_given
from choir.bazaar.disputes.model import Dispute, Ruling, dispute_id
from choir.bazaar.inspecting import HIDDEN
from choir.bazaar.model import Attempt, Job, JobEvent, attempt_id, job_id
from choir.bazaar.providers.model import provider_id
from choir.bazaar.reading import Seen
from choir.bazaar.uploads import Progress, upload_id
from choir.doors.disputes.shapes import DisputeOut, RulingOut
from choir.doors.jobs.shapes import (
    AttemptOut,
    BlobIn,
    JobOut,
    JobStepOut,
    OrderOut,
    PaymentOut,
    ReceiptFileOut,
    SignatureOut,
    SignedOut,
    StartedOut,
    UploadOut,
)
from choir.doors.ledger.shapes import ProofOut
from choir.foundation.clock import format_time
from choir.objects.model import Signature


def given(what: str, blob: BlobIn) -> Given:
    return read_given(what, blob.data, blob.hash)


def upload(item: Progress) -> UploadOut:
    found = item.upload
    return UploadOut(
        id=upload_id(found.id),
        bytes=found.bytes,
        hash=found.hash,
        part_bytes=found.part_bytes,
        parts=found.parts,
        missing=item.missing,
        expires_at=format_time(found.expires_us),
        done=found.done_us is not None,
    )


def attempt(item: Attempt) -> AttemptOut:
    return AttemptOut(**_attempt(item))


def started(item: Attempt, job: Job | None = None, request: dict[str, Any] | None = None) -> StartedOut:
    """An attempt, with its order if a request is there."""
    order = None
    if job is not None and request is not None:
        shown: dict[str, str] = {name: hash_ for name, hash_ in job.inputs.items() if name != HIDDEN}
        order = OrderOut(type=job.type, hash=job.request, request=request, inputs=shown)
    return StartedOut(**_attempt(item), order=order)


def _attempt(item: Attempt) -> dict[str, Any]:
    return {
        "id": attempt_id(item.id),
        "job": job_id(item.job),
        "n": item.n,
        "provider": provider_id(item.provider),
        "owner": item.owner,
        "state": item.state.value,
        "base": str(item.base),
        "per_unit": str(item.per_unit),
        "cap": str(item.cap),
        "ceiling": str(item.ceiling),
        "assigned_at": format_time(item.assigned_us),
        "deadline_at": format_time(item.deadline_us),
        "delivered_at": maybe_time(item.delivered_us),
        "ended_at": maybe_time(item.ended_us),
        "artifact": item.artifact,
        "result": item.result,
        "trajectory": item.trajectory,
        "verdict": item.verdict,
        "receipt": item.receipt,
        "paid": str(item.paid),
        "reason": item.reason,
    }


def listed(item: Job, held: int, attempts: int, summary: str | None) -> JobOut:
    """One's own order among others: how many tries there were, and not each of them."""
    return _job(item, attempts, (), held, summary)


def seen(item: Seen, held: int | None) -> JobOut:
    return _job(item.job, len(item.attempts), item.attempts, held if item.whole else None, item.summary)


def _job(item: Job, made: int, attempts: Sequence[Attempt], held: int | None, summary: str | None) -> JobOut:
    return JobOut(
        id=job_id(item.id),
        type=item.type,
        state=item.state.value,
        buyer=item.buyer or None,
        actor=item.actor or None,
        budget=str(item.budget),
        held=None if held is None else str(held),
        price=None if item.price is None else str(item.price),
        request=item.request,
        inputs=dict(item.inputs),
        hidden=item.hidden,
        strategy=item.strategy,
        criteria=item.criteria,
        time_limit_s=item.time_limit_s,
        created_at=format_time(item.created_us),
        expires_at=format_time(item.expires_us),
        cancelled_at=maybe_time(item.cancelled_us),
        closed_at=maybe_time(item.closed_us),
        winner=None if item.winner is None else attempt_id(item.winner),
        receipt=item.receipt,
        qualification=item.qualifies is not None,
        summary=summary,
        attempts_made=made,
        attempts=[attempt(each) for each in attempts],
    )


def step(item: JobEvent) -> JobStepOut:
    return JobStepOut(n=item.n, at=format_time(item.at_us), what=item.what, actor=item.actor or None, data=item.data)


def signature(item: Signature) -> SignatureOut:
    return SignatureOut(
        scheme=item.scheme.value,
        public=item.public.hex(),
        signature=item.signature.hex(),
        at=format_time(item.at_us),
    )


def dispute(item: Dispute, rulings: Sequence[Ruling]) -> DisputeOut:
    return DisputeOut(
        id=dispute_id(item.id),
        job=job_id(item.job),
        attempt=attempt_id(item.attempt),
        side=item.side.value,
        opener=item.opener,
        trigger=item.trigger.value,
        statement=item.statement,
        state=item.state.value,
        deposit=str(item.deposit),
        opened_at=format_time(item.opened_us),
        respond_by=format_time(item.respond_by_us),
        response=item.response,
        winner=None if item.winner is None else item.winner.value,
        reasoning=item.reasoning,
        refund=str(item.refund),
        owed=str(item.owed),
        resolved_at=maybe_time(item.resolved_us),
        rulings=[
            RulingOut(operator=each.operator, winner=each.winner.value, reasoning=each.reasoning) for each in rulings
        ],
    )


def maybe_time(at_us: int | None) -> str | None:
    return None if at_us is None else format_time(at_us)


def receipt_file(
    receipt: SignedOut,
    verdict: dict[str, Any],
    evidence: dict[str, Any],
    payment: ProofOut | None,
    rotations: list[str],
) -> ReceiptFileOut:
    """A receipt and what it rests on, in one file."""
    paid = None
    if payment is not None:
        paid = PaymentOut(entry=payment.entry, proof=payment.proof, checkpoint=payment.checkpoint)
    return ReceiptFileOut(
        hash=receipt.hash,
        receipt=receipt.value,
        signatures=receipt.signatures,
        verdict=verdict,
        evidence=evidence,
        payment=paid,
        rotations=rotations,
    )
