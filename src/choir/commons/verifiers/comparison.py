"""Whether a claim turns a direction round: more and less, before and after, rise and fall, and who of two is the more.

Words with an opposite are laid beside their counterparts in the clause that fits. Between two sides (`than`, `as`,
before, after) a turned direction with turned sides says the same. Where the extract has a word and its opposite, it
must say of the same one what the claim says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from choir.commons.verifiers import lexicon
from choir.commons.verifiers.alignment import ORDER, Alignment
from choir.commons.verifiers.binding import bound
from choir.commons.verifiers.lexicon import light, words_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.naming import Span
from choir.commons.verifiers.pair import DIRECTIONS, Match, Pair, finding
from choir.commons.verifiers.quantities import is_before_number
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag

_THAN = words_of("than compared_with compared_to versus vs against")
_LOOKED_AT_MAX = 300
_PIVOTS_MAX = 20
_WINDOW = 40
_PHRASE_MAX = 12
_PHRASE_ENDS = frozenset((Tag.MARK, Tag.SUB, Tag.TO, Tag.BE, Tag.DO, Tag.MODAL, Tag.CONJ, Tag.REL))


def check(pair: Pair, alignment: Alignment) -> CheckFinding:
    """Whether directions are the same: rise and fall, more and less, before and after."""
    comparison = _Comparison(pair, alignment)
    directed = list(islice((at for at in range(len(pair.claim.tokens)) if comparison.is_directed(at)), _LOOKED_AT_MAX))
    found = [comparison.direction(at) for at in directed]
    opposed = [*comparison.turned_pivots(), *(words for outcome, words in found if outcome is Outcome.FAIL)]
    unclear = [words for outcome, words in found if outcome is Outcome.UNDECIDED]
    if opposed:
        words = f"The claim turns round {', '.join(opposed[:4])}."
        return finding("comparison", Outcome.FAIL, words, opposed=opposed[:20])
    if unclear:
        words = f"It is unclear whether {', '.join(unclear[:4])} fit."
        return finding("comparison", Outcome.UNDECIDED, words, unclear=unclear[:20])
    compared = any(outcome is not Outcome.NOT_JUDGED for outcome, _ in found)
    words = "Directions are the same." if compared else "The claim compares nothing."
    return finding("comparison", Outcome.PASS, words)


class _Comparison:
    """The directions of one pair."""

    def __init__(self, pair: Pair, alignment: Alignment) -> None:
        self._pair, self._alignment = pair, alignment
        self._mine, self._theirs = _Sides(pair.claim), _Sides(pair.extract)

    def is_directed(self, at: int) -> bool:
        """Whether a word of the claim has a direction; `more than 14 percent` is a number's business."""
        claim, word = self._pair.claim, self._pair.claim.tokens[at].word
        than = at + 1 < len(claim.tokens) and claim.tokens[at + 1].word == "than"
        if than and is_before_number(claim, at + 1):
            return False
        matches = self._pair.matches(at)
        signed = any(match.sign < 0 for match in matches) or (bool(matches) and lexicon.is_signed(word))
        return word in DIRECTIONS or (signed and claim.is_content(at))

    def turned_pivots(self) -> list[str]:
        """`Twice as much as`, `than`: the two sides have changed places, and no word between them its direction."""
        found = []
        theirs = self._theirs.pivots[:_PIVOTS_MAX]
        for at in self._mine.pivots[:_PIVOTS_MAX]:
            graded = [
                match for here in range(max(0, at - 6), at) for match in self._pair.matches(here) if match.sign < 0
            ]
            turned = any(abs(match.at - other) < 8 for match in graded for other in theirs)
            results = {self._crossed(at, other) for other in theirs}
            if not turned and True in results and False not in results:
                found.append(f"the two sides of '{self._pair.claim.tokens[at].raw}'")
        return found

    def direction(self, at: int) -> tuple[Outcome, str]:
        """Whether a word and its counterpart have the same direction."""
        pair, rated = self._pair, self._alignment.best(at)
        raw = pair.claim.tokens[at].raw
        if not rated:
            unsaid = self._mine.compares(at) and pair.claim.tokens[at].word not in ORDER
            return (Outcome.UNDECIDED if unsaid else Outcome.NOT_JUDGED), f"the extract says '{raw}' at all"
        most = rated[0][1]
        results = [self._fits(at, match) for match, score in rated if score == most]
        words = f"'{raw}' against '{pair.extract.tokens[rated[0][0].at].raw}'"
        if results[0]:
            unsure = self._is_graded(at, rated[0][0].at) or self._is_elsewhere(at)
            return (Outcome.UNDECIDED if unsure else Outcome.PASS), words
        if not any(results) and most < 2:
            return Outcome.NOT_JUDGED, words
        near = any(self._fits(at, match) for match, score in rated if score >= most - 1)
        unsure = near or self._alignment.most(at) > most + 1 or self._is_loose(at, rated[0][0].at)
        return (Outcome.UNDECIDED if unsure else Outcome.FAIL), words

    def _is_loose(self, at: int, other: int) -> bool:
        """An opposite quality of a noun, or of what is being done, may be that of another one."""
        claim = self._pair.claim
        attribute = at + 1 < len(claim.tokens) and claim.tags[at] is Tag.WORD and claim.is_content(at + 1)
        loose = attribute and claim.tokens[at].word not in DIRECTIONS
        return loose or self._pair.extract.tokens[other].word.endswith("ing")

    def _is_elsewhere(self, at: int) -> bool:
        """The extract has the word and its opposite, and says of the opposite what the claim says of the word."""
        pair, claim = self._pair, self._pair.claim
        if claim.tags[at] in (Tag.VERB, Tag.ADV) or claim.tokens[at].word in DIRECTIONS:
            return False
        same = [Span(match.at, match.at + 1) for match in pair.matches(at) if match.sign > 0]
        rivals = [Span(match.at, match.at + 1) for match in pair.matches(at) if match.sign < 0]
        places = {span.start for span in rivals}
        beside = range(max(0, at - 3), min(len(claim.tokens), at + 4))
        if any(match.at in places for here in beside if here != at for match in pair.closest(here)):
            return False  # "men and women": both are spoken of
        near = range(max(0, at - _WINDOW), min(len(claim.tokens), at + _WINDOW))
        others = [Span(here, here + 1) for here in near if any(match.at in places for match in pair.closest(here))]
        said = bound(pair, Span(at, at + 1), others, same, rivals)
        return said.contra > max(1, said.pro)

    def _is_graded(self, at: int, other: int) -> bool:
        """`An hour longer` where the extract has only `long`."""
        claim, theirs = self._pair.claim, self._pair.extract.tokens[other].word
        if at + 1 < len(claim.tokens) and claim.is_content(at + 1):
            return False
        graded = (f"{theirs}er", f"{theirs}r", f"{theirs[:-1]}ier", f"{theirs}{theirs[-1:]}er")
        return claim.tokens[at].word in graded

    def _fits(self, at: int, match: Match) -> bool:
        turned = match.sign < 0
        if turned and (at in self._pair.claim.denied) != (match.at in self._pair.extract.denied):
            return True
        compares = self._mine.compares(at) or self._theirs.compares(match.at)
        return turned == (compares and self._crossed(at, match.at) is True)

    def _crossed(self, at: int, other: int) -> bool | None:
        """Whether the two sides that are compared have changed places; None where there are no two sides."""
        (left, right), (there_left, there_right) = self._mine.of(at), self._theirs.of(other)
        if not right and not there_right:
            return None
        same = self._shared(right, there_right) if right and there_right else self._shared(left, there_left)
        crossed = self._shared(left, there_right) + self._shared(right, there_left)
        return crossed > same if same or crossed else None

    def _shared(self, mine: Sequence[int], theirs: Sequence[int]) -> int:
        """How many words and numbers of one side are on another."""
        pair, there = self._pair, set(theirs)
        digits = {pair.extract.tokens[at].raw for at in theirs if pair.extract.tags[at] is Tag.NUM}
        numbers = sum(pair.claim.tokens[at].raw in digits for at in mine if pair.claim.tags[at] is Tag.NUM)
        return numbers + sum(any(match.at in there for match in pair.closest(at)) for at in mine)


class _Sides:
    """What a text sets against each other around `than`, `as … as`, before and after."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.pivots = [at for at in range(len(reading.tokens)) if _is_pivot(reading, at)]
        self._pivots = frozenset(self.pivots)
        self._found: dict[int, tuple[list[int], list[int]]] = {}

    def compares(self, at: int) -> bool:
        """Whether a word sets two sides against each other: it stands before `than` or `as`, or tells an order."""
        word, tokens = self._reading.tokens[at].word, self._reading.tokens
        graded = at > 0 and tokens[at - 1].word in ("more", "less", "as") and self._reading.tags[at] is Tag.ADV
        if word not in ORDER and word not in DIRECTIONS and not word.endswith("er") and not graded:
            return False
        return word in ORDER or any(here in self._pivots for here in range(at + 1, at + 8))

    def of(self, at: int) -> tuple[list[int], list[int]]:
        """The words of the two sides, without those that both have."""
        if at not in self._found:
            left, right = self._parts(at)
            stems = [{light(self._reading.tokens[here].word) for here in side} for side in (left, right)]
            both = stems[0] & stems[1]
            self._found[at] = (self._without(left, both), self._without(right, both))
        return self._found[at]

    def _without(self, side: list[int], both: set[str]) -> list[int]:
        return [here for here in side if light(self._reading.tokens[here].word) not in both]

    def _parts(self, at: int) -> tuple[list[int], list[int]]:
        reading, tokens = self._reading, self._reading.tokens
        around = range(max(0, at - _WINDOW), min(len(tokens), at + _WINDOW))
        near = [here for here in around if tokens[here].sentence == tokens[at].sentence and here != at]
        pivot = self._pivot(at, near)
        if pivot is None:
            return self._subject(at, near), []
        left, right = [here for here in near if here < pivot], [here for here in near if here > pivot]
        if tokens[at].word in ORDER and not any(reading.is_content(here) for here in left):
            comma = next((here for here in right if tokens[here].word == ","), pivot)
            left, right = [here for here in right if here > comma], [here for here in right if here < comma]
        last = self._last_clause(left)
        return [here for here in last if self._counts(here)], [
            here for here in self._phrase(right) if self._counts(here)
        ]

    def _pivot(self, at: int, near: Sequence[int]) -> int | None:
        if self._reading.tokens[at].word in ORDER or at in self._pivots:
            return at
        clause_of = self._reading.clause_of
        pivots = [here for here in near if here in self._pivots and here > at - 12]
        return next((here for here in pivots if clause_of[here] == clause_of[at] or here > at), None)

    def _subject(self, at: int, near: Sequence[int]) -> list[int]:
        """Where nothing is set against anything: what stands before the verb."""
        reading = self._reading
        before = [here for here in near if here < at and reading.clause_of[here] == reading.clause_of[at]]
        verb = next((here for here in before if reading.tags[here] in (Tag.VERB, Tag.BE)), at)
        found = [here for here in before if here < verb and reading.is_content(here)]
        found = found or [here for here in before if reading.is_content(here)]
        frames = reading.frames_at(reading.clause_of[at])
        return found or [here for frame in frames[:1] for here in frame.subject(reading)]

    def _last_clause(self, left: list[int]) -> list[int]:
        """Of what stands left the words of the nearest clause."""
        reading = self._reading
        near = [here for here in left if reading.clause_of[here] == reading.clause_of[left[-1]]]
        return near if any(reading.is_content(here) for here in near) else left

    def _counts(self, at: int) -> bool:
        tag = self._reading.tags[at]
        return tag is Tag.NUM or (self._reading.is_content(at) and tag is not Tag.VERB)

    def _phrase(self, right: list[int]) -> list[int]:
        """What directly follows, up to a mark or to what another verb says."""
        found: list[int] = []
        content = False
        for here in right[:_PHRASE_MAX]:
            if content and self._reading.tags[here] in _PHRASE_ENDS:
                break
            found.append(here)
            content = content or self._reading.is_content(here)
        return found


def _is_pivot(reading: Reading, at: int) -> bool:
    word = reading.tokens[at].word
    if word in _THAN:
        return word != "than" or not is_before_number(reading, at)
    return word == "as" and any(reading.tokens[here].word == "as" for here in range(max(0, at - 4), at))
