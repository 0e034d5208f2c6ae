"""The governed price: what operators say that one CHIP is worth.

Guarantees: it moves at most so far within a window, measured against every price that was in force in it; on a
production node no operator changes it alone; every price is kept with who set it and why; setting the same price again
confirms it, so that it does not become stale. All steps can be repeated.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.foundation.money import checked_amount
from choir.ledger.issuances.rules import Since
from choir.ledger.model import ConflictingKey
from choir.ledger.rules import check_text
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.treasury import events
from choir.treasury.accounts import Treasury
from choir.treasury.oracle import rules, store
from choir.treasury.oracle.model import (
    GovernedPriceChange,
    PriceEnded,
    PriceNeedsAnother,
    PriceState,
    Quote,
    UnknownPrice,
    price_id,
)
from choir.treasury.policy import TreasuryPolicy

NAME = "governed"
_GENESIS, _FIRST = "system:genesis", "start"


class GovernedPrice:
    """The source of prices that every node has; all inside the caller's transaction."""

    def __init__(
        self,
        treasury: Treasury,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: TreasuryPolicy,
        *,
        production: bool,
    ) -> None:
        self._treasury = treasury
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._production = production

    def quote(self, tx: Tx, at_us: int) -> Quote:
        """What was in force then: before anything was set, the price of the genesis."""
        found = store.in_force(tx, at_us)
        if found is not None and found.in_force_us is not None:
            return Quote(found.micro_usdc, found.in_force_us, NAME)
        genesis = self._treasury.genesis(tx)
        return Quote(self._policy.price_start, at_us if genesis is None else min(at_us, genesis.at_us), NAME)

    @staticmethod
    def begun(tx: Tx) -> bool:
        """Whether there is a first price, and so a treasury."""
        return store.by_key(tx, _GENESIS, _FIRST) is not None

    def begin(self, tx: Tx) -> None:
        """Have the first price among the others, so that a later policy does not change it."""
        if self.begun(tx):
            return
        self._treasury.open(tx)
        genesis = self._treasury.genesis(tx)
        assert genesis is not None, "it was just opened"
        at_us = genesis.at_us
        first = GovernedPriceChange(
            uuid7(at_us, 0, self._entropy.bytes(6)), self._policy.price_start, "the price of the genesis",
            _GENESIS, _FIRST, at_us, at_us, None, at_us,
        )  # fmt: skip
        store.insert(tx, first)

    def change(
        self, tx: Tx, operator: str, micro_usdc: int, *, reason: str, key: str
    ) -> tuple[GovernedPriceChange, bool]:
        """Set the price, or propose it where another operator must agree; whether that is new."""
        checked_amount(micro_usdc)
        check_text("reason", reason, self._policy.price_reason_chars_max)
        store.lock(tx)
        known = store.by_key(tx, operator, key)
        if known is not None:
            if (known.micro_usdc, known.reason) != (micro_usdc, reason):
                raise ConflictingKey(key=key, source=operator)
            return known, False
        self.begin(tx)
        now_us = self._clock.now_us()
        self._check(tx, micro_usdc, now_us)
        item = GovernedPriceChange(
            id=uuid7(now_us, 0, self._entropy.bytes(6)),
            micro_usdc=micro_usdc,
            reason=reason,
            proposer=operator,
            key=key,
            proposed_us=now_us,
            expires_us=now_us + self._policy.price_proposal_s * MICROSECONDS,
        )
        store.insert(tx, item)
        if self._production:
            self._announce(tx, events.PRICE_PROPOSED, item, operator)
            return item, True
        return self._enforce(tx, item, operator, now_us), True

    def approve(self, tx: Tx, operator: str, id_: UUID, since: Since) -> GovernedPriceChange:
        """Agree to a price that another operator proposed, who still is one; it is in force then."""
        store.lock(tx)
        item = self.get(tx, id_)
        if item.approver == operator:
            return item
        now_us = self._clock.now_us()
        added_us = since(item.proposer)
        if item.state(now_us) is not PriceState.OPEN or added_us is None or added_us > item.proposed_us:
            state = item.state(now_us).value if added_us is not None else "by somebody who is no operator"
            raise PriceEnded(price=price_id(id_), state=state)
        if operator == item.proposer:
            raise PriceNeedsAnother(operator=operator, price=price_id(id_))
        self._check(tx, item.micro_usdc, now_us)
        return self._enforce(tx, item, operator, now_us)

    @staticmethod
    def get(tx: Tx, id_: UUID) -> GovernedPriceChange:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownPrice(price=price_id(id_))
        return found

    @staticmethod
    def history(tx: Tx, *, before: UUID | None, limit: int) -> list[GovernedPriceChange]:
        """A page of all prices, those that are only proposed too, the newest first."""
        return store.newest(tx, before=before, limit=limit)

    def state(self, item: GovernedPriceChange) -> PriceState:
        return item.state(self._clock.now_us())

    def _check(self, tx: Tx, micro_usdc: int, now_us: int) -> None:
        since_us = now_us - self._policy.price_window_s * MICROSECONDS
        within = [self.quote(tx, since_us).micro_usdc, *store.in_force_since(tx, since_us)]
        rules.check_move(micro_usdc, within, self._policy)

    def _enforce(self, tx: Tx, item: GovernedPriceChange, operator: str, now_us: int) -> GovernedPriceChange:
        store.enforce(tx, item.id, operator, now_us)
        item = replace(item, approver=operator, in_force_us=now_us)
        self._announce(tx, events.PRICE_CHANGED, item, operator)
        return item

    def _announce(self, tx: Tx, event: str, item: GovernedPriceChange, actor: str) -> None:
        data = {"price": str(item.micro_usdc), "reason": item.reason, "proposed_by": item.proposer}
        audience = (EVERYONE,) if event == events.PRICE_CHANGED else ()
        self._outbox.announce(tx, event, subject=price_id(item.id), actor=actor, data=data, audience=audience)
