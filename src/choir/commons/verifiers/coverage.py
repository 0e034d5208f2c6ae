"""Whether the extract speaks of what the claim speaks of: the share of the claim's content words that it has.

Words are found by stem, by synonym, and by what is a kind of them. General words ("result", "make") are no loss if
they are missing; nouns and qualities are twice the loss that verbs are, which have more synonyms than any table.
From the policy's upper line on the claim passes: by default nothing that matters may be missing, as one other word is
enough for a forgery. Below the lower line it fails if two nouns are missing.
"""

from __future__ import annotations

from collections import Counter

from choir.commons.verifiers.lexicon import light, stems_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.pair import Pair, finding, listed
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.words import grammar

_GENERAL = stems_of(grammar.GENERAL)
_BPS = 10_000


def words_of_claim(pair: Pair, taken: frozenset[int]) -> list[int]:
    """The claim's content words, without numbers, dates and units."""
    return [at for at in pair.claim.content if at not in taken and pair.claim.tags[at] is not Tag.NUM]


def check(pair: Pair, taken: frozenset[int]) -> CheckFinding:
    """The share of the claim's words that the extract has."""
    words = words_of_claim(pair, taken)
    found = [at for at in words if pair.closest(at)]
    missing = [at for at in words if not pair.closest(at) and not _is_general(pair, at)]
    if not found and not missing:
        return finding("coverage", Outcome.UNDECIDED, "The claim has no words that say something by themselves.")
    nouns = [at for at in missing if pair.claim.tags[at] is not Tag.VERB]
    share = len(found) * _BPS // (len(found) + len(missing) + len(nouns))
    raw = list(dict.fromkeys(pair.claim.tokens[at].raw for at in missing))
    data = {"share_bps": share, "missing": raw[:20]}
    if share < pair.policy.coverage_fail_bps and (len(nouns) > 1 or not found):
        return finding("coverage", Outcome.FAIL, f"The extract does not speak of {listed(raw)}.", **data)
    if share < pair.policy.coverage_pass_bps:
        return finding("coverage", Outcome.UNDECIDED, f"The extract may not speak of {listed(raw)}.", **data)
    if _is_scattered(pair, found):
        return finding("coverage", Outcome.UNDECIDED, "The claim's words are far apart in the extract.", **data)
    return finding("coverage", Outcome.PASS, "The extract speaks of what the claim speaks of.", **data)


def subject(pair: Pair) -> CheckFinding:
    """Whether the extract speaks of what the claim is about, whatever it says of it."""
    words = [at for at in words_of_claim(pair, frozenset()) if pair.claim.tags[at] is not Tag.VERB]
    found = [at for at in words if pair.matches(at)]
    missing = [pair.claim.tokens[at].raw for at in words if not pair.matches(at) and not _is_general(pair, at)]
    share = len(found) * _BPS // max(1, len(found) + len(missing))
    data = {"share_bps": share, "missing": missing[:20]}
    if share < pair.policy.coverage_fail_bps:
        return finding("coverage", Outcome.FAIL, f"The extract does not speak of {listed(missing)}.", **data)
    return finding("coverage", Outcome.PASS, "The extract speaks of the claim's subject.", **data)


def _is_general(pair: Pair, at: int) -> bool:
    token = pair.claim.tokens[at]
    return not token.capital and (light(token.word) in _GENERAL or pair.claim.tags[at] is Tag.ADV)


def _is_scattered(pair: Pair, found: list[int]) -> bool:
    """No two sentences in a row have most of the words."""
    counts: Counter[int] = Counter()
    for at in found:
        sentences = {pair.extract.tokens[match.at].sentence for match in pair.closest(at)}
        counts.update({near for sentence in sentences for near in (sentence, sentence + 1)})
    return max(counts.values(), default=0) * 10 < len(found) * 6
