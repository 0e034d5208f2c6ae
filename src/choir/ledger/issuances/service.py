"""Proposing, approving and withdrawing issuances.

Guarantees: an issuance is posted once, whole, word for word as it was proposed, in the transaction in which the last of
the operators that policy asks for agrees; never by one operator alone, on whatever node. What the ledger
refuses leaves it open. All steps can be repeated.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import Refusal
from choir.foundation.ids import uuid7
from choir.ledger.accounts import Accounts
from choir.ledger.issuances import rules, store
from choir.ledger.issuances.model import (
    Approval,
    Issuance,
    IssuanceEnded,
    IssuancePosted,
    IssuanceState,
    NeedsAnother,
    NotIssued,
    TooManyOpen,
    UnknownIssuance,
    issuance_id,
)
from choir.ledger.model import ConflictingKey, Leg, entry_id
from choir.ledger.policy import IssuingPolicy
from choir.ledger.service import Ledger
from choir.storage.database import Tx


class Issuances:
    """What operators do about issuances; all inside the caller's transaction."""

    def __init__(
        self,
        ledger: Ledger,
        accounts: Accounts,
        clock: Clock,
        entropy: Entropy,
        policy: IssuingPolicy,
        *,
        policy_hash: ObjectHash | None = None,
    ) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._policy_hash = policy_hash

    def propose(self, tx: Tx, operator: str, legs: tuple[Leg, ...], *, reason: str, key: str) -> tuple[Issuance, bool]:
        """Ask the other operators; whether it is new. The same key and content gives the same issuance."""
        store.lock_all(tx)
        known = store.by_key(tx, operator, key)
        if known is not None:
            if (known.legs, known.reason) != (legs, reason):
                raise ConflictingKey(key=key, source=operator)
            return known, False
        now_us = self._clock.now_us()
        issuance = Issuance(
            id=uuid7(now_us, 0, self._entropy.bytes(6)),
            proposer=operator,
            key=key,
            reason=reason,
            legs=legs,
            proposed_us=now_us,
            expires_us=now_us + self._policy.proposal_s * MICROSECONDS,
            approvals=(Approval(operator, now_us),),
        )
        self._check(tx, issuance)
        store.insert(tx, issuance)
        payers = [leg.from_ for leg in legs]
        self._accounts.open(tx, payers, reason="an issuance was proposed", source=operator)  # late: it locks the head
        self._rehearse(tx, issuance)
        return issuance, True

    def approve(self, tx: Tx, operator: str, id_: UUID, since: rules.Since) -> Issuance:
        """Agree to it, once; posts it if that makes enough of those who are operators now."""
        issuance = self._locked(tx, id_)
        if issuance.entry is not None and issuance.approved_by(operator):
            return issuance
        self._must_be_open(issuance)
        if operator == issuance.proposer:
            raise NeedsAnother(operator=operator, issuance=issuance_id(id_))
        if operator not in rules.agreed(issuance, since):
            approval = Approval(operator, self._clock.now_us())
            store.add_approval(tx, id_, approval)
            issuance = replace(issuance, approvals=(*issuance.approvals, approval))
        agreed = rules.agreed(issuance, since)
        if len(agreed) < rules.operators_needed(issuance.legs, self._policy):
            return issuance
        [posted] = self._ledger.post(tx, rules.entry_of(issuance, agreed, self._policy_hash))
        return self._end(tx, issuance, operator, posted.id)

    def withdraw(self, tx: Tx, operator: str, id_: UUID) -> Issuance:
        """Let nothing come of it; every operator may."""
        issuance = self._locked(tx, id_)
        if self.state(issuance) is IssuanceState.WITHDRAWN:
            return issuance
        self._must_be_open(issuance)
        return self._end(tx, issuance, operator, None)

    def get(self, tx: Tx, id_: UUID) -> Issuance:
        return _found(store.get(tx, id_), id_)

    def newest(self, tx: Tx, *, before: UUID | None, limit: int) -> list[Issuance]:
        """A page of all of them, the newest first."""
        return store.newest(tx, before=before, limit=limit)

    def newest_open(self, tx: Tx, *, before: UUID | None, limit: int) -> list[Issuance]:
        """A page of those that wait for approval, the newest first."""
        return store.newest_open(tx, self._clock.now_us(), before=before, limit=limit)

    def state(self, issuance: Issuance) -> IssuanceState:
        return issuance.state(self._clock.now_us())

    def operators_needed(self, issuance: Issuance) -> int:
        """How many must agree; 0 where policy no longer lets any number of them."""
        try:
            return rules.operators_needed(issuance.legs, self._policy)
        except NotIssued:
            return 0

    def _check(self, tx: Tx, issuance: Issuance) -> None:
        """Raise what policy has against it."""
        prepared = self._ledger.prepare(rules.entry_of(issuance, (), self._policy_hash))
        if isinstance(prepared, Refusal):
            raise prepared
        rules.operators_needed(issuance.legs, self._policy)
        if store.count_open(tx, issuance.proposed_us) >= self._policy.open_max:
            raise TooManyOpen(limit=self._policy.open_max)

    def _rehearse(self, tx: Tx, issuance: Issuance) -> None:
        """Post it and undo that: what the ledger would refuse today need not be put before anybody."""
        with suppress(_Rehearsed), tx.savepoint():
            self._ledger.post(tx, rules.entry_of(issuance, (), self._policy_hash))
            raise _Rehearsed

    def _end(self, tx: Tx, issuance: Issuance, operator: str, entry: UUID | None) -> Issuance:
        now_us = self._clock.now_us()
        store.end(tx, issuance.id, entry=entry, by=operator, at_us=now_us)
        return replace(issuance, entry=entry, ended_by=operator, ended_us=now_us)

    def _locked(self, tx: Tx, id_: UUID) -> Issuance:
        return _found(store.get(tx, id_, lock=True), id_)

    def _must_be_open(self, issuance: Issuance) -> None:
        state = self.state(issuance)
        if issuance.entry is not None:
            raise IssuancePosted(issuance=issuance_id(issuance.id), entry=entry_id(issuance.entry))
        if state is not IssuanceState.OPEN:
            raise IssuanceEnded(issuance=issuance_id(issuance.id), state=str(state))


class _Rehearsed(Exception):
    """Undoes what was only tried."""


def _found(issuance: Issuance | None, id_: UUID) -> Issuance:
    if issuance is None:
        raise UnknownIssuance(issuance=issuance_id(id_))
    return issuance
