"""Money out of nothing, for development nodes only."""

from __future__ import annotations

from choir.ledger.accounts import Accounts
from choir.ledger.model import PLAY_MINT, DevelopmentOnly, Draft, Leg, account_name
from choir.storage.database import Tx

_REASON = "development funds"


class Funding:
    """`choir fund`: refused by a production node."""

    def __init__(self, accounts: Accounts, *, production: bool) -> None:
        self._accounts = accounts
        self._production = production

    def draft(self, account: str, amount: int, *, source: str, key: str) -> Draft:
        """The entry that issues the money."""
        if self._production:
            raise DevelopmentOnly(what="Funding")
        return Draft("fund", _REASON, source, key, (Leg(_mint(account), account, amount),))

    def open_accounts(self, tx: Tx, account: str) -> None:
        """Open the account and where its money comes from, if they are not."""
        self._accounts.open(tx, [_mint(account), account], reason=_REASON, source="system:funding")


def _mint(account: str) -> str:
    return f"{PLAY_MINT}/issuance/{account_name(account).asset.name}"
