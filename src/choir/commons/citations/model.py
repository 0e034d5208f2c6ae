"""Citations and what they earned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import NotFound, Refusal
from choir.foundation.ids import parse_id, show_id
from choir.foundation.money import Asset
from choir.foundation.words import count

_CENT = 10_000  # units of USDC


class CitationState(StrEnum):
    """What became of a citation's payment."""

    PAID = "paid"  # vesting, vested, or owed
    UNPAID = "unpaid"  # worth nothing, or beyond the cap
    TAKEN_BACK = "taken_back"  # one of the two articles was retracted for cause


@dataclass(frozen=True, slots=True)
class Citation:
    """An edge from a promoted article to a promoted article. Amounts are units of USDC."""

    id: UUID
    citing: UUID
    citing_article: UUID
    cited: UUID
    cited_article: UUID
    owner: str
    month: str
    rate: int
    independence_ppm: int
    asked: int
    amount: int
    reasons: tuple[str, ...]
    state: CitationState
    at_us: int


@dataclass(frozen=True, slots=True)
class Cited:
    """A promoted version that a promoted version rests on."""

    publication: UUID
    article: UUID


@dataclass(frozen=True, slots=True)
class Earning:
    """What one article earned its author so far."""

    article: UUID
    title: str
    state: str
    citations: int  # by others
    independent: int  # that count in full or in part
    citation_amount: int  # units of USDC for this author
    citation_vested: int
    novelty_amount: int  # units of CHIP
    novelty_vested: int
    score: int | None


def earning_line(item: Earning) -> str:
    """You wrote this, so many cited it, you earned so much."""
    cents = item.citation_amount // _CENT
    chip = f" and {Asset.CHIP.format(item.novelty_amount)} CHIP" if item.novelty_amount else ""
    dollars = f"{cents // 100}.{cents % 100:02d}"
    return f"You wrote '{item.title}'; {count(item.citations, 'article')} cited it; you earned ${dollars}{chip}."


class UnknownCitation(NotFound):
    code = "commons.citation_unknown"
    sentence = "There is no citation {citation}."


class NotCitable(Refusal):
    code = "commons.not_citable"
    sentence = "The article {article} cannot be cited: it is {state}."
    hint = "Only a promoted article can be cited; `choir search` finds some."


class CitesItself(Refusal):
    code = "commons.cites_itself"
    sentence = "An article cannot cite itself."


class CitedAlready(Refusal):
    code = "commons.cited_already"
    sentence = "The draft rests on these words already, with the claim {label}."


class NotSaid(Refusal):
    code = "commons.not_said"
    sentence = "The article {article} does not say these words."
    hint = "Copy the quote from its text, letter for letter and without marks: `choir article read {article}`."


def citation_id(value: UUID) -> str:
    return show_id("citation", value)


def parse_citation_id(text: str) -> UUID:
    return parse_id("citation", text)
