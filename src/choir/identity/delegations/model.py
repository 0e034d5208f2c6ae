"""Delegations, their caps, and what spending under one can run into."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id
from choir.identity.model import Scope


class Period(StrEnum):
    """The window of a cap, in UTC; half-open."""

    DAY = "day"
    WEEK = "week"  # from Monday
    MONTH = "month"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Cap:
    """At most this much of an asset in a period."""

    asset: str
    period: Period
    cap: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """An agent's authority."""

    id: UUID
    person: UUID
    agent: UUID
    parent: UUID | None
    depth: int
    scopes: frozenset[Scope]
    caps: tuple[Cap, ...]
    expires_us: int
    created_us: int
    revoked_us: int | None
    name: str | None


def parse_delegation_id(text: str) -> UUID:
    return parse_id("delegation", text)


def delegation_id(value: UUID) -> str:
    return show_id("delegation", value)


class CapExceeded(Refusal):
    code = "identity.cap_exceeded"
    sentence = (
        "The delegation allows {cap_shown} {asset} {within}; {spent_shown} {asset} are spent and {asked_shown}"
        " {asset} were requested."
    )


class DelegationEnded(NotAllowed):
    code = "identity.delegation_ended"
    sentence = "The delegation {delegation} is {why}."


class NoCap(NotAllowed):
    code = "identity.no_cap"
    sentence = "The delegation {delegation} has no cap for {asset}, so it cannot be spent."
    hint = "Ask for a delegation with a cap for this asset."


class NotYourAccount(NotAllowed):
    code = "identity.not_your_account"
    sentence = "This credential cannot spend from {account}."
    hint = "An agent can spend its person's money only under a delegation with a cap."


class BadTerms(Invalid):
    code = "identity.bad_terms"
    sentence = "This cannot be granted: {why}."


class DelegationWider(Invalid):
    code = "identity.delegation_wider"
    sentence = "A delegation can be narrowed, never widened: {why}."


class UnknownDelegation(NotFound):
    code = "identity.delegation_unknown"
    sentence = "There is no delegation {delegation}."


class NotTransferable(Refusal):
    code = "identity.not_transferable"
    sentence = "{asset} cannot be transferred: {why}."
