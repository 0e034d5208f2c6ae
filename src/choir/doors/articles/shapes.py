"""Shapes about articles. Amounts are units of CHIP as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.commons.articles.model import Article, Draft, article_id
from choir.commons.publication.model import CheckedBinding, Problem, Publication, Quote, publication_id
from choir.commons.revisions.model import Boost, Revision, boost_id, revision_id
from choir.doors.novelty.shapes import NOVELTY_EXAMPLE, NoveltyOut
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from choir.commons.assertions.model import SentenceStanding

_ID = "article_01j9zq5a1wf6vsy1m3n4c5d6e7"
_HASH = "sha256:" + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"[:64]
_AT = "2026-01-02T03:04:05.000000Z"
_OWNER = "person:01j9zq5a1wf6vsy1m3n4c5d6e7"
_VERSION: dict[str, Any] = {
    "id": "publication_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "article": _ID,
    "version": 1,
    "draft": 3,
    "synthesis": _HASH,
    "state": "in_window",
    "tier": "low",
    "risk_bps": 2900,
    "fee": "10000000",
    "receipt": _HASH,
    "review": _HASH,
    "submitted_at": _AT,
    "reviewed_at": _AT,
    "window_until": _AT,
    "promoted_at": None,
    "stake_due_at": None,
    "ended_at": None,
}
_ARTICLE: dict[str, Any] = {
    "id": _ID,
    "state": "draft",
    "title": "Why bridges hum",
    "topics": ["engineering"],
    "authors": [_OWNER],
    "draft": 3,
    "versions": 0,
    "created_at": _AT,
    "changed_at": _AT,
    "boosted_until": None,
}


class ArticleIn(Wire, json_schema_extra=example(text="# Why bridges hum\n\n…", topics=["engineering"])):
    """An article's Markdown."""

    text: str = Field(min_length=1, max_length=1_000_000)
    title: str | None = Field(default=None, max_length=2_000, description="Default: the text's own title.")
    topics: list[str] | None = Field(default=None, max_length=100, description="Default: the text's own topics.")


class DraftIn(ArticleIn, json_schema_extra=example(text="# Why bridges hum\n\n…", base=3)):
    """The next draft."""

    base: int | None = Field(
        default=None, ge=1, le=10**9, description="Refuse if this is not the newest draft any more."
    )


class ArticleOut(Wire, json_schema_extra=example(**_ARTICLE)):
    """An article."""

    id: str
    state: str
    title: str
    topics: list[str]
    authors: list[str]
    draft: int = Field(description="Number of the newest draft.")
    versions: int = Field(description="How many versions were published.")
    created_at: str
    changed_at: str
    boosted_until: str | None = None

    @classmethod
    def of(cls, item: Article, authors: list[str], boosted_us: int | None = None) -> ArticleOut:
        return cls(
            id=article_id(item.id),
            state=item.state.value,
            title=item.title,
            topics=list(item.topics),
            authors=authors,
            draft=item.draft,
            versions=item.versions,
            created_at=format_time(item.created_us),
            changed_at=format_time(item.changed_us),
            boosted_until=maybe_time(boosted_us),
        )


class ArticlePage(Wire, json_schema_extra=example(items=[_ARTICLE], next=None)):
    items: list[ArticleOut]
    next: str | None = None


class DraftOut(Wire, json_schema_extra=example(n=3, title="Why bridges hum", topics=[], saved_by=_OWNER, saved_at=_AT)):
    """A saved draft; the list of drafts has no texts."""

    n: int
    title: str
    topics: list[str]
    saved_by: str
    saved_at: str
    text: str | None = None

    @classmethod
    def of(cls, item: Draft, *, text: bool) -> DraftOut:
        return cls(
            n=item.n,
            title=item.title,
            topics=list(item.topics),
            saved_by=item.saved_by,
            saved_at=format_time(item.saved_us),
            text=item.text if text else None,
        )


class DraftList(Wire, json_schema_extra=example(items=[])):
    items: list[DraftOut]


class DiffOut(Wire, json_schema_extra=example(a="draft 1", b="draft 2", lines=["-old", "+new"])):
    """What changed between two drafts or versions."""

    a: str
    b: str
    lines: list[str]


class FindingOut(Wire, json_schema_extra=example(level="L2", check="numbers", outcome="pass", words="…", data={})):
    """What one check of the verifiers saw."""

    level: str
    check: str
    outcome: str
    words: str
    data: dict[str, Any]


class BindingOut(
    Wire,
    json_schema_extra=example(
        label="c1", claim="…", pointer=f"{_HASH}@120-188", relation="supports", level="L2", findings=[]
    ),
):
    """A line of evidence and what the verifiers say of it."""

    label: str
    claim: str
    pointer: str
    relation: str
    level: str | None = Field(default=None, description="The highest level that passed; null: none.")
    findings: list[FindingOut]

    @classmethod
    def of(cls, item: CheckedBinding) -> BindingOut:
        findings = [
            FindingOut(
                level=found.level.value,
                check=found.check,
                outcome=found.outcome.value,
                words=found.words,
                data=found.data,
            )
            for found in item.verification.findings
        ]
        return cls(
            label=item.label,
            claim=item.claim,
            pointer=item.pointer,
            relation=item.relation,
            level=None if item.level is None else item.level.value,
            findings=findings,
        )


class ProblemOut(Wire, json_schema_extra=example(code="density", words="…", claim=None)):
    """Why a draft would not pass its review."""

    code: str
    words: str
    claim: str | None = None

    @classmethod
    def of(cls, item: Problem) -> ProblemOut:
        return cls(code=item.code, words=item.words, claim=item.label)


class QuoteIn(Wire, json_schema_extra=example(draft=3)):
    """Which draft; default: the newest."""

    draft: int | None = Field(default=None, ge=1, le=10**9)


class QuoteOut(
    Wire,
    json_schema_extra=example(
        would_pass=True,
        stake="90000000",
        fee="10000000",
        co_stake="50000000",
        parts={"starter": "40000000", "treasury": "50000000"},
        too_little="",
        tier="low",
        risk_bps=2900,
        risk={"claims": 1500, "topic": 600, "novelty": 0, "record": 500},
        window_s=86400,
        words=420,
        verified=3,
        needed=3,
        high_impact=[],
        publishes=[],
        novelty=NOVELTY_EXAMPLE,
        bindings=[],
        problems=[],
    ),
):
    """What publishing would cost, and whether it would pass."""

    would_pass: bool
    stake: str
    fee: str
    co_stake: str = Field(description="What the treasury adds to a newcomer's first stake.")
    parts: dict[str, str] = Field(description="Where the stake comes from.")
    too_little: str = Field(description="Why the stake cannot be paid; empty if it can.")
    tier: str
    risk_bps: int
    risk: dict[str, int]
    window_s: int
    words: int
    verified: int = Field(description="Bindings that count for the evidence density.")
    needed: int
    high_impact: list[str]
    publishes: list[str] = Field(description="Sources whose text everybody could read from then on.")
    novelty: NoveltyOut
    bindings: list[BindingOut]
    problems: list[ProblemOut]

    @classmethod
    def of(cls, item: Quote) -> QuoteOut:
        share = item.contribution
        return cls(
            would_pass=item.would_pass,
            stake=str(item.stake),
            fee=str(item.fee),
            co_stake=str(0 if share is None else share.co_stake),
            parts={} if share is None else {origin.value: str(amount) for origin, amount in share.parts.items()},
            too_little=item.too_little,
            tier=item.risk.tier.value,
            risk_bps=item.risk.total_bps,
            risk=item.risk.parts,
            window_s=item.window_s,
            words=item.words,
            verified=item.verified,
            needed=item.needed,
            high_impact=list(item.high_impact),
            publishes=list(item.publishes),
            novelty=NoveltyOut.of(item.novelty),
            bindings=[BindingOut.of(each) for each in item.bindings],
            problems=[ProblemOut.of(each) for each in item.problems],
        )


class PublicationOut(Wire, json_schema_extra=example(**_VERSION)):
    """A published version on its way, or at its end."""

    id: str
    article: str
    version: int
    draft: int
    synthesis: str
    state: str
    tier: str
    risk_bps: int
    fee: str
    receipt: str
    review: str | None = None
    submitted_at: str
    reviewed_at: str | None = None
    window_until: str | None = None
    promoted_at: str | None = None
    stake_due_at: str | None = None
    ended_at: str | None = None

    @classmethod
    def of(cls, item: Publication, synthesis: str) -> PublicationOut:
        return cls(
            id=publication_id(item.id),
            article=article_id(item.article),
            version=item.version,
            draft=item.draft,
            synthesis=synthesis,
            state=item.state.value,
            tier=item.tier.value,
            risk_bps=item.risk_bps,
            fee=str(item.fee),
            receipt=item.receipt,
            review=item.review,
            submitted_at=format_time(item.submitted_us),
            reviewed_at=maybe_time(item.reviewed_us),
            window_until=maybe_time(item.window_until_us),
            promoted_at=maybe_time(item.promoted_us),
            stake_due_at=maybe_time(item.stake_due_us),
            ended_at=maybe_time(item.ended_us),
        )


class PublicationList(Wire, json_schema_extra=example(items=[_VERSION])):
    items: list[PublicationOut]


class RenderedOut(
    Wire, json_schema_extra=example(article=_ID, version=1, title="Why bridges hum", html="<p>…</p>", text="…")
):
    """A version as it is read: safe HTML, and its Markdown."""

    article: str
    version: int
    title: str
    html: str
    text: str


class RetractIn(Wire, json_schema_extra=example(reason="a source was withdrawn")):
    """Why."""

    reason: str = Field(min_length=1, max_length=500)


class RevisionIn(ArticleIn, json_schema_extra=example(text="# Why bridges hum\n\n…", summary="newer figures")):
    """A proposed text."""

    summary: str = Field(min_length=1, max_length=500)


class RevisionOut(
    Wire,
    json_schema_extra=example(
        id="revision_01j9zq5a1wf6vsy1m3n4c5d6e7",
        article=_ID,
        proposer=_OWNER,
        base=3,
        title="Why bridges hum",
        summary="newer figures",
        text="…",
        state="open",
        votes={},
        opened_at=_AT,
        until=_AT,
        decided_at=None,
    ),
):
    """A proposed revision and the authors' votes."""

    id: str
    article: str
    proposer: str
    base: int
    title: str
    summary: str
    text: str
    state: str
    votes: dict[str, bool]
    opened_at: str
    until: str
    decided_at: str | None = None

    @classmethod
    def of(cls, item: Revision, votes: dict[str, bool]) -> RevisionOut:
        return cls(
            id=revision_id(item.id),
            article=article_id(item.article),
            proposer=item.proposer,
            base=item.base,
            title=item.title,
            summary=item.summary,
            text=item.text,
            state=item.state.value,
            votes=votes,
            opened_at=format_time(item.opened_us),
            until=format_time(item.until_us),
            decided_at=maybe_time(item.decided_us),
        )


class RevisionPage(Wire, json_schema_extra=example(items=[], next=None)):
    items: list[RevisionOut]
    next: str | None = None


class VoteIn(Wire, json_schema_extra=example(accepts=True)):
    """An author's vote."""

    accepts: bool


class BoostOut(
    Wire,
    json_schema_extra=example(
        id="boost_01j9zq5a1wf6vsy1m3n4c5d6e7", article=_ID, amount="25000000", from_at=_AT, until=_AT
    ),
):
    """A sponsored place."""

    id: str
    article: str
    amount: str
    from_at: str
    until: str

    @classmethod
    def of(cls, item: Boost) -> BoostOut:
        return cls(
            id=boost_id(item.id),
            article=article_id(item.article),
            amount=str(item.amount),
            from_at=format_time(item.from_us),
            until=format_time(item.until_us),
        )


class AssertionIn(Wire, json_schema_extra=example(text="Bridges hum in the wind.")):
    """A text, or an article and its version."""

    text: str | None = Field(default=None, min_length=1, max_length=1_000_000)
    article: str | None = None
    version: int | None = Field(default=None, ge=1, le=10**9)


class SentenceOut(
    Wire,
    json_schema_extra=example(text="Bridges hum.", standing="stands", words="…", bindings=[_HASH], claim=_HASH),
):
    """A sentence and what it stands on."""

    text: str
    standing: str
    words: str
    bindings: list[str]
    claim: str | None = None

    @classmethod
    def of(cls, item: SentenceStanding) -> SentenceOut:
        return cls(
            text=item.text,
            standing=item.standing.value,
            words=item.words,
            bindings=list(item.bindings),
            claim=item.claim,
        )


class AssertionOut(Wire, json_schema_extra=example(stands=1, sentences=[])):
    """Which sentences stand on promoted bindings."""

    stands: int = Field(description="How many sentences do.")
    sentences: list[SentenceOut]

    @classmethod
    def of(cls, found: list[SentenceStanding]) -> AssertionOut:
        shown = [SentenceOut.of(item) for item in found]
        return cls(stands=sum(item.standing == "stands" for item in shown), sentences=shown)
