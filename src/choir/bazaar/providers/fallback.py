"""Who tries next: the five fallback strategies. Pure: what was tried and who is there in, what to do out.

first available      the best candidate that has not tried yet, at once
preferred then pool  the preferred ones in their order, then like first available
race                 several at once; the first verified result is paid; each slot of the race is used once
sequential retry     one after another with a pause between (the default)
pinned               one provider and nobody else

Guarantees: nobody whose result was refused tries again, for it may have been shown the hidden checks that it
failed, nor who gave the job back; who was lost on the way (silent, too late) is asked again only when nobody fresh is
there; no strategy starts more attempts than it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.bazaar.providers.model import BadStrategy, parse_provider_id, provider_id

_PREFERRED_MAX = 100


@dataclass(frozen=True, slots=True)
class FallbackLimits:
    """What strategies are bounded by, and what they mean when they name nothing."""

    attempts_max: int = 3
    backoff_us: int = 1_000_000
    race_max: int = 5


@dataclass(frozen=True, slots=True)
class FirstAvailable:
    attempts: int


@dataclass(frozen=True, slots=True)
class PreferredThenPool:
    preferred: tuple[UUID, ...]
    attempts: int


@dataclass(frozen=True, slots=True)
class Race:
    count: int


@dataclass(frozen=True, slots=True)
class SequentialRetry:
    attempts: int
    backoff_us: int


@dataclass(frozen=True, slots=True)
class PinnedProvider:
    provider: UUID
    attempts: int
    backoff_us: int


Strategy = FirstAvailable | PreferredThenPool | Race | SequentialRetry | PinnedProvider


class TryState(StrEnum):
    """How a try stands."""

    AT_WORK = "at_work"  # or handed in and not judged yet
    REFUSED = "refused"  # judged and did not pass, or given back
    LOST = "lost"  # never judged: silent, too late, or given back
    PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt so far."""

    provider: UUID
    state: TryState
    ended_us: int = 0


@dataclass(frozen=True, slots=True)
class Assign:
    """Ask these now."""

    providers: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before this time; None: before something changes."""

    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nobody will be asked again."""

    reason: str  # "attempts_used" or "pinned_refused"


Next = Assign | Wait | GiveUp


def next_assignments(strategy: Strategy, history: Sequence[Try], candidates: Sequence[UUID], now_us: int) -> Next:
    """What a job does now, with candidates that are free, best first."""
    if any(tried.state is TryState.PASSED for tried in history):
        return Wait()
    match strategy:
        case Race(count):
            return _race(count, history, candidates)
        case PinnedProvider(provider):
            return _pinned(strategy, history, provider in candidates, now_us)
        case SequentialRetry(attempts, backoff_us):
            return _one(history, candidates, attempts, backoff_us, now_us)
        case FirstAvailable(attempts):
            return _one(history, candidates, attempts, 0, now_us)
        case PreferredThenPool(preferred, attempts):
            there = [one for one in preferred if one in candidates]
            return _one(history, [*there, *(one for one in candidates if one not in there)], attempts, 0, now_us)


def racing(strategy: Strategy) -> int:
    """How many may be at work at one time."""
    return strategy.count if isinstance(strategy, Race) else 1


def _one(history: Sequence[Try], candidates: Sequence[UUID], attempts: int, backoff_us: int, now_us: int) -> Next:
    if _at_work(history):
        return Wait()
    if len(history) >= attempts:
        return GiveUp("attempts_used")
    if (until_us := _pause(history, backoff_us)) > now_us:
        return Wait(until_us)
    order = _order(history, candidates)
    return Assign((order[0],)) if order else Wait()


def _race(count: int, history: Sequence[Try], candidates: Sequence[UUID]) -> Next:
    left = count - len(history)
    if left <= 0:
        return Wait() if _at_work(history) else GiveUp("attempts_used")
    known = {tried.provider for tried in history}
    chosen = tuple(one for one in candidates if one not in known)[:left]
    return Assign(chosen) if chosen else Wait()


def _pinned(strategy: PinnedProvider, history: Sequence[Try], free: bool, now_us: int) -> Next:
    if any(tried.state is TryState.REFUSED for tried in history):
        return GiveUp("pinned_refused")
    return _one(history, [strategy.provider] if free else [], strategy.attempts, strategy.backoff_us, now_us)


def _order(history: Sequence[Try], candidates: Sequence[UUID]) -> list[UUID]:
    """Those who have not tried, then those who were lost, the longest ago first."""
    last = {tried.provider: tried for tried in history}
    refused = {tried.provider for tried in history if tried.state is TryState.REFUSED}
    fresh = [one for one in candidates if one not in last]
    lost = [one for one in candidates if one in last and one not in refused]
    return fresh + sorted(lost, key=lambda one: last[one].ended_us)


def _at_work(history: Sequence[Try]) -> bool:
    return any(tried.state is TryState.AT_WORK for tried in history)


def _pause(history: Sequence[Try], backoff_us: int) -> int:
    return max((tried.ended_us for tried in history), default=-backoff_us) + backoff_us


# As JSON


def strategy_from(asked: dict[str, Any], limits: FallbackLimits) -> Strategy:
    """A strategy from JSON; an empty object means the default. What is above the limits is refused."""
    kind = asked.get("kind", "sequential_retry")
    attempts = _number(asked, "attempts", limits.attempts_max, 1, limits.attempts_max)
    backoff_us = _number(asked, "backoff_ms", limits.backoff_us // 1000, 0, 3_600_000) * 1000
    known = {"kind"}
    strategy: Strategy
    match kind:
        case "sequential_retry":
            strategy, known = SequentialRetry(attempts, backoff_us), known | {"attempts", "backoff_ms"}
        case "first_available":
            strategy, known = FirstAvailable(attempts), known | {"attempts"}
        case "preferred_then_pool":
            strategy, known = PreferredThenPool(_preferred(asked), attempts), known | {"preferred", "attempts"}
        case "race":
            strategy, known = Race(_number(asked, "count", 2, 2, limits.race_max)), known | {"count"}
        case "pinned":
            provider = _provider(asked.get("provider"))
            strategy, known = (
                PinnedProvider(provider, attempts, backoff_us),
                known | {"provider", "attempts", "backoff_ms"},
            )
        case _:
            raise BadStrategy(why=f"there is no kind '{str(kind)[:40]}'")
    if unknown := set(asked) - known:
        raise BadStrategy(why=f"'{kind}' has no '{min(unknown)[:40]}'")
    return strategy


def strategy_json(strategy: Strategy) -> dict[str, Any]:
    """The other way round."""
    match strategy:
        case SequentialRetry(attempts, backoff_us):
            return {"kind": "sequential_retry", "attempts": attempts, "backoff_ms": backoff_us // 1000}
        case FirstAvailable(attempts):
            return {"kind": "first_available", "attempts": attempts}
        case PreferredThenPool(preferred, attempts):
            names = [provider_id(one) for one in preferred]
            return {"kind": "preferred_then_pool", "preferred": names, "attempts": attempts}
        case Race(count):
            return {"kind": "race", "count": count}
        case PinnedProvider(provider, attempts, backoff_us):
            return {
                "kind": "pinned",
                "provider": provider_id(provider),
                "attempts": attempts,
                "backoff_ms": backoff_us // 1000,
            }


def _number(asked: dict[str, Any], name: str, default: int, low: int, high: int) -> int:
    value = asked.get(name, min(default, high))
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadStrategy(why=f"'{name}' must be a whole number from {low} to {high}")
    return value


def _preferred(asked: dict[str, Any]) -> tuple[UUID, ...]:
    named = asked.get("preferred", [])
    if not isinstance(named, list) or not 1 <= len(named) <= _PREFERRED_MAX:
        raise BadStrategy(why=f"'preferred' must name 1 to {_PREFERRED_MAX} providers")
    return tuple(dict.fromkeys(_provider(one) for one in named))


def _provider(named: object) -> UUID:
    if not isinstance(named, str):
        raise BadStrategy(why="a provider is named by its id")
    return parse_provider_id(named)
