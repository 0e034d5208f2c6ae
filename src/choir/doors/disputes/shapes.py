"""Shapes about disputes. Amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from choir.bazaar.attempts.model import attempt_id
from choir.bazaar.disputes.model import Trigger, Winner, dispute_id
from choir.bazaar.jobs.model import job_id
from choir.doors.jobs.shapes import ATTEMPT, JOB
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from choir.bazaar.disputes.model import Dispute, Ruling

DISPUTE = "dispute_01j9zr3x9eh2p3q4r5s6t7v8w9"
Statement = Annotated[str, Field(min_length=1, max_length=100_000)]


class DisputeIn(Wire, json_schema_extra=example(trigger="output_irrelevant", statement="It answers another question.")):
    """A dispute to open."""

    trigger: Trigger
    statement: Statement
    attempt: str | None = Field(default=None, max_length=60, description="Default: the last one with a verdict.")


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
    """An operator's ruling."""

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

    @classmethod
    def of(cls, item: Dispute, rulings: Sequence[Ruling]) -> DisputeOut:
        return cls(
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
                RulingOut(operator=each.operator, winner=each.winner.value, reasoning=each.reasoning)
                for each in rulings
            ],
        )


class DisputePage(Wire, json_schema_extra=example(items=[_DISPUTE], next=None)):
    items: list[DisputeOut]
    next: str | None = None
