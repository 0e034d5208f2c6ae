"""Novelty: measured before publishing, fixed with the submission, granted at promotion.

Guarantees: a submission is measured against every submission before it, in one order; of two at once the second sees
the first. A score is fixed once. A reward is granted once, counts for its month once, and a month never emits more than
its budget: nothing of a grant is released before the month is over, and then all are scaled alike. What has not
vested when an article falls goes back. Locks: the owner, the head of the submissions or the month, the ledger's head
last.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from choir.commons.articles import store as article_store
from choir.commons.articles.model import ParsedArticle, article_id, parse_article_id
from choir.commons.articles.rendering import own_words
from choir.commons.atoms import store as atom_store
from choir.commons.citations.rules import split
from choir.commons.novelty import store
from choir.commons.novelty.background import Background
from choir.commons.novelty.calibration import calibrated, calibration_name, calibration_of
from choir.commons.novelty.measure import EmbeddedPassage, Measured, Neighbour, Work, WorkKind, embedded, measure
from choir.commons.novelty.model import CorpusBusy, NearestWork, NoveltyQuote, NoveltyReward, NoveltyScore, UnknownScore
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.novelty.versions import same_as_before
from choir.commons.novelty.works import TAKEN, taken_names, works_of
from choir.commons.passages import store as passage_store
from choir.commons.passages.embedding import Vector, distance_ppm
from choir.commons.passages.index import PassageIndex
from choir.commons.passages.store import Head, StoredPassage
from choir.commons.publication.evidence import Transact
from choir.commons.publication.model import Publication, PublicationState, publication_id
from choir.commons.stakes.service import SOURCE
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock
from choir.foundation.money import Asset
from choir.identity.clusters.service import Clusters
from choir.ledger.accounts import Accounts
from choir.storage.database import Tx
from choir.treasury import months
from choir.treasury.vesting.model import GrantKind
from choir.treasury.vesting.service import Vesting

_AT_ONCE = 100
_BPS = 10_000
_NEAREST_MAX = 10
_EXCERPT_CHARS = 240  # of a nearest passage
_MONTH = "its month is not over"  # why nothing is released: the month's scale is not known yet
_EMISSION = f"{SOURCE}/issuance/CHIP"


@dataclass(frozen=True, slots=True)
class NoveltyLook:
    """A draft beside the earlier work of a moment."""

    article: UUID
    owner: str
    passages: tuple[EmbeddedPassage, ...]
    neighbours: tuple[tuple[Neighbour, ...], ...]  # of each passage
    same: frozenset[int]  # passages that an earlier version of the same article has
    versions: tuple[Neighbour, ...]  # all passages of those
    measured: Measured
    head: Head  # the last submission that was surely seen
    sources: tuple[int, ...]  # private ones that publishing would open


class Novelty:
    """Use cases of novelty; looks take no transaction, all else happens inside the caller's."""

    def __init__(
        self,
        index: PassageIndex,
        clusters: Clusters,
        accounts: Accounts,
        vesting: Vesting,
        clock: Clock,
        policy: NoveltyPolicy,
    ) -> None:
        self.index = index
        self._clusters = clusters
        self._accounts = accounts
        self._vesting = vesting
        self._clock = clock
        self._policy = policy
        self._background = Background(index.embedder, policy.passage_words)

    # Before anything is staked

    def look(
        self, transact: Transact, article: UUID, owner: str, read: ParsedArticle, private: Collection[ObjectHash]
    ) -> NoveltyLook:
        """Put a draft beside all earlier work, and its own private sources; holds no transaction while it thinks."""
        embedder, policy = self.index.embedder, self._policy
        passages = tuple(embedded(own_words(read), embedder, policy))
        vectors = [item.vector for item in passages]
        with transact() as tx:
            sources = tuple(atom.id for atom in atom_store.find(tx, set(private)).values())
            if not self.index.is_ready(tx, sources):
                raise CorpusBusy(model=embedder.name)
            head = passage_store.head(tx)
            stored = self.index.nearest(tx, vectors, article=article, sources=sources)
            earlier = passage_store.of_article(tx, article)
            others = self._neighbours(tx, owner, stored)
        known = self._background.nearest(vectors, policy.neighbours)
        near = tuple((*some, *more) for some, more in zip(others, known, strict=True))
        same = same_as_before(passages, [(item.text, item.vector) for item in earlier], embedder.name, policy)
        own = Work(article_id(article), read.title, WorkKind.OWN, owner=owner)
        versions = tuple(Neighbour(item.text, item.vector, replace(own, order=item.position or 0)) for item in earlier)
        found = self._measured(passages, near, same, versions, head)
        return NoveltyLook(article, owner, passages, near, same, versions, found, head, sources)

    def quote(self, look: NoveltyLook) -> NoveltyQuote:
        """What a draft would score and earn, as far as it was seen."""
        found = look.measured
        return NoveltyQuote(
            score=found.score,
            distance_ppm=found.d,
            second_score=found.score_second,
            words=found.words,
            corpus=look.head.passages,
            reward=found.reward,
            refused=self._refuses(look),
            reasons=found.reasons,
            nearest=_nearest(found),
            model=found.embedder,
            calibration=calibration_name(found.embedder),
        )

    def _refuses(self, look: NoveltyLook) -> bool:
        """What is not new is not published; a revision may change little, but not into somebody else's work."""
        found, policy = look.measured, self._policy
        if found.passages or not look.same:
            return found.score < policy.score_min
        words = sum(item.passage.words for item in look.passages)
        copied = sum(item.words for item in found.copies)
        return copied * _BPS > words * policy.copied_words_bps

    def _measured(
        self,
        passages: Sequence[EmbeddedPassage],
        neighbours: Sequence[Sequence[Neighbour]],
        same: frozenset[int],
        versions: Sequence[Neighbour],
        head: Head,
    ) -> Measured:
        return measure(
            passages,
            neighbours,
            embedder=self.index.embedder.name,
            corpus_passages=head.passages,
            policy=self._policy,
            same=same,
            versions=versions,
        )

    def _neighbours(
        self, tx: Tx, owner: str, stored: Sequence[Sequence[StoredPassage]]
    ) -> tuple[tuple[Neighbour, ...], ...]:
        """What was found, with the works that it belongs to."""
        works = works_of(tx, self._clusters, owner, [item for some in stored for item in some])
        return tuple(tuple(works.neighbour(item) for item in some) for some in stored)

    # With the submission

    def fix(self, tx: Tx, publication: Publication, look: NoveltyLook, sources: Collection[int]) -> NoveltyQuote:
        """Measure against whatever came in between too, and make the submission a part of earlier work."""
        head = passage_store.head(tx, lock=True)
        if head.position > look.head.position:
            look = self._with_newer(tx, look, head)
        quote = self.quote(look)
        if quote.refused:
            return quote
        rows = [(item.passage.words, item.passage.text, item.vector) for item in look.passages]
        position = self.index.submit(tx, publication.id, look.article, rows, sources)
        score = NoveltyScore(
            publication=publication.id,
            position=position,
            score=quote.score,
            distance_ppm=quote.distance_ppm,
            second_score=quote.second_score,
            words=quote.words,
            corpus=quote.corpus,
            model=quote.model,
            calibration=quote.calibration,
            quoted=quote.reward,
            report=_report(quote),
        )
        store.insert(tx, score, _copied_words(look.measured))
        return quote

    def _with_newer(self, tx: Tx, look: NoveltyLook, head: Head) -> NoveltyLook:
        """Add what was submitted since. Only if some of it is near, all is measured again: others wait meanwhile."""
        vectors = [item.vector for item in look.passages]
        stored = self.index.nearest(tx, vectors, article=look.article, sources=(), after=look.head.position)
        if not any(map(self._is_near, vectors, stored)):
            return replace(look, head=head)
        found = self._neighbours(tx, look.owner, stored)
        near = tuple((*some, *more) for some, more in zip(look.neighbours, found, strict=True))
        measured = self._measured(look.passages, near, look.same, look.versions, head)
        return replace(look, neighbours=near, measured=measured, head=head)

    def _is_near(self, vector: Vector, stored: Sequence[StoredPassage]) -> bool:
        calibration = calibration_of(self.index.embedder.name)
        near = (calibrated(distance_ppm(vector, item.vector), calibration) for item in stored)
        return any(distance < self._policy.new_ppm for distance in near)

    def withdraw(self, tx: Tx, publication: UUID) -> None:
        """The review refused a submission: it is no earlier work."""
        self.index.withdraw(tx, publication)

    def score(self, tx: Tx, publication: Publication) -> tuple[NoveltyScore, NoveltyReward | None]:
        """What a submission scored, and what was granted for it."""
        found = store.get(tx, publication.id)
        if found is None:
            raise UnknownScore(article=article_id(publication.article), version=publication.version)
        return replace(found, report=_shown(tx, found.report)), store.reward(tx, publication.id)

    def rewarded_in_month(self, tx: Tx, owner: str) -> int:
        """How many of an owner's articles are rewarded this month so far; the policy has the limit."""
        return store.rewarded_in(tx, owner, months.month_of(self._clock.now_us()))

    # At promotion

    def grant(self, tx: Tx, publication: Publication) -> NoveltyReward | None:
        """Grant what a promoted submission earned; it vests, and nothing is released before the month is over."""
        score = store.get(tx, publication.id)
        if publication.promoted_us is None or score is None or store.reward(tx, publication.id) is not None:
            return None
        article_store.lock_owner(tx, publication.owner)
        month = self._open_month(tx, publication.promoted_us)
        nominal, why = self._nominal(tx, publication, score, month)
        reward = NoveltyReward(publication.id, publication.owner, month, nominal, nominal, why, publication.promoted_us)
        if not store.add_reward(tx, reward):
            return None
        store.add_to_month(tx, month, nominal)
        if publication.state is PublicationState.PROMOTED:
            self._grant(tx, publication, reward)
        return reward

    def _open_month(self, tx: Tx, promoted_us: int) -> str:
        """The month that a reward counts for, locked; the next one if that is closed already."""
        month = months.month_of(promoted_us)
        while store.lock_month(tx, month).closing:
            month = months.before(month, -1)
        return month

    def _nominal(self, tx: Tx, publication: Publication, score: NoveltyScore, month: str) -> tuple[int, str]:
        if not score.quoted:
            return 0, f"a score of {score.score} earns nothing"
        if store.rewarded_in(tx, publication.owner, month) >= self._policy.rewarded_per_month:
            return 0, f"{self._policy.rewarded_per_month} articles were rewarded in this month already"
        return score.quoted, f"a score of {score.score} for {score.words} words"

    def _grant(self, tx: Tx, publication: Publication, reward: NoveltyReward) -> None:
        """To the author; the share of what was nearly copied to the authors of the originals."""
        if not reward.nominal:
            return
        subject = publication_id(publication.id)
        self._vesting.freeze(tx, subject, _MONTH)
        self._accounts.open(tx, [_EMISSION], reason="novelty rewards", source=SOURCE)
        for owner, amount in self._shares(tx, publication, reward.nominal).items():
            self._vesting.grant(
                tx,
                owner=owner,
                asset=Asset.CHIP,
                amount=amount,
                source_account=_EMISSION,
                kind=GrantKind.NOVELTY,
                subject=subject,
                starts_us=reward.promoted_us,
                days=self._policy.vesting_days,
                key=f"novelty:{subject}:{owner}",
                refs=(article_id(publication.article), publication_id(publication.id)),
                reason="a novelty reward",
            )

    def _shares(self, tx: Tx, publication: Publication, amount: int) -> dict[str, int]:
        words, copied = store.copied_words(tx, publication.id)
        weights = {publication.owner: max(0, words - sum(copied.values())) if copied else 1}
        for original, n in copied.items():
            authors = article_store.authors(tx, original)
            for author in authors:
                weights[author] = weights.get(author, 0) + n // len(authors)
        return split(amount, weights)

    # Afterwards

    def speed(self, tx: Tx, article: UUID, independent: int) -> None:
        """Independent reuse: what an article earned vests in half the time."""
        if independent < self._policy.reuse_citations:
            return
        for reward in store.rewards_of_article(tx, article):
            for item in self._vesting.by_subject(tx, publication_id(reward.publication)):
                if item.days > self._policy.vesting_days_reused:
                    self._vesting.shorten(tx, item.id, self._policy.vesting_days_reused)

    def take_back(self, tx: Tx, publication: Publication, reason: str) -> None:
        """A version fell: what has not vested of its reward goes back where it came from.

        Before its month is over, its reward does not count for the month either.
        """
        reward = store.reward(tx, publication.id)
        if reward is not None and reward.nominal and not reward.settled:
            state = store.lock_month(tx, reward.month)
            if not state.closing:
                store.add_to_month(tx, reward.month, -reward.nominal)
                store.void(tx, publication.id)
        for item in self._vesting.by_subject(tx, publication_id(publication.id), lock=True):
            self._vesting.claw_back(tx, item.id, reason)

    def months_to_close(self, tx: Tx) -> list[str]:
        """Months that are over, and whose promotions are all rewarded."""
        now = months.month_of(self._clock.now_us())
        return [
            month
            for month in store.open_months(tx, now)
            if not store.unrewarded(tx, months.start_us(months.before(month, -1)))
        ]

    def settle_some(self, tx: Tx, month: str) -> bool:
        """Scale some rewards of a month to its budget; the last round closes it. Says whether there is more to do."""
        state = store.lock_month(tx, month)
        if state.closed:
            return False
        if not state.closing:
            store.begin_closing(tx, month)
        total, budget = state.nominal, self._policy.emission_month
        found = store.unsettled(tx, month, _AT_ONCE)
        for id_ in found:
            self._scale(tx, id_, total, budget)
        if len(found) < _AT_ONCE:
            store.close_month(tx, month)
            return False
        return True

    def _scale(self, tx: Tx, id_: UUID, total: int, budget: int) -> None:
        reward = store.reward(tx, id_, lock=True)
        assert reward is not None
        granted = reward.nominal if total <= budget else reward.nominal * budget // total
        store.settle(tx, id_, granted)
        subject = publication_id(id_)
        if granted < reward.nominal:
            self._grant_less(tx, subject, granted, reward.nominal)
        self._vesting.unfreeze(tx, subject, _MONTH)

    def _grant_less(self, tx: Tx, subject: str, granted: int, nominal: int) -> None:
        """Nothing has vested yet: take all back and grant the scaled amount, so that it vests evenly."""
        for item in self._vesting.by_subject(tx, subject, lock=True):
            left = item.amount - item.clawed
            self._vesting.claw_back(tx, item.id, "the month's emission was exceeded")
            amount = left * granted // nominal
            if amount and item.owner is not None:
                self._vesting.grant(
                    tx,
                    owner=item.owner,
                    asset=item.asset,
                    amount=amount,
                    source_account=item.source,
                    kind=item.kind,
                    subject=subject,
                    starts_us=item.starts_us,
                    days=item.days,
                    key=f"{item.key}:scaled",
                    refs=item.refs,
                    reason=item.reason,
                )


def _copied_words(found: Measured) -> dict[UUID, int]:
    words: dict[UUID, int] = {}
    for item in found.copies:
        original = parse_article_id(item.work.id)
        words[original] = words.get(original, 0) + item.words
    return words


def _nearest(found: Measured) -> tuple[NearestWork, ...]:
    """The works that passages are nearest to, the nearest first."""
    least: dict[str, NearestWork] = {}
    for item in sorted(found.passages, key=lambda item: item.d):
        work = item.nearest
        if work is not None:
            excerpt = "" if work.taken else textwrap.shorten(item.beside, _EXCERPT_CHARS, placeholder="…")
            least.setdefault(work.id, NearestWork(work.kind.value, work.id, work.title, item.d, excerpt))
    return tuple(least.values())[:_NEAREST_MAX]


def _shown(tx: Tx, report: dict[str, Any]) -> dict[str, Any]:
    """A report that was kept, without the titles of what was taken down since."""
    reasons, nearest = list(report["reasons"]), []
    taken = taken_names(tx, [work["name"] for work in report["nearest"]])
    for work in report["nearest"]:
        if work["name"] in taken:
            reasons = [reason.replace(f"“{work['title']}”", f"“{TAKEN}”") for reason in reasons]
        nearest.append({**work, "title": TAKEN} if work["name"] in taken else work)
    return {**report, "reasons": reasons, "nearest": nearest}


def _report(quote: NoveltyQuote) -> dict[str, Any]:
    """What is kept with a score; without the words of others, which may be erased."""
    nearest = [asdict(replace(item, excerpt="")) for item in quote.nearest]
    return {"reasons": list(quote.reasons), "nearest": nearest}
