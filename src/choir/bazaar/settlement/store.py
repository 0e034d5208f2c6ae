"""What is owed after disputes, and what providers earned, in PostgreSQL.

Earnings are kept by type and day as the money moves, so that a period is a sum over a few rows. Guarantees: a payment
and what is noted of it commit together, with the very shares that were posted, so the sums are exact whatever policy
was in force; what a dispute takes back or adds is noted whole on the day it was decided, also where some of it is owed
until later; what is then taken from later pay is not noted again.

Locks: debts and earnings come before the ledger's head.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.settlement.debts import Debt
from choir.bazaar.settlement.earnings import DAY_US, Bucket, Line
from choir.storage.database import Tx

# Debts


def insert_debt(tx: Tx, dispute: UUID, n: int, debtor: str, creditor: str, amount: int) -> None:
    tx.run(
        "insert into dispute_debts (dispute, n, debtor, creditor, amount) values (%s, %s, %s, %s, %s)",
        dispute, n, debtor, creditor, amount,
    )  # fmt: skip


def lock_debts(tx: Tx, debtor: str, limit: int) -> list[Debt]:
    """What an account still owes, oldest first, unchanged by others until the transaction ends."""
    rows = tx.rows(
        "select dispute, n, debtor, creditor, amount - paid from dispute_debts where debtor = %s and paid < amount"
        " order by dispute, n limit %s for update",
        debtor, limit,
    )  # fmt: skip
    return [Debt(*row) for row in rows]


def lock_disputes(tx: Tx, disputes: list[UUID]) -> None:
    """Keep others from changing these disputes; in order of id, so that nobody waits in a circle."""
    tx.rows("select 1 from disputes where id = any(%s) order by id for update", disputes)


def pay_debt(tx: Tx, debt: Debt, amount: int) -> None:
    """Note that so much of a debt was paid, there and at its dispute."""
    tx.run("update dispute_debts set paid = paid + %s where dispute = %s and n = %s", amount, debt.dispute, debt.n)
    tx.run("update disputes set owed = owed - %s where id = %s", amount, debt.dispute)


# Who got what


def note_shares(tx: Tx, attempt: UUID, parts: Mapping[str, tuple[str, int]]) -> None:
    """Keep who got which part of a payment, by role."""
    rows = [(role, account, amount) for role, (account, amount) in sorted(parts.items())]
    tx.run(
        "insert into attempt_shares (attempt, role, account, amount)"
        " select %s, * from unnest(%s::text[], %s::text[], %s::bigint[]) on conflict do nothing",
        attempt, [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
    )  # fmt: skip


def shares_of(tx: Tx, attempt: UUID) -> dict[str, tuple[str, int]]:
    """By role, the account and the amount; empty where nothing was paid, or before that was noted."""
    rows = tx.rows("select role, account, amount from attempt_shares where attempt = %s", attempt)
    return {role: (account, int(amount)) for role, account, amount in rows}


def note_verified(tx: Tx, attempt: UUID, provider: UUID, at_us: int, *, hidden_failure: bool) -> None:
    """A delivery was verified."""
    tx.run(
        "insert into verified_deliveries (attempt, provider, at_us, hidden_failure) values (%s, %s, %s, %s)"
        " on conflict do nothing",
        attempt, provider, at_us, hidden_failure,
    )  # fmt: skip


def hidden_failures(tx: Tx, provider: UUID, window: int) -> int:
    """How many of a provider's last verified deliveries failed hidden checks alone."""
    return int(
        tx.value(
            "select count(*) filter (where hidden_failure) from (select hidden_failure from verified_deliveries"
            " where provider = %s order by at_us desc, attempt desc limit %s) last",
            provider, window,
        )
    )  # fmt: skip


# Earnings


def note_earnings(
    tx: Tx,
    provider: UUID,
    type_: JobType,
    at_us: int,
    *,
    jobs: int = 0,
    passed: int = 0,
    earned: int = 0,
    fees: int = 0,
) -> None:
    """Add to a day."""
    tx.run(
        "insert into provider_earnings as e (provider, type, day, jobs, passed, earned, fees)"
        " values (%s, %s, %s, %s, %s, %s, %s) on conflict (provider, day, type) do update set"
        " jobs = e.jobs + excluded.jobs, passed = e.passed + excluded.passed,"
        " earned = e.earned + excluded.earned, fees = e.fees + excluded.fees",
        provider, type_, at_us // DAY_US, jobs, passed, earned, fees,
    )  # fmt: skip


def earnings(tx: Tx, provider: UUID, since_us: int | None) -> list[Line]:
    """The sums since a day's beginning, by type; None: of all days."""
    rows = tx.rows(
        "select type, sum(jobs), sum(passed), sum(earned), sum(fees) from provider_earnings"
        " where provider = %s and day >= %s group by type order by type",
        provider, 0 if since_us is None else since_us // DAY_US,
    )  # fmt: skip
    return [Line(JobType(row[0]), *(int(each) for each in row[1:])) for row in rows]


def earnings_by_day(tx: Tx, provider: UUID, since_us: int) -> list[Bucket]:
    """The sums of each day since a day's beginning on which there was something, oldest first."""
    rows = tx.rows(
        "select day, sum(jobs), sum(passed), sum(earned), sum(fees) from provider_earnings"
        " where provider = %s and day >= %s group by day order by day",
        provider, since_us // DAY_US,
    )  # fmt: skip
    return [Bucket(row[0] * DAY_US, *(int(each) for each in row[1:])) for row in rows]
