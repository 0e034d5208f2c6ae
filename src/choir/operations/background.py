"""What a node does by itself, in a server process: the work of its features, and events that are handed out to them.

A server process has a scheduler for what is due, the features' own runners for what takes long, and an attendant that
is woken when something is rung for. What the attendant misses, the scheduler finds a moment later.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from choir.feature import Base, RepeatingTask, Stopping
from choir.foundation.clock import MICROSECONDS
from choir.foundation.policy import tree
from choir.objects.service import Objects
from choir.storage.policy import NodePolicy
from choir.storage.tasks import Handlers, Quick, Scheduler, Slow, Task, schedule
from choir.storage.wakeups import WakeupListener

_HAND_OUT = "outbox.hand_out"
_STOP_S = 5.0
_WIND_DOWN_S = 1.0


class Background:
    """All of it, for one server process."""

    def __init__(self, node: Base, stopping: Stopping = lambda: False) -> None:
        self._node = node
        self._works = [feature.work(node, stopping) for feature in node.features]
        self._subscribers = node.subscribers()
        self.runners = [runner for work in self._works for runner in work.runners]
        self._scheduler = Scheduler(node.database, self._handlers(), node.clock, node.policy.of(NodePolicy))
        self._wakeup_listener = WakeupListener(node.database.wakeups, self._wakes())

    def start(self) -> None:
        self._scheduler.start()
        self._wakeup_listener.start()
        for runner in self.runners:
            runner.start()

    def wind_down(self) -> None:
        """Begin nothing more, and give what is under way a moment to finish while there is a database."""
        for runner in self.runners:
            runner.halt()
        self._scheduler.stop(_WIND_DOWN_S)

    def stop(self) -> None:
        """In bounded time: nothing in here is asked to finish, only to stop."""
        self._scheduler.halt()
        for runner in reversed(self.runners):
            runner.stop()
        self._wakeup_listener.stop(_STOP_S)
        self._scheduler.stop(_STOP_S)

    def run_due(self) -> int:
        """Do what is due now, in this thread; says how many tasks that were."""
        return self._scheduler.run_due()

    def hand_out(self) -> int:
        """Hand out what was announced to whoever handles it; says how many deliveries that makes."""
        return self._subscribers.hand_out()

    def schedule(self) -> None:
        """Put the repeating tasks on the list, each once, and note who handles which events."""
        now_us = self._node.clock.now_us()
        with self._node.unit_of_work() as tx:
            for one in self._every():
                every_us = one.seconds * MICROSECONDS
                schedule(tx, one.name, "", now_us, every_us=every_us)
                tx.run("update tasks set every_us = %s where name = %s and key = ''", every_us, one.name)
            for work in self._works:
                if work.schedule is not None:
                    work.schedule(tx, now_us)
            self._subscribers.register(tx)

    def _every(self) -> list[RepeatingTask]:
        found = [one for work in self._works for one in work.every]
        if self._subscribers.wakeups:
            found.append(
                RepeatingTask(_HAND_OUT, self._node.policy.of(NodePolicy).hand_out_every_s, slow=self._hand_out)
            )
        return found

    def _handlers(self) -> Handlers:
        quick: dict[str, Quick] = self._subscribers.handlers()
        persistent = tuple(quick)
        slow: dict[str, Slow] = {_HAND_OUT: self._hand_out}
        for work in self._works:
            quick |= {**work.quick, **{one.name: one.quick for one in work.every if one.quick is not None}}
            slow |= {**work.slow, **{one.name: one.slow for one in work.every if one.slow is not None}}
        return Handlers(quick, slow, persistent)

    def _wakes(self) -> dict[str, Callable[[set[UUID]], None]]:
        wakes: dict[str, Callable[[set[UUID]], None]] = {}
        for wakeup in self._subscribers.wakeups:
            wakes[wakeup] = self._announced
        for work in self._works:
            wakes.update(work.wakes)
        return wakes

    def _announced(self, _: set[UUID]) -> None:
        self._subscribers.hand_out()

    def _hand_out(self, _: Task) -> None:
        self._subscribers.hand_out()


def schedule_repeating(node: Base) -> None:
    """Put the node's repeating tasks on the list, each once, and note who handles which events."""
    Background(node).schedule()


def keep_policy(node: Base) -> None:
    """Keep the effective policy as an object, so that its hash on entries and receipts can be looked up."""
    with node.unit_of_work() as tx:
        stored = node.of(Objects).put_atom(tx, tree(node.policy), None)
        node.of(Objects).refer(tx, "node:policy", stored.hash)
