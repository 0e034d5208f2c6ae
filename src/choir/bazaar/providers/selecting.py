"""Choosing who shall try a job: hard criteria first, then weights, and now and then a newcomer.

Guarantees: the same market, criteria, seed and time give the same order; every score can be explained and adds
up; nobody is in the order who does not meet the criteria, is silent, or has no free slot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from choir.bazaar.providers import selection_rules, selection_store
from choir.bazaar.providers.selection_rules import Criteria, Scored
from choir.foundation.policy import ProvidersPolicy
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Selected:
    """Candidates, best first, with all that explains the order."""

    ranked: tuple[Scored, ...]
    newcomers_turn: bool
    tally: dict[str, int] | None = None  # filled if nobody was found: what kept them all away

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "newcomers_turn": self.newcomers_turn,
            "candidates": [scored.as_json() for scored in self.ranked],
        }
        return told if self.tally is None else {**told, "nobody_because": self.tally}


class Selection:
    """Selections; inside the caller's transaction, without locks: a slot is only had once it is reserved."""

    def __init__(self, policy: ProvidersPolicy) -> None:
        self._policy = policy

    def select(self, tx: Tx, criteria: Criteria, now_us: int, seed: bytes, *, limit: int | None = None) -> Selected:
        """The best candidates. The seed decides ties and whose turn it is; keep it to explain the choice later."""
        selection_rules.checked(criteria)
        policy, number = self._policy, selection_rules.seed_number(seed)
        most = policy.candidates_max if limit is None else max(1, min(limit, policy.candidates_max))
        ranked = [
            selection_rules.score(candidate, criteria, policy)
            for candidate, _ in selection_store.best(tx, criteria, now_us, number, most, policy)
        ]
        if not ranked:
            return Selected((), False, selection_store.tally(tx, criteria, now_us))
        turn = not criteria.providers and selection_rules.is_newcomers_turn(seed, policy)
        if turn:
            drawn = selection_store.newcomer(tx, criteria, now_us, number, policy)
            if drawn is None:
                return Selected(tuple(ranked), False)
            first = replace(selection_rules.score(drawn, criteria, policy), newcomers_turn=True)
            ranked = [first, *(one for one in ranked if one.candidate.provider != drawn.provider)][:most]
        return Selected(tuple(ranked), turn)
