"""Whether a claim says of more than its extract does: all for most, most for some, only for also.

A quantifier is compared with the one that the extract has on the same noun, with a share that it states, or with one
in the clause that fits. A claim that is weaker than the extract passes; what is not said at all cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from choir.commons.verifiers.alignment import Alignment
from choir.commons.verifiers.lexicon import QUANTIFIERS, words_of
from choir.commons.verifiers.model import CheckFinding, Outcome, worst
from choir.commons.verifiers.pair import Pair, finding
from choir.commons.verifiers.quantities import Quantity
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.text import Kind
from choir.commons.verifiers.words import grammar

_LEVELS = QUANTIFIERS
_SCARCE = words_of(grammar.SCARCE)
_ONLY = words_of(grammar.ONLY)
_ALSO = words_of("both also all too other others many several")
_FREE = words_of(
    "any each both much whole little certain various several no never none neither nothing nobody no_one"
    " numerous completely"
)
_ADVERBS = words_of(
    "always usually often sometimes never rarely seldom mostly generally typically occasionally invariably"
)
_DROPPABLE = words_of(
    "some few most minority rarely seldom sometimes occasionally usually mostly majority hardly_any"
    " small_fraction often"
)
_RANK = {Outcome.PASS: 0, Outcome.UNDECIDED: 1, Outcome.FAIL: 2, Outcome.NOT_JUDGED: 3}
_REACH = 5


@dataclass(frozen=True, slots=True)
class Quantifier:
    """A word that says how many, and the words that it may speak of."""

    at: int
    level: int
    heads: tuple[int, ...]


def quantifiers(reading: Reading) -> list[Quantifier]:
    """The quantifiers of a text."""
    found = []
    for at, token in enumerate(reading.tokens):
        if token.word in _LEVELS and token.kind is Kind.WORD:
            level = _LEVELS[token.word]
            of = at + 1 < len(reading.tokens) and reading.tokens[at + 1].word == "of"
            if token.word in ("most", "many", "few") and not of and not _heads(reading, at):
                continue  # "benefited most" tells a degree
            if at and reading.tokens[at - 1].word in ("more", "less", "as", "so", "how"):
                continue  # "more often", "as many as"
            if token.word == "some" and at + 1 < len(reading.tokens) and reading.tags[at + 1] is Tag.NUM:
                continue  # "some 70,000" is about so many
            if level == 100 and at and reading.tokens[at - 1].word in ("not", "nearly", "almost", "virtually"):
                level = 20 if reading.tokens[at - 1].word == "not" else 90
            found.append(Quantifier(at, level, _heads(reading, at)))
    return found


def _heads(reading: Reading, at: int) -> tuple[int, ...]:
    found: list[int] = []
    for here in range(at + 1, min(at + 1 + _REACH, len(reading.tokens))):
        if reading.tags[here] in (Tag.MARK, Tag.BE, Tag.MODAL, Tag.HAVE) or (
            reading.tags[here] is Tag.PREP and reading.tokens[here].word != "of"
        ):
            break
        if reading.is_content(here):
            found.append(here)
            if reading.tags[here] is Tag.VERB:
                break
    return tuple(found)


def check(pair: Pair, alignment: Alignment, shares: Sequence[Quantity]) -> CheckFinding:
    """Whether the claim says of no more than the extract does."""
    theirs = quantifiers(pair.extract)
    results = [_one(pair, alignment, mine, theirs, shares) for mine in quantifiers(pair.claim)[:100]]
    results += _dropped(pair, alignment, theirs)
    results += _only(pair, alignment)
    bad = [words for outcome, words in results if outcome is not Outcome.PASS]
    if not results:
        return finding("quantifiers", Outcome.PASS, "The claim has no quantifiers.")
    outcome = worst([outcome for outcome, _ in results])
    return finding(
        "quantifiers", outcome, " ".join(dict.fromkeys(bad[:3])) or "The claim says of no more than the extract."
    )


def _same_head(pair: Pair, mine: Quantifier, theirs: Sequence[Quantifier]) -> list[Quantifier]:
    places = {match.at for at in mine.heads for match in pair.matches(at)}
    return [other for other in theirs[:200] if places & set(other.heads)]


def _same_clause(pair: Pair, alignment: Alignment, mine: Quantifier, theirs: Sequence[Quantifier]) -> list[Quantifier]:
    clauses = set(alignment.clauses(pair.claim.clause_of[mine.at]))
    return [other for other in theirs[:200] if pair.extract.clause_of[other.at] in clauses]


def _one(
    pair: Pair, alignment: Alignment, mine: Quantifier, theirs: Sequence[Quantifier], shares: Sequence[Quantity]
) -> tuple[Outcome, str]:
    word = pair.claim.tokens[mine.at].word
    theirs = [other for other in theirs if pair.extract.tokens[other.at].word != "any"]
    same = _same_head(pair, mine, theirs)
    there = same or _same_clause(pair, alignment, mine, theirs)
    results = [(_stronger(mine, other, word, pair.extract.tokens[other.at].word), other) for other in there]
    best = min(results, key=lambda item: _RANK[item[0]], default=None)
    share = None if same else _share(pair, alignment, mine, shares)
    if share is not None:
        fits = _share_fits(mine, word, share)
        return (Outcome.PASS if fits else Outcome.FAIL), f"The claim says '{_said(word)}', the extract '{share.text}'."
    if best is not None and (same or best[0] is Outcome.PASS or word in _ADVERBS):
        words = f"The claim says '{_said(word)}', the extract '{_said(pair.extract.tokens[best[1].at].word)}'."
        return best[0], words
    if mine.level == 0 or word in _FREE or (mine.level <= 20 and word not in _SCARCE):
        return Outcome.PASS, ""
    return Outcome.UNDECIDED, f"The claim says '{_said(word)}', and the extract does not say how many."


def _share(pair: Pair, alignment: Alignment, mine: Quantifier, shares: Sequence[Quantity]) -> Quantity | None:
    """The share that the extract gives of what the quantifier speaks of."""
    numbered = mine.at + 1 < len(pair.claim.tokens) and pair.claim.tags[mine.at + 1] is Tag.NUM
    heads = [match.at for at in mine.heads for match in pair.closest(at)]
    if numbered or not heads or mine.level == 0 or pair.claim.tokens[mine.at].word in (*_FREE, *_ADVERBS):
        return None
    clauses = set(alignment.clauses(pair.claim.clause_of[mine.at]))
    near = [
        item for item in shares if item.unit.dimension == "share" and pair.extract.clause_of[item.span.start] in clauses
    ]
    apart = [(min(abs(at - item.span.end) for at in heads), item) for item in near]
    best = min(apart, key=lambda item: item[0], default=None)
    return best[1] if best is not None and best[0] <= _REACH else None


def _said(word: str) -> str:
    return word.replace("_", " ")


def _stronger(mine: Quantifier, other: Quantifier, word: str, there: str) -> Outcome:
    if mine.level == other.level or word == "any":
        return Outcome.PASS
    if (mine.level == 0) != (other.level == 0):
        return (
            Outcome.UNDECIDED
            if "any" in (word, there) or (there in ("both", "all") and mine.level == 0)
            else Outcome.FAIL
        )
    scarce, scarce_there = word in _SCARCE, there in _SCARCE
    if scarce != scarce_there and other.level >= 15 and mine.level >= 5:
        return Outcome.FAIL if max(mine.level, other.level) >= 40 else Outcome.UNDECIDED
    if scarce:
        return Outcome.PASS
    return Outcome.PASS if mine.level <= other.level else Outcome.FAIL


def _share_fits(mine: Quantifier, word: str, share: Quantity) -> bool:
    """Whether a share that the extract states bears the quantifier out."""
    if share.size is None:
        return False
    if word in _SCARCE:
        return share.size < Fraction(1, 2)
    if mine.level == 60:
        return share.size > Fraction(1, 2)
    return share.size >= (Fraction(1) if mine.level == 100 else Fraction(max(mine.level - 10, 1), 100))


def _dropped(pair: Pair, alignment: Alignment, theirs: Sequence[Quantifier]) -> list[tuple[Outcome, str]]:
    """The extract says of some what the claim says of all, having left the word out."""
    mine = quantifiers(pair.claim)
    covered = {at for quantifier in mine for at in quantifier.heads}
    found: list[tuple[Outcome, str]] = []
    for other in theirs[:200]:
        word = pair.extract.tokens[other.at].word
        if word not in _DROPPABLE or not other.heads:
            continue
        heads = [
            at
            for at in pair.claim.content
            if at not in covered and any(match.at in other.heads for match in pair.matches(at))
        ]
        clause = pair.extract.clause_of[other.at]
        fits = [
            at
            for at in heads
            if clause in alignment.clauses(pair.claim.clause_of[at]) and _is_plain_plural(pair.claim, at)
        ]
        if fits and not mine:
            found.append((Outcome.UNDECIDED, f"The extract says it of '{_said(word)}' only."))
    return found


def _is_plain_plural(reading: Reading, at: int) -> bool:
    token = reading.tokens[at]
    numbered = any(
        reading.tags[here] is Tag.NUM or reading.tokens[here].word in ("%", "percent", "per_cent")
        for here in range(max(0, at - 4), at)
    )
    return token.word.endswith("s") and not token.owns and not numbered


def _only(pair: Pair, alignment: Alignment) -> list[tuple[Outcome, str]]:
    tokens = pair.claim.tokens
    for at, token in enumerate(tokens):
        if token.word not in _ONLY or (token.word == "alone" and not at):
            continue
        following = tokens[at + 1 : at + 4]
        if any(
            other.kind is Kind.NUMBER or pair.claim.tags[other.at] is Tag.NUM or other.word in ("a", "about", "some")
            for other in following
        ):
            continue
        if any(
            other.word in _ONLY or other.word in ("just", "merely", "except", "one") for other in pair.extract.tokens
        ):
            return [(Outcome.PASS, "")]
        clauses = set(alignment.clauses(pair.claim.clause_of[at]))
        also = any(other.word in _ALSO for other in pair.extract.tokens if pair.extract.clause_of[other.at] in clauses)
        return [(Outcome.FAIL if also else Outcome.UNDECIDED, f"The claim says '{token.word}', the extract does not.")]
    return []
