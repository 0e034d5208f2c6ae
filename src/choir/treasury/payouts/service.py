"""Payments for citations, out of the citation pool: paid now as far as it has funds, else owed.

Guarantees: a payout is made once for its key; what it promises is paid, owed or cancelled, each unit once; whoever came
first is paid first; the month's volume counts it once. Every payment is a grant that vests. Locks: the month's volume,
the pool, shares, grants, the ledger's head last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from uuid import UUID

from choir.foundation.canonical import canonical_hash, hash_digest
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import show_id, uuid7
from choir.foundation.money import Asset, checked_amount
from choir.ledger import queries
from choir.ledger.model import ConflictingKey
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.storage.outbox import Outbox
from choir.treasury import events, months
from choir.treasury.accounts import CITATION_POOL, Treasury
from choir.treasury.payouts import store
from choir.treasury.payouts.model import Payout, PoolReport, Share, TakenBack
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates import store as rate_store
from choir.treasury.vesting import store as grant_store
from choir.treasury.vesting.model import GrantKind
from choir.treasury.vesting.service import SOURCE, Vesting

_WHY = "a citation"


class CitationPayouts:
    """All inside the caller's transaction."""

    def __init__(
        self,
        treasury: Treasury,
        ledger: Ledger,
        vesting: Vesting,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: TreasuryPolicy,
    ) -> None:
        self._treasury = treasury
        self._ledger = ledger
        self._vesting = vesting
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def pay(
        self,
        tx: Tx,
        *,
        key: str,
        shares: Mapping[str, int],
        weight_ppm: int,
        month: str,
        subject: str,
        refs: tuple[str, ...] = (),
        starts_us: int,
    ) -> Payout:
        """Pay each owner their amount, vesting from a moment on; what the pool cannot pay is owed."""
        assert weight_ppm >= 0, "a citation weighs something or nothing"
        wanted = {owner: checked_amount(amount) for owner, amount in shares.items() if amount}
        now_us = self._clock.now_us()
        id_ = uuid7(now_us, 0, self._entropy.bytes(6))
        payout = Payout(id_, key, subject, months.parse_month(month), weight_ppm, refs, starts_us, now_us)
        if not store.insert(tx, payout, content := _content(payout, wanted)):
            if store.content_of(tx, key) != content:
                raise ConflictingKey(key=key, source=SOURCE)
            return store.by_key(tx, key)
        rate_store.add_volume(tx, month, weight_ppm)
        if not wanted:
            return payout
        store.lock_pool(tx)
        made = [store.insert_share(tx, id_, owner, amount) for owner, amount in wanted.items()]
        behind = store.owed_before(tx, made[0].n)
        self._treasury.open(tx)
        for share in made:
            left = share.amount - (0 if behind else self._pay(tx, payout, share))
            if left:
                self._owe(tx, payout, share, left)
        return store.get(tx, id_)

    def _pay(self, tx: Tx, payout: Payout, share: Share) -> int:
        """Grant what the pool has, at most what is left of a share; says how much."""
        assert share.owner is not None, "who is owed something is known"
        self._ledger.lock(tx)
        amount = min(share.owed, _funds(tx))
        if not amount:
            return 0
        self._vesting.grant(
            tx,
            owner=share.owner,
            asset=Asset.USDC,
            amount=amount,
            source_account=CITATION_POOL,
            kind=GrantKind.CITATION,
            subject=payout.subject,
            starts_us=payout.starts_us,
            days=self._policy.citation_vesting_days,
            key=f"citation:{payout.id}:{share.n}:{share.paid}",
            refs=payout.refs,
            reason=_WHY,
        )
        store.paid(tx, share.n, amount)
        return amount

    def _owe(self, tx: Tx, payout: Payout, share: Share, amount: int) -> None:
        store.note_owed(tx, share.n, amount, self._clock.now_us())
        data = {"owner": share.owner, "amount": str(amount), "subject": payout.subject}
        shown, audience = show_id("payout", payout.id), (str(share.owner),)
        self._outbox.announce(tx, events.OWED, subject=shown, actor=SOURCE, data=data, audience=audience)

    def pay_owed(self, tx: Tx, n: int) -> int:
        """Pay what a share is owed, as far as the pool has funds; says how much."""
        store.lock_pool(tx)
        share = store.share(tx, n, lock=True)
        if share is None or not share.owed:
            return 0
        amount = self._pay(tx, store.get(tx, share.payout), share)
        if amount:
            store.note_owed(tx, n, -amount, self._clock.now_us())
        return amount

    def payable(self, tx: Tx, limit: int) -> list[int]:
        """Shares that are owed, who came first, first; none while the pool is empty."""
        return store.owed_first(tx, limit) if _funds(tx) else []

    @staticmethod
    def owed_to(tx: Tx, owner: str) -> int:
        """What an owner is owed, in units of USDC; it is paid when the pool has funds."""
        return store.owed_to(tx, owner)

    def take_back(self, tx: Tx, subject: str, reason: str, *, key: str | None = None) -> TakenBack:
        """Take back what has not vested of payouts about a subject, or of one, and cancel what is owed."""
        store.lock_pool(tx)
        now_us, cancelled = self._clock.now_us(), 0
        only = None if key is None else store.id_of(tx, key)
        if key is not None and only is None:
            return TakenBack(0, 0)
        for share in store.owed_of_subject(tx, subject, only):
            store.cancel(tx, share.n, share.owed)
            store.note_owed(tx, share.n, -share.owed, now_us)
            cancelled += share.owed
        grants = [
            grant
            for grant in self._vesting.by_subject(tx, subject, lock=True)
            if grant.kind is GrantKind.CITATION
            and grant.source == CITATION_POOL
            and (only is None or grant.key.startswith(f"citation:{only}:"))
        ]
        return TakenBack(sum(self._vesting.claw_back(tx, grant.id, reason) for grant in grants), cancelled)

    @staticmethod
    def get(tx: Tx, id_: UUID) -> Payout:
        return store.get(tx, id_)

    def report(self, tx: Tx) -> PoolReport:
        """How the pool stands now."""
        month = months.month_of(self._clock.now_us())
        since_us, until_us = months.start_us(month), months.start_us(months.before(month, -1))
        owed, shares = store.owed_now(tx)
        return PoolReport(
            month=month,
            balance=_funds(tx),
            owed=owed,
            owed_shares=shares,
            spent=grant_store.granted_between(tx, CITATION_POOL, since_us, until_us),
            weight_ppm=rate_store.volumes(tx, month, month).get(month, 0),
        )


def _funds(tx: Tx) -> int:
    """What can be paid out of the pool: nothing while it is frozen, or not there yet."""
    return queries.balance(tx, CITATION_POOL).balance if queries.open_among(tx, [CITATION_POOL]) else 0


def _content(payout: Payout, shares: Mapping[str, int]) -> bytes:
    """The hash of what is asked for, by which a repeated request is told from another one with the same key."""
    asked = asdict(payout) | {"shares": {owner: str(amount) for owner, amount in shares.items()}}
    same = ("subject", "month", "weight_ppm", "starts_us", "shares", "refs")
    return hash_digest(canonical_hash({name: list(asked[name]) if name == "refs" else asked[name] for name in same}))
