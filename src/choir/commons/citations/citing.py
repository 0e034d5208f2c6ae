"""Citing an article in a draft: a claim bound to words of the cited article's own text.

Guarantees: only a promoted article is cited, and only words that it says; the draft is saved only if it is still the
one that was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.commons.articles.model import Article, Draft, Relation, article_id
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Kind
from choir.commons.citations.model import CitedAlready, CitesItself, NotCitable, NotSaid
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import store as publication_store
from choir.commons.sources import store as source_store
from choir.commons.sources.model import Pointer, SourceRecord
from choir.commons.sources.service import Sources
from choir.commons.sources.text import find_span
from choir.identity.model import Principal
from choir.storage.database import Tx

_BPS = 10_000


@dataclass(frozen=True, slots=True)
class CitingLine:
    """What was added to a draft."""

    article: Article
    label: str
    pointer: Pointer
    quote: str
    evidence: str  # the line


class Citing:
    """All inside the caller's transaction."""

    def __init__(self, articles: Articles, sources: Sources, policy: CommonsPolicy) -> None:
        self._articles = articles
        self._sources = sources
        self._policy = policy

    def cite(
        self,
        tx: Tx,
        who: Principal,
        citing: UUID,
        cited: UUID,
        claim: str,
        quote: str,
        *,
        relation: Relation = Relation.SUPPORTS,
        confidence_bps: int | None = None,
    ) -> CitingLine:
        """Add a claim to the newest draft of one's article, bound to words of a promoted article."""
        draft = self._articles.draft(tx, who, citing)
        if citing == cited:
            raise CitesItself
        source = self._text_of(tx, who, cited)
        text = self._sources.text_of(tx, source)
        span = find_span(text, quote)
        if span is None:
            raise NotSaid(article=article_id(cited))
        pointer = Pointer(source.hash, *span)
        label = self._free_label(draft, pointer, relation)
        confidence = (confidence_bps or self._policy.confidence_default_bps) / _BPS
        line = f"{label} {relation.value} {pointer} confidence={confidence:.4g}"
        written = f"{draft.text.rstrip()}\n\n[{claim.strip()}]{{#{label}}}.\n\n```evidence\n{line}\n```\n"
        read = self._articles.read(written, draft.title, list(draft.topics))
        article = self._articles.save(tx, who, citing, read, draft.n)
        return CitingLine(article, label, pointer, text[span[0] : span[1]], line)

    def _text_of(self, tx: Tx, who: Principal, cited: UUID) -> SourceRecord:
        """The own text of an article's newest promoted version, as a source."""
        article = self._articles.get(tx, who, cited)
        version = publication_store.promoted_version(tx, cited)
        if version is None:
            raise NotCitable(article=article_id(cited), state=article.state.value)
        own = [atom for atom in atom_store.carries(tx, version.synthesis, 10) if atom.kind is Kind.SOURCE]
        found = source_store.get(tx, own[0].hash)
        assert found is not None, "every version has its text as a source"
        return found

    def _free_label(self, draft: Draft, pointer: Pointer, relation: Relation) -> str:
        """The first label that is free; raises if the draft rests on these words already."""
        read = self._articles.read(draft.text, draft.title, list(draft.topics))
        known = next((item for item in read.evidence if (item.pointer, item.relation) == (pointer, relation)), None)
        if known is not None:
            raise CitedAlready(label=known.label)
        taken = {item.label for item in read.claims}
        return next(label for n in range(1, len(taken) + 2) if (label := f"c{n}") not in taken)
