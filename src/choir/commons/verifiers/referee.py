"""Verifies one binding: does the extract say what the claim says?

For an extract that supports its claim, L2 is all the checks of the wording, and the worst of them counts. A check
that does not apply passes and says so. Where the claim is the extract word for word there is nothing to check. Texts
that are not English, and characters that look like others, leave what rests on words undecided.

For one that contradicts or qualifies its claim, agreement is no proof: L2 fails if the extract does not speak of the
claim's subject, or if it simply says the same; otherwise it is undecided, and a judge or a person decides.

Guarantee: pure and deterministic; the same version gives the same findings on every machine. It never raises on any
text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from choir.commons.articles.model import Relation
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers import (
    association,
    attribution,
    comparison,
    coverage,
    dates,
    modality,
    names,
    negation,
    numbers,
    quantifiers,
    quantities,
)
from choir.commons.verifiers.alignment import Alignment
from choir.commons.verifiers.judge import Judge, judged
from choir.commons.verifiers.lexicon import light, stems_of, words_of
from choir.commons.verifiers.model import CheckFinding, Level, Outcome, Verification, worst
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.reserve import with_reserve
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.text import fold, same_words
from choir.commons.verifiers.words import acts, common, fields, grammar, measures, places, things
from choir.foundation.canonical import canonical_hash
from choir.foundation.policy import section_hash

RULES = 2  # counted by hand: one more whenever a rule changes, so that the version changes too
_ALWAYS = ("characters", "context")
_COMPARED = (
    "numbers", "dates", "names", "negation", "quantifiers", "comparison", "modality", "attribution", "coverage",
)  # fmt: skip
CHECKS = (*_ALWAYS, *_COMPARED, *association.CHECKS)
_TABLES = (acts, common, fields, grammar, measures, places, things)
_DEFAULT = VerifiersPolicy()
_AROUND_MAX = 4_000  # characters on each side of an extract that are looked at


def version_of(policy: VerifiersPolicy) -> str:
    """The name of these rules, with these word tables and these thresholds."""
    tables = {module.__name__.rpartition(".")[2]: _table(module) for module in _TABLES}
    whole = canonical_hash({"rules": RULES, "tables": tables, "policy": section_hash(policy)})
    return f"{RULES}.{whole.removeprefix('sha256:')[:12]}"


def _table(module: ModuleType) -> dict[str, Any]:
    """The words of a module, in a form that has one spelling."""
    found = {name: value for name, value in vars(module).items() if name.isupper()}
    return {name: value if isinstance(value, str) else _items(value) for name, value in found.items()}


def _items(value: Mapping[str, Any]) -> list[list[Any]]:
    return [[key, list(item) if isinstance(item, tuple) else item] for key, item in sorted(value.items())]


VERSION = version_of(_DEFAULT)


def verify_binding(
    claim: str,
    span: str,
    context: str,
    relation: Relation,
    *,
    policy: VerifiersPolicy = _DEFAULT,
    custody: Sequence[CheckFinding] = (),
    judge: Judge | None = None,
) -> Verification:
    """All findings about one binding; `custody` are those of L0 and L1, `context` is the span with the text around."""
    if relation is Relation.SUPPORTS:
        findings = guarded(claim, span, context, policy)
    else:
        findings = stance(claim, span, context, relation, policy)
    return Verification(
        version=VERSION if policy == _DEFAULT else version_of(policy),
        findings=(*custody, *findings, judged(judge, claim, span, policy.judge_words_max)),
    )


def guarded(claim: str, span: str, context: str, policy: VerifiersPolicy) -> list[CheckFinding]:
    """The checks of L2 for an extract that is said to support its claim.

    Those of the wording, undecided where they are known to err, and those that need no grammar. A text that cannot
    be compared is undecided before any of them looks at it.
    """
    pair, always = _prepared(claim, span, context, policy)
    at_once = _at_once(pair, CHECKS[len(always) :], copied=same_words(claim, span))
    if at_once is not None:
        return [*always, *at_once]
    return [*always, *with_reserve(claim, span, compared(pair), policy), *association.checks(claim, span, policy)]


def wording(claim: str, span: str, context: str, policy: VerifiersPolicy) -> list[CheckFinding]:
    """What the checks of the wording say by themselves, right or wrong."""
    pair, always = _prepared(claim, span, context, policy)
    at_once = _at_once(pair, _COMPARED, copied=same_words(claim, span))
    return [*always, *(compared(pair) if at_once is None else at_once)]


def _prepared(claim: str, span: str, context: str, policy: VerifiersPolicy) -> tuple[Pair, list[CheckFinding]]:
    """Both texts as they are read, and what is said of any text."""
    before, after = _around(span, context)
    pair = Pair(claim, span, f"{before[-_AROUND_MAX:]} {after[:_AROUND_MAX]}", policy)
    return pair, [_characters(pair), _context(before, after)]


def _at_once(pair: Pair, checks: Sequence[str], *, copied: bool) -> list[CheckFinding] | None:
    """The same for all checks, where none needs to look: of a copy, and of texts that cannot be compared."""
    if copied:
        return [_passed(check, "The claim is the extract, word for word.") for check in checks]
    unreadable = _unreadable(pair)
    return None if unreadable is None else [finding(check, Outcome.UNDECIDED, unreadable) for check in checks]


def _unreadable(pair: Pair) -> str | None:
    """Why the wording cannot be compared at all."""
    if max(len(pair.claim.tokens), len(pair.extract.tokens)) > pair.policy.words_max:
        return "The text is too long to be compared."
    if not _is_english(pair.claim) or not _is_english(pair.extract):
        return "The text is not English."
    return None


def compared(pair: Pair) -> list[CheckFinding]:
    """What the checks say that compare words."""
    mine, theirs = dates.dates(pair.claim), dates.dates(pair.extract)
    my_numbers = quantities.quantities(pair.claim, dates.taken(mine))
    their_numbers = quantities.quantities(pair.extract, dates.taken(theirs))
    years = frozenset(date.year for date in theirs if date.year is not None)
    pair.link([*numbers.links(my_numbers, their_numbers), *dates.links(mine, theirs)])
    alignment = Alignment(pair)
    return [
        numbers.check(pair, my_numbers, their_numbers, years),
        dates.check(pair, mine, theirs),
        names.check(pair),
        negation.check(pair, alignment),
        quantifiers.check(pair, alignment, their_numbers),
        comparison.check(pair, alignment),
        modality.check(pair, alignment),
        attribution.check(pair),
        coverage.check(pair, dates.taken(mine) | quantities.taken(my_numbers)),
    ]


def stance(claim: str, span: str, context: str, relation: Relation, policy: VerifiersPolicy) -> list[CheckFinding]:
    """The checks of L2 for an extract that is said to contradict or to qualify its claim."""
    characters, around, *compared = guarded(claim, span, context, policy)
    subject = coverage.subject(Pair(claim, span, "", policy))
    if worst([item.outcome for item in compared]) is Outcome.PASS:
        words = f"The extract says what the claim says; that {relation.value} nothing."
        return [characters, around, subject, finding("agreement", Outcome.FAIL, words)]
    opposed = [item.check for item in compared if item.outcome is Outcome.FAIL]
    words = f"Whether the extract {relation.value} the claim cannot be told from its words alone."
    return [characters, around, subject, finding("agreement", Outcome.UNDECIDED, words, differs=opposed)]


def _passed(check: str, words: str) -> CheckFinding:
    return CheckFinding(Level.L2, check, Outcome.PASS, words)


def _characters(pair: Pair) -> CheckFinding:
    """Whether the texts are written in characters that are what they look like."""
    odd = (*pair.claim.text.odd, *pair.extract.text.odd)
    if odd:
        words = f"There are characters that cannot be seen or look like others: {listed(odd)}."
        return finding("characters", Outcome.UNDECIDED, words, odd=list(odd[:20]))
    return _passed("characters", "All characters are what they look like.")


def _around(span: str, context: str) -> tuple[str, str]:
    """What stands before and after the extract."""
    at = context.find(span) if span else -1
    return (context[:at], context[at + len(span) :]) if at >= 0 else (context, "")


_RESERVES = (
    stems_of(f"{grammar.HEDGES} {grammar.NEGATIVE_VERBS}")
    | words_of(grammar.NEGATORS)
    | stems_of(
        "deny doubt false untrue myth wrong reject refute disprove rumour rumor mistaken incorrect dispute question"
    )
)


def _context(before: str, after: str) -> CheckFinding:
    """Whether the extract was cut out of a sentence that takes back what it says."""
    left, right = _unfinished(before), _continued(after)
    reserves = [
        token.raw for token in Reading(f"{left} . {right}").text.words
        if token.word in _RESERVES or light(token.word) in _RESERVES or token.word.endswith("n't")
    ]  # fmt: skip
    if reserves:
        words = f"The extract is cut out of a sentence that has a reserve: {listed(reserves)}."
        return finding("context", Outcome.UNDECIDED, words, reserve=reserves[:10])
    return _passed("context", "The sentence of the extract takes nothing back.")


_SENTENCE_MAX = 1_000  # so much of what stands around is looked at for the rest of a sentence


def _unfinished(before: str) -> str:
    """The part of a sentence that stands before the extract."""
    tail = before[-_SENTENCE_MAX:]
    ends = [tail.rfind(mark) for mark in (". ", "! ", "? ", ".\n", "!\n", "?\n", "\n\n", '."', ".)")]
    return tail[max(ends) + 2 :] if max(ends) >= 0 else tail


def _continued(after: str) -> str:
    """The part of a sentence that follows the extract; none if the next character ends it."""
    head = after[:_SENTENCE_MAX]
    if head[:1] in ("\n", "") or (head[:1] == " " and head.strip()[:1].isupper()):
        return ""
    ends = [place for mark in (". ", "! ", "? ", ".\n", "\n\n") if (place := head.find(mark)) >= 0]
    return head[: min(ends)] if ends else head


_FOREIGN = words_of(grammar.FOREIGN)
_ENGLISH = words_of(
    "the a of and to in is was were are for on with that by from as at it its be been has have had not this their than"
    " his her they which but or who after when during he she an will can all more no"
)


def _is_english(reading: Reading) -> bool:
    """Whether a text has more of the small words of English than of other languages, and is in Latin letters."""
    words = [token.word for token in reading.text.words]
    letters = fold("".join(words[:400]))[0]
    latin = sum(char < "\u0250" for char in letters)
    if latin * 10 < len(letters) * 7:
        return False
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN and word not in _ENGLISH for word in words)
    return foreign <= english
