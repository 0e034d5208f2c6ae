"""Which assertions are held after some control runs, and which are not yet. Pure.

A site that reports what it observed is held when it was right. One that is held by changes must have told them apart in
several pairs of runs, one after the other: whoever guesses is right in one pair of four. A site that could report by
the look of it, and says that it cannot, needs one pair more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from choir.bazaar.verification.controlled.draws import Known, is_blind, is_seen
from choir.bazaar.verification.controlled.judging import Found, TestName
from choir.bazaar.verification.controlled.sites import Site, Suite

Key = tuple[str, int]  # file, site


def is_held(site: Site, known: Known) -> bool:
    """Whether nobody can come by a site without the right value or the right guess."""
    if not site.required or site.number in known.elusive | known.broken:
        return False
    seen = is_seen(site, known) and site.observation is not None and site.observation.counts
    return is_blind(site, known) or seen


@dataclass(slots=True)
class Tally:
    """What was shown so far."""

    suites: Mapping[str, Suite]
    expected: Mapping[TestName, int]
    idle: frozenset[TestName]  # tests that are skipped without any delivery, too
    known: Mapping[str, Known]  # as it grows
    needed: int
    unclear: set[Key] = field(default_factory=set)  # in the last pair
    scores: dict[Key, int] = field(default_factory=dict)
    first: dict[str, Known] = field(default_factory=dict)
    bits: int = 0
    _good: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.first = dict(self.known)

    def add(self, runs: Sequence[Found]) -> None:
        """A pair of runs that nothing is to be said against."""
        told: set[Key] = set().union(*(found.told for found in runs))
        self.unclear = set().union(*(found.unclear for found in runs))
        self._good |= set().union(*(found.good for found in runs))
        for key in told - self.unclear:
            self.scores[key] = self.scores.get(key, 0) + 1
        for key in self.unclear:
            self.scores[key] = 0
        self.bits += 2 * len({self._drawn_by(key) for key in told - self.unclear})

    def open(self) -> set[Key]:
        """Sites that could be held and are not."""
        return {key for key, site in self._sites() if not self._is_settled(key, site)}

    @property
    def claims(self) -> int:
        """One if a site said that it cannot be told what it observes, which was not known before."""
        return int(any(self._is_claim(key) for key, _ in self._sites()))

    def _sites(self) -> Iterable[tuple[Key, Site]]:
        for file, suite in self.suites.items():
            for site in suite.sites:
                test = file, site.test
                known = self.known.get(file, Known()), self.first.get(file, Known())
                if test in self.expected and test not in self.idle and any(is_held(site, item) for item in known):
                    yield (file, site.number), site

    def _is_settled(self, key: Key, site: Site) -> bool:
        if not is_blind(site, self.known.get(key[0], Known())):
            return key in self._good and not self._is_claim(key)
        return self.scores.get(key, 0) >= self.needed + self._is_claim(key)

    def _is_claim(self, key: Key) -> bool:
        file, number = key
        return number in self.known.get(file, Known()).opaque - self.first.get(file, Known()).opaque

    def _drawn_by(self, key: Key) -> tuple[str, object]:
        """Sites that share a column are drawn as one."""
        file, number = key
        changes = self.suites[file].sites[number].changes
        column = changes[0].column if changes else None
        return file, number if column is None else column.key
