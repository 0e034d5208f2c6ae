"""What a node does for its market: offer jobs, go on where a time is over, qualify newcomers, keep records right.

Guarantees: each job is gone on with in a transaction of its own, and one that fails keeps no other waiting; every
round is bounded; what a round did not reach is reached by one of the next. Rounds over all providers keep their
place in the task itself. While the node is away it can hear nobody, take nothing in and verify nothing: that is held
against no provider, and whatever was still to come then comes so much later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from uuid import UUID

from choir.bazaar.composition import Bazaar
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers import promises
from choir.feature import Base
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import ChoirError, Refusal
from choir.storage.database import Tx
from choir.storage.tasks import Task, keep_place

log = logging.getLogger(__name__)

_JOBS_AT_ONCE = 200
_RECORDS_AT_ONCE = 20
_BONDS_AT_ONCE = 100
_PROMISES_AT_ONCE = 500
_AWAY_S = 15  # a round that comes so late was not kept waiting by other work, but by the node being away
_FIRST = UUID(int=0)


class MarketRounds:
    """The handlers. `verifier_problem` says why nothing can be verified here, if so."""

    def __init__(self, node: Base, verifier_problem: Callable[[], str]) -> None:
        self._node = node
        self._bazaar = node.of(Bazaar)
        self._verifier_problem = verifier_problem
        self._looked_s: dict[str, float] = {}  # when this process last did a task, by the machine's clock

    # Jobs

    def tend_jobs(self, task: Task) -> None:
        """Offer jobs that are open, and go on where a time is over."""
        node, bazaar = self._node, self._bazaar
        if self._was_away(task):
            node.database.run(lambda tx: bazaar.excuse(tx, task.due_us, node.clock.now_us()))
        with node.unit_of_work() as tx:
            late = bazaar.jobs.to_look_at(tx, _JOBS_AT_ONCE)
            silent = bazaar.disputes.unanswered(tx, _JOBS_AT_ONCE)
            reviewed = bazaar.seconds.over(tx, _JOBS_AT_ONCE)
        self._each(late, bazaar.jobs.look)
        self._each(silent, bazaar.disputes.default)
        self._each(reviewed, bazaar.attempts.conclude_seconds)
        with node.unit_of_work() as tx:
            open_ = bazaar.jobs.to_offer(tx, _JOBS_AT_ONCE)
        self._each(open_, bazaar.jobs.assign)

    def look(self, task: Task) -> None:
        """Go on with one job, because something about it has changed."""
        self._node.database.run(lambda tx: self._bazaar.jobs.look(tx, UUID(task.key)))

    def offer(self, providers: Collection[UUID]) -> None:
        """These have become free: offer the jobs that wait for that, until nobody of them is free any more."""
        node, bazaar = self._node, self._bazaar
        with node.database.statements() as tx:
            waiting = bazaar.jobs.waiting_for(tx, providers, node.policy.of(BazaarPolicy).waiting_tries_max)
        for job in waiting:
            with node.database.statements() as tx:
                if not bazaar.providers.any_free(tx, providers):
                    return
            self._each([job], bazaar.jobs.assign)

    def _each(self, ids: Collection[UUID], work: Callable[[Tx, UUID], object]) -> None:
        """One that fails must not keep the others waiting."""
        for id_ in ids:
            try:
                self._node.database.run(lambda tx, id_=id_: work(tx, id_))  # type: ignore[misc]
            except ChoirError as error:
                log.warning("a job could not go on", extra={"job": str(id_), "error": error.code})
            except Exception:
                log.exception("a job could not go on", extra={"job": str(id_)})

    def follow(self, task: Task) -> None:
        """Have a review followed by one with planted defects, if the platform can pay for it."""
        node, planted_reviews = self._node, self._bazaar.planted_reviews
        if self._verifier_problem():
            return  # nobody shall work for what nobody can look at
        with node.unit_of_work() as tx:
            after = planted_reviews.followed(tx, UUID(task.key))
        made = None if after is None else planted_reviews.made()
        if after is None or made is None:
            return
        try:
            job = node.database.run(lambda tx: planted_reviews.order(tx, after, made))
        except Refusal as error:  # what the platform has is spent by somebody else at this moment
            log.info("no planted review was ordered", extra={"error": error.code})
            return
        if job is None:
            log.info("no planted review was ordered", extra={"error": "the platform's fees do not suffice"})

    # What was kept or put up for a time

    def remove_bytes(self, _: Task) -> None:
        """Let go of the bytes of some jobs whose time is over."""
        with self._node.unit_of_work() as tx:
            due = self._bazaar.retention.due(tx)
        self._each(due, self._bazaar.retention.remove)

    def return_bonds(self, _: Task) -> None:
        """Give back bonds that were asked for and that nobody can need any more."""
        with self._node.unit_of_work() as tx:
            leaving = self._bazaar.bonds.leaving(tx, _BONDS_AT_ONCE)
        self._each(leaving, self._bazaar.bonds.give_back)

    # Newcomers

    def qualify(self, providers: Collection[UUID]) -> None:
        """Give these what they can qualify with now."""
        self._qualify(providers)

    def qualify_all(self, _: Task) -> None:
        """The same for whoever waits."""
        self._qualify(None)

    def _qualify(self, providers: Collection[UUID] | None) -> None:
        node = self._node
        with node.database.statements() as tx:
            found = self._bazaar.providers.to_qualify(
                tx, node.policy.of(ProvidersPolicy).qualifications_at_once, providers
            )
        if found and self._verifier_problem():
            return  # nobody shall work for what nobody can look at; the log says why
        for provider, type_ in found:
            self._begin(provider, type_)

    def _begin(self, provider: UUID, type_: JobType) -> None:
        try:
            self._node.database.run(lambda tx: self._bazaar.qualification.begin(tx, provider, type_))
        except ChoirError as error:  # somebody else was quicker, or it has gone
            log.info("no qualification began", extra={"provider": str(provider), "error": error.code})

    # Those who are not heard from

    def silence(self, tx: Tx, task: Task) -> None:
        """Take providers off the market that were not heard from."""
        providers = self._bazaar.providers
        if self._was_away(task):
            providers.excuse(tx)
        else:
            providers.silence_round(tx)

    def _was_away(self, task: Task) -> bool:
        """Whether no process was there to do it when it was due.

        A development node's clock that was moved is no absence: time passes then, for all to see.
        """
        now_s = time.time()
        before_s, self._looked_s[task.name] = self._looked_s.get(task.name, 0.0), now_s
        late = self._node.clock.now_us() - task.due_us > _AWAY_S * MICROSECONDS
        return late and now_s - before_s > _AWAY_S

    # Records

    def rebuild_records(self, tx: Tx, task: Task) -> None:
        """Compute some providers' records from scratch, as the clusters are now."""
        after = UUID(task.payload.get("after", str(_FIRST)))
        following, _ = self._bazaar.providers.records.rebuild_round(tx, after, _RECORDS_AT_ONCE)
        payload = {} if following is None else {"after": str(following)}
        keep_place(tx, task, payload)

    def refresh_promises(self, tx: Tx, _: Task) -> None:
        """Make some promises anew that another policy had made. It finds its place by what is still to be done."""
        promises.refresh_round(tx, self._node.policy.of(ProvidersPolicy), _PROMISES_AT_ONCE)
