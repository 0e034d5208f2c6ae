"""How good the verifiers are: what they say of pairs whose truth is known, by kind of claim and by set.

A true paraphrase that fails is refused; a false claim that does not pass is caught. Undecided is shown apart: it is
neither verified nor refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from choir.commons.articles.model import Relation
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.model import Level, Outcome
from choir.commons.verifiers.referee import verify_binding

PARAPHRASE = "paraphrase"
ALL_FALSE = "all false"
TYPES = (
    PARAPHRASE, "fabricated", "misattributed", "number", "date", "unit", "name", "negation", "quantifier", "comparison",
)  # fmt: skip
_BPS = 10_000


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """An extract with a claim of known truth; every type but `paraphrase` is false."""

    set: str
    id: str
    domain: str
    type: str
    evidence: str
    claim: str


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the pairs of one type in one set."""

    set: str
    type: str
    failed: int
    undecided: int
    passed: int

    @property
    def pairs(self) -> int:
        return self.failed + self.undecided + self.passed

    @property
    def good_bps(self) -> int:
        """For paraphrases the share that was not refused, otherwise the share that was caught."""
        bad = self.failed if self.type == PARAPHRASE else self.passed
        return (self.pairs - bad) * _BPS // self.pairs


def outcome(pair: LabelledPair, policy: VerifiersPolicy) -> Outcome:
    """What L2 says of a pair."""
    return verify_binding(pair.claim, pair.evidence, "", Relation.SUPPORTS, policy=policy).at(Level.L2)


def measure(pairs: Iterable[LabelledPair], policy: VerifiersPolicy | None = None) -> list[Row]:
    """A row for each set and type, and one for all false types of a set together."""
    counts: dict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
    for pair in pairs:
        found = outcome(pair, policy or VerifiersPolicy())
        counts[pair.set, pair.type][found] += 1
        if pair.type != PARAPHRASE:
            counts[pair.set, ALL_FALSE][found] += 1
    order = {name: place for place, name in enumerate((*TYPES, ALL_FALSE))}
    keys = sorted(counts, key=lambda key: (key[0], order.get(key[1], len(order)), key[1]))
    return [_row(set_, type_, counts[set_, type_]) for set_, type_ in keys]


def _row(set_: str, type_: str, found: Counter[Outcome]) -> Row:
    return Row(set_, type_, found[Outcome.FAIL], found[Outcome.UNDECIDED], found[Outcome.PASS])
