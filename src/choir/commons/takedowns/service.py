"""Taking an article or a source out of public view, and putting it back.

Guarantees: only operators do, with a reason that stays on record; readers, search, the feed and bundles honour it from
the commit on, and are told the category and the day, never the content; authors and makers keep reading what is theirs,
and an author cannot publish the article again meanwhile; states, stakes and money are not touched; doing it twice is
doing it once.
"""

from __future__ import annotations

from uuid import UUID

from choir.commons import events
from choir.commons.articles import store as article_store
from choir.commons.articles.model import UnknownArticle, article_id, parse_article_id
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Kind
from choir.commons.policy import CommonsPolicy
from choir.commons.search.service import Search
from choir.commons.sources.model import UnknownSource
from choir.commons.takedowns import rules, store
from choir.commons.takedowns.model import (
    Category,
    Takedown,
    TakedownOver,
    TakedownsByOperators,
    UnknownTakedown,
    takedown_id,
)
from choir.foundation.canonical import ObjectHash, parse_object_hash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.model import Principal, Role
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox


class Takedowns:
    """Use cases of operators; all inside the caller's transaction."""

    def __init__(
        self, articles: Articles, search: Search, outbox: Outbox, clock: Clock, entropy: Entropy, policy: CommonsPolicy
    ) -> None:
        self._articles = articles
        self._search = search
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def add(self, tx: Tx, who: Principal, subject: str, category: Category, note: str) -> tuple[Takedown, bool]:
        """Take an article or a source down; says whether that is new."""
        _must_be_operator(who)
        note = rules.checked_note(note, self._policy.takedown_note_chars_max)
        if subject.startswith("article_"):
            return self._add_article(tx, who, parse_article_id(subject), category, note)
        return self._add_source(tx, who, parse_object_hash(subject), category, note)

    def _add_article(self, tx: Tx, who: Principal, id_: UUID, category: Category, note: str) -> tuple[Takedown, bool]:
        if article_store.get(tx, id_, lock=True) is None:
            raise UnknownArticle(article=article_id(id_))
        standing = store.of_article(tx, id_)
        if standing is not None:
            return standing, False
        made = self._keep(tx, who, Takedown(self._new_id(), id_, None, category, note, who.source, self._now()))
        self._search.refresh(tx, id_)
        return made, True

    def _add_source(
        self, tx: Tx, who: Principal, name: ObjectHash, category: Category, note: str
    ) -> tuple[Takedown, bool]:
        found = atom_store.find(tx, [name]).get(name)
        if found is None or found.kind is not Kind.SOURCE:
            raise UnknownSource(source=name)
        atom_store.lock(tx, [found.id])
        standing = store.of_source(tx, found.id)
        if standing is not None:
            return standing, False
        return self._keep(tx, who, Takedown(self._new_id(), None, name, category, note, who.source, self._now())), True

    def restore(self, tx: Tx, who: Principal, id_: UUID, note: str) -> Takedown:
        """Put it back."""
        _must_be_operator(who)
        note = rules.checked_note(note, self._policy.takedown_note_chars_max)
        known = store.lock(tx, id_)
        if known is None:
            raise UnknownTakedown(takedown=takedown_id(id_))
        if not known.standing:
            raise TakedownOver(takedown=takedown_id(id_))
        store.restore(tx, id_, self._now(), who.source, note)
        store.show(tx, id_)
        if known.article is not None:
            self._articles.lock(tx, known.article)
            self._search.refresh(tx, known.article)
        self._announce(tx, events.RESTORED, known, who)
        return self.get(tx, id_)

    def get(self, tx: Tx, id_: UUID) -> Takedown:
        found = store.lock(tx, id_)
        if found is None:
            raise UnknownTakedown(takedown=takedown_id(id_))
        return found

    def page(self, tx: Tx, *, before: UUID | None, limit: int) -> list[Takedown]:
        """All, newest first, restored ones included."""
        return store.page(tx, before, limit)

    def _keep(self, tx: Tx, who: Principal, item: Takedown) -> Takedown:
        store.insert(tx, item)
        store.hide(tx, item.id)
        self._announce(tx, events.TAKEN_DOWN, item, who)
        return item

    def _announce(self, tx: Tx, type_: str, item: Takedown, who: Principal) -> None:
        about = {"article": article_id(item.article)} if item.article is not None else {"source": str(item.source)}
        data = {"takedown": takedown_id(item.id), "category": item.category.value, **about}
        self._outbox.announce(tx, type_, subject=takedown_id(item.id), actor=who.source, data=data, audience=[EVERYONE])

    def _new_id(self) -> UUID:
        return uuid7(self._now(), 0, self._entropy.bytes(6))

    def _now(self) -> int:
        return self._clock.now_us()


def _must_be_operator(who: Principal) -> None:
    if who.role is not Role.OPERATOR:
        raise TakedownsByOperators
