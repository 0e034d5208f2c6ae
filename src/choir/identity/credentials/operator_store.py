"""Operators' codes and sessions in PostgreSQL; what they mean is said in `operator_sessions`.

Guarantee: a code is taken in one statement, so of two at once one finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class OperatorCode:
    """A code that was given out."""

    hash: bytes
    source: str
    mark: bytes
    expires_us: int


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """An operator in a browser."""

    hash: bytes
    source: str
    mark: bytes
    created_us: int
    expires_us: int


def insert_code(tx: Tx, code: OperatorCode) -> None:
    tx.run(
        "insert into operator_codes (hash, source, mark, expires_us) values (%s, %s, %s, %s)",
        code.hash, code.source, code.mark, code.expires_us,
    )  # fmt: skip


def take_code(tx: Tx, hash_: bytes) -> OperatorCode | None:
    """The code, which is then gone."""
    return tx.one_or_none(
        OperatorCode, "delete from operator_codes where hash = %s returning hash, source, mark, expires_us", hash_
    )


def insert_session(tx: Tx, session: OperatorSession) -> None:
    tx.run(
        "insert into operator_sessions (hash, source, mark, created_us, expires_us) values (%s, %s, %s, %s, %s)",
        session.hash, session.source, session.mark, session.created_us, session.expires_us,
    )  # fmt: skip


def session(tx: Tx, hash_: bytes) -> OperatorSession | None:
    return tx.one_or_none(
        OperatorSession,
        "select hash, source, mark, created_us, expires_us from operator_sessions where hash = %s",
        hash_,
    )


def delete_session(tx: Tx, hash_: bytes) -> None:
    tx.run("delete from operator_sessions where hash = %s", hash_)


def forget(tx: Tx, now_us: int, limit: int) -> int:
    """Remove some whose time is over; says how many."""
    codes = tx.run(
        "delete from operator_codes where hash in"
        " (select hash from operator_codes where expires_us <= %s order by expires_us limit %s)",
        now_us, limit,
    )  # fmt: skip
    return codes + tx.run(
        "delete from operator_sessions where hash in"
        " (select hash from operator_sessions where expires_us <= %s order by expires_us limit %s)",
        now_us, limit,
    )  # fmt: skip
