"""What an author's articles earned: in one line for each, and as a statement."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.commons.articles import store as article_store
from choir.commons.articles.model import Article, article_id
from choir.commons.citations import store
from choir.commons.citations.model import Earning
from choir.commons.citations.service import Allowance, Citations
from choir.commons.novelty import store as novelty_store
from choir.commons.publication import store as publication_store
from choir.commons.publication.model import publication_id
from choir.foundation.clock import Clock
from choir.storage.database import Tx
from choir.treasury import months
from choir.treasury.vesting import store as grant_store
from choir.treasury.vesting.model import GrantKind, GrantTotal

_NOTHING = GrantTotal(0, 0, 0)


@dataclass(frozen=True, slots=True)
class EarningsPage:
    """Some of an author's articles, newest first, and all they earned together."""

    items: tuple[Earning, ...]
    totals: dict[GrantKind, GrantTotal]
    owed: int  # units of USDC that the pool could not pay yet
    allowance: Allowance
    next: UUID | None


@dataclass(frozen=True, slots=True)
class MonthEarned:
    """What was granted in a month and not taken back."""

    month: str
    citation: int  # units of USDC
    novelty: int  # units of CHIP


class Earnings:
    """All inside the caller's transaction."""

    def __init__(self, citations: Citations, clock: Clock) -> None:
        self._citations = citations
        self._clock = clock

    def of(self, tx: Tx, owner: str, before: UUID | None, limit: int) -> EarningsPage:
        """An author's published articles and what each earned them."""
        page = article_store.own_page(tx, [owner], before, limit)
        articles = [item for item in page if item.versions]
        cited = store.counts(tx, [item.id for item in articles])
        items = tuple(self._earning(tx, owner, item, cited.get(item.id, (0, 0, 0))) for item in articles)
        allowance = self._citations.allowance(tx, owner, months.month_of(self._clock.now_us()))
        following = page[-1].id if len(page) == limit else None
        return EarningsPage(
            items, grant_store.totals(tx, owner), self._citations.owed_to(tx, owner), allowance, following
        )

    def by_month(self, tx: Tx, owner: str, months_back: int) -> list[MonthEarned]:
        """The last so many months, oldest first; this one is the last."""
        this = months.month_of(self._clock.now_us())
        shown = [months.before(this, n) for n in range(months_back - 1, -1, -1)]
        found = grant_store.by_month(tx, owner, months.start_us(shown[0]))
        return [
            MonthEarned(month, found.get((month, GrantKind.CITATION), 0), found.get((month, GrantKind.NOVELTY), 0))
            for month in shown
        ]

    @staticmethod
    def _earning(tx: Tx, owner: str, article: Article, cited: tuple[int, int, int]) -> Earning:
        versions = publication_store.versions(tx, article.id)
        subjects = [article_id(article.id), *(publication_id(item.id) for item in versions)]
        earned = grant_store.totals(tx, owner, subjects)
        citation, novelty = earned.get(GrantKind.CITATION, _NOTHING), earned.get(GrantKind.NOVELTY, _NOTHING)
        score = novelty_store.get(tx, versions[0].id) if versions else None
        return Earning(
            article=article.id,
            title=article.title,
            state=article.state.value,
            citations=cited[0],
            independent=cited[1],
            citation_amount=citation.amount - citation.clawed,
            citation_vested=citation.vested,
            novelty_amount=novelty.amount - novelty.clawed,
            novelty_vested=novelty.vested,
            score=None if score is None else score.score,
        )
