"""Which clause of an extract a clause of the claim speaks of: the one that has most of its words, numbers and dates.

Guarantee: pure. Of each clause only so many words are looked at, so that work stays linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from choir.commons.verifiers.lexicon import words_of
from choir.commons.verifiers.pair import Match, Pair
from choir.commons.verifiers.quantities import is_duration

ORDER = words_of("before after prior_to")
_STATES = words_of("on off")
_ANCHORS_MAX = 30
_NEIGHBOURS = 6  # tokens on each side

Rated = list[tuple[Match, int]]  # counterparts, each with how well its clause fits


class Alignment:
    """Lays a claim's clauses beside those of the extract."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._links: dict[int, list[int]] = {}  # numbers and dates of a clause of the claim, where the extract has them
        for at, places in pair.links.items():
            self._links.setdefault(pair.claim.clause_of[at], []).extend(places)
        self._scores: dict[int, Counter[int]] = {}
        self._clauses: dict[int, list[int]] = {}
        self._best: dict[int, Rated] = {}

    @cached_property
    def _taken(self) -> frozenset[tuple[int, int]]:
        """Words of the extract that a clause of the claim has as they are."""
        claim, pair = self.pair.claim, self.pair
        return frozenset(
            (claim.clause_of[at], match.at) for at in claim.content for match in pair.closest(at) if match.exact
        )

    @cached_property
    def _sides(self) -> dict[int, list[int]]:
        """Of each clause of the claim the words of its frames, subjects that it takes over among them."""
        found: dict[int, list[int]] = {}
        for frame in self.pair.claim.frames:
            found.setdefault(frame.clause, []).extend((*frame.agents, *frame.patients)[:_ANCHORS_MAX])
        return found

    def scores(self, clause: int) -> Counter[int]:
        """How many words of a clause of the claim each clause of the extract has."""
        if clause not in self._scores:
            counts = Counter[int]()
            for at in self._anchors(clause):
                counts.update({other for match in self.pair.matches(at) for other in self.pair.clauses_of[match.at]})
            for place in self._links.get(clause, ())[:_ANCHORS_MAX]:
                counts.update(self.pair.clauses_of[place])
            self._scores[clause] = counts
        return self._scores[clause]

    def _anchors(self, clause: int) -> list[int]:
        claim = self.pair.claim
        words = (*claim.members[clause], *self._sides.get(clause, ()))
        return list(dict.fromkeys(at for at in words if claim.is_content(at)))[:_ANCHORS_MAX]

    def clauses(self, clause: int) -> list[int]:
        """The clauses of the extract that fit best."""
        if clause not in self._clauses:
            counts = self.scores(clause)
            most = max(counts.values(), default=0)
            self._clauses[clause] = [other for other, count in counts.items() if count == most]
        return self._clauses[clause]

    def most(self, at: int) -> int:
        """How well the best clause fits that of a word of the claim."""
        clause = self.pair.claim.clause_of[at]
        best = self.clauses(clause)
        return self.scores(clause)[best[0]] if best else 0

    def best(self, at: int) -> Rated:
        """The counterparts of a word of the claim, those in the clause that fits best first."""
        if at not in self._best:
            clause = self.pair.claim.clause_of[at]
            counts = self.scores(clause)
            if self.pair.claim.tokens[at].word in ORDER and clause:
                counts = counts + self.scores(clause - 1)  # an order holds between two clauses
            rated = [(match, counts[self.pair.extract.clause_of[match.at]]) for match in self._counterparts(at)]
            near = self._neighbours(at)
            rated.sort(key=lambda item: (-item[1], self._away(item[0].at, near), -item[0].sign, item[0].at))
            self._best[at] = rated
        return self._best[at]

    def _counterparts(self, at: int) -> list[Match]:
        """Matches of a word, without opposites that the same clause of the claim has itself."""
        word, clause, extract = self.pair.claim.tokens[at].word, self.pair.claim.clause_of[at], self.pair.extract
        found = [match for match in self.pair.matches(at) if match.sign > 0 or (clause, match.at) not in self._taken]
        if word in _STATES:
            return [match for match in found if extract.tokens[match.at].word in _STATES] or found
        if word in ORDER and not is_duration(self.pair.claim, at):  # "after 12 days" tells how long
            return [match for match in found if not is_duration(extract, match.at)]
        return found

    def _neighbours(self, at: int) -> list[int]:
        """Where the extract has the two words that stand nearest to a word of the claim."""
        claim = self.pair.claim
        around = range(max(0, at - _NEIGHBOURS), min(len(claim.tokens), at + _NEIGHBOURS))
        near = [other for other in around if claim.clause_of[other] == claim.clause_of[at] and claim.is_content(other)]
        near = sorted((other for other in near if other != at), key=lambda other: abs(other - at))
        return [match.at for other in near[:2] for match in self.pair.closest(other)]

    def _away(self, place: int, near: Sequence[int]) -> int:
        return min((self.pair.distance(place, other) for other in near if other != place), default=0)
