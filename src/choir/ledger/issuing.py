"""Who may bring money into being.

Money enters through accounts that may go below zero (issuance, external). On a development node an
operator may use them; on a production node one operator alone may not, by whatever kind of entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from choir.ledger.model import IssuanceNeedsTwo, account_name


def refuse_issuing_alone(payers: Iterable[str], *, production: bool) -> None:
    """Raise if one operator alone would bring money into being on a production node."""
    if not production:
        return
    for payer in payers:
        name = account_name(payer)
        if name.may_overdraw:
            raise IssuanceNeedsTwo(asset=name.asset.name)
