"""Proper names: those of the claim must be in the extract, whole enough to be the same, and doing the same.

Surnames alone, initials, titles, possessives, adjectives of countries and acronyms that the extract spells out are
the same name.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.commons.verifiers import roles
from choir.commons.verifiers.binding import bound
from choir.commons.verifiers.lexicon import KNOWN, light
from choir.commons.verifiers.model import CheckFinding, Outcome, worst
from choir.commons.verifiers.naming import Name, initials, place_of
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag

_LOOKED_AT_MAX = 200


class _Known:
    """The names and words of an extract, ready to be asked."""

    def __init__(self, reading: Reading, found: Sequence[Name]) -> None:
        words = reading.text.words
        self.names = found
        self.words = {token.word for token in words} | {part.casefold() for token in words for part in token.parts}
        self.capitals = {word for name in found for word in name.words} | {token.word for token in words if token.opens}
        self.places = {place for word in self.words if (place := place_of(word)) is not None}
        self.acronyms = {initials(reading, name) for name in found if len(name.words) > 1} - {""}
        self.last = {name.words[-1]: name for name in found}
        spoken = [part for token in words for part in (token.parts or (token.word,))]
        self.initials = "".join(part[0].casefold() for part in spoken)

    def has(self, word: str) -> bool:
        return bool(_variants((word,)) & self.words) or place_of(word) in self.places


def check(pair: Pair) -> CheckFinding:
    """Whether every name of the claim is in the extract, and does there what the claim says."""
    mine, theirs = pair.claim_names, pair.extract_names
    known = _Known(pair.extract, theirs)
    results = [_one(pair, name, known) for name in mine[:_LOOKED_AT_MAX]]
    results += _swapped(pair)
    results += [(conflict.outcome, conflict.words) for conflict in roles.conflicts(pair)]
    bad = [words for result, words in results if result is not Outcome.PASS]
    if not mine and not bad:
        return finding("names", Outcome.PASS, "The claim has no names.")
    words = " ".join(dict.fromkeys(bad[:4])) or f"The extract names {listed(name.text for name in mine)}."
    data = {"claim": [name.text for name in mine[:20]], "extract": [name.text for name in theirs[:20]]}
    return finding("names", worst([result for result, _ in results]), words, **data)


def _one(pair: Pair, name: Name, known: _Known) -> tuple[Outcome, str]:
    missing = [word for word in name.words if not known.has(word)]
    if len(name.words) == 1 and pair.closest(name.span.start):
        missing = []
    if not missing:
        outcome, words = _together(pair, name, known)
        return (outcome, words) if outcome is not Outcome.PASS else _placed(pair, name)
    return _missing(pair, name, known, missing)


def _missing(pair: Pair, name: Name, known: _Known, missing: Sequence[str]) -> tuple[Outcome, str]:
    found = [word for word in name.words if word not in missing]
    if len(name.words) == 1 and (name.words[0] in known.acronyms or _spelt_out(pair, name, known)):
        return Outcome.PASS, ""
    if len(name.words) > 1 and initials(pair.claim, name) in known.words:
        return Outcome.UNDECIDED, f"The extract has an acronym that may stand for '{name.text}'."
    if found and all(any(_is_initial(word, other) for other in known.capitals) for word in missing):
        return Outcome.PASS if all(
            len(word) < 3 for word in missing
        ) else Outcome.UNDECIDED, f"The extract shortens '{name.text}'."
    if all(word in pair.around_words for word in missing):
        return Outcome.UNDECIDED, f"'{name.text}' is named near the extract, but not in it."
    if found and (_only_surname(name, known) or all(light(word) in KNOWN for word in missing)):
        return Outcome.UNDECIDED, f"The extract has {listed(found)} but not the whole name '{name.text}'."
    return Outcome.FAIL, f"The extract does not name '{name.text}'."


def _spelt_out(pair: Pair, name: Name, known: _Known) -> bool:
    """`GDP` where the extract says gross domestic product."""
    return (
        pair.claim.tokens[name.span.start].raw.isupper() and len(name.words[0]) > 2 and name.words[0] in known.initials
    )


def _is_initial(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) == 1 and long.startswith(short) and len(long) > 1


def _only_surname(name: Name, known: _Known) -> bool:
    """The extract has the last word of the name, and no other first name before it."""
    there = known.last.get(name.words[-1])
    return there is not None and len(there.words) == 1


def _together(pair: Pair, name: Name, known: _Known) -> tuple[Outcome, str]:
    """All words of the name are there: also as one name?"""
    token = pair.claim.tokens[name.span.start]
    if len(name.words) == 1:
        named = (
            known.capitals & _variants(name.words)
            or place_of(name.words[0]) is not None
            or name.words[0] in known.acronyms
        )
        common = not named and not token.opens and light(name.words[0]) in KNOWN and not token.raw.isupper()
        return (Outcome.UNDECIDED if common else Outcome.PASS), f"'{name.text}' is no name in the extract."
    wanted = set(name.words)
    if any(wanted <= _variants(other.words) for other in known.names[:_LOOKED_AT_MAX]) or _near(pair, name):
        return Outcome.PASS, ""
    return Outcome.UNDECIDED, f"The words of the name '{name.text}' are in the extract, but not together."


def _variants(words: Sequence[str]) -> set[str]:
    return {*words, *(word.removesuffix("s") for word in words), *(f"{word}s" for word in words)}


def _near(pair: Pair, name: Name) -> bool:
    """Whether the words of a name stand close together: titles and places are written in many ways."""
    wanted, reach = set(name.words), len(name.words) + 4
    at = [(token.at, token.word) for token in pair.extract.tokens if token.word in wanted]
    for number in range(len(at)):
        seen = {word for place, word in at[number : number + 12] if place - at[number][0] < reach}
        if wanted <= seen:
            return all(light(word) in KNOWN or place_of(word) is not None for word in wanted)
    return False


def _placed(pair: Pair, name: Name) -> tuple[Outcome, str]:
    """The name is there: is it said of the same?"""
    wanted = set(name.words)
    kin = [other for other in pair.extract_names if _is_place(pair.extract, other) == _is_place(pair.claim, name)]
    same = [other.span for other in pair.extract_names if wanted & _variants(other.words)]
    mine = {word for other in pair.claim_names for word in other.words}
    said = bound(pair, name.span, [], same, [other.span for other in kin if not mine & _variants(other.words)])
    if said.contra > said.pro and (said.verb or said.partner):
        return Outcome.UNDECIDED, f"The extract says {listed(said.words)} of another than '{name.text}'."
    return Outcome.PASS, ""


def _swapped(pair: Pair) -> list[tuple[Outcome, str]]:
    """Two names that have changed places: the extract says of each what the claim says of the other."""
    found = []
    for name in pair.claim_names[:_LOOKED_AT_MAX]:
        wanted = set(name.words)
        same = [other.span for other in pair.extract_names if wanted & _variants(other.words)]
        rivals = [other.span for other in pair.extract_names if not wanted & _variants(other.words)]
        said = bound(
            pair, name.span, [other.span for other in pair.claim_names if other.span != name.span], same, rivals
        )
        if said.verb and not said.pro:
            found.append(name.text)
    found = found if len(found) > 1 else _exchanged(pair)
    return [(Outcome.UNDECIDED, f"{listed(found)} may have changed places.")] if found else []


def _exchanged(pair: Pair) -> list[str]:
    """Two names of the claim of which each stands where the other stands in the extract: `of X … on Y`."""
    mine = {name.words: _place_word(pair.claim, name) for name in pair.claim_names[:_LOOKED_AT_MAX]}
    theirs = {name.words: _place_word(pair.extract, name) for name in pair.extract_names[:_LOOKED_AT_MAX]}
    moved = [words for words, place in mine.items() if place[1] and theirs.get(words, place) != place]
    taken = {theirs[words]: words for words in moved}
    pairs = [(words, taken[mine[words]]) for words in moved if mine[words] in taken]
    swapped = [one for one, other in pairs if one != other and taken.get(mine[other]) == one]
    return [" ".join(words) for words in swapped]


def _place_word(reading: Reading, name: Name) -> tuple[str, str]:
    """The noun and the preposition that a name hangs on."""
    at = name.span.start - 1
    while at > 0 and reading.tags[at] is Tag.DET:
        at -= 1
    if at < 1 or reading.tags[at] is not Tag.PREP:
        return ("", "")
    before = reading.tokens[at - 1].word if reading.is_content(at - 1) and reading.tags[at - 1] is Tag.WORD else ""
    return (light(before), reading.tokens[at].word)


def _is_place(reading: Reading, name: Name) -> bool:
    """Whether a name says where: it follows a word of place."""
    before = [token.word for token in reading.tokens[max(0, name.span.start - 2) : name.span.start]]
    before = before[:-1] if before[-1:] == ["the"] else before
    if reading.tokens[name.span.end - 1].owns:
        return False
    return before[-1:] in (["in"], ["at"], ["near"], ["on"])
