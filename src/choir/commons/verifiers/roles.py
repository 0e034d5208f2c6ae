"""Who does what to whom: whether a claim turns round what an extract says, or gives one's act to another.

For each verb that both have, the sides are compared: whoever acts in the claim must not be acted on in the extract,
and where the extract names somebody else as the one who acts, the claim is wrong. What rests on verbs of the same
meaning, and not on the same verb, is never more than undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from choir.commons.verifiers.frames import Frame
from choir.commons.verifiers.lexicon import light, stems_of
from choir.commons.verifiers.model import Outcome
from choir.commons.verifiers.pair import Pair, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag

_LIGHT = stems_of("be have do make take get give go come use become include remain occur happen see")
_FRAMES_MAX = 12
_CLAIM_FRAMES_MAX = 200
_OBJECT_REACH = 12


@dataclass(frozen=True, slots=True)
class Conflict:
    """One verb whose sides do not fit."""

    outcome: Outcome
    words: str


def conflicts(pair: Pair) -> list[Conflict]:
    """Where the claim puts somebody into another's place."""
    heads = {frame.head: frame for frame in pair.extract.frames}
    found: list[Conflict | None] = []
    for frame in pair.claim.frames[:_CLAIM_FRAMES_MAX]:
        word = pair.claim.tokens[frame.head].word
        if word.endswith("ing") and not any(pair.claim.tags[at] is Tag.BE for at in frame.chain):
            continue  # whose doing it is, is not said
        verb = pair.claim.tags[frame.head] is Tag.VERB
        matches = [match for match in pair.closest(frame.head) if match.at in heads] if verb else []
        if matches and light(word) in _LIGHT and not matches[0].exact:
            continue
        if matches:
            there = [heads[match.at] for match in matches[:_FRAMES_MAX]]
            found += _Case(pair, frame, there, exact=matches[0].exact).conflicts()
        else:
            found.append(_parted(pair, frame))
    return [conflict for conflict in found if conflict is not None]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How the sides of two frames fit."""

    frame: Frame
    same: int
    crossed: tuple[int, ...]  # words of the claim that are on the other side in the extract
    both_sides: bool

    @property
    def score(self) -> int:
        return 2 * self.same - len(self.crossed)


class _Case:
    """A verb of the claim beside the same verb, or verbs of its meaning, in the extract."""

    def __init__(self, pair: Pair, mine: Frame, there: Sequence[Frame], *, exact: bool) -> None:
        self._pair, self._mine, self._there, self._exact = pair, mine, there, exact
        self._verb = pair.claim.tokens[mine.head].raw
        self._best = max((self._fit(other) for other in there), key=lambda fit: fit.score)
        self._sides = {at for frame in there for at in (*frame.agents, *frame.patients)}

    def conflicts(self) -> list[Conflict | None]:
        turned = self._turned()
        if turned is not None or not self._exact:
            return [turned]
        return [self._other_agent(), self._other_object(), self._other_patient()]

    def _fit(self, other: Frame) -> _Fit:
        pair, mine = self._pair, self._mine
        agents, patients = set(other.agents), set(other.patients)
        loose = not _has_object(pair.claim, mine) or not _has_object(pair.extract, other)
        same, crossed = 0, []
        for at, own, foreign in [(at, agents, patients) for at in mine.agents] + [
            (at, patients, agents) for at in mine.patients
        ]:
            places = self._places([at]) if pair.claim.is_content(at) else set()
            if places & own or (loose and places & foreign):
                same += 1
            elif places & foreign:
                crossed.append(at)
        both = {at in mine.agents for at in crossed} == {True, False}
        return _Fit(other, same, tuple(crossed), both)

    def _places(self, words: Iterable[int]) -> set[int]:
        return {match.at for at in words for match in self._pair.closest(at)}

    def _says(self, outcome: Outcome, words: str) -> Conflict:
        return Conflict(outcome if self._exact else Outcome.UNDECIDED, words)

    def _turned(self) -> Conflict | None:
        """The sides have changed places."""
        best, claim = self._best, self._pair.claim
        words = f"Around '{self._verb}' the claim turns round who does it and to whom: {_raw(claim, best.crossed)}."
        if self._is_stolen():
            return self._says(Outcome.FAIL, words)
        if best.crossed and not best.same:
            return self._says(Outcome.FAIL if best.both_sides else Outcome.UNDECIDED, words)
        named = any(self._pair.is_name(at) for at in best.crossed)
        return self._says(Outcome.UNDECIDED, words) if best.both_sides and (named or self._exact) else None

    def _is_stolen(self) -> bool:
        """A name acts that is acted on in the extract, where another name acts."""
        pair, frame = self._pair, self._best.frame
        actors = pair.claim.heads(self._mine.agents)
        places = self._places(actors)
        others = [at for at in pair.extract.heads(frame.agents) if pair.extract.tokens[at].capital]
        turned = not places & set(frame.agents) and places & set(frame.patients)
        named = any(pair.claim.tokens[at].capital for at in actors) and _has_object(pair.claim, self._mine)
        return bool(named and others and turned and self._best.crossed)

    def _other_agent(self) -> Conflict | None:
        """Whoever acts in the claim is not among those who act in the extract."""
        pair, claim, extract = self._pair, self._pair.claim, self._pair.extract
        actors, others = claim.heads(self._mine.agents), extract.heads(self._best.frame.agents)
        if not actors or not others or light(claim.tokens[self._mine.head].word) in _LIGHT:
            return None
        words = f"The extract says '{self._verb}' of {_raw(extract, others)}, not of {_raw(claim, actors)}."
        if any(match.at in self._sides for at in actors for match in pair.matches(at)):
            return self._says(Outcome.UNDECIDED, words) if self._is_other_kind(actors, others) else None
        if any(pair.is_name(at) for at in actors) and any(extract.tokens[at].capital for at in others):
            return self._says(Outcome.FAIL, words)
        spoken = any(extract.tags[at] is Tag.PRON for at in self._best.frame.agents)
        return self._says(Outcome.UNDECIDED, words) if not spoken and self._places(actors) else None

    def _is_other_kind(self, actors: Sequence[int], others: Sequence[int]) -> bool:
        """`The lower court` where the extract says it of the appeals court, and has a lower court elsewhere."""
        if set(others) <= self._places(actors):
            return False
        for at, noun in pairwise(actors):
            places, nouns = self._places([at]), self._places([noun])
            if noun == at + 1 and places and not places & self._sides and any(place + 1 in nouns for place in places):
                return True
        return False

    def _other_object(self) -> Conflict | None:
        """What the verb is done to has one name in the claim and another in the extract."""
        claim, extract, best = self._pair.claim, self._pair.extract, self._best
        named, rivals = _object_names(claim, self._mine), _object_names(extract, best.frame)
        objects = {at for frame in self._there for at in _object_names(extract, frame)}
        places = self._places(named)
        if not named or not rivals or places & objects:
            return None
        words = f"The extract says '{self._verb}' to {_raw(extract, rivals)}, not to {_raw(claim, named)}."
        return self._says(Outcome.FAIL if places else Outcome.UNDECIDED, words)

    def _other_patient(self) -> Conflict | None:
        """What the verb is done to in the claim is nowhere near it in the extract, where it has another object."""
        pair, patients = self._pair, self._best.frame.patients
        subject = self._mine.subject(pair.claim) if self._mine.passive else []
        spoken = any(pair.extract.tags[at] is Tag.PRON for at in patients)
        clauses = {frame.clause for frame in self._there}
        places = self._places(subject)
        if not places or spoken or any(clauses & pair.clauses_of[place] for place in places):
            return None
        words = f"The extract says '{self._verb}' of something else than {_raw(pair.claim, subject)}."
        return self._says(Outcome.UNDECIDED, words) if any(pair.extract.is_content(at) for at in patients) else None


def _parted(pair: Pair, mine: Frame) -> Conflict | None:
    """The extract has the claim's subject and its predicate, but says the predicate of another subject."""
    claim = pair.claim
    verb = claim.tags[mine.head] is Tag.VERB
    said = [mine.head] if verb else claim.predicated(mine)
    said = [at for at in said if any(match.exact for match in pair.closest(at))]
    subject = [at for at in _first_noun(claim, mine.subject(claim)) if pair.closest(at)]
    word = claim.tokens[mine.head].word
    if not subject or not said or word.endswith("ing") or (verb and light(word) in _LIGHT):
        return None
    places = {match.at for at in subject for match in pair.closest(at)}
    clauses = {clause for at in said for match in pair.closest(at) for clause in pair.clauses_of[match.at]}
    if any(clauses & pair.clauses_of[place] for place in places) or not _other_subject(pair, clauses, places):
        return None
    words = f"The extract says {_raw(claim, said)} of another than {_raw(claim, subject)}."
    return Conflict(Outcome.UNDECIDED, words)


def _first_noun(claim: Reading, words: Sequence[int]) -> list[int]:
    """Of a subject the words before its first preposition: of `a star of that mass` the star."""
    end = next((at for at in range(words[0], words[-1]) if claim.tags[at] is Tag.PREP), None) if words else None
    return [at for at in words if end is None or at < end]


def _other_subject(pair: Pair, clauses: set[int], places: set[int]) -> bool:
    """Whether one of the clauses has a subject in words that are not the claim's."""
    frames = [frame for clause in sorted(clauses) for frame in pair.extract.frames_at(clause)]
    subjects = [set(frame.subject(pair.extract)) for frame in frames]
    return any(subject and not subject & places for subject in subjects)


def _has_object(reading: Reading, frame: Frame) -> bool:
    """Whether a noun follows the verb at once; a verb without object may say of its subject what happens to it."""
    if frame.passive:
        return True
    for at in range(frame.chain[-1] + 1, min(frame.chain[-1] + _OBJECT_REACH, len(reading.tokens))):
        if reading.tags[at] not in (Tag.DET, Tag.NUM, Tag.ADV) and reading.tokens[at].raw != "-":
            return reading.tags[at] is Tag.PRON or (reading.tags[at] is Tag.WORD and reading.is_content(at))
    return False


def _object_names(reading: Reading, frame: Frame) -> list[int]:
    """The names that follow an active verb at once."""
    found: list[int] = []
    end = frame.chain[-1] + 1 if frame.passive else min(frame.chain[-1] + _OBJECT_REACH, len(reading.tokens))
    for at in range(frame.chain[-1] + 1, end):
        token = reading.tokens[at]
        if token.capital and reading.is_content(at):
            found.append(at)
        elif reading.tags[at] is not Tag.DET and not (found and token.word == "of"):
            break
    return found


def _raw(reading: Reading, places: Iterable[int]) -> str:
    return listed(reading.tokens[at].raw for at in places)
