"""Whether what a claim says of a number, a date, a name or one of two opposites, the extract says of the same one.

The words of the claim that belong to the mention vote. In the extract each stands beside the same mention, or beside
a rival: another number, date or name. Words that belong to both, as a verb before a list does, do not vote.

Guarantee: pure; only words near a mention are looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from choir.commons.verifiers.lexicon import light, stems_of, words_of
from choir.commons.verifiers.model import Outcome
from choir.commons.verifiers.naming import Span
from choir.commons.verifiers.pair import Pair
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.words import grammar

_ANCHORS_MAX = 10
_MENTIONS_MAX = 40
_WINDOW = 20
_BESIDE_BOTH, _IN_CLAUSE = 3, 2  # how closely words belong together, as `Reading.tie` says it
_NOUN, _VERB, _PARTNER = 3, 2, 4  # the weight of a word; twice that if the extract has it as it is
_NEAR_VERB = 3  # a number so near to a verb is its own
_GENERAL = stems_of(grammar.GENERAL)
_BEING = words_of("is was were are")
_REFERRING = words_of(
    "it they this that those these both former latter figure number total amount which he she them one"
)
_JOINERS = words_of("to and or - until through")


@dataclass(slots=True)
class Votes:
    """How much speaks for and against that a mention is said of the same thing."""

    pro: int = 0
    contra: int = 0
    words: list[str] = field(default_factory=list)  # what speaks against it
    verb: bool = False  # a verb does, as it is
    partner: bool = False  # another number or date does
    beside: bool = False  # the noun beside the mention does
    exact: int = 0  # so many words do, as they are
    telling: bool = False  # something else than the name that acts does
    sure: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.sure and not self.pro:
            return Outcome.FAIL
        return Outcome.UNDECIDED if self.contra > 1 and self.contra * 2 >= self.pro else Outcome.PASS


def bound(
    pair: Pair,
    mention: Span,
    others: Iterable[Span],
    same: Sequence[Span],
    rivals: Sequence[Span],
    reach: Span | None = None,
) -> Votes:
    """The votes on a mention of the claim; `others` are further ones of its kind."""
    votes = Votes()
    if not rivals or not same:
        return votes
    beyond = _noun_after(pair.claim, reach) if reach is not None else []
    kin = list(others)[:_MENTIONS_MAX]
    for at, tie in _anchors(pair, mention, kin):
        if at not in beyond:
            _count(pair, votes, mention, at, tie, same, rivals)
    compared = {span.start for span in (*same, *rivals)}
    for at, tie in _partners(pair, mention, kin):
        if not compared & set(pair.links[at]):
            _count_partner(pair, votes, at, _vote(pair, pair.links[at], tie, same, rivals))
    votes.sure = (
        (votes.verb or votes.beside) and votes.exact > 1 and not any(_refers(pair.extract, span) for span in same)
    )
    if not votes.telling:
        votes.contra = min(votes.contra, 1)  # who acts is looked at elsewhere
    return votes


def _count(
    pair: Pair, votes: Votes, mention: Span, at: int, tie: int, same: Sequence[Span], rivals: Sequence[Span]
) -> None:
    found = pair.closest(at)
    vote = _vote(pair, [match.at for match in found], tie, same, rivals)
    weight = 2 * _weight(pair, at, mention) if found and found[0].exact else 1
    if vote > 0:
        votes.pro += weight
    elif vote < 0:
        votes.contra += weight
        votes.words.append(pair.claim.tokens[at].raw)
        votes.beside = votes.beside or (weight >= 2 * _NOUN and tie == _BESIDE_BOTH)
        votes.telling = votes.telling or not (pair.is_name(at) and at in pair.subjects)
        votes.exact += found[0].exact and not pair.claim.tokens[at].capital
        votes.verb = votes.verb or (pair.claim.tags[at] is Tag.VERB and found[0].exact)


def _partners(pair: Pair, mention: Span, others: Sequence[Span]) -> list[tuple[int, int]]:
    """Numbers and dates of another kind in the clause of a mention: `100 metres in 9.58 seconds`."""
    claim = pair.claim
    near = range(max(0, mention.start - _WINDOW), min(len(claim.tokens), mention.end + _WINDOW))
    kin = {at for span in (mention, *others) for at in range(span.start, min(span.end, span.start + _WINDOW))}
    linked = [at for at in near if at in pair.links and at not in kin and not _is_attribute(claim, at)]
    nearest = [at for at in linked if all(_gap(at, mention) < _gap(at, other) for other in others)]
    ties = [(at, claim.tie(at, mention.start)) for at in nearest]
    return [(at, tie) for at, tie in ties if tie >= _IN_CLAUSE]


def _is_attribute(claim: Reading, at: int) -> bool:
    """`The 1992 referendum`: the number belongs to the noun."""
    noun = at + 1 < len(claim.tokens) and claim.is_content(at + 1) and claim.tags[at + 1] is not Tag.VERB
    return noun and len(claim.tokens[at].raw) == 4


def _count_partner(pair: Pair, votes: Votes, at: int, vote: int) -> None:
    if vote > 0:
        votes.pro += _VERB
    elif vote < 0:
        votes.contra += _PARTNER
        votes.telling = votes.partner = True
        votes.words.append(pair.claim.tokens[at].raw)


def _vote(pair: Pair, found: Sequence[int], tie: int, same: Sequence[Span], rivals: Sequence[Span]) -> int:
    """1: a word belongs to the same mention, -1: to a rival, 0: to both or none."""
    against = False
    for at in found:
        mine, other = _closest_tie(pair, at, same), _closest_tie(pair, at, rivals)
        if mine == other == _BESIDE_BOTH:
            apart = _nearest(pair, at, same) - _nearest(pair, at, rivals)
            mine, other = -apart, apart
        elif tie < _BESIDE_BOTH:
            mine, other = min(mine, _IN_CLAUSE), min(other, _IN_CLAUSE)
            if mine == other == _IN_CLAUSE and pair.extract.tags[at] is Tag.VERB:
                mine -= _nearest(pair, at, rivals) <= _NEAR_VERB < _nearest(pair, at, same)
        if mine > other:
            return 1
        against = against or other > mine
    return -1 if against else 0


def _closest_tie(pair: Pair, at: int, spans: Sequence[Span]) -> int:
    return max(_tie(pair, at, span) for span in _near(at, spans))


def _tie(pair: Pair, at: int, span: Span) -> int:
    """How closely a token of the extract belongs to a mention; a subject belongs to the clauses that take it over."""
    taken_over = pair.clauses_of[at] & pair.clauses_of[span.start]
    return pair.extract.tie(at, span.start) or (_IN_CLAUSE if taken_over else 0)


def _weight(pair: Pair, at: int, mention: Span) -> int:
    """The noun beside a mention and the subject count most, then the verb."""
    claim = pair.claim
    between = [token.word for token in claim.tokens[at + 1 : mention.start]][:4]
    after = [token.word for token in claim.tokens[mention.end : at]][:4]
    of = (between or after)[:1] == ["of"]
    states = between[:1] != [] and between[0] in _BEING and at in pair.subjects
    if at == mention.end or ((of or states) and len(between or after) < 4) or at in pair.subjects:
        return _NOUN
    return _VERB if claim.tags[at] is Tag.VERB else 1


def _anchors(pair: Pair, mention: Span, others: Sequence[Span]) -> list[tuple[int, int]]:
    """Words of the mention's clause that belong to it more than to another mention of its kind, and how closely."""
    claim = pair.claim
    inside = {at for span in (mention, *others) for at in range(span.start, min(span.end, span.start + _WINDOW))}
    members = claim.members[claim.clause_of[mention.start]]
    here = bisect_left(members, mention.start)
    near = [at for at in members[max(0, here - _WINDOW) : here + _WINDOW] if _tells(claim, at)]
    found = []
    for at in dict.fromkeys([*near, *_linked(claim, mention)]):
        tie = claim.tie(at, mention.start) or _IN_CLAUSE
        rival = max((claim.tie(at, other.start) for other in others), default=0)
        closer = tie == rival == _BESIDE_BOTH and all(_gap(at, mention) < _gap(at, other) for other in others)
        if at not in inside and (tie > rival or closer):
            found.append((at, tie))
    return sorted(found, key=lambda item: (_gap(item[0], mention), item[0]))[:_ANCHORS_MAX]


def _tells(claim: Reading, at: int) -> bool:
    """Whether a word can tell one mention from another."""
    general = light(claim.tokens[at].word) in _GENERAL and claim.tags[at] is not Tag.VERB
    return claim.is_content(at) and not general


def _linked(claim: Reading, mention: Span) -> list[int]:
    """Words of relative clauses that hang on the mention's, and of the clause that its own relative one hangs on."""
    clause, clauses = claim.clause_of[mention.start], claim.clauses
    near = range(max(0, clause - 3), min(len(clauses.kinds), clause + 4))
    linked = [other for other in near if clauses.kinds[other] == "rel" and clauses.parents[other] == clause]
    outer = clauses.parents[clause]
    if clauses.kinds[clause] == "rel" and outer is not None:
        linked.append(outer)
    return [at for other in linked for at in claim.members[other][:_WINDOW] if claim.is_content(at)]


def _noun_after(claim: Reading, reach: Span) -> list[int]:
    """`30 of the 120 patients`: the patients are of the 120."""
    found: list[int] = []
    for at in range(reach.end, min(reach.end + 6, len(claim.tokens))):
        if not claim.is_content(at) or claim.tags[at] is Tag.VERB:
            break
        found.append(at)
    return found


def _refers(extract: Reading, span: Span) -> bool:
    """Whether a word beside a mention stands for something said before: `puts the figure at 5 billion`."""
    if span.end >= len(extract.tokens) or extract.tokens[span.end].raw in ".;":
        return True  # "supplies five": of what, was said before
    members = extract.members[extract.clause_of[span.start]]
    here = bisect_left(members, span.start)
    return any(extract.tokens[at].word in _REFERRING for at in members[max(0, here - _WINDOW) : here + _WINDOW])


def clusters(reading: Reading, spans: Sequence[Span]) -> list[int]:
    """Which mentions stand together, as in `from 1993 to 2023`: the same number for those of one group."""
    found: list[int] = []
    for number, span in enumerate(spans):
        between = reading.tokens[spans[number - 1].end : span.start] if number else ()
        words = [token.word for token in between if token.raw != "-"] or ["-"]
        joined = number > 0 and len(between) <= 3 and (not between or words[0] in _JOINERS)
        found.append(found[-1] if joined else number)
    return found


def _gap(at: int, span: Span) -> int:
    return span.start - at if at < span.start else at - span.end + 1


def _near(at: int, spans: Sequence[Span]) -> Sequence[Span]:
    """The few spans around a place; they are in order."""
    here = bisect_left(spans, Span(at, at))
    return spans[max(0, here - 6) : here + 6]


def _nearest(pair: Pair, at: int, spans: Sequence[Span]) -> int:
    return min(min(pair.distance(at, span.start), pair.distance(at, span.end - 1)) for span in _near(at, spans))
