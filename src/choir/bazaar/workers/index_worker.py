"""The index worker: RepoIndex by tree-sitter, in the sandbox.

Guarantees: what it hands in follows from the commit, the languages and the tools alone. A previous index saves parsing
and changes nothing in the result; one that cannot be read, or is of other tools, is not used.
"""

from __future__ import annotations

from pathlib import Path

from choir.bazaar.contracts import RepoIndex, RepoIndexRequest, RepoIndexResult
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification import indexing
from choir.bazaar.verification.indexing import Indexer
from choir.bazaar.verification.model import Cancelled
from choir.bazaar.verification.trees import NoBase, check_out
from choir.bazaar.workers.model import BrokeDown, IsCancelled, NotDone, NotMine, Stopped, WorkOrder, WorkProduct
from choir.bazaar.workers.shop import Workshop
from choir.foundation.errors import ChoirError
from choir.foundation.words import count


class IndexWorker:
    """RepoIndex."""

    name = "index"
    types = frozenset({JobType.REPO_INDEX})

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    def problem(self) -> str:
        return indexing.lacking()

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        request = order.request
        if not isinstance(request, RepoIndexRequest) or order.repository is None:
            raise NotMine(worker=self.name, why="it only indexes repositories")
        if request.embeddings and self._shop.embedder is None:
            raise NotMine(worker=self.name, why="it has no model for embeddings")
        trajectory.user(f"Index commit {request.base_commit}: {', '.join(request.languages)}")
        with self._shop.scratch() as name:
            try:
                made, parsed = self._index(order, request, Path(name), cancelled)
            except Cancelled:
                raise Stopped from None
            except (NoBase, indexing.TooMuchToIndex) as error:
                raise NotDone(why=str(error).rstrip(".")) from None
            except indexing.NotIndexed as error:
                raise BrokeDown(why=str(error).rstrip(".")) from None
        said = (
            f"{count(made.symbols, 'symbol')} and {count(made.references, 'reference')} in {count(made.parsed, 'file')}"
        )
        trajectory.tool("Index", request.base_commit, f"{said}; {parsed} of them parsed now")
        result = RepoIndexResult(request.base_commit, made.symbols, made.references, parsed)
        return WorkProduct(made.to_bytes(), result, said)

    def _index(
        self, order: WorkOrder, request: RepoIndexRequest, folder: Path, cancelled: IsCancelled
    ) -> tuple[RepoIndex, int]:
        shop = self._shop
        assert order.repository is not None
        tree = check_out(shop.runner, order.repository, request.base_commit, folder / "base", cancelled)
        found = indexing.survey(tree, request.languages, shop.verification)
        wall_s = shop.wall_s(order, shop.verification.index_wall_s, "the indexer")
        indexer = Indexer(shop.runner, shop.indexer(), shop.verification, cancelled, wall_s, order.job)
        embedder = shop.embedder if request.embeddings else None
        return indexing.make(indexer, found, request.base_commit, request.languages, self._previous(order), embedder)

    def _previous(self, order: WorkOrder) -> RepoIndex | None:
        if order.previous is None:
            return None
        try:
            return RepoIndex.from_bytes(order.previous, self._shop.verification)
        except ChoirError:
            return None
