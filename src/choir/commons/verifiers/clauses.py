"""Where the clauses of a sentence part: at marks, at joining words, at relative words and where a second verb begins.

Guarantee: every token is in one clause; a clause that was interrupted by another goes on after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.commons.verifiers.lexicon import QUANTIFIERS
from choir.commons.verifiers.tags import CHAIN, FINITE, MAYBE_PREP, Tag, tag_before
from choir.commons.verifiers.text import Token

STOPS = frozenset(".!?,;:()—")
_HARD = frozenset(";:()—")
_JOINS = (Tag.SUB, Tag.REL, Tag.CONJ)


class Clauses:
    """The clause of each token; of each clause the one that it hangs on, and what opened it."""

    def __init__(self, tokens: Sequence[Token], tags: Sequence[Tag]) -> None:
        self.of: list[int] = []
        self.parents: list[int | None] = []  # of clauses with `that`, a relative word, or in brackets
        self.kinds: list[str] = []  # main, sub, that, rel, or a bracket
        self._tokens, self._tags = tokens, tags
        self._finite = [_is_finite(tokens, tags, at) for at in range(len(tokens))]
        self._ahead = self._verb_ahead((Tag.SUB, Tag.REL))
        self._near = self._verb_ahead(_JOINS)
        self._open: list[int] = []
        self._has_verb: list[bool] = []
        for at in range(len(tokens)):
            self._take(at)

    def _take(self, at: int) -> None:
        """Give one more token its clause."""
        if not at or self._tokens[at].sentence != self._tokens[at - 1].sentence:
            self._open.clear()
            self._begin("main")
        self._part(at)
        clause = self._open[-1]
        if self._tags[at] is Tag.REL:
            self._take_back(at, clause)
        self.of.append(clause)
        self._has_verb[clause] = self._has_verb[clause] or self._finite[at]

    def _begin(self, kind: str, parent: int | None = None, *, inside: bool = False) -> None:
        """A new clause: instead of the one that is open, or inside of it."""
        if self._open and not inside:
            self._open.pop()
        self._open.append(len(self.kinds))
        self.kinds.append(kind)
        self.parents.append(parent)
        self._has_verb.append(False)

    def _part(self, at: int) -> None:
        """Begin or end a clause where this token says so."""
        here, word, tag = self._open[-1], self._tokens[at].word, self._tags[at]
        if self._resumes(at):
            self._open.pop()
        elif word == "(" or (word == "—" and self.kinds[here] != "—"):
            self._begin(word, here, inside=True)
        elif tag is Tag.REL:
            self._begin("rel", here, inside=True)
        elif word == "that" and tag is Tag.SUB:
            self._begin("that", here)
        elif tag is Tag.SUB or (tag is Tag.PREP and self._opens_clause(at)):
            self._begin("sub")
        elif word in _HARD or self._coordinates(at):
            self._begin("main")

    def _resumes(self, at: int) -> bool:
        """Whether the clause outside goes on: after a bracket, or where a relative clause meets a second verb."""
        here, word = self._open[-1], self._tokens[at].word
        if len(self._open) < 2:
            return False
        if self.kinds[here] != "rel":
            return word in (")", "—") and self.kinds[here] in ("(", "—")
        second = self._finite[at] and self._tags[at - 1] not in CHAIN
        return self._has_verb[here] and (word == "," or second)

    def _opens_clause(self, at: int) -> bool:
        """`After it had opened`, but not `after ten years`."""
        token = self._tokens[at]
        apart = token.word != "as" or token.opens or self._tokens[at - 1].word == ","
        return token.word in MAYBE_PREP and apart and self._near[at] and (self._has_verb[self._open[-1]] or token.opens)

    def _coordinates(self, at: int) -> bool:
        """Whether a comma or `and` joins two clauses: there is a verb on each side."""
        here = self._open[-1]
        if self._tokens[at].word == ",":
            return self._has_verb[here] and (self._ahead[at] or self._is_participle(at + 1))
        joins = self._tags[at] is Tag.CONJ
        return joins and (self._tokens[at].word == "but" or (self._has_verb[here] and self._ahead[at]))

    def _is_participle(self, at: int) -> bool:
        return at < len(self._tokens) and self._tags[at] is Tag.VERB and self._tokens[at].word.endswith("ing")

    def _take_back(self, at: int, clause: int) -> None:
        """`None of which`, `in which`: the words before the relative word are its clause's."""
        if not at or self._tags[at - 1] is not Tag.PREP:
            return
        self.of[at - 1] = clause
        counted = at > 1 and (self._tags[at - 2] in (Tag.NUM, Tag.PRON) or self._tokens[at - 2].word in QUANTIFIERS)
        if counted and self._tokens[at - 1].word == "of":
            self.of[at - 2] = clause

    def _verb_ahead(self, breaks: tuple[Tag, ...]) -> list[bool]:
        """For each token whether a verb follows before the next mark or joining word."""
        found = [False] * len(self._tokens)
        seen = False
        for at in range(len(found) - 1, -1, -1):
            found[at] = seen
            stops = self._tokens[at].word in STOPS or self._tags[at] in breaks
            seen = self._finite[at] or (seen and not stops)
        return found


def _is_finite(tokens: Sequence[Token], tags: Sequence[Tag], at: int) -> bool:
    """Whether a verb here can hold a clause: not a lone form in -ing, nor after `to`."""
    if tags[at] is not Tag.VERB:
        return tags[at] in FINITE
    before = tag_before(tags, at)
    return before is not Tag.TO and (before is Tag.BE or not tokens[at].word.endswith("ing"))
