"""The shape of a text, read shallowly: which words are verbs, where clauses part, who does what to whom, what is
denied.

No grammar is complete here. The checks use this shape to find contradictions, and take what fits no shape as
unknown.

Guarantee: pure, and linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from choir.commons.verifiers.clauses import Clauses
from choir.commons.verifiers.frames import PHRASE_REACH, Frame, frames_of, left_of
from choir.commons.verifiers.lexicon import words_of
from choir.commons.verifiers.tags import CALENDAR, FINITE, NEGATORS, SMALL, TRAPS, Tag, tag_before, tag_tokens
from choir.commons.verifiers.text import Kind, Text, Token, read

_LOCAL = words_of("without contrary_to lack_of absence_of free_of free_from rather_than instead_of")
_SIDE_MAX = 30
_PART_STARTS = frozenset((Tag.WORD, Tag.DET, Tag.NUM, Tag.CONJ))
_TURNS = words_of("up down from against compared_with compared_to versus")
_FRAMES_MAX = 12
_WHEN = words_of("after before later earlier ago")
_PHRASE_ENDS = frozenset((Tag.MARK, Tag.CONJ, Tag.SUB, Tag.REL, Tag.BE, Tag.MODAL))


class Reading:
    """A text with its shape."""

    def __init__(self, text: str) -> None:
        self.text: Text = read(text)
        self.tokens: tuple[Token, ...] = self.text.tokens

    @cached_property
    def tags(self) -> list[Tag]:
        """What each token does."""
        return tag_tokens(self.tokens)

    @cached_property
    def clauses(self) -> Clauses:
        return Clauses(self.tokens, self.tags)

    @cached_property
    def clause_of(self) -> list[int]:
        """The clause of each token."""
        return self.clauses.of

    @cached_property
    def members(self) -> list[list[int]]:
        """The tokens of each clause."""
        found: list[list[int]] = [[] for _ in self.clauses.kinds]
        for at, clause in enumerate(self.clause_of):
            found[clause].append(at)
        return found

    @cached_property
    def _parts(self) -> list[tuple[int, str, int]]:
        """Of each token its clause, the side of the verb that it is on, and which part of that side."""
        found: list[tuple[int, str, int]] = [(0, "", 0)] * len(self.tokens)
        state: dict[int, tuple[str, int]] = {}
        for at, token in enumerate(self.tokens):
            clause = self.clause_of[at]
            side, part = state.get(clause, ("left", 0))
            if self.tags[at] in FINITE:
                side = "right"
                found[at] = (clause, "verb", 0)
                state[clause] = (side, part)
                continue
            following = self.tags[at + 1] if at + 1 < len(self.tokens) else Tag.MARK
            listed = following in _PART_STARTS or (following is Tag.PREP and self.tokens[at + 1].word in _TURNS)
            if self.tags[at] is Tag.CONJ or (token.word == "," and listed):
                part += 1
            state[clause] = (side, part)
            found[at] = (clause, side, part)
        return found

    def tie(self, one: int, other: int) -> int:
        """How closely two tokens belong together: 3 in one part, 2 across the verb, 1 in the next part, 0 apart."""
        first, second = self._parts[one], self._parts[other]
        if first == second:
            return 3
        if first[0] != second[0]:
            return 0
        return 1 if first[1] == second[1] else 2

    @cached_property
    def frames(self) -> list[Frame]:
        return frames_of(self)

    @cached_property
    def _frames_by_clause(self) -> dict[int, list[Frame]]:
        found: dict[int, list[Frame]] = {}
        for frame in self.frames:
            found.setdefault(frame.clause, []).append(frame)
        return found

    def frames_at(self, clause: int) -> list[Frame]:
        """The first frames of a clause."""
        return self._frames_by_clause.get(clause, [])[:_FRAMES_MAX]

    @cached_property
    def denied(self) -> frozenset[int]:
        """Tokens that are said not to be so: verbs, what is predicated, nouns after `no` and `without`."""
        found: set[int] = set()
        for frame in self.frames:
            if frame.negated:
                found.update(at for at in frame.chain if self.tags[at] is Tag.VERB)
                if self.tags[frame.head] in (Tag.BE, Tag.HAVE):
                    found.update(self.predicated(frame))
        before_verb = {at for frame in self.frames for at in (*left_of(frame), *frame.chain)}
        for at, token in enumerate(self.tokens):
            if token.word in _LOCAL or (token.word in NEGATORS and token.word not in TRAPS and at not in before_verb):
                found.update(self._after_negator(at))
        return frozenset(at for at in found if self.is_content(at))

    def heads(self, side: Sequence[int]) -> list[int]:
        """Of what stands on one side of a verb the words that name who it is: up to the first preposition but `of`."""
        found: list[int] = []
        for at in self._segment(side[-_SIDE_MAX:]):
            if found and self.tags[at] is Tag.PREP and self.tokens[at].word != "of":
                break
            if self.is_content(at) and self.tokens[at].word not in CALENDAR:
                found.append(at)
        return found

    def _segment(self, side: Sequence[int]) -> list[int]:
        """The last part between commas that does not begin with a preposition, with the name that it explains."""
        parts: list[list[int]] = [[]]
        for at in side:
            if self.tokens[at].word in (",", "(", ")") or (parts[-1] and at - parts[-1][-1] > 3):
                parts.append([])
            else:
                parts[-1].append(at)
        full = [part for part in parts if any(self.is_content(at) for at in part)]
        plain = [part for part in full if self.tags[part[0]] is not Tag.PREP and not self._is_when(part)] or full
        if not plain:
            return []
        apposed = len(plain) > 1 and self.tags[plain[-1][0]] is Tag.DET and self.tokens[plain[-2][0]].capital
        return [*(plain[-2] if apposed else []), *plain[-1]]

    def _is_when(self, part: Sequence[int]) -> bool:
        """`Four months after opening` says when, not who."""
        words = {self.tokens[at].word for at in part}
        return self.tags[part[0]] is Tag.NUM and bool(words & _WHEN)

    def predicated(self, frame: Frame) -> list[int]:
        """What a form of `be` says of its subject: the words up to the next preposition."""
        found: list[int] = []
        for at in range(frame.chain[-1] + 1, min(frame.chain[-1] + 1 + PHRASE_REACH, len(self.tokens))):
            if self._is_state(at):
                return [at]
            if not found and self.tags[at] is Tag.PREP and self.clause_of[at] == frame.clause:
                continue  # "out of service", "as large as"
            if self.tags[at] in (Tag.PREP, Tag.MARK, Tag.CONJ, Tag.SUB, Tag.REL) or self.clause_of[at] != frame.clause:
                break
            if self.is_content(at):
                found.append(at)
        return found

    def _after_negator(self, start: int) -> list[int]:
        """The noun phrase that `no`, `without` or a `not` outside of a verb stands before."""
        found: list[int] = []
        for at in range(start + 1, min(start + 1 + PHRASE_REACH, len(self.tokens))):
            tag = self.tags[at]
            if tag is Tag.SUB and not found:
                continue
            if tag in _PHRASE_ENDS or (found and tag in (Tag.PREP, Tag.VERB)):
                break
            if found and tag in (Tag.DET, Tag.PRON) and self.tags[found[-1]] is Tag.VERB:
                break
            if self.is_content(at):
                found.append(at)
        return found[-1:]

    def is_content(self, at: int) -> bool:
        """Whether a token says something by itself."""
        token = self.tokens[at]
        if token.word in ("on", "off"):
            return self._is_state(at)
        return (
            token.kind is Kind.WORD and token.word not in SMALL and len(token.word) > 1 and self.tags[at] is not Tag.NUM
        )

    def _is_state(self, at: int) -> bool:
        """`It is off by default`: the small word says all."""
        after = self.tags[at + 1] if at + 1 < len(self.tokens) else Tag.MARK
        if self.tokens[at].word not in ("on", "off"):
            return False
        return tag_before(self.tags, at) is Tag.BE and after in (Tag.PREP, Tag.MARK, Tag.CONJ)

    @cached_property
    def content(self) -> list[int]:
        return [at for at in range(len(self.tokens)) if self.is_content(at)]
