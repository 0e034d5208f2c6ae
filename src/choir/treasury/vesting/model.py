"""A grant: value that belongs to its owner day by day, and can be taken back while it does not yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import NotFound
from choir.foundation.ids import parse_id, show_id
from choir.foundation.money import Asset


class GrantKind(StrEnum):
    """What a grant is for; its account is named so."""

    NOVELTY = "novelty"
    CITATION = "citation"


@dataclass(frozen=True, slots=True)
class Grant:
    """What was granted and what became of it. Amounts are units of the asset."""

    id: UUID
    key: str
    owner: str | None  # None once they are erased and it has ended
    asset: Asset
    kind: GrantKind
    subject: str  # what it is about, such as an article or a citation
    amount: int
    source: str  # the account it came from, and goes back to
    place: str  # the account that what has not vested is in
    starts_us: int
    days: int
    not_before_us: int | None  # nothing is released before
    refs: tuple[str, ...]
    reason: str
    made_us: int
    from_day: int = 0  # by schedule, `from_vested` had vested on this day; the rest vests evenly from there
    from_vested: int = 0
    vested: int = 0  # what was released
    clawed: int = 0  # what was taken back
    returned: int = 0  # what of that has moved; the rest moves once the account may
    next_us: int | None = None  # when something is due; None: all of it has gone

    @property
    def unvested(self) -> int:
        return self.amount - self.clawed - self.vested

    @property
    def last(self) -> int:
        """What will have vested in the end."""
        return self.amount - self.clawed


@dataclass(frozen=True, slots=True)
class GrantTotal:
    """Several grants together."""

    amount: int
    vested: int
    clawed: int


def grant_id(value: UUID) -> str:
    return show_id("grant", value)


def parse_grant_id(text: str) -> UUID:
    return parse_id("grant", text)


class UnknownGrant(NotFound):
    code = "treasury.grant.unknown"
    sentence = "There is no grant {grant}."
