"""Placing stakes and ending them, on the ledger.

Guarantees: a stake is there exactly when its holds are; it is ended once, and each part goes back to where it came from
or where a rule sends it; whoever cannot be paid now has a claim instead. Locks: the stake's row, the delegation's
chain, the ledger's head last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from uuid import UUID

from choir.commons.policy import CommonsPolicy
from choir.commons.stakes import rules, store
from choir.commons.stakes.model import HoldOfStake, Origin, Purpose, Stake, StakePart, StakeState, stake_id
from choir.commons.stakes.rules import Contribution, Funds
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.money import Asset
from choir.identity.delegations.spending import Spending
from choir.identity.model import Principal
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.model import Draft, HoldClosed, HoldExpired, Leg, hold_account, hold_id
from choir.storage.database import Tx
from choir.treasury.accounts import HOLDINGS, INSURANCE, VERIFIER_FUND, Treasury

SOURCE = "system:commons"
FEE = "commons.fee"
_CREDIT = f"{SOURCE}/issuance/CREDIT"


class Stakes:
    """All inside the caller's transaction."""

    def __init__(
        self,
        spending: Spending,
        accounts: Accounts,
        claims: Claims,
        treasury: Treasury,
        clock: Clock,
        policy: CommonsPolicy,
        policy_hash: ObjectHash,
    ) -> None:
        self._spending = spending
        self._accounts = accounts
        self._claims = claims
        self._treasury = treasury
        self._clock = clock
        self._policy = policy
        self._policy_hash = policy_hash

    def funds(self, tx: Tx, owner: str, *, newcomer: bool = False) -> Funds:
        """What an owner could stake now."""
        own, starter = available(owner), starter_of(owner)
        have = queries.open_among(tx, (own, starter))
        balances = {name: queries.balance(tx, name).balance if name in have else 0 for name in (own, starter)}
        helped = newcomer and owner.startswith("person:") and not store.co_staked(tx, owner)
        return Funds(balances[own], balances[starter], self._policy.co_stake_max if helped else 0)

    def place(
        self,
        tx: Tx,
        who: Principal,
        owner: str,
        id_: UUID,
        purpose: Purpose,
        asked: Contribution,
        *,
        refs: tuple[str, ...],
        receipt: ObjectHash | None = None,
    ) -> Stake:
        """Hold the stake and pay the fee, all of it or nothing."""
        self._treasury.open(tx)
        names = [available(owner), *([starter_of(owner)] if owner.startswith("person:") else [])]
        self._accounts.open(tx, names, reason="stakes CHIP", source=SOURCE)
        stake = self._planned(who, owner, id_, purpose, asked)
        store.insert(tx, stake)
        if asked.co_stake:
            noted = store.note_co_stake(tx, owner, id_)
            assert noted, "the caller has locked what says that this is the first article"
        drafts = [self._hold(who, stake, part, refs) for part in stake.parts]
        drafts += self._fee(who, stake, asked, refs, receipt)
        self._spending.spend_and_post(tx, who, drafts)
        return stake

    def _planned(self, who: Principal, owner: str, id_: UUID, purpose: Purpose, asked: Contribution) -> Stake:
        parts = tuple(
            StakePart(origin, holds.placed_id(who.source, _part_key(id_, origin)), amount)
            for origin, amount in asked.parts.items()
        )
        total = sum(asked.parts.values())
        return Stake(id_, owner, purpose, StakeState.HELD, total, self._clock.now_us(), None, parts)

    def _hold(self, who: Principal, stake: Stake, part: StakePart, refs: tuple[str, ...]) -> Draft:
        return holds.place(
            _place_of(stake.owner, part.origin),
            part.amount,
            expires_us=stake.placed_us + self._policy.stake_s_max * MICROSECONDS,
            reason=f"the stake of {_A[stake.purpose]}",
            source=who.source,
            key=_part_key(stake.id, part.origin),
            refs=refs,
            policy=self._policy_hash,
        )

    def _fee(
        self, who: Principal, stake: Stake, asked: Contribution, refs: tuple[str, ...], receipt: ObjectHash | None
    ) -> list[Draft]:
        amounts = {available(stake.owner): asked.fee_own, starter_of(stake.owner): asked.fee_starter}
        legs = tuple(Leg(name, VERIFIER_FUND, amount) for name, amount in amounts.items() if amount)
        if not legs:
            return []
        why, key = "the review fee of an article", f"fee:{stake_id(stake.id)}"
        return [Draft(FEE, why, who.source, key, legs, refs=refs, receipt=receipt, policy=self._policy_hash)]

    def consume(
        self, tx: Tx, who: Principal, owner: str, amount: int, *, key: str, reason: str, refs: tuple[str, ...]
    ) -> None:
        """Pay CHIP of one's own to the treasury for good; starter CHIP cannot be spent so."""
        self._treasury.open(tx)
        self._accounts.open(tx, [available(owner)], reason="spends CHIP", source=SOURCE)
        if not amount:
            return
        leg = Leg(available(owner), HOLDINGS, amount)
        draft = Draft("commons.consume", reason, who.source, key, (leg,), refs=refs, policy=self._policy_hash)
        self._spending.spend_and_post(tx, who, [draft])

    @staticmethod
    def amount(tx: Tx, id_: UUID) -> int:
        return store.get(tx, id_).amount

    def is_held(self, tx: Tx, id_: UUID) -> bool:
        """Whether it is there, by our books and by the ledger's: a hold ends after its time."""
        stake = store.get(tx, id_)
        if stake.state is not StakeState.HELD:
            return False
        now_us = self._clock.now_us()
        found = [queries.hold(tx, part.hold) for part in stake.parts]
        return all(not hold.closed and now_us < hold.expires_us for hold in found)

    def give_back(self, tx: Tx, id_: UUID, *, reason: str, refs: tuple[str, ...]) -> bool:
        """Let everything go back to where it came from; False if the stake had ended before."""
        stake = store.get(tx, id_, lock=True)
        if stake.state is not StakeState.HELD:
            return False
        store.end(tx, id_, StakeState.RETURNED, self._clock.now_us())
        for part in stake.parts:
            self._end(tx, holds.release(part.hold, reason=reason, source=SOURCE, key=_end_key(part), refs=refs))
        return True

    def slash_article(
        self,
        tx: Tx,
        id_: UUID,
        challenger: str,
        independence_bps: int,
        *,
        refs: tuple[str, ...],
        receipt: ObjectHash | None,
    ) -> dict[str, int]:
        """A challenge was won: the author's own part is shared out; all else goes to the treasury whole."""
        stake = store.get(tx, id_, lock=True)
        if stake.state is not StakeState.HELD:
            return {}

        def share(part: StakePart) -> Mapping[str, int]:
            if part.origin is not Origin.OWN:
                return {HOLDINGS: part.amount}
            shares = rules.slash_shares(part.amount, independence_bps, self._policy)
            return {
                available(challenger): shares.challenger,
                HOLDINGS: shares.treasury,
                VERIFIER_FUND: shares.verifier,
                INSURANCE: shares.insurance,
            }

        return self._slash(tx, stake, share, reason="a challenge was won", refs=refs, receipt=receipt)

    def slash_challenger(
        self, tx: Tx, id_: UUID, challenged: str, *, refs: tuple[str, ...], receipt: ObjectHash | None
    ) -> dict[str, int]:
        """A challenge was lost: a part of the stake is; the rest goes back."""
        stake = store.get(tx, id_, lock=True)
        if stake.state is not StakeState.HELD:
            return {}

        def share(part: StakePart) -> Mapping[str, int]:
            if part.origin is not Origin.OWN:
                return {HOLDINGS: rules.lost_part(part.amount, self._policy)}
            to_challenged, to_fund = rules.lost_shares(part.amount, self._policy)
            return {available(challenged): to_challenged, VERIFIER_FUND: to_fund}

        return self._slash(tx, stake, share, reason="a challenge was lost", refs=refs, receipt=receipt)

    def share_out(
        self, tx: Tx, id_: UUID, amounts: Mapping[str, int], *, reason: str, refs: tuple[str, ...]
    ) -> dict[str, int]:
        """Pay amounts out of a stake of somebody's own CHIP; the rest goes back. Starter CHIP goes to the treasury."""
        stake = store.get(tx, id_, lock=True)
        if stake.state is not StakeState.HELD:
            return {}
        total = sum(amounts.values())

        def share(part: StakePart) -> Mapping[str, int]:
            taken = part.amount * total // stake.amount
            if part.origin is not Origin.OWN:
                return {HOLDINGS: taken}
            return _scaled(amounts, taken)

        return self._slash(tx, stake, share, reason=reason, refs=refs, receipt=None)

    def pay_bounty(self, tx: Tx, owner: str, *, key: str, refs: tuple[str, ...]) -> None:
        """CREDIT for who proved that a stake which the treasury backed was misplaced; the key pays it once."""
        amount, account = self._policy.challenge_bounty, f"{owner}/available/CREDIT"
        if not amount:
            return
        reason = "a proven challenge"
        self._spending.lock(tx, [])
        self._accounts.open(tx, [_CREDIT], reason=reason, source=SOURCE)
        place = self._claims.payable(tx, [account], reason=reason, source=SOURCE)[account]
        leg = Leg(_CREDIT, place, amount)
        draft = Draft("commons.bounty", reason, SOURCE, f"bounty:{key}", (leg,), refs=refs, policy=self._policy_hash)
        self._spending.settle(tx, draft)

    def _slash(
        self,
        tx: Tx,
        stake: Stake,
        share: Callable[[StakePart], Mapping[str, int]],
        *,
        reason: str,
        refs: tuple[str, ...],
        receipt: ObjectHash | None,
    ) -> dict[str, int]:
        store.end(tx, stake.id, StakeState.SLASHED, self._clock.now_us())
        wanted = {part: {to: amount for to, amount in share(part).items() if amount} for part in stake.parts}
        self._spending.lock(tx, [part.hold for part in stake.parts])
        names = {to for amounts in wanted.values() for to in amounts}
        people = {name for name in names if not name.startswith("treasury:")}
        places = {name: name for name in names} | self._claims.payable(tx, people, reason=reason, source=SOURCE)
        paid: dict[str, int] = {}
        for part, amounts in wanted.items():
            if not self._pay(tx, part, {places[to]: amount for to, amount in amounts.items()}, reason, refs, receipt):
                continue
            for to, amount in amounts.items():
                paid[to] = paid.get(to, 0) + amount
        return paid

    def _pay(
        self,
        tx: Tx,
        part: StakePart,
        amounts: Mapping[str, int],
        reason: str,
        refs: tuple[str, ...],
        receipt: ObjectHash | None,
    ) -> bool:
        if not amounts:
            return self._end(tx, holds.release(part.hold, reason=reason, source=SOURCE, key=_end_key(part), refs=refs))
        legs = tuple(Leg(hold_account(part.hold, Asset.CHIP), to, amount) for to, amount in amounts.items())
        draft = holds.capture(
            part.hold,
            legs,
            reason=reason,
            source=SOURCE,
            key=_end_key(part),
            refs=refs,
            receipt=receipt,
            policy=self._policy_hash,
        )
        return self._end(tx, draft)

    def _end(self, tx: Tx, draft: Draft) -> bool:
        """End a hold; False if its time was over and everything has gone back already."""
        with suppress(HoldClosed, HoldExpired), tx.savepoint():
            self._spending.settle(tx, draft)
            return True
        return False

    @staticmethod
    def check_not_ours(tx: Tx, hold: UUID) -> None:
        """Raise if a hold is part of a stake that is still needed."""
        found = store.held_with(tx, hold)
        if found is not None:
            raise HoldOfStake(hold=hold_id(hold), stake=stake_id(found))


_A = {Purpose.ARTICLE: "an article", Purpose.CHALLENGE: "a challenge", Purpose.REVISION: "a proposed revision"}


def _scaled(amounts: Mapping[str, int], total: int) -> dict[str, int]:
    """The same shares of another total; the first gets what does not divide."""
    whole = sum(amounts.values())
    found = {to: amount * total // whole for to, amount in amounts.items()} if whole else {}
    if found:
        found[next(iter(found))] += total - sum(found.values())
    return found


def available(owner: str) -> str:
    """Where an owner's own CHIP is."""
    return f"{owner}/available/CHIP"


def starter_of(owner: str) -> str:
    """Where an owner's starter CHIP is."""
    return f"{owner}/available.starter/CHIP"


def _place_of(owner: str, origin: Origin) -> str:
    return {Origin.OWN: available(owner), Origin.STARTER: starter_of(owner), Origin.TREASURY: HOLDINGS}[origin]


def _part_key(stake: UUID, origin: Origin) -> str:
    return f"{stake_id(stake)}:{origin}"


def _end_key(part: StakePart) -> str:
    return f"end:{hold_id(part.hold)}"
