"""What people pay the treasury for good: it is operating income, and raises what their citations may pay others.

Guarantees: the money is the payer's own and within their delegation; the same key pays once; nothing comes back.
"""

from __future__ import annotations

from choir.foundation.canonical import ObjectHash
from choir.foundation.money import checked_amount
from choir.identity.delegations.spending import Spending
from choir.identity.model import Principal
from choir.ledger.accounts import Accounts
from choir.ledger.model import Draft, Leg, Posted
from choir.storage.database import Tx
from choir.treasury.accounts import OPERATIONS, Treasury

_WHY = "a payment to the treasury, for good"


class TreasuryPayments:
    """All inside the caller's transaction."""

    def __init__(self, treasury: Treasury, spending: Spending, accounts: Accounts, policy_hash: ObjectHash) -> None:
        self._treasury = treasury
        self._spending = spending
        self._accounts = accounts
        self._policy_hash = policy_hash

    def pay(self, tx: Tx, who: Principal, owner: str, amount: int, *, key: str) -> Posted:
        """Move USDC of an owner's own to the treasury's operations."""
        place = f"{owner}/available/USDC"
        self._treasury.open(tx)
        self._accounts.open(tx, [place], reason=_WHY, source=who.source)
        leg = Leg(place, OPERATIONS, checked_amount(amount))
        draft = Draft("treasury.payment", _WHY, who.source, key, (leg,), policy=self._policy_hash)
        [posted] = self._spending.spend_and_post(tx, who, [draft])
        return posted
