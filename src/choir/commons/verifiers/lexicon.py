"""What an English word is for comparing: its stem, and the keys that words of the same meaning share.

Two words match if they share a key; they are opposites if they share keys only with opposite signs. Stems are cut by
few rules and made for agreeing with each other, not for reading.

Guarantee: pure; the same word gives the same keys on every machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from choir.commons.verifiers.words import acts, common, fields, grammar, measures, places, things

_VOWELS = frozenset("aeiouy")
_WITH_E = frozenset(("plane", "state", "scare", "spine", "stare", "stripe"))  # another word without it
# What is cut off a stem, and how much must be left.
_ENDINGS_4 = """
ization isation ification ication ational fulness iveness ousness ability ibility ations ation ition ators ator ically
ingly edly fully ively ously ative itive abl ibl ally ment nes abiliti ibiliti iviti iti anc enc anci enci ical iv ous
ful ism iz is at li en er est ier iest
"""
_ENDINGS_5 = "ion ial ian al ic ist or ent ant ag ari eri ori if i"
_ENDINGS = tuple((end, least) for text, least in ((_ENDINGS_4, 4), (_ENDINGS_5, 5)) for end in text.split())


def _groups(text: str, separator: str = ";") -> Iterator[str]:
    return (group for group in (part.strip() for part in text.split(separator)) if group)


def _syllables(word: str) -> int:
    count, before = 0, False
    for letter in word:
        vowel = letter in _VOWELS
        count += vowel and not before
        before = vowel
    return count


_FORMS = {form: forms[0] for forms in (group.split() for group in _groups(grammar.IRREGULAR)) for form in forms}
_FAMILY = {word: words[0] for words in (group.split() for group in _groups(grammar.DERIVED)) for word in words}


@lru_cache(maxsize=20_000)
def light(word: str) -> str:
    """The word without its inflection: rise, rises, rose and rising are one."""
    if "_" in word:
        return "_".join(light(part) for part in word.split("_"))
    if len(word) > 40:
        return word
    found = _FORMS.get(word)
    return _base(found) if found is not None else _base(_uninflected(word))


def _uninflected(word: str) -> str:
    word = _singular(word)
    for end in ("ing", "ed"):
        stem = word.removesuffix(end)
        if stem != word and len(stem) > 1 and not word.endswith("eed") and _syllables(stem):
            return _FORMS.get(stem, _restored(stem)) if len(stem) > 2 else word.removesuffix("d")
    return word


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "zes", "ches", "shes")) else word[:-1]


def _restored(stem: str) -> str:
    """What stood before -ed or -ing: hop(e), plan(n), caus(e)."""
    last, before = stem[-1], stem[-2]
    if last == before and last not in "aeiouslzf":
        return stem[:-1]
    if last in "vzcu" or (last == "s" and before != "s") or stem.endswith(("dg", "rg", "lg")):
        return stem + "e"
    closed = last not in _VOWELS and last not in "wx" and before in _VOWELS and stem[-3:-2] not in _VOWELS
    cluster = last in "lr" and before not in _VOWELS and last != before
    return stem + "e" if _syllables(stem) == 1 and (closed or cluster) else stem


def _base(word: str) -> str:
    if word.endswith("e") and _syllables(word[:-1]) > 1:
        word = word[:-1]
    if word.endswith("ll") and _syllables(word) > 1:
        word = word[:-1]
    if word.endswith("y") and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    return word


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """What the word shares with words derived from it: recover and recovery, calculate and calculation."""
    stem = light(_FAMILY.get(word) or _FAMILY.get(_uninflected(word), word))
    if "_" in stem or len(stem) > 40:
        return stem
    for _ in range(2):
        stem = _cut(stem)
    return stem.removesuffix("e") if len(stem) > 4 and stem not in _WITH_E else stem


def _cut(stem: str) -> str:
    for end, least in _ENDINGS:
        if stem.endswith(end) and len(stem) - len(end) >= least:
            return stem[: -len(end)]
    return stem


def stems_of(text: str) -> frozenset[str]:
    return frozenset(light(word) for word in text.split())


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _meanings(texts: Iterable[str]) -> dict[str, dict[str, int]]:
    """Of each stem the groups it is in, with the side that it is on."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for name, group in enumerate(group for text in texts for group in _groups(text)):
        for side, pole in enumerate(_groups(group, "|")):
            for word in pole.split():
                found[light(word)].setdefault(f"#{name}", -1 if side else 1)
    return dict(found)


_TABLES = (acts.ACTS, things.THINGS, things.QUALITIES, fields.FIELDS, common.MORE_ACTS, common.MORE_THINGS)
_MEANINGS = _meanings(_TABLES)
_SIGNED = frozenset(
    f"#{name}" for name, group in enumerate(group for text in _TABLES for group in _groups(text)) if "|" in group
)
_BY_ROOT = {root(word): groups for word, groups in reversed(_MEANINGS.items())}
QUANTIFIERS = {
    word: int(level) for level, *words in (group.split() for group in _groups(grammar.LEVELS)) for word in words
}
VERBS = frozenset(light(word) for word in re.split(r"[\s|;]+", acts.ACTS + common.MORE_ACTS) if word)
KNOWN = frozenset(_MEANINGS) | stems_of(grammar.GENERAL)
_BELOW: dict[str, frozenset[str]] = {
    light(head): stems_of(rest) for head, _, rest in (group.partition(":") for group in _groups(things.KINDS))
}
_ABOVE: dict[str, list[str]] = defaultdict(list)
for _head, _rest in _BELOW.items():
    for _word in sorted(_rest):
        _ABOVE[_word].append(_head)
_PREFIXES = tuple(sorted(grammar.NEGATIVE_PREFIXES.split(), key=len, reverse=True))
_UNPREFIXED = words_of(grammar.UNPREFIXED)


@lru_cache(maxsize=20_000)
def keys(word: str) -> Mapping[str, int]:
    """What the word means: keys with signs. The sign of a word with a denying prefix is turned."""
    found = {f"={root(word)}": 1, f"={light(word)}": 1, **_meaning(word)}
    bare = _without_prefix(word)
    if bare is not None:
        for key, sign in (f"={root(bare)}", 1), (f"={light(bare)}", 1), *_meaning(bare).items():
            found.setdefault(key, -sign)
    again = word.removeprefix("re").removeprefix("-")
    if again != word and len(again) > 4:
        found.setdefault(f"={root(again)}", 1)  # redesigned is designed
    return found


def _meaning(word: str) -> Mapping[str, int]:
    """The groups of a word, or of what it is derived from."""
    return _MEANINGS.get(light(word)) or _BY_ROOT.get(root(word), {})


def _without_prefix(word: str) -> str | None:
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix).removeprefix("-")
        if rest != word and len(rest) > 3 and len(prefix) > 1:
            protected = any(word.startswith(item) for item in _UNPREFIXED if len(item) > 3)
            return None if protected or word in _UNPREFIXED else rest
    return None


def claim_keys(word: str) -> Mapping[str, int]:
    """Keys by which a claim's word looks for its match: also in what is a kind of it."""
    above = light(word)
    return {**keys(word), f"^{above}": 1} if above in _BELOW else keys(word)


def extract_keys(word: str) -> Mapping[str, int]:
    """Keys by which an extract's word is found: also by what it is a kind of."""
    return {**keys(word), **{f"^{above}": 1 for above in _ABOVE.get(light(word), ())}}


def relation(one: Mapping[str, int], other: Mapping[str, int]) -> int:
    """1: the same meaning, -1: opposites, 0: neither."""
    shared = [sign * other[key] for key, sign in one.items() if key in other]
    return max(shared) if shared else 0


def is_prefixed(one: str, other: str) -> bool:
    """Whether one word is the other with a prefix that denies it."""
    bare, other_bare = _without_prefix(one), _without_prefix(other)
    return (bare is not None and root(bare) == root(other)) or (
        other_bare is not None and root(other_bare) == root(one)
    )


def is_negative(word: str) -> bool:
    """Whether a word has a prefix that denies it."""
    return _without_prefix(word) is not None


def is_signed(word: str) -> bool:
    """Whether the word has an opposite in the tables."""
    return any(key in _SIGNED for key in _MEANINGS.get(light(word), {}))


def _phrases() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Phrases of the tables by the stem of their first word, the longest first."""
    texts = [*_TABLES, things.KINDS, places.PLACES]
    texts += [value for module in (grammar, measures) for name, value in _tables(module)]
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for text in texts:
        for word in text.replace("|", " ").replace(";", " ").replace(":", " ").split():
            if "_" in word:
                parts = tuple(word.split("_"))
                found[light(parts[0])].add(parts)
    return {first: tuple(sorted(several, key=lambda item: (-len(item), item))) for first, several in found.items()}


def _tables(module: object) -> Iterator[tuple[str, str]]:
    for name, value in sorted(vars(module).items()):
        if name.isupper() and isinstance(value, str):
            yield name, value


PHRASES = _phrases()
