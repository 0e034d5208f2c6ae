"""Grants that vest day by day, can be frozen, speeded and taken back.

Guarantees: what was granted is in the vesting account until it is released or taken back, each unit once, whatever is
repeated or killed; never more than was granted; nothing is released while a subject is frozen, and what was due then
follows afterwards. Whoever cannot be paid now has a claim instead. What is to be taken back out of an account that may
not move counts as taken at once, and moves when it may. Locks: the grant's row, the ledger's head last.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.foundation.money import Asset, checked_amount
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims, claim_of
from choir.ledger.model import ConflictingKey, Draft, Leg
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.storage.outbox import Outbox
from choir.treasury import events
from choir.treasury.vesting import rules, store
from choir.treasury.vesting.model import Grant, GrantKind, UnknownGrant, grant_id

SOURCE = "system:treasury"
_CAUSE = "under challenge"
_VESTS = "a part of a grant has vested"
_RETRY_US = rules.DAY_US


class Vesting:
    """All inside the caller's transaction."""

    def __init__(
        self,
        ledger: Ledger,
        accounts: Accounts,
        claims: Claims,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy_hash: ObjectHash,
    ) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._claims = claims
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy_hash = policy_hash

    # Granting

    def grant(
        self,
        tx: Tx,
        *,
        owner: str,
        asset: Asset,
        amount: int,
        source_account: str,
        kind: GrantKind,
        subject: str,
        starts_us: int,
        days: int,
        key: str,
        refs: tuple[str, ...] = (),
        reason: str,
        not_before_us: int | None = None,
    ) -> Grant:
        """Move an amount to the owner's vesting account, from where it vests. The same key grants once."""
        assert days > 0, "a grant vests over at least a day"
        now_us = self._clock.now_us()
        planned = Grant(
            id=uuid7(now_us, 0, self._entropy.bytes(6)),
            key=key,
            owner=owner,
            asset=asset,
            kind=GrantKind(kind),
            subject=subject,
            amount=checked_amount(amount),
            source=source_account,
            place="",
            starts_us=starts_us,
            days=days,
            not_before_us=not_before_us,
            refs=refs,
            reason=reason,
            made_us=now_us,
        )
        known = store.by_key(tx, key)
        if known is not None:
            return _same(known, planned)
        place = self._place(tx, owner, planned.kind, asset, reason)
        planned = replace(planned, place=place, next_us=rules.next_us(planned, now_us))
        if not store.insert(tx, planned):  # somebody else did, before this had the head's lock
            return _same(store.by_key(tx, key), planned)
        leg = Leg(source_account, place, amount)
        self._post(tx, "vesting.grant", reason, f"grant:{grant_id(planned.id)}", leg, planned)
        self._announce(tx, events.GRANTED, planned, amount)
        return planned

    def _place(self, tx: Tx, owner: str, kind: GrantKind, asset: Asset, reason: str) -> str:
        """The vesting account, or a claim beside it where that is frozen or closed; under the head's lock."""
        name = f"{owner}/vesting.{kind}/{asset.name}"
        self._accounts.open(tx, [name], reason=reason, source=SOURCE)
        self._ledger.lock(tx)
        if queries.open_among(tx, [name]):
            return name
        claim = claim_of(f"{owner}/vesting/{asset.name}")
        self._accounts.open(tx, [claim], reason="its owner's account cannot be paid", source=SOURCE)
        return claim

    # Vesting

    def vest(self, tx: Tx, id_: UUID) -> int:
        """Release what is due of a grant, and give back what still has to be; says how much was released."""
        grant = self._locked(tx, id_)
        before = grant.vested
        grant = self._give_back(tx, self._release(tx, grant))
        if grant.next_us is not None and grant.next_us <= self._clock.now_us():
            self.postpone(tx, id_)  # an account may not move, or the subject was frozen just now
        return grant.vested - before

    def due(self, tx: Tx, limit: int) -> list[UUID]:
        """Grants with something to release or give back now."""
        return store.due(tx, self._clock.now_us(), limit)

    def postpone(self, tx: Tx, id_: UUID) -> None:
        """Look at a grant that failed later again, so that it keeps no other waiting."""
        store.postpone(tx, id_, self._clock.now_us() + _RETRY_US)

    def _release(self, tx: Tx, grant: Grant) -> Grant:
        now_us = self._clock.now_us()
        amount = rules.due(grant, now_us)
        if store.is_frozen(tx, grant.subject):
            return grant
        if amount:
            available = f"{grant.owner}/available/{grant.asset.name}"
            to = self._claims.payable(tx, [available], reason=_VESTS, source=SOURCE)[available]
            if not queries.open_among(tx, [grant.place]):
                return grant
            key = f"vest:{grant_id(grant.id)}:{grant.vested}"  # what was released before: it grows with every release
            self._post(tx, "vesting.release", _VESTS, key, Leg(grant.place, to, amount), grant)
            self._announce(tx, events.VESTED, grant, amount)
        grant = rules.released(grant, amount, now_us)
        store.update(tx, grant)
        return grant

    # Changing

    def shorten(self, tx: Tx, id_: UUID, days: int) -> Grant:
        """Let a grant vest within so many days of its start; it is never made longer."""
        assert days > 0, "a grant vests over at least a day"
        grant = rules.shortened(self._locked(tx, id_), days, self._clock.now_us())
        store.update(tx, grant)
        return grant

    def freeze(self, tx: Tx, subject: str, cause: str = _CAUSE) -> None:
        """Release nothing about a subject, also of what is granted later, until each cause is gone."""
        store.freeze(tx, subject, cause, self._clock.now_us())
        store.by_subject(tx, subject, lock=True)  # a release that is under way ends before

    def unfreeze(self, tx: Tx, subject: str, cause: str = _CAUSE) -> None:
        """Let a subject's grants go on, with what was due meanwhile, unless there is another cause."""
        store.unfreeze(tx, subject, cause)
        for grant in store.by_subject(tx, subject, lock=True):
            store.update(tx, replace(grant, next_us=rules.next_us(grant, self._clock.now_us())))

    def claw_back(self, tx: Tx, id_: UUID, reason: str, amount: int | None = None, *, key: str | None = None) -> int:
        """Send what has not vested, or so much of it, back to where it came from; says how much.

        Taking all of it twice is taking it once. For a part, the key makes it happen once.
        """
        assert amount is None or key is not None, "a part needs a key, else it would be taken again"
        grant = self._locked(tx, id_)
        known = None if key is None else store.clawed_with(tx, id_, key)
        if known is not None:
            return known
        grant = self._release(tx, grant)  # what has vested by now is the owner's, however late the task is
        now_us = self._clock.now_us()
        taken = grant.unvested if amount is None else min(amount, grant.unvested)
        if taken or key is not None:
            store.note_claw_back(tx, id_, key, taken, reason, now_us)
        if not taken:
            return 0
        grant = rules.clawed_back(grant, taken, now_us)
        store.update(tx, grant)
        self._announce(tx, events.CLAWED_BACK, grant, taken, reason=reason)
        self._give_back(tx, grant)
        return taken

    def _give_back(self, tx: Tx, grant: Grant) -> Grant:
        """Move what was taken back, if both accounts may move."""
        amount = grant.clawed - grant.returned
        if not amount:
            return grant
        self._ledger.lock(tx)
        if len(queries.open_among(tx, {grant.place, grant.source})) < 2:
            return grant
        key = f"claw_back:{grant_id(grant.id)}:{grant.returned}"
        self._post(tx, "vesting.claw_back", "what has not vested is taken back", key, _back(grant, amount), grant)
        grant = replace(grant, returned=grant.clawed)
        grant = replace(grant, next_us=rules.next_us(grant, self._clock.now_us()))
        store.update(tx, grant)
        return grant

    # Looking

    @staticmethod
    def get(tx: Tx, id_: UUID) -> Grant:
        return _found(store.get(tx, id_), id_)

    @staticmethod
    def of(tx: Tx, owner: str, *, before: UUID | None = None, limit: int = 100) -> list[Grant]:
        """A page of an owner's grants, the newest first."""
        return store.of_owner(tx, owner, before=before, limit=limit)

    @staticmethod
    def by_subject(tx: Tx, subject: str, *, lock: bool = False) -> list[Grant]:
        """All grants about a subject, the oldest first."""
        return store.by_subject(tx, subject, lock=lock)

    @staticmethod
    def is_frozen(tx: Tx, subject: str) -> bool:
        return store.is_frozen(tx, subject)

    @staticmethod
    def _locked(tx: Tx, id_: UUID) -> Grant:
        return _found(store.get(tx, id_, lock=True), id_)

    def _post(self, tx: Tx, kind: str, reason: str, key: str, leg: Leg, grant: Grant) -> None:
        refs = (grant_id(grant.id), *grant.refs)
        self._ledger.post(tx, Draft(kind, reason, SOURCE, key, (leg,), refs=refs, policy=self._policy_hash))

    def _announce(self, tx: Tx, event: str, grant: Grant, amount: int, **more: str) -> None:
        data = {
            "owner": grant.owner,
            "kind": grant.kind.value,
            "asset": grant.asset.name,
            "amount": str(amount),
            "subject": grant.subject,
            **more,
        }
        audience = () if grant.owner is None else (grant.owner,)
        self._outbox.announce(tx, event, subject=grant_id(grant.id), actor=SOURCE, data=data, audience=audience)


def _back(grant: Grant, amount: int) -> Leg:
    return Leg(grant.place, grant.source, amount)


def _same(known: Grant | None, asked: Grant) -> Grant:
    """The grant that the key made before, if the same was asked for."""
    assert known is not None, "who used the key first has committed"
    for each in ("asset", "kind", "subject", "amount", "source", "starts_us"):
        if getattr(known, each) != getattr(asked, each):
            raise ConflictingKey(key=asked.key, source=SOURCE)
    if known.owner not in (None, asked.owner):
        raise ConflictingKey(key=asked.key, source=SOURCE)
    return known


def _found(grant: Grant | None, id_: UUID) -> Grant:
    if grant is None:
        raise UnknownGrant(grant=grant_id(id_))
    return grant
