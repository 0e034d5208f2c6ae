"""From a job's wishes to reserved slots: select, ask the strategy, reserve.

Guarantees: whoever is returned has a slot for the job, in the caller's transaction; where a slot was gone by the
time it was asked for, the next best is taken; preferred and pinned providers are found however low they score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from choir.bazaar.providers import selection_rules
from choir.bazaar.providers.fallback import (
    Assign,
    Next,
    PinnedProvider,
    PreferredThenPool,
    Strategy,
    Try,
    Wait,
    next_assignments,
)
from choir.bazaar.providers.selection import Selected
from choir.bazaar.providers.selection_rules import Criteria, Scored
from choir.bazaar.providers.service import Providers
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who shall try now, each with a slot; and what the strategy said."""

    chosen: tuple[Scored, ...]  # terms to fix at assignment: `scored.candidate.terms`
    decision: Next
    explanation: Selected


class Assignments:
    """Assignments; inside the caller's transaction."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    def assign(
        self,
        tx: Tx,
        job: UUID,
        criteria: Criteria,
        strategy: Strategy,
        history: Sequence[Try],
        now_us: int,
        seed: bytes,
        *,
        drawn_from: Callable[[Scored], bool] | None = None,
    ) -> Assignment:
        """Reserve slots of those who shall try now. Keep the seed: with it the choice can be explained.

        `drawn_from`: by lot among the best that it accepts, instead of the best first.
        """
        told = self._candidates(tx, criteria, strategy, now_us, seed)
        if drawn_from is not None:
            fitting = [one for one in told.ranked if drawn_from(one)]
            told = replace(told, ranked=tuple(sorted(fitting, key=lambda one: selection_rules.lot(seed, one))))
        decision = next_assignments(strategy, history, [one.candidate.provider for one in told.ranked], now_us)
        if not isinstance(decision, Assign):
            return Assignment((), decision, told)
        taken = self._reserve(tx, job, strategy, history, told, now_us, places=len(decision.providers))
        if not taken:
            return Assignment((), Wait(), told)
        chosen = tuple(one for one in told.ranked if one.candidate.provider in taken)
        return Assignment(chosen, Assign(tuple(one.candidate.provider for one in chosen)), told)

    def _reserve(
        self,
        tx: Tx,
        job: UUID,
        strategy: Strategy,
        history: Sequence[Try],
        told: Selected,
        now_us: int,
        *,
        places: int,
    ) -> set[UUID]:
        """Take slots of the next ones until all places are filled or nobody is left."""
        free = [one.candidate.provider for one in told.ranked]
        taken: set[UUID] = set()
        while len(taken) < places:
            following = next_assignments(strategy, history, free, now_us)
            if not isinstance(following, Assign):
                break
            asked = following.providers[: places - len(taken)]
            # In order of id, so that two jobs do not wait for each other.
            taken |= {one for one in sorted(asked) if self._providers.reserve(tx, one, job)}
            free = [one for one in free if one not in asked]
        return taken

    def _candidates(self, tx: Tx, criteria: Criteria, strategy: Strategy, now_us: int, seed: bytes) -> Selected:
        """The best, with those that the strategy names put in front."""
        select = self._providers.selection.select
        named = _named(strategy)
        if isinstance(strategy, PinnedProvider):
            return select(tx, replace(criteria, providers=named), now_us, seed)
        pool = select(tx, criteria, now_us, seed)
        if not named:
            return pool
        allowed = tuple(one for one in named if not criteria.providers or one in criteria.providers)
        if not allowed:
            return pool
        preferred = select(tx, replace(criteria, providers=allowed), now_us, seed).ranked
        known = {one.candidate.provider for one in preferred}
        others = tuple(one for one in pool.ranked if one.candidate.provider not in known)
        return replace(pool, ranked=(*preferred, *others))


def _named(strategy: Strategy) -> tuple[UUID, ...]:
    match strategy:
        case PinnedProvider(provider):
            return (provider,)
        case PreferredThenPool(preferred):
            return preferred
        case _:
            return ()
