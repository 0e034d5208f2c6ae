"""Shapes about citations and earnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.commons.articles.model import Relation, article_id
from choir.commons.citations.model import Citation, Earning, citation_id, earning_line
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time
from choir.treasury.vesting.model import Grant, GrantKind, GrantTotal, grant_id

if TYPE_CHECKING:
    from choir.commons.citations.citing import CitingLine
    from choir.commons.citations.earnings import EarningsPage
    from choir.commons.citations.service import Allowance

_ARTICLE = "article_01j9zq5a1wf6vsy1m3n4c5d6e7"
_OTHER = "article_01j9zq5a1wf6vsy1m3n4c5d6e8"
_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_CITATION: dict[str, Any] = {
    "id": "citation_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "citing": _OTHER,
    "cited": _ARTICLE,
    "month": "2026-11",
    "rate": "5000000",
    "independence_ppm": 1000000,
    "amount": "5000000",
    "reasons": [],
    "state": "paid",
    "at": "2026-11-02T03:04:05.000000Z",
}
_TOTAL: dict[str, Any] = {"amount": "5000000", "vested": "1000000", "taken_back": "0"}
_EARNING: dict[str, Any] = {
    "article": _ARTICLE,
    "title": "Why bridges hum",
    "state": "promoted",
    "line": "You wrote 'Why bridges hum'; 1 article cited it; you earned $5.00.",
    "citations": 1,
    "independent": 1,
    "citation_amount": "5000000",
    "citation_vested": "1000000",
    "novelty_amount": "63333333",
    "novelty_vested": "0",
    "score": 52,
}
_ALLOWANCE: dict[str, Any] = {
    "month": "2026-11",
    "total": "2000000",
    "used": "0",
    "spent": "0",
    "income": "0",
    "vouched": True,
}


class CiteIn(
    Wire,
    json_schema_extra=example(
        article=_ARTICLE,
        claim="Wind makes many bridges vibrate",
        quote="Wind caused vibration in 45 of the 120 bridges",
        relation="supports",
    ),
):
    """A claim to add to one's draft, and the words of the cited article that it rests on."""

    article: str = Field(max_length=60, description="The cited article.")
    claim: str = Field(min_length=1, max_length=10_000)
    quote: str = Field(min_length=1, max_length=10_000, description="Words that the cited article says.")
    relation: Relation = Relation.SUPPORTS
    confidence_bps: int | None = Field(default=None, ge=1, le=10_000)


class CiteOut(
    Wire,
    json_schema_extra=example(
        article=_OTHER,
        draft=3,
        label="c4",
        pointer=f"{_HASH}@120-166",
        quote="Wind caused vibration in 45 of the 120 bridges",
        evidence=f"c4 supports {_HASH}@120-166 confidence=0.8",
    ),
):
    """What was added to the draft."""

    article: str
    draft: int
    label: str
    pointer: str
    quote: str
    evidence: str

    @classmethod
    def of(cls, item: CitingLine) -> CiteOut:
        return cls(
            article=article_id(item.article.id),
            draft=item.article.draft,
            label=item.label,
            pointer=str(item.pointer),
            quote=item.quote,
            evidence=item.evidence,
        )


class CitationOut(Wire, json_schema_extra=example(**_CITATION)):
    """A citation and what it paid."""

    id: str
    citing: str
    cited: str
    month: str
    rate: str = Field(description="The month's rate, in units of USDC.")
    independence_ppm: int
    amount: str = Field(description="What it pays, in units of USDC.")
    reasons: list[str] = Field(description="Why it pays less than the rate.")
    state: str
    at: str

    @classmethod
    def of(cls, item: Citation) -> CitationOut:
        return cls(
            id=citation_id(item.id),
            citing=article_id(item.citing_article),
            cited=article_id(item.cited_article),
            month=item.month,
            rate=str(item.rate),
            independence_ppm=item.independence_ppm,
            amount=str(item.amount),
            reasons=list(item.reasons),
            state=item.state.value,
            at=format_time(item.at_us),
        )


class CitationPage(Wire, json_schema_extra=example(items=[_CITATION], next=None)):
    items: list[CitationOut]
    next: str | None = None


class EarningOut(Wire, json_schema_extra=example(**_EARNING)):
    """What one article earned its author."""

    article: str
    title: str
    state: str
    line: str
    citations: int
    independent: int
    citation_amount: str = Field(description="Units of USDC.")
    citation_vested: str
    novelty_amount: str = Field(description="Units of CHIP.")
    novelty_vested: str
    score: int | None = None

    @classmethod
    def of(cls, item: Earning) -> EarningOut:
        return cls(
            article=article_id(item.article),
            title=item.title,
            state=item.state,
            line=earning_line(item),
            citations=item.citations,
            independent=item.independent,
            citation_amount=str(item.citation_amount),
            citation_vested=str(item.citation_vested),
            novelty_amount=str(item.novelty_amount),
            novelty_vested=str(item.novelty_vested),
            score=item.score,
        )


class TotalOut(Wire, json_schema_extra=example(**_TOTAL)):
    """All grants of a kind together."""

    amount: str
    vested: str
    taken_back: str

    @classmethod
    def of(cls, item: GrantTotal | None) -> TotalOut:
        found = item or GrantTotal(0, 0, 0)
        return cls(amount=str(found.amount), vested=str(found.vested), taken_back=str(found.clawed))


class AllowanceOut(Wire, json_schema_extra=example(**_ALLOWANCE)):
    """What your articles may trigger in payments to others this month. Units of USDC."""

    month: str
    total: str
    used: str
    spent: str = Field(description="What you paid the treasury for good this month.")
    income: str = Field(description="Your citation income that vested this month.")
    vouched: bool

    @classmethod
    def of(cls, item: Allowance) -> AllowanceOut:
        return cls(
            month=item.month,
            total=str(item.total),
            used=str(item.used),
            spent=str(item.spent),
            income=str(item.income),
            vouched=item.vouched,
        )


class EarningsOut(
    Wire,
    json_schema_extra=example(
        items=[_EARNING], citation=_TOTAL, novelty=_TOTAL, owed="0", allowance=_ALLOWANCE, next=None
    ),
):
    """What an author's articles earned: each article, and all together."""

    items: list[EarningOut]
    citation: TotalOut = Field(description="Units of USDC.")
    novelty: TotalOut = Field(description="Units of CHIP.")
    owed: str = Field(description="Units of USDC for citations that are paid when the pool has funds.")
    allowance: AllowanceOut
    next: str | None = None

    @classmethod
    def of(cls, page: EarningsPage) -> EarningsOut:
        return cls(
            items=[EarningOut.of(item) for item in page.items],
            citation=TotalOut.of(page.totals.get(GrantKind.CITATION)),
            novelty=TotalOut.of(page.totals.get(GrantKind.NOVELTY)),
            owed=str(page.owed),
            allowance=AllowanceOut.of(page.allowance),
            next=None if page.next is None else article_id(page.next),
        )


_GRANT: dict[str, Any] = {
    "id": "grant_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "kind": "citation",
    "asset": "USDC",
    "amount": "5000000",
    "vested": "1000000",
    "taken_back": "0",
    "subject": _ARTICLE,
    "refs": [_CITATION["id"], _OTHER, _ARTICLE],
    "starts_at": "2026-11-02T03:04:05.000000Z",
    "days": 30,
}


class GrantOut(Wire, json_schema_extra=example(**_GRANT)):
    """Something that was granted to you, and how much of it has vested."""

    id: str
    kind: str
    asset: str
    amount: str
    vested: str
    taken_back: str
    subject: str = Field(description="What it is for: an article that was cited, or a version that was new.")
    refs: list[str]
    starts_at: str
    days: int

    @classmethod
    def of(cls, item: Grant) -> GrantOut:
        return cls(
            id=grant_id(item.id),
            kind=item.kind.value,
            asset=item.asset.name,
            amount=str(item.amount),
            vested=str(item.vested),
            taken_back=str(item.clawed),
            subject=item.subject,
            refs=list(item.refs),
            starts_at=format_time(item.starts_us),
            days=item.days,
        )


class GrantPage(Wire, json_schema_extra=example(items=[_GRANT], next=None)):
    items: list[GrantOut]
    next: str | None = None
