"""Articles: drafting, saving, reading and comparing. Publishing is in `publication`.

Guarantees: a draft is read strictly before it is kept; a draft that somebody else saved meanwhile is not overwritten;
drafts are private to their authors, versions that were published are not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from uuid import UUID

from choir.commons.articles import store
from choir.commons.articles.model import (
    Article,
    ArticleState,
    BadArticle,
    Draft,
    DraftConflict,
    NotAnAuthor,
    ParsedArticle,
    TooManyArticles,
    UnknownArticle,
    UnknownDraft,
    article_id,
)
from choir.commons.articles.syntax import check_front, parse
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.commons.takedowns import store as takedown_store
from choir.commons.takedowns.rules import tombstone
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.model import Principal, Role
from choir.identity.repeats import Repeats
from choir.storage.database import Tx


class Articles:
    """Use cases of authors and readers; all inside the caller's transaction."""

    def __init__(self, repeats: Repeats, clock: Clock, entropy: Entropy, policy: CommonsPolicy) -> None:
        self._repeats = repeats
        self._clock = clock
        self._entropy = entropy
        self.policy = policy

    def read(self, markdown: str, title: str | None, topics: list[str] | None) -> ParsedArticle:
        """An article from untrusted Markdown; title and topics that are given stand above those of the text."""
        found = parse(markdown, self.policy)
        given = replace(found, title=found.title if title is None else " ".join(title.split()))
        if topics is not None:
            given = replace(given, topics=tuple(dict.fromkeys(topics)))
        if not given.title:
            raise BadArticle(why="it has no title; give one, or begin with '# A title'", line=1)
        check_front(given.title, given.topics, self.policy)
        return given

    def create(self, tx: Tx, who: Principal, article: ParsedArticle, key: str | None = None) -> tuple[Article, bool]:
        """A new article with its first draft; the same key makes one article. Says whether it is new."""
        owner = owner_of(who)
        id_, new = self._repeats.once(tx, who, key, _content(article), lambda: self._insert(tx, who, owner, article))
        found = store.get(tx, id_)
        assert found is not None, "an article whose key is remembered is there"
        return found, new

    def _insert(self, tx: Tx, who: Principal, owner: str, read: ParsedArticle) -> UUID:
        limit = self.policy.articles_per_owner_max
        store.lock_owner(tx, owner)
        if store.count(tx, owner, limit) >= limit:
            raise TooManyArticles(limit=limit)
        now_us = self._clock.now_us()
        article = Article(
            id=uuid7(now_us, 0, self._entropy.bytes(6)),
            owner=owner,
            state=ArticleState.DRAFT,
            title=read.title,
            topics=read.topics,
            draft=1,
            versions=0,
            created_us=now_us,
            changed_us=now_us,
        )
        store.insert(tx, article)
        store.add_author(tx, article.id, owner, now_us)
        self._keep_draft(tx, who, article, read)
        return article.id

    def save(self, tx: Tx, who: Principal, id_: UUID, read: ParsedArticle, base: int | None = None) -> Article:
        """Save a new draft; with `base`, only if that is still the newest. Saving the same again saves nothing."""
        article = self.lock_own(tx, who, id_)
        newest = store.draft(tx, id_, article.draft)
        same = newest is not None and newest.text == read.markdown
        if same and newest is not None and (newest.title, newest.topics) == (read.title, read.topics):
            return article
        if base is not None and base != article.draft:
            raise DraftConflict(newest=article.draft, base=base)
        return self.add_draft(tx, who, article, read)

    def add_draft(self, tx: Tx, who: Principal, article: Article, read: ParsedArticle) -> Article:
        """The next draft of an article that the caller has locked."""
        title, topics = (read.title, read.topics) if article.versions == 0 else (article.title, article.topics)
        article = replace(article, draft=article.draft + 1, title=title, topics=topics, changed_us=self._clock.now_us())
        store.save(tx, article)
        self._keep_draft(tx, who, article, read)
        return article

    def _keep_draft(self, tx: Tx, who: Principal, article: Article, read: ParsedArticle) -> None:
        draft = Draft(
            article.id, article.draft, read.title, read.topics, read.markdown, who.source, self._clock.now_us()
        )
        store.add_draft(tx, draft, self.policy.drafts_kept)

    # Reading

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Article:
        """An article: for its authors from the first draft on, for everybody once a version was published."""
        found = store.get(tx, id_)
        if found is None or not (found.versions or who.role is Role.OPERATOR or self.is_author(tx, who, id_)):
            raise UnknownArticle(article=article_id(id_))
        if who.role is not Role.OPERATOR:
            taken = takedown_store.of_article(tx, id_)
            if taken is not None and not self.is_author(tx, who, id_):
                raise tombstone(taken)
        return found

    @staticmethod
    def must_be_up(tx: Tx, id_: UUID) -> None:
        """Raise while an article is taken down, for whoever would show it to others."""
        taken = takedown_store.of_article(tx, id_)
        if taken is not None:
            raise tombstone(taken)

    def lock_own(self, tx: Tx, who: Principal, id_: UUID) -> Article:
        """An article of one's own, kept from others until the transaction ends."""
        found = store.get(tx, id_, lock=True)
        if found is None or not (found.versions or self.is_author(tx, who, id_)):
            raise UnknownArticle(article=article_id(id_))
        if not self.is_author(tx, who, id_):
            raise NotAnAuthor(article=article_id(id_))
        return found

    def lock(self, tx: Tx, id_: UUID) -> Article:
        found = store.get(tx, id_, lock=True)
        assert found is not None
        return found

    @staticmethod
    def is_author(tx: Tx, who: Principal, id_: UUID) -> bool:
        return bool(set(store.authors(tx, id_)) & set(who.owners))

    @staticmethod
    def authors(tx: Tx, id_: UUID) -> list[str]:
        return store.authors(tx, id_)

    @staticmethod
    def titles(tx: Tx, articles: Collection[UUID]) -> dict[UUID, str]:
        """What published articles are called, but for those that are taken down."""
        return store.titles(tx, articles)

    def own_page(self, tx: Tx, who: Principal, before: UUID | None, limit: int) -> list[Article]:
        return store.own_page(tx, who.owners, before, limit)

    def public_page(self, tx: Tx, before: UUID | None, limit: int) -> list[Article]:
        return store.public_page(tx, before, limit)

    def draft(self, tx: Tx, who: Principal, id_: UUID, n: int | None = None) -> Draft:
        """A saved draft, for authors alone; without a number the newest."""
        article = self.get(tx, who, id_)
        if not self.is_author(tx, who, id_):
            raise NotAnAuthor(article=article_id(id_))
        return self.draft_of(tx, article, n)

    def draft_of(self, tx: Tx, article: Article, n: int | None = None) -> Draft:
        n = article.draft if n is None else n
        found = store.draft(tx, article.id, n)
        if found is None:
            raise UnknownDraft(article=article_id(article.id), n=n)
        return found

    def drafts(self, tx: Tx, who: Principal, id_: UUID) -> list[Draft]:
        """All drafts that are kept, newest first, without their texts."""
        self.draft(tx, who, id_)
        return store.drafts(tx, id_)


def _content(article: ParsedArticle) -> dict[str, Any]:
    return {"article": article.markdown, "title": article.title, "topics": list(article.topics)}
