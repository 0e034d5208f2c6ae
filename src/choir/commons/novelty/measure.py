"""Measures an article against earlier work: two metrics, the weaker one counts, with reasons. Pure.

The caller brings the article's passages with their vectors (`embedded`) and, for each passage, the nearest passages of
earlier work; distances are computed here, exactly. Which passages are near-copies of whose work is part of the answer:
those pay the work that they copy, whichever metric finds it. Words of copied, common, noisy and unchanged passages
earn nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from choir.commons.novelty import lexical
from choir.commons.novelty.calibration import Calibration, calibrated, calibration_of
from choir.commons.novelty.lexical import Finding
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.novelty.rules import PPM, capped, lower_quartile, reward_of, score_of
from choir.commons.passages.cutting import cut
from choir.commons.passages.embedding import Embedder, Vector, distance_ppm
from choir.commons.passages.model import Passage

_NAMED_MAX = 3  # works that a reason names


class WorkKind(StrEnum):
    """What an earlier passage belongs to."""

    ARTICLE = "article"  # of another author
    OWN = "own article"
    SOURCE = "source"
    BACKGROUND = "background"  # what we ship: general knowledge


@dataclass(frozen=True, slots=True)
class Work:
    """An earlier work: where it stands in the order of submission, and whose it is."""

    id: str
    title: str
    kind: WorkKind
    order: int = 0
    owner: str | None = None
    cluster: str | None = None  # people who are not independent of each other share it; None: the owner alone
    copies: frozenset[str] = frozenset()  # ids of works that it is known to copy from
    standing: bool = True  # False: it fell, and is paid nothing any more
    taken: bool = False  # it was taken down: it counts, but nobody is told its title or its words


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A passage of an earlier work."""

    text: str
    vector: Vector
    work: Work


@dataclass(frozen=True, slots=True)
class EmbeddedPassage:
    """A passage with its vector, and the vectors of its halves."""

    passage: Passage
    vector: Vector
    halves: tuple[Vector, Vector]


@dataclass(frozen=True, slots=True)
class PassageMeasure:
    """What was found for one passage: both distances, the nearest work, and whether its words count."""

    passage: Passage
    d: int
    second: Finding
    nearest: Work | None
    copied: Work | None  # the earlier article that it is attributed to
    common: bool
    counts: bool
    beside: str = ""  # the nearest passage itself


@dataclass(frozen=True, slots=True)
class CopiedWork:
    """An earlier article that passages are attributed to, and how many words they have."""

    work: Work
    words: int


@dataclass(frozen=True, slots=True)
class Measured:
    """An article's novelty. `score` is the one that counts."""

    embedder: str
    passages: tuple[PassageMeasure, ...]
    d: int
    d_second: int
    score_first: int
    score_second: int
    score: int
    words: int  # that count
    reward: int  # units of CHIP, before the month's limit and the epoch's budget
    copies: tuple[CopiedWork, ...]
    reasons: tuple[str, ...]


def embedded(text: str, embedder: Embedder, policy: NoveltyPolicy) -> list[EmbeddedPassage]:
    """A text's passages with all vectors that measuring needs."""
    passages = cut(text, policy.passage_words)
    texts = [part for one in passages for part in (one.text, *lexical.halves(one.text))]
    vectors = embedder.embed(texts)
    return [
        EmbeddedPassage(one, vectors[at], (vectors[at + 1], vectors[at + 2]))
        for one, at in zip(passages, range(0, len(vectors), 3), strict=True)
    ]


def unchanged(
    passages: Sequence[EmbeddedPassage], earlier: Sequence[Vector], embedder: str, policy: NoveltyPolicy
) -> frozenset[int]:
    """Passages that an earlier version of the same article has, or nearly so: a revision earns nothing for them."""
    calibration = calibration_of(embedder)
    return frozenset(
        one.passage.n
        for one in passages
        if any(calibrated(distance_ppm(one.vector, other), calibration) < policy.copy_ppm for other in earlier)
    )


def measure(
    passages: Sequence[EmbeddedPassage],
    neighbours: Sequence[Sequence[Neighbour]],
    *,
    embedder: str,
    corpus_passages: int,
    policy: NoveltyPolicy,
    same: frozenset[int] = frozenset(),
    versions: Sequence[Neighbour] = (),
) -> Measured:
    """An article's novelty. `neighbours`: for each passage the nearest ones.

    Of a revision, `same` are the numbers of passages that are not new in it, which earn nothing; `versions` are the
    passages of earlier versions, so that what was the author's first is nobody else's.
    """
    assert len(passages) == len(neighbours)
    calibration = calibration_of(embedder)
    unread = lexical.unread_language(" ".join(one.passage.text for one in passages))
    everything = [
        _passage(one, near, versions, calibration, unread, policy)
        for one, near in zip(passages, neighbours, strict=True)
    ]
    found = [one for one in everything if one.passage.n not in same]
    words = [one.passage.words for one in found]
    whole = _whole([one for one in passages if one.passage.n not in same], calibration, unread)
    d = lower_quartile([one.d for one in found], words)
    d_second = min(lower_quartile([one.second.d for one in found], words), whole.d if found else 0)
    first, second = (capped(score_of(one, policy), corpus_passages, policy) for one in (d, d_second))
    if unread is not None:
        second = min(second, policy.unread_score_max)
    score = min(first, second)
    counted = sum(one.passage.words for one in found if one.counts)
    return Measured(
        embedder=embedder,
        passages=tuple(found),
        d=d,
        d_second=d_second,
        score_first=first,
        score_second=second,
        score=score,
        words=counted,
        reward=reward_of(score, counted, policy),
        copies=_copies(everything),
        reasons=tuple(_reasons(found, whole, first, second, unread, corpus_passages, policy)),
    )


def _passage(
    one: EmbeddedPassage,
    neighbours: Sequence[Neighbour],
    versions: Sequence[Neighbour],
    calibration: Calibration,
    unread: str | None,
    policy: NoveltyPolicy,
) -> PassageMeasure:
    ranked = sorted(
        ((calibrated(distance_ppm(one.vector, near.vector), calibration), near) for near in neighbours),
        key=lambda item: (item[0], item[1].work.order, item[1].work.id),
    )
    d, nearest = (ranked[0][0], ranked[0][1].work) if ranked else (PPM, None)
    noise = lexical.noise(one.passage.text, unread)
    alike = {} if noise.noise else _alike(one.passage.text, [near for _, near in ranked])
    patchwork = lexical.patchwork(one.passage.text, [near.text for _, near in ranked])
    second = min([noise, *alike.values(), patchwork], key=lambda finding: finding.d)
    close = {near.work for distance, near in ranked if distance < policy.copy_ppm}
    close |= {work for work, finding in alike.items() if finding.d < policy.copy_ppm}
    before = {
        near.work
        for near in versions
        if close and calibrated(distance_ppm(one.vector, near.vector), calibration) < policy.copy_ppm
    }
    copied, common = _origin(close | before, policy)
    counts = not (close or noise.noise)
    beside = ranked[0][1].text if ranked else ""
    return PassageMeasure(one.passage, d, second, nearest, copied, common, counts, beside)


def _alike(text: str, ranked: Sequence[Neighbour]) -> dict[Work, Finding]:
    """For each work nearby whether the passage is a paraphrase of it."""
    texts: dict[Work, list[str]] = {}
    for near in ranked:
        texts.setdefault(near.work, []).append(near.text)
    return {work: lexical.paraphrase(text, _named(work), its) for work, its in texts.items()}


def _origin(close: Iterable[Work], policy: NoveltyPolicy) -> tuple[Work | None, bool]:
    """The earlier article that a passage is a near-copy of; and whether it is common instead.

    The first work decides: what comes later may be a copy of it, made to hide whose it is.
    """
    ordered = sorted(close, key=lambda work: (work.order, work.id))
    if not ordered:
        return None, False
    first = ordered[0]
    if first.kind in (WorkKind.SOURCE, WorkKind.BACKGROUND):
        return None, True
    if first.kind == WorkKind.OWN or not first.standing:
        return None, False
    others = [work for work in ordered if work.kind == WorkKind.ARTICLE and first.id not in work.copies]
    common = len({work.cluster or work.owner or work.id for work in others}) >= policy.common_authors
    return (None, True) if common else (first, False)


def _whole(passages: Sequence[EmbeddedPassage], calibration: Calibration, unread: str | None) -> Finding:
    """What the second metric says of the article as a whole."""
    text = "\n\n".join(one.passage.text for one in passages)
    words = [one.passage.words for one in passages]
    findings = [
        lexical.thread(text, [distance_ppm(*one.halves) for one in passages], words, calibration.thread, unread),
        lexical.repetition(text),
        lexical.brevity(sum(words)),
    ]
    return min(findings, key=lambda finding: finding.d)


def _copies(found: Sequence[PassageMeasure]) -> tuple[CopiedWork, ...]:
    words: dict[Work, int] = {}
    for one in found:
        if one.copied is not None:
            words[one.copied] = words.get(one.copied, 0) + one.passage.words
    return tuple(CopiedWork(work, count) for work, count in words.items())


def _reasons(
    found: Sequence[PassageMeasure],
    whole: Finding,
    first: int,
    second: int,
    unread: str | None,
    corpus_passages: int,
    policy: NoveltyPolicy,
) -> list[str]:
    """Sentences that say why the score is what it is, the deciding one first."""
    if not found:
        return ["Nothing in it differs from earlier versions."]
    said = [_distance_reason(found, policy)]
    weak = _second_reason(found, whole)
    if weak and second <= first:
        said.insert(0, weak)
    said += [
        f"{one.words} words are nearly those of {_named(one.work)} and are attributed to it." for one in _copies(found)
    ]
    common = sum(one.passage.words for one in found if one.common)
    if common:
        said.append(f"{common} words are common: sources, general knowledge or several authors have them nearly so.")
    if unread is not None:
        said.append(f"It is in {unread}, which the second metric does not read: at most {policy.unread_score_max}.")
    if corpus_passages < policy.young_passages:
        said.append(f"There is little to compare with yet: at most {policy.young_score_max} points.")
    return said


def _distance_reason(found: Sequence[PassageMeasure], policy: NoveltyPolicy) -> str:
    nearest: Mapping[str, int] = _nearest(found)
    if not nearest:
        return "Nothing like it was there before."
    names = ", ".join(list(nearest)[:_NAMED_MAX])
    d = lower_quartile([one.d for one in found], [one.passage.words for one in found])
    if d < policy.copy_ppm:
        return f"It is nearly the same as {names}."
    if d < policy.known_ppm:
        return f"It says much of what {names} says."
    if d < policy.new_ppm:
        return f"It is on a known subject; nearest: {names}."
    return f"It is far from all earlier work; nearest: {names}."


def _nearest(found: Sequence[PassageMeasure]) -> dict[str, int]:
    """The nearest works with their least distances, the nearest first."""
    least: dict[str, int] = {}
    for one in sorted(found, key=lambda item: item.d):
        if one.nearest is not None:
            least.setdefault(_named(one.nearest), one.d)
    return least


def _second_reason(found: Sequence[PassageMeasure], whole: Finding) -> str | None:
    """What the second metric has to say, if it says anything."""
    weakest = min([*(one.second for one in found), whole], key=lambda finding: finding.d)
    if not weakest.why or weakest.d > PPM // 2:
        return None
    return weakest.why[0].upper() + weakest.why[1:] + "."


def _named(work: Work) -> str:
    if work.kind == WorkKind.BACKGROUND:
        return f"general knowledge of {work.title}"
    if work.kind == WorkKind.OWN:
        return f"your own article “{work.title}”"
    return f"“{work.title}”" if work.kind == WorkKind.ARTICLE else f"the {work.kind} “{work.title}”"
