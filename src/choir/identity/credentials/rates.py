"""How often something may happen, counted in the database, and by whom, without knowing who.

Guarantees: a limit holds across processes, because a counter is a locked row until its transaction ends; a
refused try is not counted; addresses are counted as a keyed hash of their network under a salt that is thrown
away at the end of the UTC day, so no table ever tells where somebody came from.
"""

from __future__ import annotations

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.identity.credentials import store
from choir.identity.model import TooManyTries
from choir.identity.people import rules
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Tx

_DAY_US = 86_400 * MICROSECONDS
_SALT_BYTES = 32
SHARDS = 16  # as many as a place's first letter has values
_OTHER_WINDOW_S_MAX = 30 * 86_400  # the bound of the windows in the policy of delegations


class Rates:
    """Counters of what was done lately."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: PeoplePolicy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def count(self, tx: Tx, bucket: str, *, window_s: int, limit: int) -> int:
        """Count one more and say how many that makes in the last window, or refuse it as one too many."""
        window_us = window_s * MICROSECONDS
        now_us = self._clock.now_us()
        elapsed_us = now_us % window_us
        begins_us = now_us - elapsed_us
        current = store.count(tx, bucket, begins_us)
        previous = store.counted(tx, bucket, begins_us - window_us)
        used = rules.rate(previous, current, elapsed_us, window_us)
        if used > limit:
            wait_us = rules.rate_wait_us(previous, current - 1, elapsed_us, window_us, limit)
            raise TooManyTries(retry_s=rules.seconds_up(wait_us))
        return used

    def count_at(self, tx: Tx, what: str, place: str, *, window_s: int, here: int, node: int) -> None:
        """Count one more from a place and on the node; the node's limit is counted in parts, by place.

        So no single row makes all callers wait for each other.
        """
        self.count(tx, f"{what}:{place}", window_s=window_s, limit=here)
        self.count(tx, f"{what}s:{place[:1]}", window_s=window_s, limit=max(1, node // SHARDS))

    def place(self, tx: Tx, address: str) -> str:
        """What stands for the network of an address today."""
        today = self._clock.now_us() // _DAY_US
        salt = store.salt(tx, today)
        if salt is None:
            store.forget_salts(tx, today)
            salt = store.make_salt(tx, today, self._entropy.bytes(_SALT_BYTES))
        return rules.place_hash(salt, rules.place_of(address, self._policy))

    def forget(self, tx: Tx) -> int:
        """Remove counters that no window reaches any more, some at a time; says how many."""
        policy = self._policy
        # The longest of all windows that may be counted in, whichever policy they are of.
        window_s = max(
            policy.sign_up_window_s, policy.ceremony_window_s, policy.recovery_window_s, policy.vouch_window_s,
            _OTHER_WINDOW_S_MAX,
        )  # fmt: skip
        store.forget_salts(tx, self._clock.now_us() // _DAY_US)
        before_us = self._clock.now_us() - 2 * window_s * MICROSECONDS
        return store.forget_counts(tx, before_us, policy.forget_rows_max)
