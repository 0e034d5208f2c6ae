"""Believing a node only as far as hashes and signatures go: verdicts and receipts, checked by the buyer.

Guarantees: each function returns nothing or raises the one thing that does not fit. What fits is: the verdict that
the attempt names is about this order and this artifact, and the receipt that the attempt names is the node's signed
word on exactly this payer, price and these objects.
"""

from __future__ import annotations

from typing import Any

from choir.bazaar.attempts.model import AttemptState
from choir.doors.jobs.shapes import AttemptOut, JobOut, SignedOut, VerdictOut
from choir.doors.mesh.model import ForgedReceipt, WrongAnswer
from choir.foundation.canonical import ObjectHash, canonical_hash, hash_digest
from choir.foundation.errors import ChoirError
from choir.foundation.signing import BadSignature, verify_ed25519

_NODE_SCHEME = "ed25519"


def check_verdict(found: VerdictOut, job: JobOut, attempt: AttemptOut) -> None:
    """Raise unless this is the verdict on this attempt, and its evidence is what the checks name."""
    verdict = found.verdict
    if not found.hash == attempt.verdict == _hash(verdict):
        raise WrongAnswer(job=job.id, why="the verdict does not match the attempt's hash")
    expected = {
        "format": "verdict/1",
        "job": job.id,
        "attempt": attempt.id,
        "request": job.request,
        "artifact": attempt.artifact,
    }
    _must_say(job, "verdict", verdict, expected)
    for name, atom in found.evidence.items():
        if _hash(atom) != name:
            raise WrongAnswer(job=job.id, why="a piece of evidence does not match its hash")


def check_receipt(
    found: SignedOut, job: JobOut, attempt: AttemptOut, node_key: bytes, payer: str | None = None
) -> None:
    """Raise unless this is the node's signed receipt of this attempt; `payer` is who must have paid."""
    receipt = found.value
    if not found.hash == attempt.receipt == _hash(receipt):
        raise ForgedReceipt(job=job.id, why="it does not match the attempt's hash")
    if attempt.id == job.winner and job.receipt != found.hash:
        raise ForgedReceipt(job=job.id, why="the job names another receipt")
    _check_signature(found, job.id, node_key)
    paid = attempt.state == AttemptState.PASSED
    expected = {
        "format": "receipt/1",
        "payer": payer or job.buyer,
        "actor": job.actor,
        "action": f"bazaar.{job.type.value}",
        "job": job.id,
        "attempt": attempt.id,
        "payee": attempt.owner,
        "budget": {"amount": job.budget, "asset": "SAT"},
        "spent": {"amount": str(int(attempt.paid) + int(attempt.extras)), "asset": "SAT"},
        "outcome": attempt.state,
        "objects": _objects(job, attempt),
    }
    _must_say(job, "receipt", receipt, expected)
    price_fits = not paid or job.price == attempt.paid
    extras_fit = attempt.extras in ("0", job.extras) and int(attempt.ceiling) + int(attempt.extras) <= int(job.budget)
    if not (price_fits and extras_fit and 0 <= int(attempt.paid) <= int(attempt.ceiling)):
        raise WrongAnswer(job=job.id, why="more was paid than the job's budget, or another price than it says")


def _objects(job: JobOut, attempt: AttemptOut) -> dict[str, str]:
    found = {
        "request": job.request,
        "artifact": attempt.artifact,
        "result": attempt.result,
        "trajectory": attempt.trajectory,
        "verdict": attempt.verdict,
    }
    return {name: value for name, value in found.items() if value is not None}


def _check_signature(found: SignedOut, job: str, node_key: bytes) -> None:
    own = [item for item in found.signatures if item.scheme == _NODE_SCHEME and item.public == node_key.hex()]
    if not own:
        raise ForgedReceipt(job=job, why="the node's key did not sign it")
    for item in own:
        try:
            verify_ed25519(node_key, hash_digest(ObjectHash(found.hash)), bytes.fromhex(item.signature))
        except (BadSignature, ValueError):
            raise ForgedReceipt(job=job, why="the signature is not valid") from None


def _must_say(job: JobOut, what: str, value: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, fits in expected.items():
        if value.get(name) != fits:
            raise WrongAnswer(job=job.id, why=f"its {what} has another '{name}' than the job")


def _hash(value: object) -> str:
    try:
        return canonical_hash(value)
    except ChoirError:
        return ""
