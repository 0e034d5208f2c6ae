"""A delivery that was judged, as whoever may read it gets it: its buyer, its provider, an operator in a dispute.

Guarantees: artifact, verdict and receipt have the hashes that the attempt names, the verdict is about this order and
this artifact, and the node has signed the receipt.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from choir.bazaar.attempts.model import UnknownAttempt
from choir.bazaar.policy import BazaarPolicy
from choir.doors.jobs.shapes import AttemptOut, JobOut
from choir.doors.mesh import receipts
from choir.doors.mesh.model import JudgedDelivery, winner_of
from choir.doors.sdk import blobs, node_keys
from choir.doors.sdk.policies import policy_of
from choir.foundation.errors import Invalid, NotFound

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


class NothingJudged(NotFound):
    """Nobody has handed in anything yet, or somebody else has."""

    code = "sdk.nothing_judged"
    sentence = "{job} has no verdict that you may read."
    hint = (
        "Check its state with `choir job show {job}`. For another provider of yours:"
        " choir provider verify {job} --name NAME."
    )


def judged(client: Client, job: JobOut, attempt: str | None = None) -> JudgedDelivery:
    """An attempt at a job: the one that is named, the one that was paid for, or else the last that was judged."""
    found = chosen(job, attempt)
    if found.verdict is None or found.artifact is None:
        raise Invalid(what=f"The attempt {found.id}", why=f"it is {found.state} and has no verdict")
    told = client.attempts.verdict(found.id)
    receipts.check_verdict(told, job, found)
    key = node_keys.signing_key(client, None)
    receipts.check_receipt(client.attempts.receipt(found.id), job, found, key)
    part = partial(client.attempts.artifact_part, found.id)
    data = blobs.whole(part, found.artifact, "The artifact", policy_of(client).of(BazaarPolicy).artifact_bytes_max)
    return JudgedDelivery(job, found, data, told.verdict)


def chosen(job: JobOut, wanted: str | None = None) -> AttemptOut:
    """The attempt that is named, the one that was paid for, or else the last that was judged."""
    if wanted is not None:
        named = next((item for item in job.attempts if item.id == wanted), None)
        if named is None:
            raise UnknownAttempt(attempt=wanted)
        return named
    winner = winner_of(job)
    if winner is not None:
        return winner
    verdicts = [item for item in job.attempts if item.verdict is not None]
    if not verdicts:
        raise NothingJudged(job=job.id)
    return max(verdicts, key=lambda item: item.n)
