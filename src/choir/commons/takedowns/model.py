"""Takedowns: of what, why, by whom, and what readers are told instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class Category(StrEnum):
    """Why something was taken down; shown to everybody."""

    LEGAL = "legal"
    COPYRIGHT = "copyright"
    PRIVACY = "privacy"
    ABUSE = "abuse"
    MALWARE = "malware"


@dataclass(frozen=True, slots=True)
class Takedown:
    """Something that was taken out of public view; of an article or of a source."""

    id: UUID
    article: UUID | None
    source: ObjectHash | None
    category: Category
    note: str  # for operators
    operator: str
    at_us: int
    restored_us: int | None = None
    restored_by: str | None = None
    restored_note: str | None = None

    @property
    def standing(self) -> bool:
        return self.restored_us is None


def takedown_id(value: UUID) -> str:
    return show_id("takedown", value)


def parse_takedown_id(text: str) -> UUID:
    return parse_id("takedown", text)


class TakenDown(NotFound):
    code = "commons.taken_down"
    sentence = "{what} was taken down by the node's operator on {day}: {category}."


class UnknownTakedown(NotFound):
    code = "commons.takedown_unknown"
    sentence = "There is no takedown {takedown}."


class TakedownOver(Refusal):
    code = "commons.takedown_over"
    sentence = "The takedown {takedown} was restored before."


class BadTakedown(Invalid):
    code = "commons.bad_takedown"
    sentence = "The takedown is not valid: {why}."


class TakedownsByOperators(NotAllowed):
    code = "commons.takedowns_by_operators"
    sentence = "Only an operator can take something down or restore it."
