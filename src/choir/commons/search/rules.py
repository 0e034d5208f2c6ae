"""The order of results. Pure, in whole numbers, so that every machine finds the same.

Guarantees: a place follows from relevance, the confidence of verified bindings, independent reuse, survival, and
recency where it was asked for; each further result of one author counts less. Nothing here knows of stakes or boosts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from choir.commons.search.model import Candidate, Result, Signal
from choir.commons.search.policy import SearchPolicy
from choir.foundation.clock import MICROSECONDS
from choir.foundation.words import count

_PPM = 1_000_000
_BPS = 10_000
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_DAY_US = 86_400 * MICROSECONDS
_ASKS_FOR_NEW = re.compile(
    r"\b(?:new|newest|latest|recent|recently|current|currently|today|now|this (?:week|month|year)|20[2-9]\d)\b",
    re.IGNORECASE,
)


def asks_for_new(query: str) -> bool:
    """Whether recency matters for a query."""
    return _ASKS_FOR_NEW.search(query) is not None


def rank(
    candidates: Sequence[Candidate], now_us: int, *, recency: bool, limit: int, policy: SearchPolicy
) -> list[Result]:
    """The best first; an author's further results are moved down as they come up again."""
    left = [Result(item, 0, signals(item, now_us, recency=recency, policy=policy)) for item in candidates]
    seen: dict[str, int] = {}
    found: list[Result] = []
    while left and len(found) < limit:
        best = max(left, key=lambda item: (_points(item, seen, policy), -item.candidate.article.int))
        left.remove(best)
        found.append(_placed(best, seen, policy))
        seen[best.candidate.author] = seen.get(best.candidate.author, 0) + 1
    return found


def _points(item: Result, seen: dict[str, int], policy: SearchPolicy) -> int:
    points = sum(signal.points for signal in item.signals)
    for _ in range(seen.get(item.candidate.author, 0)):
        points = points * policy.repeat_bps // _BPS
    return points


def _placed(item: Result, seen: dict[str, int], policy: SearchPolicy) -> Result:
    whole, points = sum(signal.points for signal in item.signals), _points(item, seen, policy)
    if points == whole:
        return Result(item.candidate, points, item.signals)
    earlier = seen[item.candidate.author]
    words = f"{count(earlier, 'result')} of the same author {'stands' if earlier == 1 else 'stand'} above it"
    less = Signal("diversity", 0, points - whole, words)
    return Result(item.candidate, points, (*item.signals, less))


def signals(item: Candidate, now_us: int, *, recency: bool, policy: SearchPolicy) -> tuple[Signal, ...]:
    """Every reason for an article's place."""
    found = [
        _relevance(item, policy),
        _confidence(item, policy),
        _reuse(item, policy),
        _survival(item, now_us, policy),
    ]
    if recency:
        found.append(_recency(item, now_us, policy))
    return tuple(found)


def _relevance(item: Candidate, policy: SearchPolicy) -> Signal:
    places = [place for place in (item.words_place, item.sense_place) if place is not None]
    share = sum(_PPM * policy.rank_offset // (policy.rank_offset + place) for place in places) // 2
    parts = [
        f"{_ordinal(place)} by {name}"
        for name, place in (("words", item.words_place), ("sense", item.sense_place))
        if place is not None
    ]
    return _signal("relevance", share, policy.relevance_bps, " and ".join(parts))


def _confidence(item: Candidate, policy: SearchPolicy) -> Signal:
    words = f"{count(item.bindings, 'verified binding')}, mean confidence {item.confidence_bps / _BPS:.2f}"
    return _signal("confidence", item.confidence_bps * _PPM // _BPS, policy.confidence_bps, words)


def _reuse(item: Candidate, policy: SearchPolicy) -> Signal:
    share = item.reuse_ppm * _PPM // (item.reuse_ppm + policy.reuse_half * _PPM)
    words = f"{count(item.citations, 'citation')}, {item.reuse_ppm / _PPM:.2f} of them independent"
    return _signal("reuse", share, policy.reuse_bps, words)


def _survival(item: Candidate, now_us: int, policy: SearchPolicy) -> Signal:
    age_us = max(0, now_us - item.promoted_us)
    stood = age_us + item.survived * policy.survived_s * MICROSECONDS
    share = _saturated(stood, policy.survival_half_s)
    words = f"has stood for {count(age_us // _DAY_US, 'day')}"
    if item.survived:
        words += f" and survived {count(item.survived, 'challenge')}"
    return _signal("survival", share, policy.survival_bps, words)


def _recency(item: Candidate, now_us: int, policy: SearchPolicy) -> Signal:
    age_us = max(0, now_us - item.promoted_us)
    share = _PPM - _saturated(age_us, policy.recency_half_s)
    return _signal("recency", share, policy.recency_bps, f"promoted {count(age_us // _DAY_US, 'day')} ago")


def _saturated(time_us: int, half_s: int) -> int:
    return time_us * _PPM // (time_us + half_s * MICROSECONDS)


def _signal(name: str, share_ppm: int, weight_bps: int, words: str) -> Signal:
    return Signal(name, share_ppm, share_ppm * weight_bps // _PPM, words)


def _ordinal(place: int) -> str:
    n = place + 1
    if n % 100 in (11, 12, 13):
        return f"{n}th"
    return f"{n}{_ENDINGS.get(n % 10, 'th')}"


def with_excerpt(item: Result, excerpt: str) -> Result:
    return replace(item, candidate=replace(item.candidate, excerpt=excerpt))
