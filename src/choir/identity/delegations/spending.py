"""Spending under a delegation: charging its caps and posting to the ledger, as one step.

Features that move what a person or an agent owns post through here, so that none can forget the caps.
Guarantees: what is charged and what is posted commit or fail together, and a refusal leaves neither; an
entry that was already posted is not charged again; what comes back from a hold is given back to the
windows it was charged to. Locks: the delegation's chain first, the ledger's head last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import Any
from uuid import UUID

from choir.foundation.money import parse_units
from choir.identity.delegations import rules as delegation_rules
from choir.identity.delegations import store as delegation_store
from choir.identity.delegations.service import Delegations
from choir.identity.delegations.store import HoldCharge
from choir.identity.model import Principal
from choir.ledger import queries
from choir.ledger.journal.appender import all_posted
from choir.ledger.model import Draft, HoldTerms, HoldUse, Posted
from choir.ledger.rules import Outcome
from choir.ledger.service import Ledger
from choir.storage.database import Tx


class Spending:
    """Posting in somebody's name; all inside the caller's transaction."""

    def __init__(self, ledger: Ledger, delegations: Delegations) -> None:
        self._ledger = ledger
        self._delegations = delegations

    def spend_and_post(
        self, tx: Tx, principal: Principal, drafts: Sequence[Draft], *, others: Collection[str] = ()
    ) -> list[Posted]:
        """Charge what the drafts take from the principal's person and agent, and post them together.

        Legs from accounts of other people or agents are refused, except of those named in `others`, whose
        money the feature moves by its own authority (a slashed stake, a trade that both sides agreed to).
        """
        amounts = [delegation_rules.outgoing(principal, draft, others) for draft in drafts]
        # So that a refusal which the caller survives leaves no charge; without a delegation there is none.
        with tx.savepoint() if principal.delegation is not None else nullcontext():
            self._delegations.lock(tx, principal)
            known = queries.posted_keys(tx, [(draft.source, draft.key) for draft in drafts])
            new = [n for n, draft in enumerate(drafts) if (draft.source, draft.key) not in known]
            asked = delegation_rules.sum_amounts(amounts[n] for n in new)
            charged_us = self._delegations.charge(tx, principal, asked)
            posted = self._ledger.post(tx, *drafts)
            if principal.delegation is not None:
                for n in new:
                    self._after(tx, principal.delegation, drafts[n], posted[n], amounts[n], charged_us)
        return posted

    def lock(self, tx: Tx, holds: Sequence[UUID]) -> None:
        """Take the locks that settling these holds takes, for a caller that must look before it says who gets what."""
        self._charged(tx, holds)
        self._ledger.lock(tx)

    def settle(self, tx: Tx, *drafts: Draft) -> list[Posted]:
        """Capture from, release or expire holds; what returns to the payer is given back to the caps."""
        return all_posted(self.settle_batch(tx, [drafts]))

    def settle_batch(self, tx: Tx, groups: Sequence[Sequence[Draft]]) -> list[Outcome]:
        """The same for many, each group accepted or refused on its own."""
        drafts = [draft for group in groups for draft in group]
        charged = self._charged(tx, [draft.hold.id for draft in drafts if isinstance(draft.hold, HoldUse)])
        outcomes = self._ledger.post_batch(tx, groups)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            found = charged.get(draft.hold.id) if draft.hold is not None else None
            if found is not None and isinstance(outcome, Posted) and not outcome.again:
                self._give_back(tx, found, _returned(queries.entry(tx, outcome.id).content))
        return outcomes

    @staticmethod
    def _charged(tx: Tx, holds: Sequence[UUID]) -> dict[UUID, HoldCharge]:
        """What these holds were charged to, locked before the head: a spend holds its chain while it waits for that."""
        charged = delegation_store.charged_holds(tx, holds)
        delegation_store.lock_chains(tx, [item.delegation for item in charged.values()])
        return charged

    def _after(
        self, tx: Tx, delegation: UUID, draft: Draft, posted: Posted, amounts: dict[str, int], charged_us: int
    ) -> None:
        """Note a hold that was charged; take back the charge of an entry that turned out to be there already."""
        if posted.again:  # posted meanwhile by another credential of the same source
            for asset, amount in amounts.items():
                self._delegations.unspend(tx, delegation, asset, amount, charged_us)
        elif isinstance(draft.hold, HoldTerms):
            for asset in amounts:
                delegation_store.note_hold(tx, HoldCharge(draft.hold.id, delegation, asset, charged_us))

    def _give_back(self, tx: Tx, charged: HoldCharge, amount: int) -> None:
        if amount:
            self._delegations.unspend(tx, charged.delegation, charged.asset, amount, charged.charged_us)


def _returned(content: dict[str, Any]) -> int:
    """What an entry gave back to the payer of its hold."""
    return sum(parse_units(leg["amount"]) for leg in content["legs"] if leg.get("rest"))
