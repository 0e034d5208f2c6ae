"""Shapes about disputes. Amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from choir.bazaar.disputes.model import Trigger, Winner
from choir.doors.jobs.shapes import ATTEMPT, JOB
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Wire, example

DISPUTE = "dispute_01j9zr3x9eh2p3q4r5s6t7v8w9"
Statement = Annotated[str, Field(min_length=1, max_length=100_000)]


class DisputeIn(Wire, json_schema_extra=example(trigger="output_irrelevant", statement="It answers another question.")):
    """Why somebody disputes what was decided on an attempt."""

    trigger: Trigger
    statement: Statement
    attempt: str | None = Field(default=None, max_length=60, description="By itself: the one that was judged last.")


class ResponseIn(Wire, json_schema_extra=example(response="The order asked for exactly this.")):
    """The other side's answer."""

    response: Statement


class RulingIn(Wire, json_schema_extra=example(winner="provider", reasoning="The order says so in its second line.")):
    """An operator's ruling."""

    winner: Winner
    reasoning: Statement


_DISPUTE: dict[str, Any] = {
    "id": DISPUTE,
    "job": JOB,
    "attempt": ATTEMPT,
    "side": "buyer",
    "opener": OWNER,
    "trigger": "output_irrelevant",
    "statement": "It answers another question.",
    "state": "under_review",
    "deposit": "3000000",
    "opened_at": AT,
    "respond_by": AT,
    "response": None,
    "winner": None,
    "reasoning": None,
    "refund": "0",
    "owed": "0",
    "resolved_at": None,
    "rulings": [],
}


class RulingOut(Wire):
    """What an operator decided."""

    operator: str
    winner: str
    reasoning: str


class DisputeOut(Wire, json_schema_extra=example(**_DISPUTE)):
    """A dispute about an attempt."""

    id: str
    job: str
    attempt: str
    side: str
    opener: str
    trigger: str
    statement: str
    state: str
    deposit: str
    opened_at: str
    respond_by: str
    response: str | None
    winner: str | None
    reasoning: str | None
    refund: str
    owed: str
    resolved_at: str | None
    rulings: list[RulingOut]


class DisputePage(Wire, json_schema_extra=example(items=[_DISPUTE], next=None)):
    items: list[DisputeOut]
    next: str | None = None
