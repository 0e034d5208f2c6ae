"""Proposing a revision, voting on it, and boosting an article.

Guarantees: a proposal exists exactly when its fee is held; it is decided once, and the fee goes where the rule says in
the same transaction; an accepted text becomes the newest draft, if it was made from the one before it, and its proposer
an author; a boost is paid once.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.commons import events
from choir.commons.articles import store as article_store
from choir.commons.articles.model import ArticleState, NotAnAuthor, ParsedArticle, article_id
from choir.commons.articles.service import Articles
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.commons.revisions import rules, store
from choir.commons.revisions.model import (
    Boost,
    NotBoostable,
    NotRevisable,
    OwnRevision,
    Revision,
    RevisionOpen,
    RevisionOver,
    RevisionStale,
    RevisionState,
    UnknownRevision,
    boost_id,
    revision_id,
)
from choir.commons.stakes.model import Purpose
from choir.commons.stakes.rules import contribution
from choir.commons.stakes.service import SOURCE, Stakes, available
from choir.commons.statements import in_a_line
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.model import KeyReused, Principal, Role
from choir.identity.repeats import Repeats
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.treasury.accounts import HOLDINGS

_SUMMARY_CHARS_MAX = 500


class Revisions:
    """Use cases of proposers, authors and sponsors; all inside the caller's transaction."""

    def __init__(
        self,
        articles: Articles,
        stakes: Stakes,
        repeats: Repeats,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: CommonsPolicy,
    ) -> None:
        self._articles = articles
        self._stakes = stakes
        self._repeats = repeats
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    # Proposing

    def propose(
        self, tx: Tx, who: Principal, id_: UUID, read: ParsedArticle, summary: str, key: str | None = None
    ) -> tuple[Revision, bool]:
        """Propose a text for somebody else's article; takes the fee. Says whether it is new."""
        proposer, summary = owner_of(who), in_a_line("The summary", summary, _SUMMARY_CHARS_MAX)
        article_store.lock_owner(tx, proposer)
        content = {"revision": article_id(id_), "text": read.markdown, "title": read.title, "summary": summary}
        made, new = self._repeats.once(
            tx, who, key, content, lambda: self._propose(tx, who, proposer, id_, read, summary)
        )
        return self._get(tx, made), new

    def _propose(self, tx: Tx, who: Principal, proposer: str, id_: UUID, read: ParsedArticle, summary: str) -> UUID:
        article = self._articles.get(tx, who, id_)
        authors = self._articles.authors(tx, id_)
        if proposer in authors:
            raise OwnRevision
        if article.versions == 0 or article.state is ArticleState.RETRACTED:
            raise NotRevisable(article=article_id(id_), why=f"it is {article.state.value}")
        if len(authors) >= self._policy.authors_max:
            raise NotRevisable(article=article_id(id_), why=f"it has {len(authors)} authors, which is the limit")
        known = store.open_by(tx, id_, proposer)
        if known is not None:
            raise RevisionOpen(article=article_id(id_), revision=revision_id(known.id))
        return self._insert(tx, who, proposer, article.draft, id_, read, summary)

    def _insert(
        self, tx: Tx, who: Principal, proposer: str, base: int, article: UUID, read: ParsedArticle, summary: str
    ) -> UUID:
        now_us = self._clock.now_us()
        id_, stake = (uuid7(now_us, n, self._entropy.bytes(6)) for n in (0, 1))
        share = contribution(self._policy.revision_fee, 0, self._stakes.funds(tx, proposer), self._policy)
        revision = Revision(
            id=id_,
            article=article,
            proposer=proposer,
            actor=who.source,
            base=base,
            title=read.title,
            topics=read.topics,
            text=read.markdown,
            summary=summary,
            stake=stake,
            state=RevisionState.OPEN,
            opened_us=now_us,
            until_us=now_us + self._policy.revision_s * MICROSECONDS,
            decided_us=None,
        )
        if not store.insert(tx, revision):
            raise RevisionOpen(article=article_id(article), revision="one that was proposed at the same time")
        self._announce(tx, events.REVISION_PROPOSED, revision, who.source)
        refs = (revision_id(id_), article_id(article))
        self._stakes.place(tx, who, proposer, stake, Purpose.REVISION, share, refs=refs)
        return id_

    # Deciding

    def vote(self, tx: Tx, who: Principal, id_: UUID, *, accepts: bool) -> Revision:
        """An author's vote; the first one stands. It is decided when all have voted, or two disagree."""
        self.get(tx, who, id_)
        revision = self._locked(tx, id_)
        authors = self._articles.authors(tx, revision.article)
        mine = set(authors) & set(who.owners)
        if not mine:
            raise NotAnAuthor(article=article_id(revision.article))
        if revision.state is not RevisionState.OPEN:
            raise RevisionOver(revision=revision_id(id_), state=revision.state.value)
        newest = self._articles.lock(tx, revision.article).draft
        if accepts and newest != revision.base:
            raise RevisionStale(revision=revision_id(id_), base=revision.base, newest=newest)
        if self._clock.now_us() < revision.until_us:  # who comes later does not change what silence meant
            store.vote(tx, id_, min(mine), accepts, self._clock.now_us())
        return self._conclude(tx, who, revision, authors)

    def expire(self, tx: Tx, id_: UUID) -> Revision:
        """The authors' time is over."""
        revision = self._locked(tx, id_)
        if revision.state is not RevisionState.OPEN:
            return revision
        return self._conclude(
            tx, Principal(Role.OPERATOR, SOURCE), revision, self._articles.authors(tx, revision.article)
        )

    def late(self, tx: Tx, limit: int) -> list[UUID]:
        return store.late(tx, self._clock.now_us(), limit)

    def _conclude(self, tx: Tx, who: Principal, revision: Revision, authors: list[str]) -> Revision:
        over = revision.until_us <= self._clock.now_us()
        state = rules.outcome(authors, store.votes(tx, revision.id), over=over)
        if state is RevisionState.OPEN:
            return revision
        if state is RevisionState.ACCEPTED and self._articles.lock(tx, revision.article).draft != revision.base:
            state = RevisionState.EXPIRED  # the last author who had not voted is gone, and the text is an old one
        if state is RevisionState.ACCEPTED:
            self._take_over(tx, who, revision)
        return self._decide(tx, revision, state, authors, who.source)

    def _decide(self, tx: Tx, revision: Revision, state: RevisionState, authors: list[str], by: str) -> Revision:
        now_us = self._clock.now_us()
        store.decide(tx, revision.id, state, now_us)
        decided = replace(revision, state=state, decided_us=now_us)
        self._announce(tx, events.REVISION_DECIDED, decided, by)
        shares = rules.shares(state, self._policy_fee(tx, revision), authors, HOLDINGS, self._policy)
        amounts = {to if to == HOLDINGS else available(to): amount for to, amount in shares.items() if amount}
        refs, reason = (revision_id(revision.id), article_id(revision.article)), f"a revision was {state.value}"
        if amounts:
            self._stakes.share_out(tx, revision.stake, amounts, reason=reason, refs=refs)
        else:
            self._stakes.give_back(tx, revision.stake, reason=reason, refs=refs)
        return decided

    def _policy_fee(self, tx: Tx, revision: Revision) -> int:
        """What is really held: the policy may have changed since."""
        return self._stakes.amount(tx, revision.stake)

    def _take_over(self, tx: Tx, who: Principal, revision: Revision) -> None:
        """The text becomes the newest draft, and its proposer an author."""
        article = self._articles.lock(tx, revision.article)
        read = self._articles.read(revision.text, revision.title, list(revision.topics))
        self._articles.add_draft(tx, who, article, read)
        article_store.add_author(tx, revision.article, revision.proposer, self._clock.now_us())

    # Looking things up

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Revision:
        """For its proposer and the article's authors."""
        found = store.get(tx, id_)
        parties = set() if found is None else {found.proposer, *self._articles.authors(tx, found.article)}
        if found is None or not (parties & set(who.owners) or who.role is Role.OPERATOR):
            raise UnknownRevision(revision=revision_id(id_))
        return found

    def page(self, tx: Tx, who: Principal, article: UUID, before: UUID | None, limit: int) -> list[Revision]:
        """Proposals for an article: all of them for its authors, one's own for others."""
        self._articles.get(tx, who, article)
        every = self._articles.is_author(tx, who, article) or who.role is Role.OPERATOR
        return store.page(tx, article, None if every else who.owners, before, limit)

    def votes(self, tx: Tx, id_: UUID) -> dict[str, bool]:
        return store.votes(tx, id_)

    def _get(self, tx: Tx, id_: UUID) -> Revision:
        found = store.get(tx, id_)
        if found is None:
            raise KeyReused
        return found

    def _locked(self, tx: Tx, id_: UUID) -> Revision:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownRevision(revision=revision_id(id_))
        self._articles.lock(tx, found.article)
        locked = store.get(tx, id_, lock=True)
        assert locked is not None
        return locked

    def forget(self, tx: Tx, owner: str) -> None:
        """An owner is erased: their open proposals end, and their words go."""
        for id_ in store.open_of(tx, owner):
            self._decide(tx, self._locked(tx, id_), RevisionState.VOID, [], SOURCE)
        store.forget(tx, owner)

    # Boosts

    def boost(self, tx: Tx, who: Principal, id_: UUID, key: str) -> tuple[Boost, bool]:
        """Pay for a sponsored place; a further boost begins where the last one ends. Says whether it is new."""
        owner = owner_of(who)
        article = self._articles.get(tx, who, id_)
        article = self._articles.lock(tx, article.id)
        known = store.boost_by_key(tx, owner, key)
        if known is not None:
            if known.article != id_:
                raise KeyReused
            return known, False
        if article.state is not ArticleState.PROMOTED:
            raise NotBoostable(article=article_id(id_), state=article.state.value)
        now_us = self._clock.now_us()
        from_us = max(now_us, store.boosted_until(tx, id_) or 0)
        until_us = from_us + self._policy.boost_s * MICROSECONDS
        boost = Boost(uuid7(now_us, 0, self._entropy.bytes(6)), id_, owner, self._policy.boost_price, from_us, until_us)
        store.add_boost(tx, boost, key)
        data = {"article": article_id(id_), "until_us": until_us}
        self._outbox.announce(
            tx, events.BOOSTED, subject=article_id(id_), actor=who.source, data=data, audience=[EVERYONE]
        )
        self._stakes.consume(
            tx,
            who,
            owner,
            boost.amount,
            key=boost_id(boost.id),
            reason="a boost",
            refs=(boost_id(boost.id), article_id(id_)),
        )
        return boost, True

    def boosted_until(self, tx: Tx, id_: UUID) -> int | None:
        return store.boosted_until(tx, id_)

    def boosted(self, tx: Tx, limit: int) -> list[tuple[UUID, int]]:
        """What has a sponsored place now."""
        return store.boosted(tx, self._clock.now_us(), limit)

    def _announce(self, tx: Tx, type_: str, revision: Revision, by: str) -> None:
        data = {
            "revision": revision_id(revision.id),
            "article": article_id(revision.article),
            "state": revision.state.value,
        }
        audience = [revision.proposer, *self._articles.authors(tx, revision.article)]
        self._outbox.announce(tx, type_, subject=article_id(revision.article), actor=by, data=data, audience=audience)
