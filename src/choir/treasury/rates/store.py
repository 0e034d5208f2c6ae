"""Rates and volumes of months in PostgreSQL."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from psycopg.types.json import Jsonb

from choir.storage.database import Tx
from choir.treasury.rates.model import Rate, RateInputs
from choir.treasury.rates.rules import figures_of

_COLUMNS = "month, micro_usdc, inputs, policy, fixed_us"
_AFTER_ALL = "9999-99"


def insert(tx: Tx, rate: Rate) -> bool:
    """False if the month has a rate: whoever comes second waits here for the first."""
    return bool(
        tx.run(
            f"insert into citation_rates ({_COLUMNS}) values (%s, %s, %s, %s, %s) on conflict do nothing",  # noqa: S608
            rate.month, rate.micro_usdc, Jsonb(asdict(rate.inputs)), rate.policy, rate.fixed_us,
        )
    )  # fmt: skip


def get(tx: Tx, month: str) -> Rate | None:
    row = tx.row(f"select {_COLUMNS} from citation_rates where month = %s", month)  # noqa: S608
    return None if row is None else _rate(*row)


def newest(tx: Tx, *, before: str | None, limit: int) -> list[Rate]:
    rows = tx.rows(
        f"select {_COLUMNS} from citation_rates where month < %s order by month desc limit %s",  # noqa: S608
        before or _AFTER_ALL,
        limit,
    )
    return [_rate(*row) for row in rows]


def _rate(month: str, micro_usdc: int, inputs: dict[str, Any], policy: str, fixed_us: int) -> Rate:
    read = RateInputs(**inputs)
    return Rate(month, micro_usdc, read, figures_of(read), policy, fixed_us)


def add_volume(tx: Tx, month: str, weight_ppm: int) -> None:
    """Count paid-weight citations; locks the month until the transaction ends."""
    tx.run(
        "insert into citation_volumes (month, weight_ppm) values (%s, %s) on conflict (month) do update"
        " set weight_ppm = citation_volumes.weight_ppm + excluded.weight_ppm",
        month, weight_ppm,
    )  # fmt: skip


def volumes(tx: Tx, first: str, last: str) -> dict[str, int]:
    """Of the months from the first to the last that have any."""
    rows = tx.rows("select month, weight_ppm from citation_volumes where month >= %s and month <= %s", first, last)
    return dict(rows)


def first_month(tx: Tx) -> str | None:
    """The first month in which something was cited."""
    found: str | None = tx.value("select min(month) from citation_volumes")
    return found
