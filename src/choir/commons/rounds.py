"""What a node does for its commons: reviews, windows, stakes, challenges, revisions and flags.

Guarantees: each thing is gone on with in a transaction of its own, and one that fails keeps no other waiting; reading
documents and running verifiers holds no transaction; every round is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from uuid import UUID

from choir.commons.composition import Commons
from choir.commons.publication.service import REFEREE
from choir.feature import Base
from choir.foundation.errors import ChoirError
from choir.storage.database import Tx
from choir.storage.tasks import Task

log = logging.getLogger(__name__)

_AT_ONCE = 200


class CommonsRounds:
    """The handlers of the commons' tasks."""

    def __init__(self, node: Base) -> None:
        self._node = node
        self._commons = node.of(Commons)

    def review(self, task: Task) -> None:
        """Look at a version's evidence without a transaction, then conclude in one."""
        id_, publications = UUID(task.key), self._commons.publications
        with self._node.read() as tx:
            case = publications.case(tx, id_)
        if case is None:
            return
        look = publications.evidence.look(self._node.read, REFEREE, case, again=True)
        self._node.write(lambda tx: publications.conclude(tx, id_, case, look))

    def judge(self, task: Task) -> None:
        """Let the referee look at a challenge."""
        id_, challenges = UUID(task.key), self._commons.challenges
        findings = challenges.examine(self._node.read, id_)
        self._node.write(lambda tx: challenges.judge(tx, id_, findings))

    def flag(self, task: Task) -> None:
        """Flag what rests on a retracted or demoted atom, some at a time."""
        root = int(task.key)
        while self._node.write(lambda tx: self._commons.atoms.lifecycle.spread(tx, root)):
            pass

    def go_on(self, _: Task) -> None:
        """Promote what survived its window, give stakes back, and end what authors did not answer."""
        commons = self._commons
        with self._node.read() as tx:
            over, due = commons.publications.due(tx, _AT_ONCE)
            late = commons.revisions.late(tx, _AT_ONCE)
        self._each(over, commons.publications.promote)
        self._each(due, commons.publications.return_stake)
        self._each(late, commons.revisions.expire)

    def embed(self, _: Task) -> None:
        """Embed what has no vector of the node's model, some at a time."""
        index = self._commons.index
        while index.embed_sources(self._node) or index.embed_again(self._node):
            pass

    def settle_months(self, _: Task) -> None:
        """Scale the novelty rewards of months that are over to their budget."""
        novelty = self._commons.novelty
        with self._node.read() as tx:
            over = novelty.months_to_close(tx)
        for month in over:
            while self._node.write(lambda tx, month=month: novelty.settle_some(tx, month)):  # type: ignore[misc]
                pass

    def _each(self, ids: Collection[UUID], work: Callable[[Tx, UUID], object]) -> None:
        """One that fails must not keep the others waiting."""
        for id_ in ids:
            try:
                self._node.write(lambda tx, id_=id_: work(tx, id_))  # type: ignore[misc]
            except ChoirError as error:
                log.warning("something in the commons could not go on", extra={"id": str(id_), "error": error.code})
            except Exception:
                log.exception("something in the commons could not go on", extra={"id": str(id_)})
