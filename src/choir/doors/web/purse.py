"""What a visitor can spend, for the head of every page."""

from __future__ import annotations

from dataclasses import dataclass

from choir.doors.web import words
from choir.foundation.money import Asset
from choir.ledger import queries
from choir.ledger.model import account_name
from choir.node import Node
from choir.storage.database import Tx

_SHOWN = (Asset.SAT, Asset.USDC, Asset.CHIP, Asset.CREDIT)
_ACCOUNTS_MAX = 20


@dataclass(frozen=True, slots=True)
class Coin:
    """One asset in the purse."""

    asset: str
    units: int
    about: str


def purse(node: Node, tx: Tx, owner: str) -> list[Coin]:
    """What an owner has available of each asset that is in use, also where it is nothing."""
    there: dict[Asset, int] = {}
    for item in queries.accounts(tx, prefix=f"{owner}/available", limit=_ACCOUNTS_MAX):
        name = account_name(item.name)
        if name.purpose in (None, "starter"):
            there[name.asset] = there.get(name.asset, 0) + item.balance
    return [Coin(asset.name, there.get(asset, 0), about(node, asset)) for asset in _SHOWN]


def about(node: Node, asset: Asset) -> str:
    """What an asset is for, on this node."""
    return words.ASSETS[asset] if node.identity.production else words.PLAYED.get(asset, words.ASSETS[asset])
