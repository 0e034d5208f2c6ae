"""What somebody still owes after a dispute, and how far a payment reaches: pure.

Guarantees: never more is taken than is owed, nor than is paid; older debts come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

DEBTS_AT_ONCE = 16  # of one payment; an entry has so many legs and no more


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


def split(debts: Sequence[Debt], amount: int) -> list[DebtPart]:
    """How far an amount reaches."""
    taken: list[DebtPart] = []
    for debt in debts:
        part = min(debt.left, amount)
        if part <= 0:
            break
        taken.append(DebtPart(debt, part))
        amount -= part
    return taken
