"""Shapes about novelty."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from choir.commons.novelty.model import NoveltyQuote, NoveltyReward, NoveltyScore
from choir.doors.shapes import Wire, example

_NEAREST: dict[str, Any] = {
    "kind": "article",
    "name": "article_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "title": "Why bridges hum",
    "distance_ppm": 412000,
    "excerpt": "In strong wind the cables of some bridges hum…",
}
NOVELTY_EXAMPLE: dict[str, Any] = {
    "score": 52,
    "distance_ppm": 412000,
    "second_score": 71,
    "words": 1200,
    "corpus": 640,
    "reward": "63333333",
    "refused": False,
    "reasons": ["Near to 'Why bridges hum', but new."],
    "nearest": [_NEAREST],
    "model": "static/1",
    "calibration": "static/1",
}


class NearestOut(Wire, json_schema_extra=example(**_NEAREST)):
    """A work that a text is near to."""

    kind: str
    name: str
    title: str
    distance_ppm: int = Field(description="Calibrated distance of the nearest passage, in millionths.")
    excerpt: str = Field(default="", description="How the nearest passage begins; only while nothing is submitted.")


class NoveltyOut(Wire, json_schema_extra=example(**NOVELTY_EXAMPLE)):
    """What a draft would score now, and what that would earn before the limits of a month."""

    score: int
    distance_ppm: int
    second_score: int
    words: int = Field(description="Words that count; of a revision those that are new.")
    corpus: int = Field(description="Passages of earlier work.")
    reward: str = Field(description="Units of CHIP.")
    refused: bool = Field(description="Whether it is too near to earlier work to be published.")
    reasons: list[str]
    nearest: list[NearestOut]
    model: str
    calibration: str

    @classmethod
    def of(cls, item: NoveltyQuote) -> NoveltyOut:
        return cls(
            score=item.score,
            distance_ppm=item.distance_ppm,
            second_score=item.second_score,
            words=item.words,
            corpus=item.corpus,
            reward=str(item.reward),
            refused=item.refused,
            reasons=list(item.reasons),
            nearest=[
                NearestOut(
                    kind=each.kind,
                    name=each.name,
                    title=each.title,
                    distance_ppm=each.distance_ppm,
                    excerpt=each.excerpt,
                )
                for each in item.nearest
            ],
            model=item.model,
            calibration=item.calibration,
        )


class NoveltyScoreOut(
    Wire,
    json_schema_extra=example(
        **{name: value for name, value in NOVELTY_EXAMPLE.items() if name != "refused"},
        version=1,
        position=17,
        month="2026-11",
        granted="63333333",
        why="a score of 52 for 1200 words",
    ),
):
    """What a published version scored, fixed when it was submitted, and what was granted for it."""

    version: int
    position: int = Field(description="Its place in the order of submissions.")
    score: int
    distance_ppm: int
    second_score: int
    words: int
    corpus: int
    reward: str
    reasons: list[str]
    nearest: list[NearestOut]
    model: str
    calibration: str
    month: str | None = Field(default=None, description="The month that the reward counts for, once promoted.")
    granted: str | None = Field(default=None, description="Units of CHIP.")
    why: str | None = None

    @classmethod
    def of(cls, version: int, item: NoveltyScore, reward: NoveltyReward | None) -> NoveltyScoreOut:
        return cls(
            version=version,
            position=item.position,
            score=item.score,
            distance_ppm=item.distance_ppm,
            second_score=item.second_score,
            words=item.words,
            corpus=item.corpus,
            reward=str(item.quoted),
            reasons=item.report["reasons"],
            nearest=[NearestOut(**each) for each in item.report["nearest"]],
            model=item.model,
            calibration=item.calibration,
            month=None if reward is None else reward.month,
            granted=None if reward is None else str(reward.granted),
            why=None if reward is None else reward.why,
        )
