"""The index of passages: what is embedded, what is earlier work, and what is nearest to a text.

Guarantees: every passage has a vector of the node's model, or novelty is not measured until it has; a passage is
earlier work from the submission on that published it. Up to a number of passages the nearest are found exactly; beyond
it an index is asked, and whatever it finds is compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar
from uuid import UUID

from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.passages import store
from choir.commons.passages.embedding import Embedder, Vector
from choir.commons.passages.model import EmbeddedPassage
from choir.commons.passages.store import StoredPassage
from choir.storage.database import Tx

S = TypeVar("S")

_AT_ONCE = 200
_SOURCES_AT_ONCE = 20


class Transactions(Protocol):
    """What reads and writes by short transactions: a node."""

    def read(self) -> AbstractContextManager[Tx]: ...

    def write(self, work: Callable[[Tx], S]) -> S: ...


class PassageIndex:
    """Embedding takes no transaction; all else happens inside the caller's."""

    def __init__(self, embedder: Embedder, policy: NoveltyPolicy) -> None:
        self.embedder = embedder
        self._policy = policy

    # Sources

    def embed_source(self, texts: Sequence[str]) -> list[EmbeddedPassage]:
        """The vectors of all of a source's passages, so that none is left to embed; takes a while."""
        vectors = self.embedder.embed(texts)
        pairs = enumerate(zip(texts, vectors, strict=True))
        return [EmbeddedPassage(n, max(1, len(text.split())), vector) for n, (text, vector) in pairs]

    def add_source(self, tx: Tx, source: int, passages: Sequence[EmbeddedPassage]) -> None:
        """Keep a source's passages; nobody else's work is compared with them until somebody publishes it."""
        store.add_of_source(tx, source, self.embedder.name, passages)

    # Earlier work

    def is_ready(self, tx: Tx, sources: Collection[int]) -> bool:
        """Whether all of earlier work, and these sources, can be compared now."""
        return not store.is_stale(tx, self.embedder.name) and not store.without_passages(tx, sources)

    def nearest(
        self, tx: Tx, vectors: Sequence[Vector], *, article: UUID, sources: Collection[int], after: int = 0
    ) -> list[list[StoredPassage]]:
        """For each vector the nearest passages of other works that were published after a place in the order."""
        policy = self._policy
        if not vectors:
            return []
        exactly = after > 0 or store.head(tx).passages <= policy.exact_passages_max
        return store.nearest(
            tx,
            vectors,
            self.embedder.name,
            article=article,
            after=after,
            own_sources=sources,
            k=policy.neighbours,
            width=policy.search_width,
            exactly=exactly,
        )

    def submit(
        self,
        tx: Tx,
        publication: UUID,
        article: UUID,
        passages: Sequence[tuple[int, str, Vector]],
        sources: Collection[int],
    ) -> int:
        """Make a submission and the sources that it opens earlier work; says its place. The caller holds the head."""
        position = store.advance(tx)
        store.add_of_article(tx, publication, article, position, self.embedder.name, passages)
        store.count_passages(tx, len(passages) + store.open_sources(tx, sources, position))
        return position

    def withdraw(self, tx: Tx, publication: UUID) -> None:
        """A submission was refused: its words are not earlier work."""
        store.head(tx, lock=True)
        store.count_passages(tx, -store.remove(tx, publication))

    # Another model, or sources from before there were vectors

    def embed_again(self, node: Transactions) -> int:
        """Embed some of what another model has embedded; says how much that was."""
        with node.read() as tx:
            found = store.of_other_models(tx, self.embedder.name, _AT_ONCE)
        if not found:
            return 0
        vectors = self.embedder.embed([text for _, text in found])
        pairs = [(id_, vector) for (id_, _), vector in zip(found, vectors, strict=True)]
        node.write(lambda tx: store.embed_again(tx, self.embedder.name, pairs))
        return len(found)

    def embed_sources(self, node: Transactions) -> int:
        """Embed some of the sources that have no vectors; says how many."""
        with node.read() as tx:
            found = store.sources_to_embed(tx, _SOURCES_AT_ONCE)
        for source in found:
            with node.read() as tx:
                texts = store.texts_of_source(tx, source)
            passages = self.embed_source(texts)
            node.write(lambda tx, source=source, passages=passages: self._add_late(tx, source, passages))  # type: ignore[misc]
        return len(found)

    def _add_late(self, tx: Tx, source: int, passages: Sequence[EmbeddedPassage]) -> None:
        store.head(tx, lock=True)
        self.add_source(tx, source, passages)
        position = store.position_of_source(tx, source)
        if position is not None:
            store.count_passages(tx, store.open_sources(tx, [source], position))
