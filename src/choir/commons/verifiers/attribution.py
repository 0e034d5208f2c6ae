"""Whether a claim gives a statement to the one who made it: `X found`, `according to X`, where the extract names
somebody else.

The source of a claim is what stands before its reporting verb or after `according to`. It must be the source of the
statement of the extract that fits best. A source as general as "researchers" may stand where the extract names none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choir.commons.verifiers.lexicon import light, stems_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.words import grammar

_REPORTING = stems_of(grammar.REPORTING)
_ANYBODY = stems_of(grammar.ANY_SOURCE)
_STATEMENTS_MAX = 40
_FRAMES_MAX = 200


@dataclass(frozen=True, slots=True)
class Statement:
    """Who says something, and what."""

    source: tuple[int, ...]
    verb: int
    said: tuple[int, ...]
    reported: bool  # with `that` or `according to`: it can be nothing but a statement


def statements(reading: Reading) -> list[Statement]:
    """The statements that a text gives to somebody."""
    found = [*_by_verb(reading), *_according(reading)]
    return found[:_STATEMENTS_MAX]


def _by_verb(reading: Reading) -> list[Statement]:
    found = []
    for frame in reading.frames[:_FRAMES_MAX]:
        if light(reading.tokens[frame.head].word) not in _REPORTING or reading.tags[frame.head] is not Tag.VERB:
            continue
        after = frame.chain[-1] + 1
        that = after < len(reading.tokens) and reading.tokens[after].word in ("that", ":", '"')
        sentence = reading.tokens[frame.head].sentence
        said = [
            at for at in range(after, min(after + 40, len(reading.tokens))) if reading.tokens[at].sentence == sentence
        ]
        source = tuple(at for at in frame.agents if _names(reading, at))
        found.append(Statement(source, frame.head, tuple(at for at in said if reading.is_content(at)), that))
    return found


def _according(reading: Reading) -> list[Statement]:
    found = []
    for at, token in enumerate(reading.tokens):
        if token.word != "according_to":
            continue
        sentence = [
            here
            for here in range(max(0, at - 40), min(len(reading.tokens), at + 40))
            if reading.tokens[here].sentence == token.sentence
        ]
        end = next((here for here in sentence if here > at and reading.tokens[here].word in ",;"), sentence[-1] + 1)
        source = tuple(here for here in range(at + 1, end) if _names(reading, here))
        said = tuple(here for here in sentence if (here < at or here >= end) and reading.is_content(here))
        found.append(Statement(source, at, said, True))
    return found


def _names(reading: Reading, at: int) -> bool:
    return reading.is_content(at) or reading.tags[at] is Tag.PRON


def check(pair: Pair) -> CheckFinding:
    """Whether whoever the claim names as its source is the extract's."""
    mine = [item for item in statements(pair.claim) if item.source and (item.reported or _is_speech(pair.claim, item))]
    if not mine:
        return finding("attribution", Outcome.PASS, "The claim gives nothing to anybody.")
    theirs = statements(pair.extract)
    for item in mine:
        outcome, words = _one(pair, item, theirs)
        if outcome is not Outcome.PASS:
            return finding("attribution", outcome, words)
    return finding("attribution", Outcome.PASS, "The extract gives it to the same.")


_SPEECH = stems_of(
    "say state tell claim argue warn announce declare insist assert contend deny admit stress conclude note testify"
    " complain allege"
)


def _is_speech(reading: Reading, item: Statement) -> bool:
    return light(reading.tokens[item.verb].word) in _SPEECH


def _one(pair: Pair, mine: Statement, theirs: Sequence[Statement]) -> tuple[Outcome, str]:
    claim, extract = pair.claim, pair.extract
    source = [at for at in mine.source if claim.is_content(at)]
    general = all(light(claim.tokens[at].word) in _ANYBODY for at in source)
    spoken = listed(claim.tokens[at].raw for at in source)
    unsaid = f"The extract does not say that {spoken} said so."
    best = _best(pair, mine, theirs)
    if not best:
        known = any(pair.matches(at) for at in source)
        return (Outcome.PASS if general else Outcome.UNDECIDED if known else Outcome.FAIL), unsaid
    named = {at for other in best for at in other.source}
    if any(match.at in named for at in source for match in pair.matches(at)):
        return Outcome.PASS, ""
    if general and any(_is_anybody(extract, other) for other in best):
        return Outcome.PASS, ""
    said_by = listed(extract.tokens[at].raw for at in best[0].source if extract.is_content(at))
    acting = {at for frame in extract.frames[:_FRAMES_MAX] for at in frame.agents}
    acts = any(match.at in acting for at in source for match in pair.closest(at))
    if acts or not said_by or any(_only_pronouns(extract, other) for other in best):
        return Outcome.UNDECIDED, unsaid
    return Outcome.FAIL, f"The claim gives it to {spoken}, the extract to {said_by}."


def _best(pair: Pair, mine: Statement, theirs: Sequence[Statement]) -> list[Statement]:
    """The statements of the extract that say most of what the claim's says; none if nothing fits."""
    rated = [(_overlap(pair, mine, other), other) for other in theirs]
    most = max((score for score, _ in rated), default=0)
    found = [other for score, other in rated if score == most]
    return found if most or any(other.source for other in found) else []


def _is_anybody(extract: Reading, other: Statement) -> bool:
    return not other.source or any(light(extract.tokens[at].word) in _ANYBODY for at in other.source)


def _only_pronouns(extract: Reading, other: Statement) -> bool:
    return bool(other.source) and not any(extract.is_content(at) for at in other.source)


def _overlap(pair: Pair, mine: Statement, other: Statement) -> int:
    there = {*other.said, other.verb}
    return sum(any(match.at in there for match in pair.matches(at)) for at in (*mine.said, mine.verb))
