"""What a node does by itself: expire holds, sign checkpoints, say what it owes, tend jobs, verify, forget what is over.

A server process has a scheduler for what is due, others for verification and for counting what is owed, which take
long, and an attendant that is woken when a provider becomes free. What the attendant misses, the scheduler finds a
moment later.
"""

from __future__ import annotations

from collections.abc import Callable

from psycopg.types.json import Jsonb

from choir.bazaar.jobs import LOOK
from choir.bazaar.lives import FOLLOW
from choir.bazaar.model import FREE, QUALIFY
from choir.foundation.clock import MICROSECONDS
from choir.foundation.policy import tree
from choir.identity.transfers import FUNDING
from choir.node import Node
from choir.operations.expiring import Expiring
from choir.operations.market import MarketRounds
from choir.operations.owing import Owing, schedule_owing
from choir.operations.preparing import publish_checkpoint
from choir.operations.rotation import rewrap_account_keys
from choir.operations.verifying import Verifying
from choir.storage.bells import Attendant
from choir.storage.database import Tx
from choir.storage.tasks import Handlers, Scheduler, Task, schedule

_EVENTS_AT_ONCE = 1000
_EXPIRE_EVERY_S = 1
_FORGET_EVERY_S = 3600
_FORGET_IDENTITY_EVERY_S = 60
_COLLECT_EVERY_S = 300
_REWRAP_EVERY_S = 300
_FORGET_USED_EVERY_S = 60
_FUNDING_EVERY_S = 60
_FUNDING_AT_ONCE = 20
_OFFER_EVERY_S = 1
_SILENCE_EVERY_S = 5
_RECORDS_EVERY_S = 5
_PROMISES_EVERY_S = 5
_QUALIFY_EVERY_S = 5
_STOP_S = 5.0
_FORGET_UPLOADS_EVERY_S = 60
_UPLOADS_AT_ONCE = 50
_WIND_DOWN_S = 1.0


class Background:
    """All of it, for one server process."""

    def __init__(self, node: Node, stopping: Callable[[], bool] = lambda: False) -> None:
        self.verifying = Verifying(node, stopping)
        rounds = MarketRounds(node, self.verifying.bench.ailment)
        self._scheduler = make_scheduler(node, rounds)
        self._owing = Owing(node, stopping)
        self._attendant = Attendant(node.database.bells, {FREE: rounds.offer, QUALIFY: rounds.qualify})

    def start(self) -> None:
        self._scheduler.start()
        self._owing.start()
        self._attendant.start()
        self.verifying.start()

    def wind_down(self) -> None:
        """Begin nothing more, and give what is under way a moment to finish while there is a database."""
        self._owing.halt()
        self._scheduler.stop(_WIND_DOWN_S)

    def stop(self) -> None:
        """In bounded time: nothing in here is asked to finish, only to stop."""
        self._scheduler.halt()
        self.verifying.stop()
        self._owing.stop(_STOP_S)
        self._attendant.stop(_STOP_S)
        self._scheduler.stop(_STOP_S)


def make_scheduler(node: Node, rounds: MarketRounds) -> Scheduler:
    """The scheduler with all handlers; repeating tasks are on the list once, whoever comes first."""
    work = _Work(node)
    handlers = Handlers(
        quick={
            "identity.forget": work.forget_identity,
            "ledger.expire_holds": work.expire_holds,
            "outbox.forget": work.forget_events,
            "identity.forget_used": work.forget_used,
            FUNDING: work.note_funding,
            "identity.review_funding": work.review_funding,
            "bazaar.silence": rounds.silence,
            "bazaar.records": rounds.rebuild_records,
            "bazaar.promises": rounds.refresh_promises,
            "bazaar.forget_uploads": work.forget_uploads,
        },
        slow={
            "bazaar.jobs": rounds.tend_jobs,
            "bazaar.qualifying": rounds.qualify_all,
            LOOK: rounds.look,
            FOLLOW: rounds.follow,
            "ledger.checkpoint": work.checkpoint,
            "objects.collect": work.collect_objects,
            "identity.rewrap": work.rewrap,
        },
    )
    return Scheduler(node.database, handlers, node.clock, node.policy.node)


def schedule_repeating(node: Node) -> None:
    """Put the node's repeating tasks on the list."""
    now_us = node.clock.now_us()
    every = {
        "identity.forget": _FORGET_IDENTITY_EVERY_S,
        "ledger.expire_holds": _EXPIRE_EVERY_S,
        "ledger.checkpoint": node.policy.ledger.checkpoint_s,
        "objects.collect": _COLLECT_EVERY_S,
        "outbox.forget": _FORGET_EVERY_S,
        "identity.rewrap": _REWRAP_EVERY_S,
        "identity.forget_used": _FORGET_USED_EVERY_S,
        "identity.review_funding": _FUNDING_EVERY_S,
        "bazaar.jobs": _OFFER_EVERY_S,
        "bazaar.silence": _SILENCE_EVERY_S,
        "bazaar.records": _RECORDS_EVERY_S,
        "bazaar.promises": _PROMISES_EVERY_S,
        "bazaar.qualifying": _QUALIFY_EVERY_S,
        "bazaar.forget_uploads": _FORGET_UPLOADS_EVERY_S,
    }
    with node.unit_of_work() as tx:
        for name, seconds in every.items():
            schedule(tx, name, "", now_us, every_us=seconds * MICROSECONDS)
            tx.run("update tasks set every_us = %s where name = %s and key = ''", seconds * MICROSECONDS, name)
        schedule_owing(tx, now_us, node.policy.ledger.liabilities_every_s)


def keep_policy(node: Node) -> None:
    """Keep the effective policy as an object, so that its hash on entries and receipts can be looked up."""
    with node.unit_of_work() as tx:
        stored = node.objects.put_atom(tx, tree(node.policy), None)
        node.objects.refer(tx, "node:policy", stored.hash)


class _Work:
    """The handlers."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._expiring = Expiring(node.clock, node.spending.settle_batch)

    def expire_holds(self, tx: Tx, _: Task) -> None:
        """Give back what is left in holds whose time is over."""
        self._expiring.round(tx)

    def checkpoint(self, _: Task) -> None:
        """Keep tiles in bounded transactions, then sign what is new and publish it."""
        node = self._node
        more = True
        while more:
            with node.unit_of_work() as tx:
                more = node.checkpoints.keep_tiles(tx)
        with node.unit_of_work() as tx:
            checkpoint = node.checkpoints.sign(tx)
        publish_checkpoint(node.settings.home, checkpoint.note)

    def collect_objects(self, _: Task) -> None:
        """Remove objects that nothing points to, in bounded transactions."""
        more = True
        while more:
            with self._node.unit_of_work() as tx:
                more = self._node.objects.collect(tx, self._node.clock.now_us()).more

    def rewrap(self, _: Task) -> None:
        """Finish a replacement of the node's key that was cut off: encrypt anew what a former key sealed."""
        rewrap_account_keys(self._node)

    def forget_used(self, tx: Tx, _: Task) -> None:
        """Drop signed requests that are too old to be used again."""
        self._node.nostr_auth.forget_used(tx)

    def note_funding(self, tx: Tx, task: Task) -> None:
        """Join an owner who was sent something with whoever most of theirs came from."""
        self._node.clusters.note_funding(tx, task.key)

    def review_funding(self, tx: Tx, task: Task) -> None:
        """Look at some of those who were joined so, whether it is still true."""
        after = task.payload.get("after")
        following = self._node.clusters.review_funding(tx, tuple(after) if after else None, _FUNDING_AT_ONCE)
        payload = {} if following is None else {"after": list(following)}
        tx.run("update tasks set payload = %s where name = %s and key = %s", Jsonb(payload), task.name, task.key)

    def forget_events(self, tx: Tx, _: Task) -> None:
        """Drop events that are older than anyone may ask for."""
        before_us = self._node.clock.now_us() - self._node.policy.node.outbox_keep_s * MICROSECONDS
        self._node.outbox.forget(tx, before_us, _EVENTS_AT_ONCE)

    def forget_identity(self, tx: Tx, _: Task) -> None:
        """Drop challenges, sessions and logins whose time is over, old keys and counters, and yesterday's salt."""
        node = self._node
        node.challenges.forget(tx)
        node.sessions.forget(tx)
        node.logins.forget(tx)
        node.repeats.forget(tx)
        node.rates.forget(tx)

    def forget_uploads(self, tx: Tx, _: Task) -> None:
        """Drop uploads that were not finished in their time."""
        self._node.bazaar.uploads.forget(tx, _UPLOADS_AT_ONCE)
