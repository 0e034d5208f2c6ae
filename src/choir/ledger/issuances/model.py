"""An issuance: money that operators want to bring into being, and who of them has agreed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import Invalid, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id
from choir.ledger.model import Leg


class IssuanceState(StrEnum):
    """How far an issuance is; all but `open` are final."""

    OPEN = "open"
    POSTED = "posted"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Approval:
    """An operator's consent; the first is that of whoever proposed it."""

    operator: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Issuance:
    """What is to be posted, word for word. Nothing of it changes but how it ends."""

    id: UUID
    proposer: str
    key: str
    reason: str
    legs: tuple[Leg, ...]
    proposed_us: int
    expires_us: int
    approvals: tuple[Approval, ...]  # of one name several, if it went over to somebody else between them
    entry: UUID | None = None  # what was posted
    ended_by: str | None = None
    ended_us: int | None = None

    def state(self, now_us: int) -> IssuanceState:
        if self.entry is not None:
            return IssuanceState.POSTED
        if self.ended_us is not None:
            return IssuanceState.WITHDRAWN
        return IssuanceState.OPEN if now_us < self.expires_us else IssuanceState.EXPIRED

    def approved_by(self, operator: str) -> bool:
        return any(approval.operator == operator for approval in self.approvals)


def issuance_id(value: UUID) -> str:
    return show_id("issuance", value)


def parse_issuance_id(text: str) -> UUID:
    return parse_id("issuance", text)


class IssuanceNeedsTwo(Refusal):
    code = "ledger.issuance.needs_two"
    sentence = "On a production node one operator alone cannot issue {asset}."
    hint = "Propose it with `choir ledger issue propose`; another operator approves it."


class NotIssued(Refusal):
    code = "ledger.issuance.not_by_operators"
    sentence = "Operators cannot issue {asset}, however many approve."
    hint = "Policy sets which assets they may issue: `choir policy explain {policy}`."


class NotAnIssuance(Invalid):
    code = "ledger.issuance.other_payer"
    sentence = "An issuance must go from issuance or external accounts to others; {account} does not fit."
    hint = "Move existing money with `choir ledger transfer`."


class UnknownIssuance(NotFound):
    code = "ledger.issuance.unknown"
    sentence = "There is no issuance {issuance}."
    hint = "List them with `choir ledger issue ls`."


class NeedsAnother(Refusal):
    code = "ledger.issuance.needs_another"
    sentence = "{operator} proposed {issuance}, so another operator must approve it."
    hint = "Another operator runs `choir ledger issue approve {issuance}` with their own token in CHOIR_TOKEN."


class IssuanceEnded(Refusal):
    code = "ledger.issuance.ended"
    sentence = "The issuance {issuance} is {state} and can no longer be changed."
    hint = "Propose a new one with `choir ledger issue propose`."


class IssuancePosted(Refusal):
    code = "ledger.issuance.posted"
    sentence = "The issuance {issuance} was already posted as {entry}."
    hint = "`choir explain {entry}` explains it. A correcting entry can return the money."


class TooManyOpen(Refusal):
    code = "ledger.issuance.too_many"
    sentence = "{limit} issuances await approval, which is the limit."
    hint = "Approve or withdraw some of them: `choir ledger issue ls` lists them."
