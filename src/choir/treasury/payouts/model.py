"""What a citation pays, to whom, and what of it is still owed. Amounts are units of USDC."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Share:
    """What one owner gets of a payout."""

    n: int  # those with lower numbers are paid first
    payout: UUID
    owner: str | None  # None once they are erased and nothing is owed
    amount: int
    paid: int
    cancelled: int

    @property
    def owed(self) -> int:
        return self.amount - self.paid - self.cancelled


@dataclass(frozen=True, slots=True)
class Payout:
    """A payment for a citation."""

    id: UUID
    key: str
    subject: str
    month: str
    weight_ppm: int
    refs: tuple[str, ...]
    starts_us: int
    made_us: int
    shares: tuple[Share, ...] = ()

    @property
    def paid(self) -> int:
        return sum(share.paid for share in self.shares)

    @property
    def owed(self) -> int:
        return sum(share.owed for share in self.shares)


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What was taken back of payouts: out of grants, and of what was only owed."""

    clawed: int
    cancelled: int


@dataclass(frozen=True, slots=True)
class PoolReport:
    """How the citation pool stands in a month."""

    month: str
    balance: int
    owed: int
    owed_shares: int
    spent: int  # granted out of the pool in the month, less what came back of that
    weight_ppm: int  # paid-weight citations of the month
