"""Claims: what an owner is owed because the account that it should be paid to can neither pay nor receive.

A frozen or closed account must not stop the pay of others. Whoever pays by a rule (a verdict, a debt, a dispute) asks
here where to: the account itself, or the claim of the same owner, `<owner>/claim/<ASSET>`; beside an account of
another role than available, `<owner>/claim.<role>/<ASSET>`.

Guarantees: the answer holds until the caller's transaction ends, because it is given under the head's lock, which a
freeze needs as well; a claim is never frozen nor closed, so it can always be paid; what is in it comes home in the
transaction that unfreezes the account, once; it counts among what the node owes like everything else of its owner's.
"""

from __future__ import annotations

from collections.abc import Collection

from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.model import CLAIM, Draft, Leg, account_name
from choir.ledger.service import Ledger
from choir.storage.database import Tx

_SOURCE = "system:claims"
_WHY = "its owner's account cannot be paid"
_HOME = "the account can be paid again"
_KIND = "claim.return"
_PLAIN = "available"  # the role whose claim needs no further word


class Claims:
    """All inside the caller's transaction."""

    def __init__(self, ledger: Ledger, accounts: Accounts) -> None:
        self._ledger = ledger
        self._accounts = accounts

    def payable(self, tx: Tx, names: Collection[str], *, reason: str, source: str) -> dict[str, str]:
        """Where each of these accounts is paid now: there, or to its claim. Opens what is missing; locks the head."""
        self._ledger.lock(tx)
        self._accounts.open(tx, sorted(names), reason=reason, source=source)
        can = queries.open_among(tx, names)
        places = {name: name if name in can else claim_of(name) for name in names}
        self._accounts.open(tx, sorted(set(places.values()) - set(names)), reason=_WHY, source=_SOURCE)
        return places

    def takeable(self, tx: Tx, name: str) -> dict[str, int]:
        """What can be taken of this account's owner now, and from where: the account if it may pay, then its claim."""
        self._ledger.lock(tx)
        places = (name, claim_of(name))
        can = queries.open_among(tx, places)
        return {place: queries.balance(tx, place).balance for place in places if place in can}

    def unfreeze(self, tx: Tx, name: str, *, reason: str, source: str) -> None:
        """Let an account move again, and bring home what could not be paid to it."""
        self._accounts.unfreeze(tx, name, reason=reason, source=source)
        if account_name(name).purpose is not None:
            return  # nothing is paid there by a rule
        claim = claim_of(name)
        owed = queries.balance(tx, claim).balance if queries.open_among(tx, [claim]) else 0
        if owed:
            key = f"unfreeze:{queries.head(tx).acts}"  # the number of this very act, which no other act has
            self._ledger.post(tx, Draft(_KIND, _HOME, _SOURCE, key, (Leg(claim, name, owed),)))


def claim_of(name: str) -> str:
    """The claim that stands in for an account."""
    account = account_name(name)
    assert account.purpose is None, "an account with a purpose is not paid by a rule"
    assert account.role != CLAIM, "a claim can always be paid"
    role = CLAIM if account.role == _PLAIN else f"{CLAIM}.{account.role}"
    return f"{account.owner_kind}:{account.owner_id}/{role}/{account.asset.name}"
