"""Where a provider stands with each type it sells: needed, running, passed, failed.

Guarantees: one qualification of a type runs at a time, and only its own job decides it, once; whoever fails waits
longer each time; what the node could not see through counts against nobody. Locks: the provider's market row.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.bazaar.jobs.model import FREE, JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import events, record_store, rules, store
from choir.bazaar.providers.model import (
    NotOffered,
    NotQualifying,
    Offer,
    OutcomeRecord,
    Qualification,
    provider_id,
)
from choir.bazaar.sampling.planted import MISSED
from choir.foundation.clock import MICROSECONDS, Clock
from choir.storage.database import Tx
from choir.storage.outbox import Outbox


class Qualifications:
    """Inside the caller's transaction."""

    def __init__(self, outbox: Outbox, clock: Clock, policy: ProvidersPolicy) -> None:
        self._outbox = outbox
        self._clock = clock
        self._policy = policy

    def begin(self, tx: Tx, provider: UUID, type_: JobType, job: UUID) -> None:
        """A qualification job was given to this provider; its outcome decides."""
        store.lock(tx, [provider])
        now_us = self._clock.now_us()
        offer = store.offer(tx, provider, type_, now_us)
        if offer is None or not offer.offered:
            raise NotOffered(provider=provider_id(provider), type=type_.value, work=type_.word)
        if offer.selectable or offer.retry_us > now_us:
            why = "it is qualified" if offer.selectable else "one is running or failed recently"
            raise NotQualifying(provider=provider_id(provider), type=type_.value, work=type_.word, why=why)
        again_us = now_us + self._policy.qualification_s_max * MICROSECONDS
        running = replace(offer, qualification=Qualification.RUNNING, qualifying_job=job, retry_us=again_us)
        self._save(tx, running)

    def put_off(self, tx: Tx, provider: UUID, type_: JobType, job: UUID) -> None:
        """The node could not see it through: nothing is held against the provider, and it is asked again later."""
        store.lock(tx, [provider])
        now_us = self._clock.now_us()
        offer = store.offer(tx, provider, type_, now_us)
        if offer is not None and offer.qualification is Qualification.RUNNING and offer.qualifying_job == job:
            later_us = now_us + self._policy.qualification_retry_s * MICROSECONDS
            self._save(tx, replace(offer, qualification=Qualification.NEEDED, retry_us=later_us))

    def decide(self, tx: Tx, provider: UUID, told: OutcomeRecord) -> bool:
        """What came of the qualification job; False if it is not the one that runs."""
        store.lock(tx, [provider])
        offer = store.offer(tx, provider, told.type, told.at_us)
        if offer is None or offer.qualification is not Qualification.RUNNING or offer.qualifying_job != told.job:
            return False  # told before, or another one has begun since
        state, failed, retry_us = rules.after_qualification(told.passed, offer.failed_in_row, told.at_us, self._policy)
        since_us = told.at_us if told.passed else offer.qualified_us
        after = replace(offer, qualification=state, failed_in_row=failed, retry_us=retry_us, qualified_us=since_us)
        self._save(tx, after, told.reason)
        if told.passed:
            tx.wake(FREE, provider)
        return True

    def count(self, tx: Tx, provider: UUID, told: OutcomeRecord) -> None:
        """Failing a type again and again takes the qualification for it away."""
        offer = store.offer(tx, provider, told.type, told.at_us)
        if offer is None or offer.qualification is not Qualification.PASSED:
            return
        if told.planted and self._missed_too_often(tx, provider, told):
            later_us = told.at_us + self._policy.qualification_retry_s * MICROSECONDS
            lost = replace(offer, qualification=Qualification.NEEDED, failed_in_row=0, retry_us=later_us)
            self._save(tx, lost, told.reason)
            return
        failed = 0 if told.passed else offer.failed_in_row + 1
        if failed >= self._policy.failures_in_row_max and self._policy.qualification_required:
            self._save(tx, replace(offer, qualification=Qualification.NEEDED, failed_in_row=0))
        elif failed != offer.failed_in_row:
            store.set_qualification(tx, replace(offer, failed_in_row=failed))

    def _missed_too_often(self, tx: Tx, provider: UUID, told: OutcomeRecord) -> bool:
        """Whether it has found nothing in the last planted reviews: then it does not read what it is paid for."""
        if told.reason not in MISSED or not self._policy.qualification_required:
            return False
        return record_store.missed_in_row(tx, provider, told.buyer, MISSED, self._policy.planted_missed_max)

    def _save(self, tx: Tx, offer: Offer, reason: str = "") -> None:
        store.set_qualification(tx, offer)
        events.qualification(self._outbox, tx, offer, reason)
