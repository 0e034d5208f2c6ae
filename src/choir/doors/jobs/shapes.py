"""Shapes about jobs: orders, attempts, verdicts, receipts, and the bytes that go with them.

Amounts are milli-satoshi as decimal strings. Bytes travel inside a request as base64 where they are few, else they
are uploaded in parts before and named by their hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from choir.bazaar.attempts.model import attempt_id
from choir.bazaar.jobs.model import HIDDEN, JobType, job_id
from choir.bazaar.providers.model import provider_id
from choir.bazaar.uploads.model import upload_id
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Amount, Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from choir.bazaar.attempts.model import Attempt
    from choir.bazaar.jobs.access import VisibleJob
    from choir.bazaar.jobs.model import Job, JobEvent
    from choir.bazaar.uploads.service import Progress
    from choir.doors.ledger.shapes import ProofOut
    from choir.objects.model import Signature

JOB = "job_01j9zr1v7cf0m1n2p3q4r5s6t7"
ATTEMPT = "attempt_01j9zr2w8dg1n2p3q4r5s6t7v8"
PROVIDER = "provider_01j9zr4ya0fj3q4r5s6t7v8w9x"
PROVIDER_OWNER = "agent:01j9zq5a1wf6vsy1m3n4c5d6e7"
HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_INLINE_CHARS_MAX = 24_000_000  # of base64; more is uploaded in parts

HashText = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$", examples=[HASH])]
InputName = Literal["repository", "diff", "hidden", "previous", "skill"]


class UploadIn(Wire, json_schema_extra=example(bytes=1250, hash=HASH)):
    """An upload to begin: bytes that will be sent in parts."""

    bytes: int = Field(ge=0, le=10**12)
    hash: HashText = Field(description="Hash of all bytes; what arrives must match it.")


_UPLOAD: dict[str, Any] = {
    "id": "upload_01j9zr5zb1gk4r5s6t7v8w9xay",
    "bytes": 1250,
    "hash": HASH,
    "part_bytes": 4_000_000,
    "parts": 1,
    "missing": [0],
    "expires_at": AT,
    "done": False,
}


class UploadOut(Wire, json_schema_extra=example(**_UPLOAD)):
    """An upload. Parts are numbered from 0; all but the last have `part_bytes` bytes."""

    id: str
    bytes: int
    hash: str
    part_bytes: int
    parts: int
    missing: list[int] = Field(description="Parts still missing, at most the first thousand.")
    expires_at: str
    done: bool = Field(description="Whether it is an object now, referred to by its hash.")

    @classmethod
    def of(cls, item: Progress) -> UploadOut:
        found = item.upload
        return cls(
            id=upload_id(found.id),
            bytes=found.bytes,
            hash=found.hash,
            part_bytes=found.part_bytes,
            parts=found.parts,
            missing=item.missing,
            expires_at=format_time(found.expires_us),
            done=found.done_us is not None,
        )


class BlobIn(Wire, json_schema_extra=example(data="NDIK")):
    """Bytes for a request: give exactly one of the two."""

    data: str | None = Field(default=None, max_length=_INLINE_CHARS_MAX, description="The bytes themselves, in base64.")
    hash: HashText | None = Field(default=None, description="Hash of an earlier upload by the same owner.")


_REQUEST = {
    "argv": ["python3", "-c", "print(6*7)"],
    "max_cost_msat": "1000000",
    "time_limit_s": 60,
    "idempotency_key": "my-first-run",
}


class JobIn(Wire, json_schema_extra=example(type="sandbox_run", request=_REQUEST)):
    """An order. Budget, time limit and idempotency key are part of the request."""

    type: JobType
    request: dict[str, Any] = Field(description="As defined by the job type; unknown fields are refused.")
    inputs: dict[Literal["repository", "diff", "hidden"], BlobIn] = Field(
        default={}, description="A git bundle, a diff to review, or hidden checks."
    )
    strategy: dict[str, Any] = Field(
        default={},
        description="How providers are selected: `kind` is sequential_retry, first_available, preferred_then_pool,"
        " race or pinned.",
    )
    criteria: dict[str, Any] = Field(
        default={},
        description="units_milli, min_success_bps, min_isolation, providers, regions, near, weights; all optional."
        " `weights` are the buyer's own for price, reputation, capacity, isolation and geography.",
    )
    public: bool = Field(
        default=False, description="Whether everybody may read the order and what comes of it; can be changed later."
    )


class SharingOut(Wire, json_schema_extra=example(job=JOB, sides={"buyer": True})):
    """The caller's own sides of a job, and whether each is public."""

    job: str
    sides: dict[Literal["buyer", "provider"], bool]


class LeftOutOut(Wire):
    """A file of an archive that was not taken."""

    path: str
    why: str


class RepositoryIn(Wire, json_schema_extra=example(data="UEsDBA==")):
    """An archive (zip, tar, tar.gz, tar.bz2, tar.xz) or a git bundle: give exactly one of the two."""

    data: str | None = Field(default=None, max_length=_INLINE_CHARS_MAX, description="The bytes themselves, in base64.")
    hash: HashText | None = Field(default=None, description="Hash of an earlier upload by the same owner.")


class RepositoryOut(Wire, json_schema_extra=example(hash=HASH, commit="9" * 40, files=12, left_out=[])):
    """A git bundle to name in an order: its hash as the input `repository`, its commit as `base_commit`."""

    hash: str
    commit: str
    files: int | None = Field(description="Number of files; null if it was sent as a git bundle.")
    left_out: list[LeftOutOut] = Field(description="Files that were not taken, at most the first hundred.")


class SelectionIn(Wire, json_schema_extra=example(type="sandbox_run", max_price="1000000")):
    """Which providers would be selected for such a job now."""

    type: JobType
    max_price: Amount
    criteria: dict[str, Any] = Field(default={})


_CANDIDATE: dict[str, Any] = {
    "provider": PROVIDER,
    "total": 3000,
    "price": "200000",
    "tier": 0,
    "success_bps": None,
    "book_version": 1,
    "newcomers_turn": False,
    "components": [{"name": "price", "score": 10000, "weight_bps": 3000, "points": 3000}],
}


class SelectionOut(Wire, json_schema_extra=example(explanation={"newcomers_turn": False, "candidates": [_CANDIDATE]})):
    """Which providers would be selected, best first, with the parts of each score."""

    explanation: dict[str, Any]


_ATTEMPT: dict[str, Any] = {
    "id": ATTEMPT,
    "job": JOB,
    "n": 1,
    "provider": PROVIDER,
    "owner": PROVIDER_OWNER,
    "state": "passed",
    "base": "200000",
    "per_unit": "500",
    "cap": "5000000",
    "ceiling": "1000000",
    "assigned_at": AT,
    "deadline_at": AT,
    "delivered_at": AT,
    "ended_at": AT,
    "artifact": HASH,
    "result": HASH,
    "trajectory": HASH,
    "verdict": HASH,
    "receipt": HASH,
    "paid": "200000",
    "reason": "",
}


class AttemptOut(Wire, json_schema_extra=example(**_ATTEMPT)):
    """One provider's attempt at a job, by the terms fixed when it was assigned."""

    id: str
    job: str
    n: int
    provider: str
    owner: str
    state: str
    base: str
    per_unit: str
    cap: str
    ceiling: str = Field(description="The maximum price that the buyer's budget allows.")
    assigned_at: str
    deadline_at: str
    delivered_at: str | None
    ended_at: str | None
    artifact: str | None = Field(description="Hash of the artifact; the bytes stay in escrow until paid.")
    result: str | None
    trajectory: str | None
    verdict: str | None
    receipt: str | None
    paid: str = Field(description="Its price, captured from the buyer's hold.")
    extras: str = Field(default="0", description="What was captured with it for stronger checks; once per job.")
    reason: str

    @classmethod
    def of(cls, item: Attempt) -> AttemptOut:
        return cls(**_attempt(item))


_JOB: dict[str, Any] = {
    "id": JOB,
    "type": "sandbox_run",
    "state": "paid",
    "buyer": OWNER,
    "actor": OWNER,
    "budget": "1000000",
    "held": "0",
    "price": "200000",
    "request": HASH,
    "inputs": {},
    "hidden": None,
    "strategy": {},
    "criteria": {},
    "time_limit_s": 60,
    "created_at": AT,
    "expires_at": AT,
    "cancelled_at": None,
    "closed_at": AT,
    "winner": ATTEMPT,
    "receipt": HASH,
    "qualification": False,
    "attempts_made": 1,
    "summary": "python3 -c 'print(6*7)'",
}


class JobOut(Wire, json_schema_extra=example(**_JOB, attempts=[_ATTEMPT])):
    """A job with the attempts that the caller may see."""

    id: str
    type: JobType
    state: str
    buyer: str | None = Field(description="The buyer; shown to providers after the verdict on their delivery.")
    actor: str | None = Field(description="The principal that placed the order; shown likewise.")
    budget: str
    held: str | None = Field(description="What is still held; for the buyer and operators.")
    price: str | None
    extras: str = Field(
        default="0", description="What its stronger checks cost on top of the work, if they are needed."
    )
    request: str
    inputs: dict[str, str] = Field(description="Hashes of the inputs, by name.")
    hidden: str | None = Field(description="Commitment to the hidden checks.")
    strategy: dict[str, Any]
    criteria: dict[str, Any]
    time_limit_s: int
    created_at: str
    expires_at: str
    cancelled_at: str | None
    closed_at: str | None
    winner: str | None
    receipt: str | None
    qualification: bool = Field(description="Whether it is the node's own qualification job for a new provider.")
    summary: str | None = Field(
        default=None, description="The order in one line; for readers of the order, until its buyer is erased."
    )
    attempts_made: int = Field(description="Number of attempts that the caller may see.")
    attempts: list[AttemptOut] = Field(default=[], description="These attempts; omitted in lists of jobs.")

    @classmethod
    def listed(cls, item: Job, held: int, attempts: int, summary: str | None) -> JobOut:
        """One's own order among others: how many tries there were, and not each of them."""
        return _job(item, attempts, (), held, summary)

    @classmethod
    def of(cls, item: VisibleJob, held: int | None) -> JobOut:
        return _job(item.job, len(item.attempts), item.attempts, held if item.whole else None, item.summary)


class IdOut(Wire, json_schema_extra=example(id=JOB)):
    """The full id of something the caller may see."""

    id: str


class JobPage(Wire, json_schema_extra=example(items=[_JOB], next=None)):
    items: list[JobOut]
    next: str | None = None


class AttemptPage(Wire, json_schema_extra=example(items=[_ATTEMPT], next=None)):
    items: list[AttemptOut]
    next: str | None = None


_STEP: dict[str, Any] = {"n": 1, "at": AT, "what": "opened", "actor": OWNER, "data": {"budget": "1000000"}}


class JobStepOut(Wire, json_schema_extra=example(**_STEP)):
    """One step of a job."""

    n: int
    at: str
    what: str
    actor: str | None = Field(description="Who did it; providers do not see the buyer before the verdict.")
    data: dict[str, Any]

    @classmethod
    def of(cls, item: JobEvent) -> JobStepOut:
        return cls(n=item.n, at=format_time(item.at_us), what=item.what, actor=item.actor or None, data=item.data)


class JobStepList(Wire, json_schema_extra=example(items=[_STEP])):
    items: list[JobStepOut]


class RequestOut(Wire, json_schema_extra=example(hash=HASH, request=_REQUEST)):
    """The full order."""

    hash: str
    request: dict[str, Any]


class OrderOut(Wire, json_schema_extra=example(type="sandbox_run", hash=HASH, request=_REQUEST, inputs={})):
    """The work to do: the full order, and the hashes of its inputs."""

    type: JobType
    hash: str = Field(description="Hash of the request.")
    request: dict[str, Any]
    inputs: dict[str, str]


class StartedOut(AttemptOut, json_schema_extra=example(**_ATTEMPT, order=None)):
    """A started attempt, with the order if requested."""

    order: OrderOut | None = None

    @classmethod
    def of(cls, item: Attempt, job: Job | None = None, request: dict[str, Any] | None = None) -> StartedOut:
        """An attempt, with its order if a request is there."""
        order = None
        if job is not None and request is not None:
            shown: dict[str, str] = {name: hash_ for name, hash_ in job.inputs.items() if name != HIDDEN}
            order = OrderOut(type=job.type, hash=job.request, request=request, inputs=shown)
        return cls(**_attempt(item), order=order)


class SignatureOut(Wire):
    """A signature over an object's hash."""

    scheme: str
    public: str = Field(description="In hex.")
    signature: str = Field(description="In hex.")
    at: str

    @classmethod
    def of(cls, item: Signature) -> SignatureOut:
        return cls(
            scheme=item.scheme.value,
            public=item.public.hex(),
            signature=item.signature.hex(),
            at=format_time(item.at_us),
        )


class SignedOut(Wire, json_schema_extra=example(hash=HASH, value={"format": "receipt/1"}, signatures=[])):
    """A JSON object with its signatures: a receipt or a result."""

    hash: str
    value: dict[str, Any]
    signatures: list[SignatureOut]


class VerdictOut(Wire, json_schema_extra=example(hash=HASH, verdict={"format": "verdict/1"}, evidence={})):
    """The verdict, and the evidence for its checks by hash."""

    hash: str
    verdict: dict[str, Any]
    evidence: dict[str, Any] = Field(default={})


class PaymentOut(Wire, json_schema_extra=example(entry={"seq": 42}, proof=[], checkpoint="choir.example\n42\n…\n")):
    """The payment entry, and the proof that it is in the journal."""

    entry: dict[str, Any]
    proof: list[str]
    checkpoint: str


_RECEIPT_FILE: dict[str, Any] = {
    "hash": HASH,
    "receipt": {"format": "receipt/1"},
    "signatures": [],
    "verdict": {"format": "verdict/1"},
    "evidence": {},
    "payment": None,
    "rotations": [],
}


class ReceiptFileOut(Wire, json_schema_extra=example(**_RECEIPT_FILE)):
    """A receipt with all that a third party needs to verify it; `choir_verify.py receipt` does."""

    format: Literal["choir-receipt/1"] = "choir-receipt/1"
    hash: str
    receipt: dict[str, Any]
    signatures: list[SignatureOut]
    verdict: dict[str, Any]
    evidence: dict[str, Any]
    payment: PaymentOut | None = Field(description="Null if nothing was paid.")
    rotations: list[str] = Field(description="The node's key rotations, so that any of its keys can be trusted.")

    @classmethod
    def of(
        cls,
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
        return cls(
            hash=receipt.hash,
            receipt=receipt.value,
            signatures=receipt.signatures,
            verdict=verdict,
            evidence=evidence,
            payment=paid,
            rotations=rotations,
        )


_HAND_IN: dict[str, Any] = {
    "artifact": {"data": "NDIK"},
    "claimed": HASH,
    "result": {"status": "success", "exit_code": 0},
    "trajectory": {"hash": HASH},
    "result_signature": "00" * 64,
    "trajectory_signature": "00" * 64,
}


class HandIn(Wire, json_schema_extra=example(**_HAND_IN)):
    """A delivery."""

    artifact: BlobIn
    claimed: HashText = Field(description="Hash of the artifact.")
    result: dict[str, Any] = Field(description="As defined by the job type.")
    trajectory: BlobIn
    result_signature: str = Field(
        pattern=r"^[0-9a-f]{128}$", description="BIP-340 signature over the result's hash, in hex."
    )
    trajectory_signature: str = Field(
        pattern=r"^[0-9a-f]{128}$", description="BIP-340 signature over the trajectory's hash, in hex."
    )


class GiveBackIn(Wire, json_schema_extra=example(reason="The repository needs a language that is not here.")):
    """Why a provider withdraws."""

    reason: str = Field(default="", max_length=1_000, pattern=r"^[^\x00]*$")
    again: bool = Field(default=False, description="Whether it may be selected again: it is stopping, not unable.")


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
        "extras": str(item.extras),
        "reason": item.reason,
    }


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
        extras=str(item.extras),
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
        attempts=[AttemptOut.of(each) for each in attempts],
    )
