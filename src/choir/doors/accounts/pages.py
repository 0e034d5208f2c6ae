"""What an owner has, as pages show it."""

from __future__ import annotations

from dataclasses import dataclass

from choir.doors.web import words
from choir.doors.web.purse import about
from choir.foundation.money import Asset
from choir.ledger import queries
from choir.ledger.model import account_name
from choir.node import Node
from choir.storage.database import Tx

_ACCOUNTS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Balance:
    """An account as its owner sees it."""

    role: str
    asset: str
    about: str
    units: int
    frozen: bool


def balances(node: Node, tx: Tx, owner: str) -> list[Balance]:
    """What an owner has, account by account."""
    found = []
    for item in queries.accounts(tx, prefix=f"{owner}/", limit=_ACCOUNTS_SHOWN):
        name = account_name(item.name)
        role = words.role(f"{name.role}.{name.purpose}" if name.purpose else name.role)
        found.append(Balance(role, name.asset.name, about(node, name.asset), item.balance, item.state == "frozen"))
    return sorted(found, key=lambda item: (list(Asset.__members__).index(item.asset), item.role))
