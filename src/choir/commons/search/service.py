"""Search and the feed: what is promoted, found by words and by sense, in an order that explains itself.

Guarantees: only promoted articles are found; the order does not depend on stakes or boosts; every list is bounded.
The index follows from the articles' states and can be made again from them.
"""

from __future__ import annotations

from uuid import UUID

from choir.commons.articles import store as article_store
from choir.commons.articles.rendering import own_words
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.schemas import Binding, Synthesis
from choir.commons.atoms.service import Atoms
from choir.commons.citations import store as citation_store
from choir.commons.passages.index import PassageIndex
from choir.commons.publication import store as publication_store
from choir.commons.search import rules, store
from choir.commons.search.model import Candidate, Feed, Found
from choir.commons.search.policy import SearchPolicy
from choir.commons.takedowns import store as takedown_store
from choir.commons.verifiers.model import Level
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import Invalid
from choir.storage.database import Tx

_DAY_US = 86_400 * MICROSECONDS


class Search:
    """Use cases of finding; all inside the caller's transaction."""

    def __init__(
        self, articles: Articles, atoms: Atoms, index: PassageIndex, clock: Clock, policy: SearchPolicy
    ) -> None:
        self._articles = articles
        self._atoms = atoms
        self._index = index
        self._clock = clock
        self._policy = policy

    def find(
        self,
        tx: Tx,
        query: str,
        *,
        topic: str | None = None,
        limit: int = 20,
        new: bool | None = None,
        days: int | None = None,
    ) -> Found:
        """Promoted articles that fit a query, best first; `new` says whether recency matters, else the query does.

        With `days` only those that were promoted in the last so many days.
        """
        query = self._checked(query)
        policy, now_us = self._policy, self._clock.now_us()
        since_us = 0 if days is None else now_us - days * _DAY_US
        topic = _topic(topic)
        by_words = store.by_words(tx, query, topic, since_us, policy.candidates)
        by_sense = self._by_sense(tx, query, topic)
        recency = rules.asks_for_new(query) if new is None else new
        candidates = [item for item in self._candidates(tx, by_words, by_sense) if item.promoted_us >= since_us]
        results = rules.rank(candidates, now_us, recency=recency, limit=min(limit, policy.results_max), policy=policy)
        shown = store.excerpts(tx, [item.candidate.publication for item in results], query)
        fitting = [item.article for item in candidates]
        return Found(
            tuple(rules.with_excerpt(item, shown.get(item.candidate.publication, "")) for item in results),
            tuple(store.sponsored(tx, fitting, topic, now_us, policy.sponsored_rows)),
            recency,
        )

    def _by_sense(self, tx: Tx, query: str, topic: str | None) -> list[UUID]:
        policy, embedder = self._policy, self._index.embedder
        [vector] = embedder.embed([query])
        return store.by_sense(tx, vector, embedder.name, topic, policy.candidates, policy.width, policy.sense_ppm_max)

    def _checked(self, query: str) -> str:
        query = " ".join(query.replace("\0", " ").split())
        if not query or len(query) > self._policy.query_chars_max:
            raise Invalid(what="the query", why=f"it must have 1 to {self._policy.query_chars_max} characters")
        return query

    def _candidates(self, tx: Tx, by_words: list[UUID], by_sense: list[UUID]) -> list[Candidate]:
        words, sense = ({id_: n for n, id_ in enumerate(ids)} for ids in (by_words, by_sense))
        ids = list(dict.fromkeys([*by_words, *by_sense]))
        found, cited, survived = store.rows(tx, ids), citation_store.counts(tx, ids), store.survived(tx, ids)
        return [
            Candidate(
                article=row.article,
                publication=row.publication,
                title=row.title,
                topics=row.topics,
                author=row.author,
                promoted_us=row.promoted_us,
                words_place=words.get(row.article),
                sense_place=sense.get(row.article),
                excerpt="",
                confidence_bps=row.confidence_bps,
                bindings=row.bindings,
                citations=cited.get(row.article, (0, 0, 0))[0],
                reuse_ppm=cited.get(row.article, (0, 0, 0))[2],
                survived=survived.get(row.article, 0),
            )
            for row in (found[id_] for id_ in ids if id_ in found)
        ]

    def feed(self, tx: Tx, *, topic: str | None = None) -> Feed:
        """New and much-cited work, with sponsored places beside it."""
        now_us, policy = self._clock.now_us(), self._policy
        since_us, topic = now_us - policy.cited_window_s * MICROSECONDS, _topic(topic)
        return Feed(
            tuple(store.newest(tx, topic, policy.feed_rows)),
            tuple(store.most_cited(tx, topic, since_us, policy.feed_rows)),
            tuple(store.sponsored(tx, None, topic, now_us, policy.sponsored_rows)),
        )

    def _confidences(self, tx: Tx, content: Synthesis) -> list[int]:
        """Of the bindings whose words were found to agree: what is undecided counts for nothing."""
        found = atom_store.find(tx, {ObjectHash(name) for name in content.bindings})
        names = {atom.id: name for name, atom in found.items()}
        attested = publication_store.attestations(tx, list(names))
        verified = {names[item[0]] for item in attested if item[3] == "pass" and (item[4] or "") >= Level.L2}
        bindings = (self._atoms.content(tx, name) for name in sorted(verified))
        return [item.confidence_bps for item in bindings if isinstance(item, Binding)]

    def refresh(self, tx: Tx, article: UUID) -> None:
        """Have the index say what is true of an article now; the caller has locked it."""
        found = publication_store.promoted_version(tx, article)
        if found is None or found.promoted_us is None or takedown_store.of_article(tx, article) is not None:
            store.drop(tx, article)
            return
        content = self._atoms.content(tx, atom_store.by_id(tx, found.synthesis).hash)
        assert isinstance(content, Synthesis)
        read = self._articles.read(content.text, content.title, list(content.topics))
        confidences = self._confidences(tx, content)
        row = store.IndexRow(
            article,
            found.id,
            read.title,
            tuple(read.topics),
            article_store.authors(tx, article)[0],
            sum(confidences) // max(1, len(confidences)),
            len(confidences),
            found.promoted_us,
        )
        store.put(tx, row, own_words(read))


def _topic(asked: str | None) -> str | None:
    """A topic as the database takes it; none that an article has contains a NUL."""
    return asked if asked is None else asked.replace("\0", " ")
