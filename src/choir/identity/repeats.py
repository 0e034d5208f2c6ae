"""Idempotency keys of what is not an entry: agents, delegations, tokens, account keys.

Guarantees: of any number of requests with one key, also at the same time and on several processes, one makes
something and the others are told what it was; the same key with another content is refused; only acceptance
binds a key, since a refused request leaves nothing. A secret cannot be told twice: it is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from choir.foundation.canonical import canonical_hash
from choir.foundation.clock import MICROSECONDS, Clock
from choir.identity import store
from choir.identity.model import KeyReused, Principal
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import StorageConflict, Tx

_FORGET_ROWS = 1000


class Repeats:
    """Remembering what a key made; inside the caller's transaction."""

    def __init__(self, clock: Clock, policy: DelegationsPolicy) -> None:
        self._clock = clock
        self._policy = policy

    def known(self, tx: Tx, who: Principal, key: str, content: Any) -> UUID | None:
        """What this key made before; None: nothing yet, and until the transaction ends nobody else can use it."""
        hash_ = bytes.fromhex(canonical_hash(content).removeprefix("sha256:"))
        # Whoever comes second waits here until the first has committed, or given up.
        if store.insert_repeat(tx, who.source, key, hash_, self._clock.now_us()):
            return None
        found = store.repeat(tx, who.source, key)
        if found is None:  # forgotten in this very moment
            raise StorageConflict(attempts=1)
        content_before, made = found
        if content_before != hash_:
            raise KeyReused
        return made

    def made(self, tx: Tx, who: Principal, key: str, content: Any) -> UUID | None:
        """What this key made before, if it did; nothing is kept or locked by asking."""
        found = store.repeat(tx, who.source, key)
        if found is None:
            return None
        content_before, made = found
        if content_before != bytes.fromhex(canonical_hash(content).removeprefix("sha256:")):
            raise KeyReused
        return made

    def bind(self, tx: Tx, who: Principal, key: str, made: UUID) -> None:
        """What the key made now."""
        store.bind_repeat(tx, who.source, key, made)

    def once(
        self, tx: Tx, who: Principal, key: str | None, content: Any, make: Callable[[], UUID]
    ) -> tuple[UUID, bool]:
        """The id of what the key makes, and whether it was made now; without a key it always is."""
        known = None if key is None else self.known(tx, who, key, content)
        if known is not None:
            return known, False
        made = make()
        if key is not None:
            self.bind(tx, who, key, made)
        return made, True

    def forget(self, tx: Tx) -> int:
        """Drop keys that are old enough to be used anew, some at a time; says how many."""
        before_us = self._clock.now_us() - self._policy.repeat_s * MICROSECONDS
        return store.forget_repeats(tx, before_us, _FORGET_ROWS)
