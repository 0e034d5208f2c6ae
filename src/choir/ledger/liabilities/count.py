"""Counting what is owed after so many entries, account by account, and all that is not owed beside it.

Guarantees: what is owed and all the rest add up to zero, asset by asset, or `NotAllCounted` is raised. Batches are read
one by one: the journal only grows, so what it says about a number in the past is the same in every transaction. The
cost grows with the accounts of people and agents, and with the holds that were open then or ended since; neither with
the entries nor with the holds that had ended before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from choir.foundation.money import Asset
from choir.ledger.liabilities import rules, store
from choir.ledger.liabilities.model import NotAllCounted, Owed
from choir.storage.database import Tx

Transact = Callable[[], AbstractContextManager[Tx]]
Step = Callable[[], None]  # called now and then; whoever wants an end of it raises something

_BATCH_ACCOUNTS = 5_000


def go_on() -> None:
    """The step of who does not want to be asked."""


def count(transact: Transact, size: int, secret: bytes, step: Step = go_on) -> dict[str, rules.Planter]:
    """Everything that was owed, by asset."""
    planters: dict[str, rules.Planter] = {}
    for id_, name, balance, held in _accounts(transact, size, step):
        owed = Owed(name, balance, held)
        if owed.amount:
            planters.setdefault(name.rpartition("/")[2], rules.Planter(secret)).add(id_, owed)
    with transact() as tx:
        rest = store.rest_by_asset(tx, size)
    _check_all_counted({asset: planter.total for asset, planter in planters.items()}, rest)
    return planters


def _accounts(transact: Transact, size: int, step: Step) -> Iterator[tuple[int, str, int, int]]:
    after = 0
    while True:
        step()
        with transact() as tx:
            batch = store.owed_accounts(tx, size, after=after, limit=_BATCH_ACCOUNTS)
        yield from batch
        if len(batch) < _BATCH_ACCOUNTS:
            return
        after = batch[-1][0]


def _check_all_counted(owed: dict[str, int], rest: dict[str, int]) -> None:
    for asset in sorted({*owed, *rest}):
        if owed.get(asset, 0) + rest.get(asset, 0):
            raise NotAllCounted.of(Asset.of(asset), owed.get(asset, 0), rest.get(asset, 0))
