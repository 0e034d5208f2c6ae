"""Choosing who shall try a job: hard criteria first, then weights, and now and then a newcomer.

Guarantees: the same market, criteria, seed and time give the same order; every score can be explained and adds
up; nobody is in the order who does not meet the criteria, is silent, or has no free slot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promises, selection_rules, selection_store
from choir.bazaar.providers.selection_rules import Candidate, Criteria, Scored
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Selected:
    """Candidates, best first, with all that explains the order."""

    ranked: tuple[Scored, ...]
    newcomers_turn: bool
    own_weights: bool = False  # the buyer brought weights
    tally: dict[str, int] | None = None  # filled if nobody was found: what kept them all away

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "newcomers_turn": self.newcomers_turn,
            "candidates": [scored.as_json() for scored in self.ranked],
            **({"own_weights": True} if self.own_weights else {}),
        }
        return told if self.tally is None else {**told, "nobody_because": self.tally}


class Selection:
    """Selections; inside the caller's transaction, without locks: a slot is only had once it is reserved."""

    def __init__(self, policy: ProvidersPolicy) -> None:
        self._policy = policy
        self._name = promises.policy_name(policy)

    def select(self, tx: Tx, criteria: Criteria, now_us: int, seed: bytes, *, limit: int | None = None) -> Selected:
        """The best candidates. The seed decides ties and whose turn it is; keep it to explain the choice later."""
        selection_rules.checked(criteria)
        policy = self._policy
        most = policy.candidates_max if limit is None else max(1, min(limit, policy.candidates_max))
        found = self._best(tx, criteria, now_us, selection_rules.seed_number(seed), most)
        ranked = [selection_rules.score(candidate, criteria, policy) for candidate in found]
        if not ranked:
            return Selected((), False, tally=selection_store.tally(tx, criteria, now_us))
        own = criteria.weights is not None
        first = None
        if not criteria.providers and selection_rules.is_newcomers_turn(seed, policy):
            first = self._newcomer(tx, criteria, now_us, seed)
        if first is None:
            return Selected(tuple(ranked), False, own)
        others = (one for one in ranked if one.candidate.provider != first.candidate.provider)
        return Selected((first, *others)[:most], True, own)

    def _best(self, tx: Tx, criteria: Criteria, now_us: int, number: int, most: int) -> list[Candidate]:
        """Look at the highest promises; if somebody behind them could do as well, look at all."""
        policy = self._policy
        bound = self._bound(tx, criteria)
        if bound is not None:
            some = selection_store.best(tx, criteria, now_us, number, most, policy, look_at=policy.look_at)
            if len(some) == most and some[-1][1] > bound:
                return [candidate for candidate, _ in some]
        every = selection_store.best(tx, criteria, now_us, number, most, policy, look_at=None)
        return [candidate for candidate, _ in every]

    def _bound(self, tx: Tx, criteria: Criteria) -> int | None:
        """The most that anybody behind the highest promises can get; None: promises do not help here."""
        if criteria.weights is not None:  # promises are made by the weights of policy
            return None
        if criteria.providers or selection_rules.top_price(criteria, self._policy) < promises.TOP_PRICE_MIN:
            return None
        lowest = selection_store.promise_at(tx, criteria.type, self._policy.look_at)
        if lowest is None or not selection_store.are_all_promised(tx, criteria.type, self._name):
            return None
        return lowest + promises.rest_max(self._policy)

    def _newcomer(self, tx: Tx, criteria: Criteria, now_us: int, seed: bytes) -> Scored | None:
        """One newcomer by lot: of some that follow on a random place, so that nobody's place is a good one."""
        start, number = selection_rules.newcomer_numbers(seed)
        drawn = selection_store.newcomers(tx, criteria, now_us, start, self._policy.newcomers_drawn, self._policy)
        if not drawn:
            return None
        chosen = min(drawn, key=lambda candidate: candidate.shuffle ^ number)
        return replace(selection_rules.score(chosen, criteria, self._policy), newcomers_turn=True)
