"""The node's own things, as a part of a node: old events are forgotten, and those that a feature fails at are shown."""

from __future__ import annotations

from collections.abc import Iterator

from choir.feature import BackgroundWork, Base, Feature, RepeatingTask, Stopping
from choir.foundation.clock import MICROSECONDS
from choir.foundation.findings import Finding
from choir.foundation.settings import Settings
from choir.storage.database import Tx
from choir.storage.policy import NodePolicy
from choir.storage.subscribers import failing
from choir.storage.tasks import Task

_EVENTS_AT_ONCE = 1000
_FAILING_SHOWN = 20


def _work(base: Base, _: Stopping) -> BackgroundWork:
    def forget_events(tx: Tx, _: Task) -> None:
        """Drop events that are older than anyone may ask for."""
        before_us = base.clock.now_us() - base.policy.of(NodePolicy).outbox_keep_s * MICROSECONDS
        base.outbox.forget(tx, before_us, _EVENTS_AT_ONCE)

    return BackgroundWork(
        every=(RepeatingTask("outbox.forget", base.policy.of(NodePolicy).outbox_forget_every_s, quick=forget_events),)
    )


def _check_database(_: Settings, tx: Tx) -> Iterator[Finding]:
    for one in failing(tx, _FAILING_SHOWN):
        told = f"{one.subscriber} failed {one.attempts} times on an event about {one.subject}: {one.error}"
        yield Finding("events", "wrong", told, "It is retried automatically; see the node's log.")


FEATURE = Feature(name="storage", work=_work, check_database=_check_database)
