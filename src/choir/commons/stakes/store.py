"""Stakes in PostgreSQL."""

from __future__ import annotations

from uuid import UUID

from choir.commons.stakes.model import Origin, Purpose, Stake, StakePart, StakeState
from choir.storage.database import Tx


def insert(tx: Tx, stake: Stake) -> None:
    tx.run(
        "insert into stakes (id, owner, purpose, state, amount, placed_us) values (%s, %s, %s, %s, %s, %s)",
        stake.id, stake.owner, stake.purpose, stake.state, stake.amount, stake.placed_us,
    )  # fmt: skip
    for part in stake.parts:
        tx.run("insert into stake_parts values (%s, %s, %s, %s)", stake.id, part.origin, part.hold, part.amount)


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Stake:
    row = tx.row(
        "select id, owner, purpose, state, amount, placed_us, ended_us from stakes where id = %s"  # noqa: S608
        + (" for update" if lock else ""),
        id_,
    )
    assert row is not None
    parts = tx.rows("select origin, hold, amount from stake_parts where stake = %s order by origin", id_)
    found = tuple(StakePart(Origin(origin), hold, amount) for origin, hold, amount in parts)
    return Stake(row[0], row[1], Purpose(row[2]), StakeState(row[3]), row[4], row[5], row[6], found)


def held_of(tx: Tx, owner: str, limit: int) -> list[Stake]:
    """What an owner has at risk, newest first."""
    ids = tx.rows("select id from stakes where owner = %s and state = 'held' order by id desc limit %s", owner, limit)
    return [get(tx, row[0]) for row in ids]


def end(tx: Tx, id_: UUID, state: StakeState, at_us: int) -> None:
    tx.run("update stakes set state = %s, ended_us = %s where id = %s", state, at_us, id_)


def held_with(tx: Tx, hold: UUID) -> UUID | None:
    """The stake that a hold is part of, if it is still needed."""
    found: UUID | None = tx.value(
        "select s.id from stake_parts p join stakes s on s.id = p.stake where p.hold = %s and s.state = 'held'", hold
    )
    return found


def co_staked(tx: Tx, person: str) -> bool:
    return tx.row("select from co_stakes where person = %s", person) is not None


def note_co_stake(tx: Tx, person: str, stake: UUID) -> bool:
    """Note that the treasury helped this person; False if it did before."""
    return bool(tx.run("insert into co_stakes values (%s, %s) on conflict do nothing", person, stake))
