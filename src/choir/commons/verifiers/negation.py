"""Whether a claim denies what its extract says, or the other way round: not, never, no, without, fails to, un- and in-.

Each verb and predicate is laid beside its counterpart in the clause that fits. Both must be denied, or neither.
Where the extract denies something else in the same sentence, or a verb such as `drop` denies in its own way, it is
undecided.
"""

from __future__ import annotations

from choir.commons.verifiers.alignment import Alignment
from choir.commons.verifiers.lexicon import is_negative, light, stems_of, words_of
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.commons.verifiers.pair import Match, Pair, finding, listed
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import NEGATIVE_VERBS, NEGATORS, Tag

_WINDOW = 60  # tokens around a word that are looked at
_WEAK = stems_of("be have do make take get give go come use become see include")
_ENDING = stems_of("break lack drop withdraw discontinue abandon scrap abolish lose lift cancel revoke")


def check(pair: Pair, alignment: Alignment) -> CheckFinding:
    """Whether what the claim denies is denied, and nothing else."""
    found = {at: _compare(pair, alignment, at) for at in _predicates(pair)}
    denied = [pair.claim.tokens[at].raw for at, outcome in found.items() if outcome is Outcome.FAIL]
    unclear = [pair.claim.tokens[at].raw for at, outcome in found.items() if outcome is Outcome.UNDECIDED]
    data = {"opposed": denied[:20], "unclear": unclear[:20]}
    if denied:
        return finding("negation", Outcome.FAIL, f"One denies {listed(denied)}, the other does not.", **data)
    if unclear:
        return finding("negation", Outcome.UNDECIDED, f"Whether {listed(unclear)} is denied cannot be told.", **data)
    if _denies(pair.claim) and not _denies_somehow(pair.extract):
        return finding("negation", Outcome.UNDECIDED, "The claim denies something, the extract nothing.")
    if not pair.claim.denied and not pair.extract.denied:
        return finding("negation", Outcome.PASS, "Neither denies anything.")
    return finding("negation", Outcome.PASS, "What the claim denies and affirms is so in the extract.")


def _denies(reading: Reading) -> bool:
    """Whether a text denies anything in plain words."""
    return any(token.word in _PLAIN or token.word.endswith("n't") for token in reading.text.words)


def _denies_somehow(reading: Reading) -> bool:
    """Whether a text has any word that denies, be it only in its way."""
    words = {token.word for token in reading.text.words}
    stems = {light(word) for word in words}
    indirect = stems & (NEGATIVE_VERBS | _ENDING | _REFUSING) or any(is_negative(word) for word in words)
    return _denies(reading) or bool(words & _DENYING or indirect)


_PLAIN = words_of("not never no none neither nobody nothing cannot no_longer")
_DENYING = NEGATORS | words_of("few little rarely seldom minority unless except only but against")
_REFUSING = stems_of(
    "refuse reject deny prevent stop end cease avoid ban forbid prohibit exclude prohibit dispute oppose"
)


def _predicates(pair: Pair) -> list[int]:
    """Words of the claim that can be denied: verbs, what is predicated, and what either text denies."""
    claim = pair.claim
    found = {at for frame in claim.frames for at in frame.chain if claim.tags[at] is Tag.VERB}
    found |= {at for frame in claim.frames if claim.tags[frame.head] is Tag.BE for at in claim.predicated(frame)}
    found |= claim.denied
    found |= {at for at in claim.content if any(match.at in pair.extract.denied for match in pair.matches(at))}
    return sorted(at for at in found if claim.tags[at] is not Tag.ADV)


def _compare(pair: Pair, alignment: Alignment, at: int) -> Outcome:
    """Whether a word is denied in both, or in neither."""
    mine = at in pair.claim.denied
    weak = light(pair.claim.tokens[at].word) in _WEAK
    every = alignment.best(at)
    rated = [item for item in every if item[0].sign > 0 or item[0].prefixed] or every
    rated = [item for item in rated if item[0].exact or item[0].prefixed] or rated
    if not rated:
        lost = mine and not weak and not _denies_in_clause(pair, alignment, at)
        return Outcome.UNDECIDED if lost else Outcome.PASS
    other, most = rated[0][0].at, rated[0][1]
    if any(_agrees(pair, mine, match) for match, score in rated if score == most):
        dropped = not mine and _drops(pair.extract, other) and not _drops(pair.claim, at)
        return Outcome.UNDECIDED if dropped else Outcome.PASS
    undone = _drops(pair.claim, at) or _drops(pair.extract, other)
    if _is_double(pair, alignment, at) or _is_moved(pair, at, other) or (mine and undone):
        return Outcome.PASS
    if weak:
        return Outcome.UNDECIDED if mine else Outcome.PASS
    near = undone or any(_agrees(pair, mine, match) for match, score in rated if score >= most - 1)
    elsewhere = (mine or rated[0][0].prefixed) and _denies_in_sentence(pair.extract, other)
    sure = any(match.exact or match.prefixed for match, score in rated if score == most)
    return Outcome.FAIL if sure and not near and not elsewhere else Outcome.UNDECIDED


def _agrees(pair: Pair, mine: bool, match: Match) -> bool:
    theirs = match.at in pair.extract.denied
    return theirs == mine if match.sign > 0 else theirs != mine if match.prefixed else True


def _denies_in_sentence(reading: Reading, at: int) -> bool:
    """Whether the sentence denies anything at all, so that the claim's denial may be its."""
    near = reading.tokens[max(0, at - _WINDOW) : at + _WINDOW]
    same = [token for token in near if token.sentence == reading.tokens[at].sentence]
    return any(token.word in NEGATORS or light(token.word) in NEGATIVE_VERBS for token in same)


def _denies_in_clause(pair: Pair, alignment: Alignment, at: int) -> bool:
    """Whether the clause that fits denies something, so that the same may be said in other words."""
    clauses = set(alignment.clauses(pair.claim.clause_of[at]))
    return any(pair.extract.clause_of[other] in clauses for other in pair.extract.denied)


def _is_moved(pair: Pair, at: int, other: int) -> bool:
    """`Did not report a loss` and `reported no loss`: each clause denies once, and denies what the other has too."""
    claim, extract = pair.claim, pair.extract
    members = claim.members[claim.clause_of[at]][:_WINDOW]
    theirs = {here for here in extract.members[extract.clause_of[other]][:_WINDOW] if here in extract.denied}
    once = [here for here in members if here in claim.denied] == [at] and len(theirs) == 1
    return once and any(
        match.at in theirs for here in members if claim.is_content(here) for match in pair.closest(here)
    )


def _drops(reading: Reading, at: int) -> bool:
    """`Drops support`: a verb that ends what it is said of denies it in its way."""
    frames = reading.frames_at(reading.clause_of[at])
    return any(at in frame.patients and not frame.negated and _ends(reading, frame.head) for frame in frames)


def _ends(reading: Reading, head: int) -> bool:
    return light(reading.tokens[head].word) in _ENDING


def _is_double(pair: Pair, alignment: Alignment, at: int) -> bool:
    """`Not similar` and `different`: in the same clause an opposite word makes up for the denial."""
    claim = pair.claim
    near = [other for other in claim.members[claim.clause_of[at]][:_WINDOW] if other != at and claim.is_content(other)]
    return any(rated and rated[0][0].sign < 0 for rated in (alignment.best(other) for other in near))
