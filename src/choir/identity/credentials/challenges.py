"""Challenges of passkey ceremonies under way.

Guarantees: a challenge is 256 random bits, for one purpose and, where somebody is signed in, for one person;
it is taken once, whether what follows succeeds or not, and not after its time. How many wait to be taken is
bounded for each place, for each person and for the node.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.credentials import store
from choir.identity.credentials.model import BadCredential, Challenge, Purpose
from choir.identity.credentials.rates import Rates
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Tx

_CHALLENGE_BYTES = 32


class Challenges:
    """Giving out challenges and taking them back."""

    def __init__(self, rates: Rates, clock: Clock, entropy: Entropy, policy: PeoplePolicy) -> None:
        self._rates = rates
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def give_to_stranger(
        self, tx: Tx, purpose: Purpose, place: str, *, person: UUID | None = None, data: dict[str, Any] | None = None
    ) -> Challenge:
        """A challenge for a caller who has not signed in; `place` is where they come from (`Rates.place`)."""
        policy = self._policy
        here, node = policy.ceremonies_per_place, policy.ceremonies_global
        self._rates.count_at(tx, "ceremony", place, window_s=policy.ceremony_window_s, here=here, node=node)
        return self._give(tx, purpose, person, data or {})

    def give_to_person(self, tx: Tx, purpose: Purpose, person: UUID) -> Challenge:
        """A challenge for a person who is signed in, which only they can answer."""
        policy = self._policy
        bucket = f"ceremony:{person}"
        self._rates.count(tx, bucket, window_s=policy.ceremony_window_s, limit=policy.ceremonies_per_person)
        return self._give(tx, purpose, person, {})

    def _give(self, tx: Tx, purpose: Purpose, person: UUID | None, data: dict[str, Any]) -> Challenge:
        now_us = self._clock.now_us()
        random = self._entropy.bytes(_CHALLENGE_BYTES + 8)
        id_ = uuid7(now_us, int.from_bytes(random[-2:]), random[-8:-2])
        expires_us = now_us + self._policy.challenge_s * MICROSECONDS
        given = Challenge(id_, person, random[:_CHALLENGE_BYTES], data, expires_us)
        store.insert_challenge(tx, purpose, given)
        return given

    def take(self, tx: Tx, id_: UUID, purpose: Purpose, person: UUID | None = None) -> Challenge:
        """The challenge, which is then gone; `person` is who is signed in, where somebody is."""
        taken = store.take_challenge(tx, id_, purpose, person)
        if taken is None or self._clock.now_us() >= taken.expires_us:
            raise BadCredential(why=NOT_VERIFIED)
        return taken

    def forget(self, tx: Tx) -> int:
        """Remove challenges that were not answered in time, some at a time; says how many."""
        return store.forget_challenges(tx, self._clock.now_us(), self._policy.forget_rows_max)


# One reason for all that can be wrong with a passkey's answer: which part it was is nobody's business.
NOT_VERIFIED = "the passkey could not be verified"
