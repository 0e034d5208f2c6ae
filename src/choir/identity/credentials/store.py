"""Challenges, logins, signed requests that were used, and counters of tries, in PostgreSQL.

Guarantees: what is good for one use is taken, or noted as used, in one statement: of two at once the second waits, and
finds it used. A login and a counter stay locked until the transaction ends.
"""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.identity.agents.model import Agent
from choir.identity.credentials.model import Challenge, Login, Purpose
from choir.storage.database import Tx

# One statement, because it comes before everything that a signed request asks for.
_USE_UP_AND_FIND: LiteralString = """
    with used as (insert into used_events (id, expires_us) values (%s, %s) on conflict do nothing returning 1)
    select exists (select from used), a.id, a.owner, a.nostr_key, a.name, a.created_us, a.retired_us
    from (select) one left join agents a on a.nostr_key = %s
"""
_COUNT: LiteralString = """
    insert into rate_counts (bucket, begins_us, count) values (%s, %s, 1)
    on conflict (bucket, begins_us) do update set count = rate_counts.count + 1
    returning count
"""


# Challenges


def insert_challenge(tx: Tx, purpose: Purpose, given: Challenge) -> None:
    tx.run(
        "insert into challenges (id, purpose, person, challenge, data, expires_us) values (%s, %s, %s, %s, %s, %s)",
        given.id, purpose.value, given.person, given.challenge, Jsonb(given.data), given.expires_us,
    )  # fmt: skip


def take_challenge(tx: Tx, id_: UUID, purpose: Purpose, person: UUID | None) -> Challenge | None:
    """The challenge, which is then gone; nothing if it is for something else, or not for this person."""
    return tx.one_or_none(
        Challenge,
        "delete from challenges where id = %s and purpose = %s and (%s::uuid is null or person = %s)"
        " returning id, person, challenge, data, expires_us",
        id_, purpose.value, person, person,
    )  # fmt: skip


def forget_challenges(tx: Tx, now_us: int, limit: int) -> int:
    """Remove some whose time is over; says how many."""
    return tx.run(
        "delete from challenges where id in (select id from challenges where expires_us <= %s"
        " order by expires_us limit %s)",
        now_us, limit,
    )  # fmt: skip


# Logins


def insert_login(tx: Tx, login: Login) -> None:
    tx.run(
        "insert into logins (id, challenge, code, name, scopes, days, created_us, expires_us, person, state, act,"
        " terms, asked_by, made) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        login.id, login.challenge, login.code, login.name, login.scopes, login.days, login.created_us, login.expires_us,
        login.person, login.state, login.act, None if login.terms is None else Jsonb(login.terms), login.asked_by,
        login.made,
    )  # fmt: skip


def lock_login(tx: Tx, id_: UUID) -> Login | None:
    """The login, for this transaction alone."""
    return tx.one_or_none(Login, "select * from logins where id = %s for update", id_)


def decide_login(tx: Tx, id_: UUID, person: UUID, state: str) -> None:
    tx.run("update logins set person = %s, state = %s where id = %s", person, state, id_)


def finish_login(tx: Tx, id_: UUID, made: UUID) -> None:
    tx.run("update logins set state = 'done', made = %s where id = %s", made, id_)


def delete_login(tx: Tx, id_: UUID) -> None:
    tx.run("delete from logins where id = %s", id_)


def forget_logins(tx: Tx, now_us: int, limit: int) -> int:
    """Remove some whose time is over; says how many."""
    return tx.run(
        "delete from logins where id in (select id from logins where expires_us <= %s order by expires_us limit %s"
        " for update skip locked)",
        now_us, limit,
    )  # fmt: skip


# Signed requests


def use_event(tx: Tx, id_: bytes, until_us: int, key: bytes) -> tuple[bool, Agent | None]:
    """Note an event as used until then; says whether it was not before, and which agent has its key, if any."""
    row = tx.row(_USE_UP_AND_FIND, id_, until_us, key)
    assert row is not None
    new, *agent = row
    return new, None if agent[0] is None else Agent(*agent)


def is_event_used(tx: Tx, id_: bytes) -> bool:
    return tx.value("select 1 from used_events where id = %s", id_) is not None


def forget_events(tx: Tx, now_us: int, limit: int) -> int:
    """Remove some that are too old to be accepted; says how many."""
    return tx.run(
        "delete from used_events where id in"
        " (select id from used_events where expires_us <= %s order by expires_us limit %s)",
        now_us, limit,
    )  # fmt: skip


# Rates


def count(tx: Tx, bucket: str, begins_us: int) -> int:
    """Count one more in a window, and say how many that makes; others wait until the transaction ends."""
    return int(tx.value(_COUNT, bucket, begins_us))


def counted(tx: Tx, bucket: str, begins_us: int) -> int:
    """How many there were in a window."""
    return int(
        tx.value(
            "select coalesce((select count from rate_counts where bucket = %s and begins_us = %s), 0)",
            bucket, begins_us,
        )
    )  # fmt: skip


def forget_counts(tx: Tx, before_us: int, limit: int) -> int:
    """Remove some counters of windows that began before then; says how many."""
    return tx.run(
        "delete from rate_counts where (bucket, begins_us) in (select bucket, begins_us from rate_counts"
        " where begins_us < %s order by begins_us limit %s for update skip locked)",
        before_us, limit,
    )  # fmt: skip


def salt(tx: Tx, day: int) -> bytes | None:
    """What addresses are hashed with on this day, if it was made already."""
    found: bytes | None = tx.value("select salt from address_salts where day = %s", day)
    return found


def make_salt(tx: Tx, day: int, candidate: bytes) -> bytes:
    """Give a day its salt; another's, if somebody was faster."""
    tx.run("insert into address_salts (day, salt) values (%s, %s) on conflict do nothing", day, candidate)
    made = salt(tx, day)
    assert made is not None
    return made


def forget_salts(tx: Tx, day: int) -> None:
    """Throw those of earlier days away."""
    tx.run("delete from address_salts where day < %s", day)
