"""Account keys in PostgreSQL. Secrets are here only sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import LiteralString
from uuid import UUID

from choir.storage.database import Tx

# Sealing holds this lock shared; a round of sealing anew holds it alone. So once the node's new key is in
# place and a round begins, nothing more can appear that the former key sealed.
_SEALING_LOCK = 0x43484F4952_0001

_SELECT: LiteralString = (
    "select id, owner, public, derivation, seed, sealed is not null as usable, sealed_by, created_us, retired_us"
    " from account_keys"
)


@dataclass(frozen=True, slots=True)
class AccountKey:
    """A key of an account, without its secret."""

    id: UUID
    owner: str
    public: bytes
    derivation: str | None
    seed: UUID | None
    usable: bool  # its secret is here
    sealed_by: str
    created_us: int
    retired_us: int | None


@dataclass(frozen=True, slots=True)
class SealedKey:
    """A key with its sealed secret."""

    id: UUID
    owner: str
    public: bytes
    sealed: bytes = field(repr=False)
    sealed_by: str = ""


def share_sealing(tx: Tx) -> None:
    tx.row("select pg_advisory_xact_lock_shared(%s)", _SEALING_LOCK)


def own_sealing(tx: Tx) -> None:
    tx.row("select pg_advisory_xact_lock(%s)", _SEALING_LOCK)


def insert(tx: Tx, key: AccountKey, sealed: bytes) -> bool:
    """Add a key; False: the key is already here."""
    added = tx.run(
        "insert into account_keys (id, owner, public, derivation, seed, sealed, sealed_by, created_us)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (public) do nothing",
        key.id, key.owner, key.public, key.derivation, key.seed, sealed, key.sealed_by, key.created_us,
    )  # fmt: skip
    return added == 1


def get(tx: Tx, id_: UUID) -> AccountKey | None:
    return tx.one_or_none(AccountKey, _SELECT + " where id = %s", id_)


def by_public(tx: Tx, public: bytes) -> AccountKey | None:
    return tx.one_or_none(AccountKey, _SELECT + " where public = %s", public)


def owner_of(tx: Tx, public: bytes) -> str | None:
    """Whose account key this is, retired or not."""
    found: str | None = tx.value("select owner from account_keys where public = %s", public)
    return found


def of_owner(tx: Tx, owner: str) -> list[AccountKey]:
    return tx.all(AccountKey, _SELECT + " where owner = %s order by created_us, id", owner)


def current_sealed(tx: Tx, owner: str) -> SealedKey | None:
    """The newest key of an owner that can sign."""
    return tx.one_or_none(
        SealedKey,
        "select id, owner, public, sealed, sealed_by from account_keys"
        " where owner = %s and retired_us is null and sealed is not null order by created_us desc, id desc limit 1",
        owner,
    )


def retire(tx: Tx, id_: UUID, now_us: int) -> bool:
    """Retire a key and drop its secret."""
    changed = tx.run(
        "update account_keys set retired_us = %s, sealed = null where id = %s and retired_us is null", now_us, id_
    )
    return changed == 1


def forget(tx: Tx, owner: str, now_us: int) -> int:
    """Drop every secret of an owner."""
    return tx.run(
        "update account_keys set sealed = null, retired_us = coalesce(retired_us, %s)"
        " where owner = %s and (sealed is not null or retired_us is null)",
        now_us, owner,
    )  # fmt: skip


def sealed_by(tx: Tx, name: str, limit: int) -> list[SealedKey]:
    """Keys that one node key sealed, locked."""
    return tx.all(
        SealedKey,
        "select id, owner, public, sealed, sealed_by from account_keys"
        " where sealed_by = %s and sealed is not null order by id limit %s for no key update",
        name, limit,
    )  # fmt: skip


def names_of_sealers(tx: Tx) -> set[str]:
    """Which node keys sealed what is here now."""
    return {row[0] for row in tx.rows("select distinct sealed_by from account_keys where sealed is not null")}


def reseal(tx: Tx, id_: UUID, sealed: bytes, name: str) -> None:
    tx.run("update account_keys set sealed = %s, sealed_by = %s where id = %s", sealed, name, id_)
