"""Attempts: one provider's try at a job, and its states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class AttemptState(StrEnum):
    """Where one provider's try is. The first four are live."""

    ASSIGNED = "assigned"
    RUNNING = "running"
    DELIVERED = "delivered"
    VERIFYING = "verifying"
    PASSED = "passed"  # and paid
    LOST = "lost"  # passed the visible checks, but another was first or the buyer had cancelled
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"  # given back by its provider
    GONE = "gone"  # its provider no longer answers


NODE_AWAY = "bazaar.node_away"  # why an attempt ended whose time was over while the node was away


AT_WORK = frozenset({AttemptState.ASSIGNED, AttemptState.RUNNING})


HANDED_IN = frozenset({AttemptState.DELIVERED, AttemptState.VERIFYING})


LIVE_ATTEMPT = AT_WORK | HANDED_IN


# Judged, and perhaps shown the hidden checks; or its provider has said itself that it cannot do it.
NOT_ASKED_AGAIN = frozenset({AttemptState.FAILED, AttemptState.LOST, AttemptState.WITHDRAWN})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One provider's try at a job, by terms that were fixed when it was assigned."""

    id: UUID
    job: UUID
    n: int
    provider: UUID
    owner: str  # who is paid
    state: AttemptState
    base: int
    per_unit: int
    cap: int
    ceiling: int  # the highest price, by the buyer's budget
    assigned_us: int
    deadline_us: int
    delivered_us: int | None = None
    ended_us: int | None = None
    artifact: ObjectHash | None = None
    claimed: ObjectHash | None = None  # the hash that the provider named
    result: ObjectHash | None = None  # the provider's own account of it
    trajectory: ObjectHash | None = None
    verdict: ObjectHash | None = None
    paid: int = 0  # its price: what left the hold for the work
    reason: str = ""
    receipt: ObjectHash | None = None  # the node's signed word on it, once it was judged
    resumed_us: int | None = None  # when the node was there again, if it was away meanwhile
    extras: int = 0  # what left the hold with it for stronger checks; of one attempt at a job at most


def attempt_id(value: UUID) -> str:
    return show_id("attempt", value)


def parse_attempt_id(text: str) -> UUID:
    return parse_id("attempt", text)


class UnknownAttempt(NotFound):
    code = "bazaar.attempt_unknown"
    sentence = "You have no attempt {attempt}."


class AttemptOver(Refusal):
    code = "bazaar.attempt_over"
    sentence = "The attempt {attempt} is {state} and no longer accepts a delivery."
    hint = "Another provider has the job, or it is closed."
