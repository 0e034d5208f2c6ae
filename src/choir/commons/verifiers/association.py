"""Whether a claim gives a number, a date or a name to what the extract gives another one to. Pure.

An extract often has two of a kind: "640 euros for women and 755 euros for men". What is said beside one of them in the
claim must not stand beside the other one alone in the extract. Texts are cut where one thing ends and the next
begins; no grammar is needed for that, so these checks err towards undecided. The time they take grows with the length
of the texts and no faster.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.lexicon import light, root, words_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.pair import finding, listed
from choir.commons.verifiers.stretches import EMPTY, Side, Stretch, are_rivals, bare
from choir.commons.verifiers.tags import CALENDAR, SMALL

_PASS, _FAIL, _UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED
CHECKS = ("association", "sentences", "order", "rates", "codes", "denials", "new words")
_REPORTS = re.compile(
    r"\b(according to|found|finds|says|said|reports?|reported|states?|stated|concludes?|concluded|shows?|showed|"
    r"notes?|noted|argues?|argued|claims?|claimed|advises?|advised|recommends?|recommended|estimates?|estimated)\b",
    re.IGNORECASE,
)
_SMALL_STEMS = frozenset(light(word) for word in SMALL)
_NO_NAMES = EMPTY | CALENDAR
_WHERE = words_of("in at on near")
_REFERRING = words_of("it its they their these this those that he she his her such both here there then")
_PRONOUNS = words_of("it its they them their he him his she her")
_RATE = re.compile(
    r"\b(?:a|an|per|each|every)\s+(second|minute|hour|day|night|week|month|quarter|year|decade|person)\b", re.IGNORECASE
)
_CODE = re.compile(r"\b(?=\w*[^\W\d_])(?=\w*\d)[^\W_]+\b(?<!\dst)(?<!\dnd)(?<!\drd)(?<!\dth)(?<!\ds)")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|hardly|fail(?:s|ed)? to|lack\w*|unable|"
    r"refus\w+)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_PIECES = re.compile(r"[.;,:]|\b(?:and|but|while|whereas)\b")
_NUMERAL = re.compile(
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirt|fourt|fift|sixt|sevent|eight|ninet|twent|"
    r"fort|hundred|thousand|million|billion|dozen|half|third|quarter)"
)
_NAME_OR_MARK = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\S")
_PLACES_MAX = 40  # stretches in which a word is looked for; what stands beside it only later is undecided
_REPORT_MAX = 400  # tokens of a claim that is taken as a whole, because it says who reports it


def checks(claim: str, extract: str, policy: VerifiersPolicy) -> list[CheckFinding]:
    """All of them, in the order of `CHECKS`."""
    mine, theirs = Side(claim), Side(extract)
    return [
        check_values(mine, theirs),
        check_sentences(mine, theirs),
        check_order(mine, theirs),
        check_rates(mine, theirs),
        check_codes(mine, theirs),
        check_denials(mine, theirs),
        check_new_words(mine, theirs, policy),
    ]


def check_values(claim: Side, extract: Side) -> CheckFinding:
    """Whether each value of the claim stands beside the same words in the extract."""
    homes = _Homes(extract.stretches)
    reports = _REPORTS.search(claim.text) and len(claim.tokens) <= _REPORT_MAX
    for stretch in [claim.whole] if reports else claim.stretches:
        conflict = homes.conflict(stretch)
        if conflict is not None:
            value, word, rival = conflict
            words = f"The extract says {listed([word])} of {listed([rival])}, and the claim of {listed([value])}."
            return finding("association", _UNDECIDED, words, value=value[:40], rival=rival[:40])
    return finding("association", _PASS, "Nothing is given to another number, date or name.")


class _Homes:
    """Where each word and each value of the extract stands."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._values = frozenset(value for stretch in stretches for value in stretch.values)
        self._places = _by_word(stretches)

    def conflict(self, stretch: Stretch) -> tuple[str, str, str] | None:
        """A value, a word that the claim has beside it, and the rival that alone has this word in the extract."""
        known = {value: kind for value, kind in stretch.values.items() if value in self._values}
        for word in sorted(stretch.words) if known else ():
            places = self._places.get(word, [])
            beside = {value for place in places for value in place.values}
            apart = {kind: value for value, kind in known.items() if value not in beside}
            for kind, value in apart.items():
                rivals = _rivals(places, kind, stretch)
                if rivals:
                    return value, word, min(rivals)
        return None


def _by_word(stretches: Sequence[Stretch]) -> Mapping[str, list[Stretch]]:
    found: dict[str, list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        for word in stretch.words:
            if len(found[word]) < _PLACES_MAX:
                found[word].append(stretch)
    return found


def _rivals(places: Iterable[Stretch], kind: str, stretch: Stretch) -> list[str]:
    """Values of the same kind in these places that the claim does not have; none if a place has none."""
    found: list[str] = []
    for place in places:
        rivals = [
            rival for rival, other in place.values.items() if are_rivals(kind, other) and rival not in stretch.values
        ]
        if not rivals:
            return []
        found += rivals
    return found


def check_sentences(claim: Side, extract: Side) -> CheckFinding:
    """Whether what the claim says in one sentence stands in different sentences of the extract, each of its own
    matter."""
    wanted = (claim.whole.words - _SMALL_STEMS) | {light(value.lower()) for value in claim.whole.values}
    found = {number: wanted & words for number, words in _by_sentence(extract.stretches).items()}
    best = max(found, key=lambda number: (len(found[number]), -number), default=0)
    near = [best, *_joined(extract.sentences, best)]
    here = frozenset[str]().union(*(found.get(number, ()) for number in near))
    elsewhere = frozenset[str]().union(*found.values()) - here
    if elsewhere and len(claim.text.split(". ")) == 1:
        words = f"The claim joins what stands in several sentences of the extract: {listed(sorted(elsewhere))}."
        return finding("sentences", _UNDECIDED, words)
    return finding("sentences", _PASS, "The claim joins no sentences that are apart.")


def _by_sentence(stretches: Iterable[Stretch]) -> Mapping[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for stretch in stretches:
        found[stretch.sentence].update(stretch.words, (light(value.lower()) for value in stretch.values))
    return found


def _joined(sentences: Sequence[Sequence[str]], at: int) -> list[int]:
    """The sentences beside this one that speak of the same: the one before, if this one has a word that stands for
    something said, and the next, if it begins with one."""
    words = [word.lower() for word in sentences[at]] if at < len(sentences) else []
    following = [word.lower() for word in sentences[at + 1][:1]] if at + 1 < len(sentences) else []
    refers_back = not _PRONOUNS.isdisjoint(words) or not _REFERRING.isdisjoint(words[:1])
    return [at - 1] * refers_back + [at + 1] * (not _REFERRING.isdisjoint(following))


def check_order(claim: Side, extract: Side) -> CheckFinding:
    """Whether names that the claim has on both sides of a verb change sides."""
    mine, theirs = _names_in_order(claim.text), _names_in_order(extract.text)
    passive = [re.search(r"\bby\b", side.text) is not None for side in (claim, extract)]
    # Where or when something was may be said first or last.
    loose = {name for name, is_loose in mine.items() if is_loose and theirs.get(name)}
    shared = [name for name in mine if name in theirs and name not in loose]
    if passive[0] == passive[1] and [name for name in theirs if name in mine and name not in loose] != shared:
        return finding("order", _UNDECIDED, f"The names {listed(shared)} stand in another order.")
    return finding("order", _PASS, "Names are in the same order, or there are no two of them.")


def _names_in_order(text: str) -> dict[str, bool]:
    """Each name once, where it first stands, and whether that is a place or time after a small word.

    Words of one name that follow each other are one.
    """
    found: list[tuple[list[str], bool]] = []
    before, is_joined = "", False
    for match in _NAME_OR_MARK.finditer(text):
        word = bare(match[0])
        is_name = word[:1].isupper() and match.start() > 0 and word.lower() not in _NO_NAMES
        if is_name and is_joined:
            found[-1][0].append(word)
        elif is_name:
            found.append(([word], before in _WHERE))
        before, is_joined = word.lower(), is_name
    names: dict[str, bool] = {}
    for words, is_loose in found:
        names.setdefault(" ".join(words), is_loose)
    return names


def check_rates(claim: Side, extract: Side) -> CheckFinding:
    """Whether the claim counts per week what the extract counts per month, and the like."""
    per = [light(word.lower()) for word in _RATE.findall(claim.text)]
    missing = [word for word in per if word not in extract.stems]
    rivals = sorted({light(word.lower()) for word in _RATE.findall(extract.text)}.difference(per))
    if missing and rivals:
        return finding("rates", _FAIL, f"The claim counts per '{missing[0]}', the extract per '{rivals[0]}'.")
    return finding("rates", _PASS, "Nothing is counted per something else.")


def check_codes(claim: Side, extract: Side) -> CheckFinding:
    """Whether every code of letters and digits ("19A", "B12") is in the extract as it is."""
    there = {code.casefold() for code in _CODE.findall(extract.text)}
    missing = [code for code in _CODE.findall(claim.text) if code.casefold() not in there]
    if missing and there:
        return finding("codes", _FAIL, f"The claim has {listed(missing)}, the extract {listed(sorted(there))}.")
    if missing:
        return finding("codes", _UNDECIDED, f"The extract does not have {listed(missing)}.")
    return finding("codes", _PASS, "Codes are the same, or there are none.")


def check_denials(claim: Side, extract: Side) -> CheckFinding:
    """Whether the claim affirms what stands in a denied part of the extract alone, or denies what is affirmed."""
    for one, other, words in (
        (claim, extract, "The extract denies something about {words}, and the claim denies nothing."),
        (extract, claim, "The claim denies something about {words}, and the extract denies nothing."),
    ):
        if _DENIAL.search(one.text) or not _DENIAL.search(other.text):
            continue
        found = _denied_words(other.text) & one.whole.words
        if found:
            return finding("denials", _UNDECIDED, words.format(words=listed(sorted(found))))
    return finding("denials", _PASS, "Nothing is affirmed that is denied elsewhere.")


def _denied_words(text: str) -> set[str]:
    """Words that stand after a denial in their piece, or before one that ends it, and in no piece without one."""
    denied, plain = set[str](), set[str]()
    for piece in _PIECES.split(text):
        denial = _DENIAL.search(piece)
        if denial is None:
            plain |= Side(piece).whole.words
        else:
            denied |= Side(piece[denial.end() :]).whole.words or Side(piece).whole.words
    return denied - plain


def check_new_words(claim: Side, extract: Side, policy: VerifiersPolicy) -> CheckFinding:
    """Whether too many words of the claim are not in the extract at all, whatever else might mean the same."""
    new = _new_words(claim, extract)
    share_bps = _share_bps(claim, new)
    if share_bps > policy.new_words_bps_max:
        words = f"Much of the claim is in other words than the extract: {listed(new)}."
        return finding("new words", _UNDECIDED, words, share_bps=share_bps)
    return finding("new words", _PASS, "Most words of the claim are in the extract.")


def new_words_bps(claim: str, extract: str) -> int:
    """The share of a claim's words that the extract does not have."""
    side = Side(claim)
    return _share_bps(side, _new_words(side, Side(extract)))


def _share_bps(claim: Side, new: Sequence[str]) -> int:
    return len(new) * 10_000 // max(1, len(claim.whole.words) + len(claim.whole.values))


def _new_words(claim: Side, extract: Side) -> list[str]:
    return sorted(word for word in claim.whole.words if not _NUMERAL.match(word) and not _is_known(word, extract))


def _is_known(word: str, extract: Side) -> bool:
    return word in extract.stems or root(word) in extract.roots
