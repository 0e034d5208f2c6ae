"""What a second review is: a reviewer who is independent of both sides looks at a delivery.

Of a patch, after all checks of the machine have passed and before it is paid; the diff stays in escrow, the reviewer
alone gets it. Of a review, beside it: two independent reviews of one diff, paid apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import NotAllowed

REVIEWED = frozenset({JobType.PATCH_GEN, JobType.CODE_REVIEW})
CHECK = "second_review"  # its name on a verdict
BLOCKING, MISSING = "second_review.blocking", "second_review.missing"


class SecondState(StrEnum):
    HELD = "held"  # money is set aside for it, and nobody was asked yet
    WAITING = "waiting"  # for a reviewer, or for the review
    DONE = "done"
    RELEASED = "released"  # it was not needed


class SecondOutcome(StrEnum):
    CLEAR = "clear"  # nothing that blocks was found
    BLOCKING = "blocking"
    NONE = "none"  # nobody was found in time


@dataclass(frozen=True, slots=True)
class SecondReviewRow:
    """A second review as it is kept. Amounts are milli-satoshi."""

    job: UUID
    n: int
    hold: UUID
    amount: int
    state: SecondState
    attempt: UUID | None = None
    review: UUID | None = None
    verdict: ObjectHash | None = None
    outcome: SecondOutcome | None = None
    findings: int | None = None
    blocking: int | None = None
    agrees: bool | None = None
    began_us: int | None = None
    ended_us: int | None = None


class SecondReviewClosed(NotAllowed):
    code = "bazaar.second_review_closed"
    sentence = "You may not read the second review of {job}."
    hint = "It quotes the work: its readers are the provider, and the buyer once the work is paid."
