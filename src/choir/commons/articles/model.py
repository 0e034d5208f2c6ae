"""What an article is made of once its Markdown was read; and every refusal about articles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.commons.sources.model import Pointer
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal, TooLarge
from choir.foundation.ids import parse_id, show_id


class Relation(StrEnum):
    """What an extract does to a claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    QUALIFIES = "qualifies"


@dataclass(frozen=True, slots=True)
class MarkedClaim:
    """`[claim text]{#c1}`: where it stands in the Markdown, and what it says without its mark."""

    label: str  # c1
    text: str  # plain, normalised; what the CLAIM atom says
    start: int  # offsets of the whole mark in the Markdown
    end: int


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """`c1 supports sha256:…@120-188 confidence=0.9`."""

    label: str
    relation: Relation
    pointer: Pointer
    confidence_bps: int
    line: int  # of the Markdown, from 1


@dataclass(frozen=True, slots=True)
class QuoteMark:
    """`{{extract sha256:…@120-188}}`: a quote that is rendered from its source."""

    pointer: Pointer
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A fenced block `hyperthesis`: a blind spot that the author discloses, and how far it reaches."""

    statement: str
    bound: str


@dataclass(frozen=True, slots=True)
class ParsedArticle:
    """An article's Markdown, read strictly."""

    markdown: str
    title: str  # of its front matter, or its first heading; may be empty
    topics: tuple[str, ...]  # of its front matter
    claims: tuple[MarkedClaim, ...]
    evidence: tuple[EvidenceLine, ...]
    quotes: tuple[QuoteMark, ...]
    disclosures: tuple[Disclosure, ...]
    words: int  # of what a reader reads: without marks, evidence, front matter and quotes
    prose: str  # that text itself, plain, paragraph by paragraph: what NO-COPY looks at

    @property
    def pointers(self) -> set[Pointer]:
        """All that it points to, as evidence or as a quote."""
        return {line.pointer for line in self.evidence} | {mark.pointer for mark in self.quotes}


class BadArticle(Invalid):
    code = "commons.bad_article"
    sentence = "The article cannot be read: {why} (line {line})."
    hint = "docs/reference/article-syntax.md has the syntax."


class ArticleState(StrEnum):
    """Where an article is; a version that is under way decides."""

    DRAFT = "draft"
    IN_REVIEW = "in_review"
    IN_WINDOW = "in_window"
    PROMOTED = "promoted"
    REFUSED = "refused"
    DEMOTED = "demoted"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Article:
    """An article: its authors' drafts, and how far its newest version has come."""

    id: UUID
    owner: str
    state: ArticleState
    title: str
    topics: tuple[str, ...]
    draft: int  # the newest
    versions: int
    created_us: int
    changed_us: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A saved text."""

    article: UUID
    n: int
    title: str
    topics: tuple[str, ...]
    text: str
    saved_by: str
    saved_us: int


def article_id(value: UUID) -> str:
    return show_id("article", value)


def parse_article_id(text: str) -> UUID:
    return parse_id("article", text)


class UnknownArticle(NotFound):
    code = "commons.article_unknown"
    sentence = "There is no article {article}, or you may not read it."


class UnknownDraft(NotFound):
    code = "commons.draft_unknown"
    sentence = "The article {article} has no saved draft {n}."
    hint = "`choir article drafts {article}` lists those that are kept."


class NotAnAuthor(NotAllowed):
    code = "commons.not_an_author"
    sentence = "Only an author of the article {article} can do this."
    hint = "Anybody can propose a revision: `choir article revise {article} FILE`."


class DraftConflict(Refusal):
    code = "commons.draft_conflict"
    sentence = "The newest draft is {newest}, not {base}: somebody has saved one meanwhile."
    hint = "Compare them with `choir article diff`, then save again."


class ArticleBusy(Refusal):
    code = "commons.article_busy"
    sentence = "The article {article} is {state}; this has to wait until that is over."


class TooManyArticles(Refusal):
    code = "commons.too_many_articles"
    sentence = "You already have {limit} articles, which is the limit."


class ArticleTooLarge(TooLarge):
    code = "commons.article_too_large"
    sentence = "The article is too large: {what} has {size}, and the limit is {limit} (line {line})."
    hint = "Split it into several articles, or shorten it; `choir policy show` lists the limits."


class FolderTooLarge(TooLarge):
    code = "commons.folder_too_large"
    sentence = "The folder has more than {limit} Markdown files."
    hint = "Import its parts one after the other."
