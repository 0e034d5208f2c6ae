"""Scores and rewards of novelty, as they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.foundation.errors import NotFound, Unavailable


@dataclass(frozen=True, slots=True)
class NoveltyScore:
    """What a submission scored against all earlier work, fixed when it was submitted."""

    publication: UUID
    position: int
    score: int
    distance_ppm: int
    second_score: int
    words: int
    corpus: int
    model: str
    calibration: str
    quoted: int  # units of CHIP
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NoveltyReward:
    """What a promoted submission earned. Units of CHIP."""

    publication: UUID
    owner: str
    month: str
    nominal: int
    granted: int
    why: str
    promoted_us: int
    settled: bool = False


@dataclass(frozen=True, slots=True)
class MonthState:
    """How much a month is to emit, and how far its closing is."""

    nominal: int
    closing: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class NearestWork:
    """A work that a draft is near to."""

    kind: str  # article, source or background
    name: str  # the id of an article, the hash of a source, the name of a background text
    title: str
    distance_ppm: int  # calibrated; of the nearest passage
    excerpt: str = ""  # how the nearest passage begins; shown with a quote and not kept


@dataclass(frozen=True, slots=True)
class NoveltyQuote:
    """What a draft would score now, and what that would earn."""

    score: int
    distance_ppm: int
    second_score: int
    words: int  # that count
    corpus: int  # passages of earlier work
    reward: int  # units of CHIP, before the limits of a month
    refused: bool
    reasons: tuple[str, ...]
    nearest: tuple[NearestWork, ...]
    model: str
    calibration: str


class CorpusBusy(Unavailable):
    code = "commons.corpus_busy"
    sentence = "Earlier work is being embedded by the model {model}; novelty cannot be measured until that is done."
    hint = "Try again in a minute; nothing was staked."


class UnknownScore(NotFound):
    code = "commons.novelty_unknown"
    sentence = "Version {version} of {article} has no novelty score."
