"""A claim beside an extract: which words of the one are found in the other, as they are, in other words, or as
opposites.

Guarantee: pure. Of a word that occurs very often only the first occurrences are looked at, so that work stays
linear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers import lexicon
from choir.commons.verifiers.model import CheckFinding, Level, Outcome
from choir.commons.verifiers.naming import Name, initials, is_within, names, place_of
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import SMALL, Tag
from choir.commons.verifiers.text import Kind, Token, plain

_OCCURRENCES_MAX = 24
_SIDE_MAX = 30
_OTHER_CLAUSE, _OTHER_SENTENCE = 40, 80  # how much farther a word is that stands there
_INHERITED = 6  # how far a subject is that another clause takes over
# Small words that have a direction, and therefore count.
DIRECTIONS = frozenset(
    ("more", "less", "fewer", "before", "after", "up", "down", "above", "below", "prior_to", "first", "last")
)


@dataclass(frozen=True, slots=True)
class Match:
    """A token of the extract that says what a token of the claim says, or the opposite."""

    at: int
    sign: int
    exact: bool = False  # the same word, not one of the same meaning
    prefixed: bool = False  # the same word but for a prefix that denies it


@lru_cache(maxsize=20_000)
def _name_keys(word: str) -> Mapping[str, int]:
    found = {f"'{word}": 1}
    place = place_of(word)
    if place is not None:
        found[place] = 1
    return found


def _keys(token: Token, of_words: Callable[[str], Mapping[str, int]]) -> Mapping[str, int]:
    """A name is found as it is written, and as a word only if the tables know it."""
    if not token.capital:
        return {**of_words(token.word), f"'{token.word}": 1}
    if token.opens or lexicon.light(token.word) in lexicon.KNOWN or token.parts:
        return {**of_words(token.word), **_name_keys(token.word)}
    return _name_keys(token.word)


def _part_keys(token: Token) -> list[str]:
    """A phrase is also found by each of its words."""
    return [key for part in token.parts if plain(part) not in SMALL for key in lexicon.extract_keys(plain(part))]


def _sign_of_parts(keys: Mapping[str, int], token: Token) -> int:
    """How a word stands to a phrase that has a word of its meaning."""
    signs = [lexicon.relation(keys, lexicon.extract_keys(plain(part))) for part in token.parts]
    return max((sign for sign in signs if sign), default=1)


class Pair:
    """What all checks look at."""

    def __init__(self, claim: str, extract: str, around: str = "", policy: VerifiersPolicy | None = None) -> None:
        self.claim, self.extract, self.around = Reading(claim), Reading(extract), Reading(around)
        self.policy = policy or VerifiersPolicy()
        self.links: dict[int, list[int]] = {}  # numbers and dates of the claim, with where the extract has them

    def link(self, links: Iterable[tuple[int, int]]) -> None:
        """Note where the extract has a number or a date of the claim."""
        for at, place in links:
            self.links.setdefault(at, []).append(place)

    @cached_property
    def claim_names(self) -> list[Name]:
        return names(self.claim, self.extract)

    @cached_property
    def extract_names(self) -> list[Name]:
        return names(self.extract, self.claim)

    @cached_property
    def _names_at(self) -> tuple[dict[int, frozenset[str]], dict[int, frozenset[str]]]:
        """The words of the name that a token is part of, in the claim and in the extract."""
        mine, theirs = (
            {at: frozenset(name.words) for name in found for at in range(name.span.start, name.span.end)}
            for found in (self.claim_names, self.extract_names)
        )
        return mine, theirs

    def is_name(self, at: int) -> bool:
        """Whether a token of the claim is part of a name."""
        return at in self._names_at[0]

    def _other_name(self, at: int, place: int) -> bool:
        """Two names that share a word, but each has one that the other lacks: Mary Shelley and Percy Shelley."""
        mine, theirs = (names.get(here, frozenset()) for names, here in zip(self._names_at, (at, place), strict=True))
        return len(mine) > 1 and len(theirs) > 1 and not (is_within(mine, theirs) or is_within(theirs, mine))

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for at, token in enumerate(self.extract.tokens):
            small = token.word in DIRECTIONS or self.extract.tags[at] is Tag.MODAL
            if token.kind is Kind.WORD and (self.extract.is_content(at) or token.capital or small):
                for key in (*_keys(token, lexicon.extract_keys), *_part_keys(token)):
                    if len(found[key]) < _OCCURRENCES_MAX and at not in found[key][-1:]:
                        found[key].append(at)
        for name in self.extract_names:
            if len(name.words) > 1:
                found[f"'{initials(self.extract, name)}"].append(name.span.start)
        return found

    @cached_property
    def _matches(self) -> list[tuple[Match, ...]]:
        return [self._find(token) for token in self.claim.tokens]

    def matches(self, at: int) -> tuple[Match, ...]:
        """Where the extract has a word of the claim, or its opposite."""
        return self._matches[at]

    def _find(self, token: Token) -> tuple[Match, ...]:
        if token.kind is not Kind.WORD:
            return ()
        return self._find_word(token) or self._find_parts(token)

    def _find_parts(self, token: Token) -> tuple[Match, ...]:
        """A phrase is there if all its words are."""
        parts = [plain(part) for part in token.parts if plain(part) not in SMALL]
        found = [self._find_word(replace(token, word=part, parts=())) for part in parts]
        return tuple(match for matches in found for match in matches if match.sign > 0) if all(found) else ()

    def _find_word(self, token: Token) -> tuple[Match, ...]:
        keys = _keys(token, lexicon.claim_keys)
        places_ = sorted({at for key in keys for at in self._index.get(key, ())})[:_OCCURRENCES_MAX]
        found = []
        for at in places_:
            other = self.extract.tokens[at]
            if token.capital and self._other_name(token.at, at):
                continue
            sign = lexicon.relation(keys, _keys(other, lexicon.extract_keys)) or _sign_of_parts(keys, other)
            exact = sign > 0 and lexicon.root(token.word) == lexicon.root(other.word)
            found.append(Match(at, sign, exact, sign < 0 and lexicon.is_prefixed(token.word, other.word)))
        return tuple(found)

    def closest(self, at: int) -> list[Match]:
        """The same word in the extract if it has it, otherwise words of the same meaning."""
        found = [match for match in self.matches(at) if match.sign > 0]
        return [match for match in found if match.exact] or found

    @cached_property
    def around_words(self) -> frozenset[str]:
        """Words that stand near the extract, but not in it."""
        return frozenset(plain(token.raw) for token in self.around.tokens)

    @cached_property
    def clauses_of(self) -> list[frozenset[int]]:
        """The clauses that a token of the extract belongs to, also as the subject that another clause takes over."""
        extract = self.extract
        found = [{clause} for clause in extract.clause_of]
        for at, clause in enumerate(extract.clause_of):
            parent = extract.clauses.parents[clause]
            if parent is not None and extract.clauses.kinds[clause] == "that":
                found[at].add(parent)  # what is said is part of the saying
        for frame in self.extract.frames:
            for at in (*frame.agents[:_SIDE_MAX], *frame.patients[:_SIDE_MAX]):
                found[at].add(frame.clause)
        return [frozenset(clauses) for clauses in found]

    def distance(self, one: int, other: int) -> int:
        """How far apart two tokens of the extract are; another clause is farther than its place."""
        extract = self.extract
        far = abs(one - other)
        if extract.clause_of[one] == extract.clause_of[other]:
            return far
        if self.clauses_of[one] & self.clauses_of[other]:
            return min(far, _INHERITED)
        return far + (
            _OTHER_CLAUSE if extract.tokens[one].sentence == extract.tokens[other].sentence else _OTHER_SENTENCE
        )

    @cached_property
    def subjects(self) -> frozenset[int]:
        """The words of the claim that stand before its verbs."""
        return frozenset(at for frame in self.claim.frames for at in frame.subject(self.claim))


def finding(check: str, outcome: Outcome, words: str, **data: object) -> CheckFinding:
    """A finding about the wording."""
    return CheckFinding(Level.L2, check, outcome, words, data)


def listed(words: Iterable[str], most: int = 6) -> str:
    """Some words for a sentence."""
    found = list(dict.fromkeys(words))
    return ", ".join(f"'{word[:40]}'" for word in found[:most]) + (" …" if len(found) > most else "")
