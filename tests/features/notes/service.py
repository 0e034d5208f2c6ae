"""Keeping notes."""

from __future__ import annotations

from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import show_id, uuid7
from choir.storage.database import Tx
from choir.storage.outbox import Outbox
from tests.features.notes.events import KEPT
from tests.features.notes.policy import NotesPolicy


class Notes:
    """Writing, counting and forgetting them."""

    def __init__(self, outbox: Outbox, clock: Clock, entropy: Entropy, policy: NotesPolicy) -> None:
        self._policy = policy
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy

    def keep(self, tx: Tx, owner: str, text: str) -> UUID:
        now_us = self._clock.now_us()
        random = self._entropy.bytes(8)
        id_ = uuid7(now_us, int.from_bytes(random[6:]), random[:6])
        tx.run(
            "insert into notes values (%s, %s, %s, %s)", id_, owner, text, now_us + self._policy.keep_s * MICROSECONDS
        )
        self._outbox.announce(tx, KEPT, subject=show_id("note", id_), actor=owner, data={}, audience=[owner])
        return id_

    def count(self, tx: Tx) -> int:
        return int(tx.value("select count(*) from notes"))

    def drop_old(self, tx: Tx) -> int:
        return tx.run("delete from notes where until_us <= %s", self._clock.now_us())

    def forget(self, tx: Tx, owner: str) -> None:
        tx.run("delete from notes where owner = %s", owner)
