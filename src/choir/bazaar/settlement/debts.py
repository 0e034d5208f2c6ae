"""What somebody still owes after a dispute, and taking it from what they are paid later.

Guarantees: of a payment, what is owed goes first to whom it is owed, in the entry of the payment itself, so it
happens exactly as often as the payment; never more is taken than is owed, nor than is paid; older debts come first.
Debts are locked before the ledger's head. What could not be taken from a frozen account is taken when it is unfrozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from choir.storage.database import Tx

_DEBTS_AT_ONCE = 16  # of one payment; an entry has so many legs and no more


@dataclass(frozen=True, slots=True)
class Debt:
    """One side's debt to one account."""

    dispute: UUID
    n: int
    debtor: str  # an account
    creditor: str  # an account
    left: int


@dataclass(frozen=True, slots=True)
class DebtPart:
    """What of a payment went to a creditor."""

    debt: Debt
    amount: int

    @property
    def left(self) -> int:
        return self.debt.left - self.amount


def record(tx: Tx, dispute: UUID, missing: Iterable[tuple[str, str, int]]) -> int:
    """Keep what could not be taken, as (debtor, creditor, amount); says how much that is together."""
    total = 0
    for n, (debtor, creditor, amount) in enumerate(((*one,) for one in missing if one[2] > 0), 1):
        tx.run(
            "insert into dispute_debts (dispute, n, debtor, creditor, amount) values (%s, %s, %s, %s, %s)",
            dispute, n, debtor, creditor, amount,
        )  # fmt: skip
        total += amount
    return total


def lock(tx: Tx, debtor: str) -> None:
    """Keep others from touching what this account owes, for a caller that takes it behind the ledger's head."""
    disputes = sorted({debt.dispute for debt in _open(tx, debtor)})
    tx.rows("select 1 from disputes where id = any(%s) order by id for update", disputes)


def take(tx: Tx, debtor: str, amount: int) -> list[DebtPart]:
    """Of a payment to this account, what goes to whom it owes; noted as paid."""
    taken = split(_open(tx, debtor), amount) if amount > 0 else []
    for one in taken:
        tx.run(
            "update dispute_debts set paid = paid + %s where dispute = %s and n = %s",
            one.amount, one.debt.dispute, one.debt.n,
        )  # fmt: skip
        tx.run("update disputes set owed = owed - %s where id = %s", one.amount, one.debt.dispute)
    return taken


def split(debts: Sequence[Debt], amount: int) -> list[DebtPart]:
    """How far an amount reaches. Pure."""
    taken: list[DebtPart] = []
    for debt in debts:
        part = min(debt.left, amount)
        if part <= 0:
            break
        taken.append(DebtPart(debt, part))
        amount -= part
    return taken


def _open(tx: Tx, debtor: str) -> list[Debt]:
    rows = tx.rows(
        "select dispute, n, debtor, creditor, amount - paid from dispute_debts where debtor = %s and paid < amount"
        " order by dispute, n limit %s for update",
        debtor, _DEBTS_AT_ONCE,
    )  # fmt: skip
    return [Debt(*row) for row in rows]
