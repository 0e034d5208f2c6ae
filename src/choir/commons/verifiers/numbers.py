"""Whether every number of a claim is in the extract: the same value, of the same unit, said of the same thing.

A number that the claim gives as about, over or at least something may differ as far as these words allow. A
conversion between systems of units that fits is undecided, as it may be by chance; one that does not fit fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from choir.commons.verifiers.binding import bound, clusters
from choir.commons.verifiers.lexicon import words_of
from choir.commons.verifiers.model import CheckFinding, Outcome, worst
from choir.commons.verifiers.naming import Span
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.quantities import Bound, Quantity
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.text import Kind
from choir.commons.verifiers.units import NO_UNIT, UNITS

_LOOKED_AT_MAX = 100  # claims of more numbers are not read to their end: they are undecided
_UP = frozenset((Bound.OVER, Bound.LEAST))
_DOWN = frozenset((Bound.UNDER, Bound.MOST, Bound.NEARLY))
_BPS = 10_000
_SAME_CLAUSE = 40  # as `Pair.distance` has it
_SINGLE = words_of("the a an one per last next this that each every past whole full")


def check(
    pair: Pair, mine: Sequence[Quantity], theirs: Sequence[Quantity], years: frozenset[int] = frozenset()
) -> CheckFinding:
    """Whether every number of the claim is in the extract."""
    stated = [quantity for quantity in mine if quantity.role != "derived"]
    if not stated:
        return finding("numbers", Outcome.PASS, "The claim has no numbers.")
    judge = _Numbers(pair, mine, theirs, years)
    results = [judge.one(quantity) for quantity in stated[:_LOOKED_AT_MAX]]
    if len(stated) > _LOOKED_AT_MAX:
        results.append((Outcome.UNDECIDED, "The claim has too many numbers to compare."))
    results += _reversed(pair, stated, theirs)
    bad = [words for outcome, words in results if outcome is not Outcome.PASS]
    words = " ".join(dict.fromkeys(bad[:4])) or f"The extract has {listed(quantity.text for quantity in stated)}."
    data = {"claim": [quantity.text for quantity in stated[:20]], "extract": [item.text for item in theirs[:20]]}
    return finding("numbers", worst([outcome for outcome, _ in results]), words, **data)


def _reversed(pair: Pair, mine: Sequence[Quantity], theirs: Sequence[Quantity]) -> list[tuple[Outcome, str]]:
    """`1-7` where the extract has `7-1`, or `51 and 55` for `55 and 51`."""
    there = _ordered(pair.extract, theirs)
    turned = [one for one in _ordered(pair.claim, mine) if one not in there and one[::-1] in there]
    return [(Outcome.UNDECIDED, f"The extract has '{one[1]}' before '{one[0]}'.") for one in turned[:4]]


def _ordered(reading: Reading, found: Sequence[Quantity]) -> set[tuple[Fraction, Fraction]]:
    """Numbers that stand side by side, as in a score or a list."""
    stated = [quantity for quantity in found if quantity.role != "derived"]
    groups = clusters(reading, [quantity.span for quantity in stated])
    beside = zip(pairwise(stated), pairwise(groups), strict=True)
    return {
        (one.size, two.size)
        for (one, two), (group, other) in beside
        if group == other and one.size is not None and two.size is not None and one.size != two.size
    }


class _Numbers:
    """One comparison of all numbers."""

    def __init__(self, pair: Pair, mine: Sequence[Quantity], theirs: Sequence[Quantity], years: frozenset[int]) -> None:
        self._pair, self._mine, self._theirs, self._years = pair, mine, theirs, years
        self._by_dimension: dict[str, list[Quantity]] = defaultdict(list)
        for quantity in theirs:
            self._by_dimension[quantity.unit.dimension].append(quantity)
        self._written = {quantity.text for quantity in theirs}
        self._groups, self._own_groups = _Groups(pair.extract, theirs), _Groups(pair.claim, mine)

    def one(self, quantity: Quantity) -> tuple[Outcome, str]:
        if quantity.value is None:
            same_text = quantity.text in self._written
            return (Outcome.PASS if same_text else Outcome.FAIL), f"The extract does not have '{quantity.text}'."
        candidates = self._by_dimension[quantity.unit.dimension][:_LOOKED_AT_MAX]
        rated = [(self._fit(quantity, other), other) for other in candidates]
        good = [other for fit, other in rated if fit is Outcome.PASS]
        if good:
            return self._placed(quantity, good, candidates)
        if any(other.size == quantity.size and _opposed(quantity, other) for other in candidates):
            return Outcome.FAIL, f"The extract says the opposite of '{_shown(quantity)}'."
        loose = [other for fit, other in rated if fit is Outcome.UNDECIDED]
        if loose:
            return Outcome.UNDECIDED, f"The claim says '{_shown(quantity)}', the extract '{_shown(loose[0])}'."
        if quantity.unit.dimension == "rate" and not candidates:
            return Outcome.PASS, ""
        return self._missing(quantity)

    def _fit(self, mine: Quantity, other: Quantity) -> Outcome:
        """Whether the values go together."""
        if mine.label and other.label and mine.label != other.label:
            return Outcome.FAIL
        if mine.unit.family != other.unit.family:
            near = _converts(mine, other)
            return Outcome.UNDECIDED if near else Outcome.FAIL
        assert mine.size is not None
        if other.size is None:
            return Outcome.FAIL
        return compatible(mine, other, self._pair.policy.rounding_bps)

    def _placed(self, quantity: Quantity, good: list[Quantity], all_: Sequence[Quantity]) -> tuple[Outcome, str]:
        """The number is there: is it said of the same?"""
        roles = {other.role for other in good}
        moves = {"from", "to", "by"}
        if quantity.role in moves and roles <= moves and quantity.role not in roles:
            return (
                Outcome.FAIL,
                f"The claim says '{quantity.role} {quantity.text}', the extract '{min(roles)} …'.",
            )
        if quantity.role in ("from", "to") and quantity.role in roles:
            return Outcome.PASS, ""
        same = sorted(other.span for other in good)
        with_them = self._groups.with_(good)
        rivals = [other.span for other in all_ if other.span not in with_them and other.role != "derived"]
        counted = quantity.unit == NO_UNIT or any(other.reach is not None for other in all_)
        if quantity.role != "whole" and roles == {"whole"} and counted and self._has_part(good):
            words = f"In the extract '{quantity.text}' is the whole, of which something is said of a part."
            return self._taken_for_part(quantity), words
        left_out = ("derived", "whole") if quantity.reach else ("derived",)
        with_it = self._own_groups.with_([quantity])
        kin = [other for other in self._mine if other.unit.dimension == quantity.unit.dimension]
        others = [other.span for other in kin if other.span not in with_it and other.role not in left_out]
        said = bound(self._pair, quantity.span, others, same, rivals, quantity.reach)
        if quantity.role == "whole" and "whole" in roles:
            return Outcome.PASS, ""
        return said.outcome, f"The extract says {listed(said.words)} of another number than '{quantity.text}'."

    def _has_part(self, good: Sequence[Quantity]) -> bool:
        """Whether another number stands in the sentence of a whole, or the claim takes the whole for itself."""
        tokens = self._pair.extract.tokens
        sentences = {tokens[other.span.start].sentence for other in good}
        return any(
            tokens[other.span.start].sentence in sentences and other not in good and other.role != "whole"
            for other in self._theirs[:_LOOKED_AT_MAX]
        )

    def _taken_for_part(self, quantity: Quantity) -> Outcome:
        """Whether the claim only says how large the whole was (its verb stands beside it), or takes it for the part."""
        claim = self._pair.claim
        verbs = [at for at in claim.members[claim.clause_of[quantity.span.start]] if claim.tags[at] is Tag.VERB]
        found = [match.at for at in verbs for match in self._pair.closest(at)]
        wholes = [other.span for other in self._theirs[:_LOOKED_AT_MAX] if other.role == "whole"]
        parts = [other.span for other in self._theirs[:_LOOKED_AT_MAX] if other.role not in ("whole", "derived")]
        before = claim.tokens[quantity.span.start - 1].word if quantity.span.start else ""
        if not found or before == "all":
            return Outcome.UNDECIDED
        composed = [other.reach for other in self._theirs[:_LOOKED_AT_MAX] if other.reach is not None]
        if any(self._pair.distance(at, reach.start) < _SAME_CLAUSE for at in found for reach in composed):
            return Outcome.FAIL  # "three of the ten failed": the verb is said of the three
        return Outcome.PASS if all(self._nearer(at, wholes, parts) for at in found) else Outcome.FAIL

    def _nearer(self, at: int, one: Sequence[Span], other: Sequence[Span]) -> bool:
        def away(spans: Sequence[Span]) -> int:
            return min((self._pair.distance(at, span.start) for span in spans), default=10**6)

        return away(one) < away(other)

    def _missing(self, quantity: Quantity) -> tuple[Outcome, str]:
        text = quantity.text
        if (
            quantity.value == 1
            and quantity.unit == NO_UNIT
            and self._pair.claim.tokens[quantity.span.start].kind is Kind.WORD
        ):
            return self._a_single(quantity)
        if self._is_bare_unit(quantity) or (quantity.unit == NO_UNIT and quantity.value in self._years):
            return Outcome.PASS, ""
        elsewhere = [
            other for other in self._theirs[:_LOOKED_AT_MAX] if other.value == quantity.value and not other.label
        ]
        elsewhere = [
            other for other in elsewhere if other.unit != NO_UNIT or not self._counts_other(quantity, other)
        ] or []
        if elsewhere and _bare(quantity, elsewhere):
            money = [item for item in self._theirs[:_LOOKED_AT_MAX] if item.unit == quantity.unit]
            if money and quantity.unit.dimension == "money":
                return self._placed(quantity, elsewhere, [*elsewhere, *money])
            return Outcome.UNDECIDED, f"The claim says '{text}', the extract '{elsewhere[0].text}'."
        if any(_is_rate_of(quantity.unit.dimension, other.unit.dimension) for other in elsewhere):
            return Outcome.UNDECIDED, f"The claim says '{text}', the extract '{elsewhere[0].text}'."
        if elsewhere:
            return Outcome.FAIL, f"The claim says '{text}', but the extract '{elsewhere[0].text}'."
        if quantity.unit.dimension == "ordinal" and quantity.value == 1:
            return Outcome.UNDECIDED, f"The extract does not say that it was the '{text}'."
        if set(text.casefold().split()) <= self._pair.around_words:
            return Outcome.UNDECIDED, f"'{text}' stands near the extract, but not in it."
        return Outcome.FAIL, f"The extract does not have the number '{text}'."

    def _counts_other(self, quantity: Quantity, other: Quantity) -> bool:
        """`Six days` where the extract has `six deaths`."""
        after = other.span.end
        return (
            quantity.unit != NO_UNIT and after < len(self._pair.extract.tokens) and self._pair.extract.is_content(after)
        )

    def _is_bare_unit(self, quantity: Quantity) -> bool:
        """`Twelve months` is there where the extract says `the year`."""
        tokens = self._pair.extract.tokens[:4000]
        single = [one for one, before in zip(tokens[1:], tokens, strict=False) if before.word in _SINGLE]
        units = [UNITS.get(token.word) for token in single if len(token.word) > 2]
        return any(
            unit is not None
            and (unit.dimension, unit.family) == (quantity.unit.dimension, quantity.unit.family)
            and unit.factor == quantity.size
            for unit in units
        )

    def _a_single(self, quantity: Quantity) -> tuple[Outcome, str]:
        """`One` is also said by `a`; not where the extract has another number of the same."""
        at = quantity.span.end
        claim = self._pair.claim
        if at < len(claim.tokens) and claim.is_content(at):
            starts = {other.span.end for other in self._theirs[:_LOOKED_AT_MAX]}
            if any(match.at in starts for match in self._pair.matches(at)):
                return Outcome.FAIL, f"The extract has another number than '{quantity.text}' of the same."
        return Outcome.PASS, ""


class _Groups:
    """Numbers that stand together, as in `two to four weeks`."""

    def __init__(self, reading: Reading, all_: Sequence[Quantity]) -> None:
        spans = [quantity.span for quantity in all_ if quantity.role != "derived"]
        self._group = dict(zip(spans, clusters(reading, spans), strict=True))
        self._members: dict[int, list[Span]] = defaultdict(list)
        self._ending: dict[int, list[Span]] = defaultdict(list)
        for span, group in self._group.items():
            self._members[group].append(span)
            self._ending[span.end].append(span)

    def with_(self, some: Sequence[Quantity]) -> set[Span]:
        """These, those that stand together with them, and the wholes of which they are parts."""
        chosen = {self._group[quantity.span] for quantity in some if quantity.span in self._group}
        found = {span for group in chosen for span in self._members[group]} | {quantity.span for quantity in some}
        reaches = {quantity.reach.end for quantity in some if quantity.reach is not None}
        return found | {span for end in reaches for span in self._ending.get(end, ())}


def _bare(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    """One of the two names no unit at all, so that it may be meant."""
    bare = NO_UNIT
    return quantity.unit == bare or any(other.unit == bare for other in others)


def compatible(mine: Quantity, other: Quantity, rounding_bps: int) -> Outcome:
    """Whether what the claim says of a number follows from what the extract says of one."""
    one, two = mine.size, other.size
    assert one is not None
    assert two is not None
    close = _close(one, two, mine.step * mine.unit.factor, rounding_bps)
    if mine.bound is Bound.EXACT:
        if one != two:
            rounded = (
                one != 0
                and _rounds(one, two, mine.step * mine.unit.factor)
                and close
                and other.bound is not Bound.EXACT
            )
            return Outcome.UNDECIDED if rounded or _plainly_rounded(mine, one, two) else Outcome.FAIL
        return Outcome.PASS if other.bound is Bound.EXACT else Outcome.UNDECIDED
    if _opposed(mine, other):
        return Outcome.FAIL
    if mine.bound is other.bound is not Bound.ABOUT and one != two:
        return Outcome.FAIL
    if mine.bound is Bound.ABOUT:
        return Outcome.PASS if close else Outcome.FAIL
    if mine.bound is Bound.NEARLY:
        return Outcome.PASS if close and (two < one or other.bound is Bound.NEARLY) else Outcome.FAIL
    return _beyond(mine.bound, other.bound, one, two)


def _is_rate_of(one: str, other: str) -> bool:
    """`90 kg a day` and `90 kg`."""
    return one.partition("/")[0] == other.partition("/")[0] != "" and "/" in one + other


def _opposed(mine: Quantity, other: Quantity) -> bool:
    return (mine.bound in _UP and other.bound in _DOWN) or (mine.bound in _DOWN and other.bound in _UP)


def _beyond(mine: Bound, other: Bound, one: Fraction, two: Fraction) -> Outcome:
    """More than, less than, at least, at most."""
    up = mine in _UP
    inside = two > one if up else two < one
    if one == two:
        strict = mine in (Bound.OVER, Bound.UNDER)
        same = mine is other or (not strict and other in (Bound.EXACT, *(_UP if up else _DOWN)))
        return Outcome.PASS if same else Outcome.UNDECIDED if other is not Bound.EXACT or not strict else Outcome.FAIL
    if not inside:
        return Outcome.FAIL
    far = two > one * 3 / 2 if up else two * 3 / 2 < one
    return Outcome.UNDECIDED if far else Outcome.PASS


def _close(one: Fraction, two: Fraction, step: Fraction, rounding_bps: int) -> bool:
    apart = abs(one - two) * _BPS
    return apart <= abs(two) * rounding_bps / 2 or (_rounds(one, two, step) and apart <= abs(two) * rounding_bps)


def _rounds(one: Fraction, two: Fraction, step: Fraction) -> bool:
    """Whether the first is the second, rounded to its last digit."""
    return abs(one - two) * 2 <= step


def _plainly_rounded(mine: Quantity, one: Fraction, two: Fraction) -> bool:
    """Rounded without a word about it, but to two digits at least."""
    step = mine.step * mine.unit.factor
    return (
        _rounds(one, two, step)
        and abs(one) >= 10 * step
        and mine.unit.dimension not in ("ordinal", "times")
        and (mine.step != 1 or mine.unit != NO_UNIT)
    )


def _converts(mine: Quantity, other: Quantity) -> bool:
    """Whether two numbers in different systems of units may be the same."""
    if mine.size is None or other.size is None or mine.unit.dimension in ("money", "temperature", "energy", "data"):
        return False
    if mine.unit.dimension == "time":
        days = {"clock": Fraction(1, 86400), "calendar": Fraction(30437, 1000)}
        one, two = mine.size * days[mine.unit.family], other.size * days[other.unit.family]
    else:
        one, two = mine.size, other.size
    return abs(one - two) * 20 <= abs(two)


def _shown(quantity: Quantity) -> str:
    return quantity.text if quantity.bound is Bound.EXACT else f"{quantity.bound.value} {quantity.text}"


def links(mine: Sequence[Quantity], theirs: Sequence[Quantity]) -> list[tuple[int, int]]:
    """Where the extract has the numbers of the claim."""
    places: dict[tuple[str, Fraction], list[int]] = defaultdict(list)
    for other in theirs:
        if other.size is not None and other.role != "derived":
            places[other.unit.dimension, other.size].append(other.span.start)
    return [
        (one.span.start, place)
        for one in mine[:_LOOKED_AT_MAX]
        if one.size is not None and one.unit.dimension not in ("ordinal", "times")
        for place in places[one.unit.dimension, one.size][:4]
    ]
