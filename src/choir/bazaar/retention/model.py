"""What is known of how long a job's bytes are kept."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.errors import Invalid, Refusal


@dataclass(frozen=True, slots=True)
class RetentionState:
    """Until when a job's bytes are kept; nothing while it is open."""

    job: UUID
    closed_us: int | None
    kept_until_us: int | None
    removed_us: int | None


@dataclass(frozen=True, slots=True)
class Keep:
    """A time that a buyer paid for. Amounts are milli-satoshi."""

    job: UUID
    key: str
    days: int
    bytes: int
    price: int
    kept_until_us: int
    at_us: int


class BadDays(Invalid):
    code = "bazaar.bad_days"
    sentence = "A job can be kept 1 to {most} days longer at a time; {days} days is not possible."


class StillOpen(Refusal):
    code = "bazaar.still_open"
    sentence = "The job {job} is not over yet; its retention time begins when it is."


class KeyOfAnotherKeep(Refusal):
    code = "bazaar.key_of_another_keep"
    sentence = "The key '{key}' was used to keep this job for another time."
    hint = "Use a new key to keep it longer; the same key and days charge once."
