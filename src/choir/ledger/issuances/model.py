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
    sentence = "On a production node one operator alone cannot bring {asset} into being."
    hint = "Propose it with `choir ledger issue propose`; another operator approves it."


class NotIssued(Refusal):
    code = "ledger.issuance.not_by_operators"
    sentence = "Operators do not bring {asset} into being, however many agree."
    hint = "Which assets they may issue is policy: see `choir policy explain {policy}`."


class NotAnIssuance(Invalid):
    code = "ledger.issuance.other_payer"
    sentence = "An issuance goes from issuance or external accounts to others; this is not so for {account}."
    hint = "Move money that is there already with `choir ledger transfer`."


class UnknownIssuance(NotFound):
    code = "ledger.issuance.unknown"
    sentence = "There is no issuance {issuance}."
    hint = "See them with `choir ledger issue ls`."


class NeedsAnother(Refusal):
    code = "ledger.issuance.needs_another"
    sentence = "{operator} proposed {issuance}, so somebody else has to approve it."
    hint = "Another operator says `choir ledger issue approve {issuance}` with their own token in CHOIR_TOKEN."


class IssuanceEnded(Refusal):
    code = "ledger.issuance.ended"
    sentence = "The issuance {issuance} is {state}; nothing more can become of it."
    hint = "Propose it anew with `choir ledger issue propose`."


class IssuancePosted(Refusal):
    code = "ledger.issuance.posted"
    sentence = "The issuance {issuance} was posted as {entry}; what it brought into being is there."
    hint = "`choir explain {entry}` tells of it. An entry that gives the money back can correct it."


class TooManyOpen(Refusal):
    code = "ledger.issuance.too_many"
    sentence = "{limit} issuances wait for approval, and that is the limit."
    hint = "Approve or withdraw some of them: `choir ledger issue ls` lists them."
