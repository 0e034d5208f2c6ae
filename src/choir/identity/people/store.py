"""People, passkeys, recovery codes, sessions and vouches in PostgreSQL.

Locks: whoever changes what belongs to a person holds the person's row (`lock_person`), so that changes of one
person happen one after the other and none slips past an erasure. Order: rates, person, passkey, ledger head.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from choir.identity.people.model import Person
from choir.storage.database import Tx

_PERSON = "id, handle, user_handle, created_us, erased_us, sybil_signs, sybil_score"


@dataclass(frozen=True, slots=True)
class PasskeyRow:
    """A passkey as it is stored."""

    id: bytes
    person: UUID
    name: str
    public_key: bytes  # COSE
    sign_count: int
    aaguid: UUID | None
    backed_up: bool
    created_us: int
    last_used_us: int | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as it is stored."""

    hash: bytes
    person: UUID
    passkey: bytes
    created_us: int
    expires_us: int
    asserted_us: int


# People


def person(tx: Tx, id_: UUID) -> Person | None:
    return tx.one_or_none(Person, f"select {_PERSON} from people where id = %s", id_)  # noqa: S608 - no input


def handles(tx: Tx, ids: Collection[UUID]) -> dict[UUID, str]:
    """The handles of those of these people who have one."""
    found = tx.rows("select id, handle from people where id = any(%s) and handle is not null", list(ids))
    return dict(found)


def person_by_handle(tx: Tx, handle: str) -> Person | None:
    return tx.one_or_none(Person, f"select {_PERSON} from people where handle = %s", handle)  # noqa: S608 - no input


def is_alike(tx: Tx, skeleton: str) -> bool:
    """Whether somebody has a handle that reads like this."""
    return tx.value("select 1 from people where handle_skeleton = %s", skeleton) is not None


def lock_person(tx: Tx, id_: UUID) -> Person | None:
    """The person, for this transaction alone."""
    sql = f"select {_PERSON} from people where id = %s for update"  # noqa: S608 - no input
    return tx.one_or_none(Person, sql, id_)


def is_there(tx: Tx, id_: UUID) -> bool:
    """Whether a person is there now, and was not erased."""
    return tx.value("select 1 from people where id = %s and erased_us is null", id_) is not None


def stays(tx: Tx, id_: UUID) -> bool:
    """Whether a person is there, and will be until the transaction ends; any number may ask at one time."""
    return tx.value("select 1 from people where id = %s and erased_us is null for share", id_) is not None


def insert_person(tx: Tx, new: Person, skeleton: str) -> bool:
    """Add a person unless the handle, or one like it, is taken; waits for whoever is about to take or leave it."""
    return bool(
        tx.run(
            "insert into people (id, handle, handle_skeleton, user_handle, created_us, sybil_signs, sybil_score)"
            " values (%s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
            new.id, new.handle, skeleton, new.user_handle, new.created_us, new.sybil_signs, new.sybil_score,
        )
    )  # fmt: skip


def set_score(tx: Tx, id_: UUID, score: int) -> None:
    tx.run("update people set sybil_score = %s where id = %s", score, id_)


def empty_person(tx: Tx, id_: UUID, user_handle: bytes, at_us: int) -> None:
    """Take away what names the person."""
    tx.run(
        "update people set handle = null, handle_skeleton = null, user_handle = %s, erased_us = %s where id = %s",
        user_handle, at_us, id_,
    )  # fmt: skip


# Retired handles


def pepper(tx: Tx) -> bytes | None:
    """What the node hashes handles with, if it ever had to."""
    found = tx.value("select pepper from handle_pepper")
    return None if found is None else bytes(found)


def make_pepper(tx: Tx, candidate: bytes) -> bytes:
    """The pepper, which is the candidate unless another process was first."""
    tx.run("insert into handle_pepper (pepper) values (%s) on conflict do nothing", candidate)
    return bytes(tx.value("select pepper from handle_pepper"))


def is_retired(tx: Tx, hashes: list[bytes]) -> bool:
    return tx.value("select 1 from retired_handles where hash = any(%s) limit 1", hashes) is not None


def retire(tx: Tx, hashes: list[bytes], at_us: int) -> None:
    sql = "insert into retired_handles (hash, at_us) select unnest(%s::bytea[]), %s on conflict do nothing"
    tx.run(sql, hashes, at_us)


# Passkeys


def passkeys(tx: Tx, person_: UUID) -> list[PasskeyRow]:
    return tx.all(PasskeyRow, "select * from passkeys where person = %s order by created_us, id", person_)


def lock_passkey(tx: Tx, id_: bytes) -> PasskeyRow | None:
    """The passkey, for this transaction alone, so that its counter is judged by one at a time."""
    return tx.one_or_none(PasskeyRow, "select * from passkeys where id = %s for update", id_)


def insert_passkey(tx: Tx, new: PasskeyRow) -> bool:
    """Add a passkey unless somebody has it already."""
    return bool(
        tx.run(
            "insert into passkeys (id, person, name, public_key, sign_count, aaguid, backed_up, created_us)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
            new.id, new.person, new.name, new.public_key, new.sign_count, new.aaguid, new.backed_up, new.created_us,
        )
    )  # fmt: skip


def use_passkey(tx: Tx, id_: bytes, sign_count: int, *, backed_up: bool, at_us: int) -> None:
    tx.run(
        "update passkeys set sign_count = %s, backed_up = %s, last_used_us = %s where id = %s",
        sign_count, backed_up, at_us, id_,
    )  # fmt: skip


def rename_passkey(tx: Tx, person_: UUID, id_: bytes, name: str) -> bool:
    return bool(tx.run("update passkeys set name = %s where id = %s and person = %s", name, id_, person_))


def delete_passkey(tx: Tx, person_: UUID, id_: bytes) -> bool:
    """Remove a passkey; its sessions go with it."""
    return bool(tx.run("delete from passkeys where id = %s and person = %s", id_, person_))


def delete_passkeys(tx: Tx, person_: UUID) -> int:
    """Remove all passkeys of a person, with their sessions; says how many it were."""
    return tx.run("delete from passkeys where person = %s", person_)


def end_under_way(tx: Tx, person_: UUID) -> None:
    """Forget ceremonies that wait for an answer, and what was approved for programs that have not fetched it."""
    tx.run("delete from challenges where person = %s", person_)
    tx.run("delete from logins where person = %s or asked_by = %s", person_, person_)


# Recovery codes


def replace_codes(tx: Tx, person_: UUID, hashes: list[bytes]) -> None:
    tx.run("delete from recovery_codes where person = %s", person_)
    tx.run("insert into recovery_codes (person, hash) select %s, unnest(%s::bytea[])", person_, hashes)


def unused_codes(tx: Tx, person_: UUID) -> list[bytes]:
    rows = tx.rows("select hash from recovery_codes where person = %s and used_us is null", person_)
    return [bytes(row[0]) for row in rows]


def use_code(tx: Tx, person_: UUID, hash_: bytes, at_us: int) -> bool:
    """Use a code up; False if it was used or replaced meanwhile."""
    return bool(
        tx.run(
            "update recovery_codes set used_us = %s where person = %s and hash = %s and used_us is null",
            at_us, person_, hash_,
        )
    )  # fmt: skip


# Sessions


def insert_session(tx: Tx, new: SessionRow) -> None:
    tx.run(
        "insert into sessions (hash, person, passkey, created_us, expires_us, asserted_us)"
        " values (%s, %s, %s, %s, %s, %s)",
        new.hash, new.person, new.passkey, new.created_us, new.expires_us, new.asserted_us,
    )  # fmt: skip


def session(tx: Tx, hash_: bytes) -> SessionRow | None:
    return tx.one_or_none(SessionRow, "select * from sessions where hash = %s", hash_)


def sessions(tx: Tx, person_: UUID, now_us: int) -> list[SessionRow]:
    sql = "select * from sessions where person = %s and expires_us > %s order by created_us desc, hash"
    return tx.all(SessionRow, sql, person_, now_us)


def extend_session(tx: Tx, hash_: bytes, expires_us: int) -> None:
    tx.run("update sessions set expires_us = %s where hash = %s", expires_us, hash_)


def confirm_session(tx: Tx, hash_: bytes, asserted_us: int) -> None:
    tx.run("update sessions set asserted_us = %s where hash = %s", asserted_us, hash_)


def delete_session(tx: Tx, hash_: bytes) -> UUID | None:
    """End a session; says whose it was."""
    found: UUID | None = tx.value("delete from sessions where hash = %s returning person", hash_)
    return found


def delete_sessions(tx: Tx, person_: UUID, keep: bytes | None = None) -> int:
    return tx.run("delete from sessions where person = %s and hash is distinct from %s", person_, keep)


def forget_sessions(tx: Tx, now_us: int, limit: int) -> int:
    return tx.run(
        "delete from sessions where hash in (select hash from sessions where expires_us <= %s"
        " order by expires_us limit %s for update skip locked)",
        now_us, limit,
    )  # fmt: skip


# Vouches


def insert_vouch(tx: Tx, voucher: UUID, person_: UUID, at_us: int) -> bool:
    sql = "insert into vouches (voucher, person, at_us) values (%s, %s, %s) on conflict do nothing"
    return bool(tx.run(sql, voucher, person_, at_us))


def delete_vouch(tx: Tx, voucher: UUID, person_: UUID) -> bool:
    return bool(tx.run("delete from vouches where voucher = %s and person = %s", voucher, person_))


def count_vouches(tx: Tx, person_: UUID) -> int:
    return int(tx.value("select count(*) from vouches where person = %s", person_))


def vouched_by(tx: Tx, voucher: UUID) -> list[UUID]:
    """Those for whom somebody vouches, in an order in which they can be locked."""
    return [row[0] for row in tx.rows("select person from vouches where voucher = %s order by person", voucher)]


def vouchers_of(tx: Tx, person_: UUID) -> list[UUID]:
    return [row[0] for row in tx.rows("select voucher from vouches where person = %s order by at_us", person_)]


def delete_vouches(tx: Tx, person_: UUID) -> None:
    """All vouches by a person and for them."""
    tx.run("delete from vouches where voucher = %s or person = %s", person_, person_)


# Erasing


def agents(tx: Tx, person_: UUID) -> list[UUID]:
    return [row[0] for row in tx.rows("select id from agents where owner = %s order by id", person_)]


def delete_credentials(tx: Tx, person_: UUID) -> None:
    """All that a person could sign in with; sessions go with their passkeys, also those begun meanwhile."""
    end_under_way(tx, person_)
    tx.run("delete from recovery_codes where person = %s", person_)
    delete_passkeys(tx, person_)


def end_delegated(tx: Tx, person_: UUID, at_us: int) -> None:
    """Retire a person's agents, revoke their delegations and all tokens, and empty the names of all three."""
    tx.run("update agents set name = null, retired_us = coalesce(retired_us, %s) where owner = %s", at_us, person_)
    tx.run(
        "update delegations set name = null, revoked_us = coalesce(revoked_us, %s) where person = %s", at_us, person_
    )
    tx.run(
        "update api_tokens set name = '', revoked_us = coalesce(revoked_us, %s) where person = %s"
        " or agent in (select id from agents where owner = %s)"
        " or delegation in (select id from delegations where person = %s)",
        at_us, person_, person_, person_,
    )  # fmt: skip


def destroy_secrets(tx: Tx, owners: list[str], at_us: int) -> None:
    """Forget the secret halves of account keys; the public ones stay, for what they signed."""
    tx.run(
        "update account_keys set sealed = null, retired_us = coalesce(retired_us, %s) where owner = any(%s)",
        at_us, owners,
    )  # fmt: skip


def forget_repeats(tx: Tx, owners: list[str]) -> None:
    """Hashes of what was asked for can be guessed at, so they go too."""
    tx.run("delete from repeats where source = any(%s)", owners)


def linked(tx: Tx, a: str, b: str) -> bool:
    """Whether two owners are joined by links, over however many steps."""
    return tx.value(_LINKED, a, b) is not None


_LINKED = """
    with recursive reached (owner) as (
        select %s::text
        union
        select case when l.a = r.owner then l.b else l.a end
        from reached r join cluster_links l on l.a = r.owner or l.b = r.owner
    )
    select 1 from reached where owner = %s
"""
