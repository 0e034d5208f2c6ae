"""Who does what to whom: each verb with what stands on its sides, and whether it is denied.

A frame's subject may be taken over from the clause before, and a relative clause speaks of the words right before
it. Verbs such as `sell` and `lose to` are turned round, so that whoever gets is the one who acts, as with `buy` and
`beat`.

Guarantee: pure, and linear in the length of the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from choir.commons.verifiers.clauses import STOPS
from choir.commons.verifiers.lexicon import light, stems_of, words_of
from choir.commons.verifiers.tags import CHAIN, FINITE, NEGATIVE_VERBS, PARTICIPLES, SAME_PARTICIPLE, TRAPS, Tag
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.words import grammar, measures

if TYPE_CHECKING:  # a reading has frames, and frames are read off a reading
    from choir.commons.verifiers.structure import Reading

PHRASE_REACH = 6  # so many tokens a noun phrase may have before its noun
_ANTECEDENT_REACH = 8
_SIDE_MAX = 40  # so many tokens on each side of a verb are looked at
_CONVERSE = stems_of(grammar.CONVERSE)
_NO = words_of("no none neither nobody nothing no_one nor")
_COUNTING = words_of("both neither none all")
_AMOUNTS = words_of(
    f"{measures.ABOUT} {measures.NEARLY} {measures.OVER} {measures.UNDER} {measures.AT_LEAST} {measures.AT_MOST} half"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A verb with its sides. `agents` do it and `patients` have it done to them, whichever stands first."""

    head: int
    chain: tuple[int, ...]  # the verb with its helpers
    clause: int
    passive: bool
    negated: bool
    agents: tuple[int, ...]
    patients: tuple[int, ...]

    def subject(self, reading: Reading) -> list[int]:
        """The words that name what stands before the verb."""
        return reading.heads(left_of(self))


def left_of(frame: Frame) -> tuple[int, ...]:
    """What stands before the verb of a frame."""
    side = frame.patients if frame.passive else frame.agents
    return tuple(at for at in side if at < frame.chain[0])


def frames_of(reading: Reading) -> list[Frame]:
    """The frames of a text, clause by clause."""
    builder = _Builder(reading)
    for clause in range(len(reading.members)):
        builder.read_clause(clause)
    return builder.found


class _Builder:
    """Builds frames from the first clause on: later ones take over subjects and denials of earlier ones."""

    def __init__(self, reading: Reading) -> None:
        self.found: list[Frame] = []
        self._reading = reading
        self._tokens, self._tags = reading.tokens, reading.tags
        self._first: dict[int, Frame] = {}  # of each clause
        self._denying: set[int] = set()  # clauses that deny what hangs on them
        self._carried = False  # `must not, on request, remove`: the denial waits for its verb

    def read_clause(self, clause: int) -> None:
        members = self._reading.members[clause]
        chains = _chains(members, self._tags)
        for number, chain in enumerate(chains):
            start = bisect_left(members, chains[number - 1][-1] + 1) if number else 0
            end = bisect_left(members, chains[number + 1][0]) if number + 1 < len(chains) else len(members)
            left = members[start : bisect_left(members, chain[0])][-_SIDE_MAX:]
            right = members[bisect_left(members, chain[-1] + 1) : end][:_SIDE_MAX]
            frame = self._frame(clause, chain, left, right, first=number == 0)
            if self._reading.clauses.parents[clause] in self._denying and self._is_denied_with(clause, chain, number):
                frame = replace(frame, negated=not frame.negated)
            if self._carried and self._same_sentence(self.found[-1], frame.head):
                frame = replace(frame, negated=not frame.negated)
            self._carried = frame.negated and self._tags[frame.head] is Tag.MODAL
            self.found.append(frame)
            self._first.setdefault(clause, frame)
            if frame.negated:
                self._denying.add(clause)

    def _is_denied_with(self, clause: int, chain: tuple[int, ...], number: int) -> bool:
        """What follows `no evidence that` is denied with it; a relative clause stands for itself."""
        return self._reading.clauses.kinds[clause] != "rel" and (number == 0 or self._tags[chain[0]] is not Tag.VERB)

    def _frame(self, clause: int, chain: tuple[int, ...], left: list[int], right: list[int], *, first: bool) -> Frame:
        head = next((at for at in reversed(chain) if self._tags[at] is Tag.VERB), chain[-1])
        if self._tags[head] is not Tag.VERB:
            head = next((at for at in reversed(chain) if self._tags[at] in FINITE), head)
        negated = self._is_negated(chain, head, left, right)
        antecedent = self._antecedent(clause) if first else []
        if self._tags[chain[0]] is Tag.TO or not any(self._may_act(at) for at in left):
            left = [*(antecedent or self._inherited(clause, head)), *left][-_SIDE_MAX:]
        else:
            right = [*right, *antecedent]
        passive, by = self._passive(chain, head, right)
        agents, patients = (by, [*left, *(at for at in right if at not in by)]) if passive else (left, right)
        if light(self._tokens[head].word) in _CONVERSE:
            agents, patients = patients, agents
        return Frame(head, chain, clause, passive, negated, tuple(agents), tuple(patients))

    def _inherited(self, clause: int, head: int) -> tuple[int, ...]:
        """The subject of the clause before, or of the verb before in the same clause."""
        if not self.found or not self._same_sentence(self.found[-1], head):
            return ()
        last = self.found[-1]
        if last.clause != clause and self._tags[self._reading.members[clause][0]] is Tag.CONJ:
            recent = [frame for frame in self.found[-6:] if self._same_sentence(frame, head)]
            mains = [frame for frame in recent if self._reading.clauses.kinds[frame.clause] == "main"]
            last = mains[-1] if mains else last
        return left_of(last if last.clause == clause else self._first[last.clause])

    def _same_sentence(self, frame: Frame, at: int) -> bool:
        return self._tokens[frame.head].sentence == self._tokens[at].sentence

    def _may_act(self, at: int) -> bool:
        counts = self._tags[at] in (Tag.PRON, Tag.NUM) or self._tokens[at].word in _COUNTING
        return counts or self._reading.is_content(at)

    def _antecedent(self, clause: int) -> list[int]:
        """What a relative clause speaks of: the words right before it."""
        members = self._reading.members[clause]
        found: list[int] = []
        if self._reading.clauses.kinds[clause] != "rel" or not members:
            return found
        for at in range(members[0] - 1, max(-1, members[0] - 1 - _ANTECEDENT_REACH), -1):
            ends = self._tags[at] in (Tag.VERB, Tag.BE, Tag.SUB, Tag.CONJ)
            if ends or (found and self._tokens[at].word in STOPS):
                break
            if self._reading.is_content(at):
                found.append(at)
        return found[::-1]

    def _passive(self, chain: tuple[int, ...], head: int, right: list[int]) -> tuple[bool, list[int]]:
        """Whether the verb is passive, and the agents that `by` names."""
        token = self._tokens[head]
        form = token.parts[0].casefold() if token.parts else token.word
        participle = form.endswith("ed") or form in PARTICIPLES or form in SAME_PARTICIPLE
        helped = any(self._tags[at] is Tag.BE for at in chain if at < head)
        if self._tags[head] is not Tag.VERB or not participle or not (helped or self._names_agent(head + 1)):
            return False, []
        by: list[int] = []
        inside = False
        for at in right:
            if self._tokens[at].word == "by":
                inside = self._names_agent(at)
            elif inside and (self._tokens[at].word == "," or self._ends_phrase(at)):
                break
            elif inside:
                by.append(at)
        return True, by

    def _ends_phrase(self, at: int) -> bool:
        return self._tags[at] is Tag.PREP and self._tokens[at].word not in ("of", "than")

    def _names_agent(self, at: int) -> bool:
        """Whether `by` stands here before someone, and not before a number of how much."""
        if at + 1 >= len(self._tokens) or self._tokens[at].word != "by":
            return False
        following = self._tokens[at + 1]
        return self._tags[at + 1] is not Tag.NUM and following.word not in _AMOUNTS and following.kind is Kind.WORD

    def _is_negated(self, chain: tuple[int, ...], head: int, left: list[int], right: list[int]) -> bool:
        """Whether an odd number of words denies the verb."""
        tokens, tags = self._tokens, self._tags
        count = sum(_denies(tokens[at], tags[at]) for at in chain)
        helpers = [at for at in chain if tags[at] is Tag.VERB and at != head]
        count += sum(light(tokens[at].word) in NEGATIVE_VERBS for at in helpers)
        count += chain[0] > 0 and tokens[chain[0] - 1].word in ("rather_than", "instead_of", "without")
        count += chain[0] > 1 and tags[chain[0] - 1] is Tag.PREP and tags[chain[0] - 2] is Tag.NEG  # "not from burning"
        count += any(tokens[at].word in _NO and not self._after_preposition(at) for at in left)
        count += tags[head] is not Tag.VERB and self._object_denied(right)
        return count % 2 == 1

    def _object_denied(self, right: list[int]) -> bool:
        """`There was no evidence`: what is denied is that it is. Of other verbs `no` denies the object alone."""
        for at in right[:PHRASE_REACH]:
            if self._tags[at] in (Tag.PREP, Tag.MARK, Tag.SUB) and self._tokens[at].word not in ("of", "to"):
                return False
            if self._tokens[at].word in _NO or self._tokens[at].word == "not":
                return True
        return False

    def _after_preposition(self, at: int) -> bool:
        return at > 0 and self._tags[at - 1] is Tag.PREP and self._tokens[at - 1].word != "of"


def _chains(members: Sequence[int], tags: Sequence[Tag]) -> list[tuple[int, ...]]:
    """Runs of verbs with their helpers."""
    found: list[tuple[int, ...]] = []
    run: list[int] = []
    for at in [*members, -1]:
        if at >= 0 and tags[at] in CHAIN and (not run or at == run[-1] + 1):
            run.append(at)
            continue
        if any(tags[item] in FINITE for item in run):
            found.append(tuple(run))
        run = [at] if at >= 0 and tags[at] in CHAIN else []
    return found


def _denies(token: Token, tag: Tag) -> bool:
    return (tag is Tag.NEG or token.word.endswith("n't") or token.word == "cannot") and token.word not in TRAPS
