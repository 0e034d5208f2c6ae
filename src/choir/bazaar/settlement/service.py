"""Moving a job's money: the hold, what is captured from it, what goes back, and the receipt of it.

Guarantees: everything happens inside the caller's transaction, with the job's row locked; each payment has a key
made of the job and the attempt, so it happens once; whoever cannot be paid now has a claim to it instead, and keeps
nobody else from being paid; the receipt is signed by the node and named on the entry.

Of a payment, what somebody owes after a dispute goes first to whom it is owed, in the entry of the payment itself, so
it happens exactly as often as the payment. Debts are locked before the ledger's head. What could not be taken from a
frozen account is taken when it is unfrozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, AttemptState, attempt_id
from choir.bazaar.disputes.model import dispute_id
from choir.bazaar.jobs.model import SOURCE, Job, Verdict, job_id
from choir.bazaar.providers import store as provider_store
from choir.bazaar.settlement import debts, earnings, store
from choir.bazaar.settlement.debts import DebtPart
from choir.bazaar.settlement.earnings import Bucket, Line
from choir.bazaar.settlement.pricing import NOBODY, Sharers, Shares
from choir.bazaar.skills import store as skill_store
from choir.bazaar.verification.versions import NAME as VERIFIER
from choir.bazaar.verification.versions import verifier_version
from choir.foundation.canonical import ObjectHash, hash_digest
from choir.foundation.clock import format_time
from choir.foundation.money import Asset
from choir.identity.clusters.service import Clusters
from choir.identity.delegations.model import delegation_id
from choir.identity.delegations.spending import Spending
from choir.identity.keys.public_keys import public_key_of
from choir.identity.model import Principal
from choir.identity.people import referral_store
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.keys import NodeKeys
from choir.ledger.model import Draft, HoldClosed, HoldExpired, Leg, hold_account
from choir.objects.model import Scheme
from choir.objects.service import Objects
from choir.storage.database import Tx

SAT = Asset.SAT
PLATFORM = "system:platform/fees/SAT"
VERIFIER_FUND = "system:verifiers/fees/SAT"  # what stronger checks are paid to, and verifiers from
_ON_RECEIPT = ("level", "lines")  # of a patch, beside its outcome
_WHY = {
    AttemptState.PASSED: "work that passed verification",
    AttemptState.LOST: "work that passed the visible checks after another was first or the buyer had cancelled",
    AttemptState.FAILED: "work that failed only checks that were hidden from it",
}


class Settlement:
    """The money side of jobs."""

    def __init__(
        self,
        spending: Spending,
        accounts: Accounts,
        claims: Claims,
        objects: Objects,
        keys: NodeKeys,
        clusters: Clusters,
        policy_hash: ObjectHash,
        *,
        independent_bps_min: int,
    ) -> None:
        self._clusters = clusters
        self._independent_bps_min = independent_bps_min
        self._spending = spending
        self._accounts = accounts
        self.claims = claims
        self._objects = objects
        self._keys = keys
        self._policy_hash = policy_hash

    def hold(self, tx: Tx, who: Principal, job: Job, captures: int, further: Sequence[Draft] = ()) -> None:
        """Set the budget aside, and what is held beside it; whoever cannot pay has ordered nothing."""
        assert job.held_until_us is not None
        self._accounts.open(tx, [available(job.buyer)], reason="orders work", source=SOURCE)
        draft = holds.place(
            available(job.buyer),
            job.budget,
            expires_us=job.held_until_us,
            captures=captures,
            reason="the budget of a job",
            source=who.source,
            key=hold_key(job.key),
            refs=(job_id(job.id),),
            policy=self._policy_hash,
        )
        self._spending.spend_and_post(tx, who, [draft, *further])

    def hold_own(self, tx: Tx, job: Job, captures: int) -> None:
        """Set the budget of an order of the node's own aside, from what the platform has earned."""
        assert job.held_until_us is not None
        draft = holds.place(
            PLATFORM,
            job.budget,
            expires_us=job.held_until_us,
            captures=captures,
            reason="the budget of a job",
            source=SOURCE,
            key=hold_key(job.key),
            refs=(job_id(job.id),),
            policy=self._policy_hash,
        )
        self._spending.settle(tx, draft)

    def fees(self, tx: Tx) -> int:
        """What the platform has."""
        self._accounts.open(tx, [PLATFORM], reason="orders work", source=SOURCE)
        return queries.balance(tx, PLATFORM).balance

    def held(self, tx: Tx, job: Job) -> int:
        """What is still set aside."""
        if job.qualifies is not None:
            return 0
        return queries.balance(tx, hold_account(job.hold, SAT)).balance

    def sharers(self, tx: Tx, job: Job) -> Sharers:
        """Who has a part in the price of a job: the creator of its skill and whoever brought its buyer here.

        Only who is independent of the buyer: nobody gets a part of what they pay themselves.
        """
        if job.buyer == SOURCE:
            return NOBODY
        skill = skill_store.of_job(tx, job.id)
        creator = None if skill is None else self._independent(tx, skill.creator, job.buyer)
        referrer = referral_store.referrer_of(tx, job.buyer, job.created_us)
        return Sharers(
            skill=creator,
            skill_bps=0 if skill is None else skill.share_bps,
            referrer=None if referrer is None else self._independent(tx, referrer, job.buyer),
        )

    def _independent(self, tx: Tx, owner: str, buyer: str) -> str | None:
        return owner if self._clusters.independence(tx, owner, buyer) >= self._independent_bps_min else None

    def pay(
        self,
        tx: Tx,
        job: Job,
        attempt: Attempt,
        shares: Shares,
        receipt: ObjectHash,
        *,
        final: bool,
        sharers: Sharers = NOBODY,
        extras: int = 0,
    ) -> list[DebtPart]:
        """Pay an attempt's shares, and extras, out of the hold; a final payment gives the rest back.

        What somebody owes goes to whom they owe it; says how much of it did.
        """
        named = share_accounts(attempt.owner, shares, sharers)
        store.note_shares(tx, attempt.id, named)
        together: dict[str, int] = {}
        for to, amount in named.values():  # somebody may have several parts
            together[to] = together.get(to, 0) + amount
        together[VERIFIER_FUND] = together.get(VERIFIER_FUND, 0) + extras
        parts = tuple(together.items())
        taken = [one for to, amount in parts for one in self.take_debts(tx, to, amount)]
        amounts = _less_debts(parts, taken)
        if not amounts:
            return []
        self._spending.lock(tx, [job.hold])
        places = self.claims.payable(tx, amounts, reason="paid work", source=SOURCE)
        legs = tuple(Leg(hold_account(job.hold, SAT), places[to], amount) for to, amount in amounts.items())
        draft = holds.capture(
            job.hold,
            legs,
            final=final,
            reason=_WHY[attempt.state],
            source=SOURCE,
            key=pay_key(attempt.id),
            refs=(job_id(job.id), attempt_id(attempt.id), *(dispute_id(id_) for id_ in _disputes(taken))),
            receipt=receipt,
            policy=self._policy_hash,
        )
        self._spending.settle(tx, draft)
        return taken

    def note_debts(self, tx: Tx, dispute: UUID, missing: Iterable[tuple[str, str, int]]) -> int:
        """Keep what could not be taken, as (debtor, creditor, amount); says how much that is together."""
        owed = [one for one in missing if one[2] > 0]
        for n, (debtor, creditor, amount) in enumerate(owed, 1):
            store.insert_debt(tx, dispute, n, debtor, creditor, amount)
        return sum(amount for _, _, amount in owed)

    def lock_debts(self, tx: Tx, debtor: str) -> None:
        """Keep others from touching what this account owes, for a caller that takes it behind the ledger's head."""
        found = store.lock_debts(tx, debtor, debts.DEBTS_AT_ONCE)
        store.lock_disputes(tx, sorted({debt.dispute for debt in found}))

    def take_debts(self, tx: Tx, debtor: str, amount: int) -> list[DebtPart]:
        """Of a payment to this account, what goes to whom it owes; noted as paid."""
        if amount <= 0:
            return []
        taken = debts.split(store.lock_debts(tx, debtor, debts.DEBTS_AT_ONCE), amount)
        for one in taken:
            store.pay_debt(tx, one.debt, one.amount)
        return taken

    def earnings(self, tx: Tx, provider: UUID, since_us: int | None) -> list[Line]:
        """What a provider earned since a day's beginning, by type; None: ever."""
        return store.earnings(tx, provider, since_us)

    def earnings_series(self, tx: Tx, provider: UUID, begins: Sequence[int]) -> list[Bucket]:
        """What a provider earned in each step of time; `begins` as by `earnings.steps`."""
        return earnings.series(begins, store.earnings_by_day(tx, provider, begins[0]))

    def give_back(self, tx: Tx, job: Job) -> None:
        """Release what is left of the hold to the buyer, if anything is."""
        if self.held(tx, job):
            draft = holds.release(
                job.hold,
                reason=f"the job is {job.state}",
                source=SOURCE,
                key=f"release:{job_id(job.id)}",
                refs=(job_id(job.id),),
            )
            self._spending.settle(tx, draft)

    def release_all(self, tx: Tx, job: Job, unneeded: Sequence[UUID]) -> None:
        """Give back what was held beside a job's budget."""
        for hold in unneeded:
            why = "a second review was not needed"
            key = f"release-second:{hold}"
            self.settle_or_lapse(tx, holds.release(hold, reason=why, source=SOURCE, key=key, refs=(job_id(job.id),)))

    def parties(self, tx: Tx, deposit: UUID, accounts: Iterable[str]) -> dict[str, str]:
        """Where the platform and these are paid; a dispute may move the first money they ever got."""
        self._spending.lock(tx, [deposit])
        names = {PLATFORM, *accounts}
        return self.claims.payable(tx, names, reason="a dispute was decided", source=SOURCE)

    def spend(self, tx: Tx, who: Principal, draft: Draft) -> None:
        """Post what somebody sets aside, within what their credential allows."""
        self._spending.spend_and_post(tx, who, [draft])

    def settle_or_lapse(self, tx: Tx, draft: Draft) -> None:
        """End a hold, unless its time was over and everything has gone back already."""
        with suppress(HoldClosed, HoldExpired), tx.savepoint():
            self._spending.settle(tx, draft)

    def receipt(
        self, tx: Tx, job: Job, attempt: Attempt, verdict: Verdict, shares: Shares | None, at_us: int
    ) -> ObjectHash:
        """The node's signed word on what was done, checked and paid."""
        keys = self._keys_of(tx, job, attempt)
        atom = receipt_atom(job, attempt, verdict, shares or Shares(0, 0), keys, at_us, self._policy_hash)
        stored = self._objects.put_atom(tx, atom, None, f"bazaar:{job_id(job.id)}")
        signer = self._keys.signer(tx)
        signature = signer.sign(hash_digest(stored.hash))
        self._objects.add_signature(tx, stored.hash, Scheme.ED25519, signer.public, signature, limited=False)
        return stored.hash

    def _keys_of(self, tx: Tx, job: Job, attempt: Attempt) -> dict[str, str]:
        """The keys of both sides, where there are any: whoever ordered, or else pays; and what signed the result."""
        payer = public_key_of(tx, job.actor) or public_key_of(tx, job.buyer)
        found = {"payer": payer, "payee": self._result_key(tx, attempt)}
        return {side: key.hex() for side, key in found.items() if key is not None}

    def _result_key(self, tx: Tx, attempt: Attempt) -> bytes | None:
        """The provider may have signed the very same before, or again since, with another of its keys."""
        if attempt.result is None or attempt.delivered_us is None:
            return None
        signed = self._objects.signatures(tx, attempt.result, provider_store.keys(tx, attempt.provider))
        before = [item for item in signed if item.at_us <= attempt.delivered_us]
        return before[-1].public if before else None


def _less_debts(parts: Sequence[tuple[str, int]], taken: Sequence[DebtPart]) -> dict[str, int]:
    """Who gets how much when debts are taken off. It adds up to the same."""
    amounts = dict.fromkeys((to for to, _ in parts), 0)
    for to, amount in parts:
        amounts[to] += amount - sum(one.amount for one in taken if one.debt.debtor == to)
    for one in taken:
        amounts[one.debt.creditor] = amounts.get(one.debt.creditor, 0) + one.amount
    return {to: amount for to, amount in amounts.items() if amount}


def _disputes(taken: Sequence[DebtPart]) -> list[UUID]:
    return sorted({one.debt.dispute for one in taken})


def receipt_atom(
    job: Job,
    attempt: Attempt,
    verdict: Verdict,
    shares: Shares,
    keys: dict[str, str],
    at_us: int,
    policy: ObjectHash,
) -> dict[str, Any]:
    """`receipt/1`; it names no entry, the entry names it. Receipts from before have no keys, shares, level or lines."""
    objects = {
        "request": job.request,
        "artifact": attempt.artifact,
        "result": attempt.result,
        "trajectory": attempt.trajectory,
        "verdict": attempt.verdict,
    }
    return {
        "format": "receipt/1",
        "payer": job.buyer,
        "actor": job.actor,
        "delegation": None if job.delegation is None else delegation_id(job.delegation),
        "action": f"bazaar.{job.type}",
        "job": job_id(job.id),
        "attempt": attempt_id(attempt.id),
        "payee": attempt.owner,
        "budget": {"amount": str(job.budget), "asset": "SAT"},
        "spent": {"amount": str(shares.total + attempt.extras), "asset": "SAT"},
        "shares": _shares_json(shares) | ({"verification": str(attempt.extras)} if attempt.extras else {}),
        "keys": keys,
        "objects": {name: value for name, value in objects.items() if value is not None},
        "verifiers": [{"name": VERIFIER, "version": verifier_version()}],
        "sandbox": verdict.tier,
        "outcome": attempt.state.value,
        **{name: told for name, told in verdict.sureness().items() if name in _ON_RECEIPT},
        "policy": policy,
        "at": format_time(at_us),
    }


def _shares_json(shares: Shares) -> dict[str, str]:
    """Parts that nobody has are left away, as in receipts from before there were any."""
    further = {"skill": shares.skill, "referrer": shares.referrer, "verifier_fund": shares.fund}
    told = {"payee": shares.provider, "platform": shares.platform, **{k: v for k, v in further.items() if v}}
    return {name: str(amount) for name, amount in told.items()}


def share_accounts(owner: str, shares: Shares, sharers: Sharers) -> dict[str, tuple[str, int]]:
    """Each part of a price that is something: by its role, the account it goes to and how much."""
    found = {"provider": (available(owner), shares.provider), "platform": (PLATFORM, shares.platform)}
    if sharers.skill is not None:
        found["skill"] = (available(sharers.skill), shares.skill)
    if sharers.referrer is not None:
        found["referrer"] = (available(sharers.referrer), shares.referrer)
    found["fund"] = (VERIFIER_FUND, shares.fund)
    assert sum(amount for _, amount in found.values()) == shares.total
    return {role: part for role, part in found.items() if part[1]}


def available(owner: str) -> str:
    """Where an owner's spendable satoshi are; the node's own orders are paid by the platform."""
    return PLATFORM if owner == SOURCE else f"{owner}/available/SAT"


def hold_key(job_key: str) -> str:
    """The key of the entry that holds a job's budget."""
    return f"job:{job_key}"


def pay_key(attempt: UUID) -> str:
    """The key of the entry that pays an attempt; its source is the bazaar's."""
    return f"pay:{attempt_id(attempt)}"


def hold_of(source: str, job_key: str) -> UUID:
    """The hold that an order by this source and key has, or will have."""
    return holds.placed_id(source, hold_key(job_key))
