"""Who brought whom here, in PostgreSQL: written with the person, never changed, gone with either of the two."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.identity.model import owner_id, person_owner
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Referral:
    """A person's referrer, and until when the referrer has a part in what the person pays."""

    referrer: UUID
    since_us: int
    until_us: int  # half-open


def insert(tx: Tx, person: UUID, referral: Referral) -> None:
    tx.run(
        "insert into referrals (person, referrer, since_us, until_us) values (%s, %s, %s, %s)",
        person, referral.referrer, referral.since_us, referral.until_us,
    )  # fmt: skip


def get(tx: Tx, person: UUID) -> Referral | None:
    row = tx.row("select referrer, since_us, until_us from referrals where person = %s", person)
    return Referral(*row) if row else None


def referrer_of(tx: Tx, owner: str, at_us: int) -> str | None:
    """The owner who brought this one here, if that counted at a time; an agent was brought by nobody."""
    if not owner.startswith("person:"):
        return None
    found = get(tx, owner_id(owner)[1])
    return person_owner(found.referrer) if found is not None and found.since_us <= at_us < found.until_us else None


def forget(tx: Tx, person: UUID) -> int:
    """Drop what names a person, on either side."""
    return tx.run("delete from referrals where person = %s or referrer = %s", person, person)
