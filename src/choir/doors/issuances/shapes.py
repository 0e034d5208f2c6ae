"""Shapes about issuances: money that operators bring into being together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from choir.doors.ledger.shapes import LegIn, LegOut
from choir.doors.shapes import ShortText, Wire, example
from choir.foundation.clock import format_time
from choir.ledger.issuances.model import issuance_id
from choir.ledger.model import entry_id

if TYPE_CHECKING:
    from choir.ledger.issuances.model import Issuance, IssuanceState

_AT, _LATER = "2026-11-02T09:30:00.000000Z", "2026-11-09T09:30:00.000000Z"
_LEG = {"from": "system:node/issuance/CREDIT", "to": "person:ada/available/CREDIT", "amount": "50000"}
_APPROVAL = {"operator": "operator", "at": _AT}
_ISSUANCE: dict[str, Any] = {
    "id": "issuance_01j9zr7c2mf3q4r5s6t7v8w9xa", "state": "open", "reason": "paid by invoice", "legs": [_LEG],
    "proposed_by": "operator", "proposed_at": _AT, "expires_at": _LATER, "operators_needed": 2,
    "operators_agreed": 1, "approvals": [_APPROVAL], "entry": None, "ended_by": None, "ended_at": None,
}  # fmt: skip

IssuanceStateText = Literal["open", "posted", "withdrawn", "expired"]


class IssuanceIn(Wire, json_schema_extra=example(reason="paid by invoice", legs=[_LEG])):
    """An issuance to propose. Every leg comes from an issuance or external account."""

    reason: ShortText
    legs: list[LegIn] = Field(min_length=1, max_length=1000)


class ApprovalOut(Wire, json_schema_extra=example(**_APPROVAL)):
    """An operator's approval; the first is the proposer's."""

    operator: str
    at: str


class IssuanceOut(Wire, json_schema_extra=example(**_ISSUANCE)):
    """An issuance and its approvals."""

    id: str
    state: IssuanceStateText
    reason: str
    legs: list[LegOut]
    proposed_by: str
    proposed_at: str
    expires_at: str
    operators_needed: int = Field(description="Approvals needed; 0 if policy no longer allows it.")
    operators_agreed: int = Field(
        description="Approvals by current operators; those of removed operators do not count."
    )
    approvals: list[ApprovalOut]
    entry: str | None = Field(default=None, description="The posted entry.")
    ended_by: str | None = None
    ended_at: str | None = None

    @classmethod
    def of(cls, item: Issuance, state: IssuanceState, *, needed: int, agreed: int) -> IssuanceOut:
        legs = [{"from": leg.from_, "to": leg.to, "amount": str(leg.amount)} for leg in item.legs]
        return cls(
            id=issuance_id(item.id),
            state=state.value,
            reason=item.reason,
            legs=[LegOut.model_validate(leg) for leg in legs],
            proposed_by=item.proposer,
            proposed_at=format_time(item.proposed_us),
            expires_at=format_time(item.expires_us),
            operators_needed=needed,
            operators_agreed=agreed,
            approvals=[ApprovalOut(operator=each.operator, at=format_time(each.at_us)) for each in item.approvals],
            entry=None if item.entry is None else entry_id(item.entry),
            ended_by=item.ended_by,
            ended_at=None if item.ended_us is None else format_time(item.ended_us),
        )


class IssuancePage(Wire, json_schema_extra=example(items=[_ISSUANCE], next=None)):
    items: list[IssuanceOut]
    next: str | None = None
