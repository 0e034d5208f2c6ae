"""Skills in PostgreSQL. Whose name it is, the table of names decides."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

from choir.bazaar.skills.model import Skill, SkillRecord
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx

_SKILL: LiteralString = (
    "id, creator, name, version, description, folder, bytes, files, share_bps, published_us, withdrawn_us"
)


def take_name(tx: Tx, digest: bytes, creator: str) -> bool:
    """Make a name this creator's, unless it is somebody else's."""
    tx.run("insert into skill_names (digest, creator) values (%s, %s) on conflict do nothing", digest, creator)
    return bool(tx.value("select creator = %s from skill_names where digest = %s", creator, digest))


def insert(tx: Tx, skill: Skill) -> bool:
    """Keep a new skill; False if that version is there."""
    return bool(
        tx.run(
            f"insert into skills ({_SKILL}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
            " on conflict (name, version) do nothing",
            skill.id, skill.creator, skill.name, skill.version, skill.description, skill.folder, skill.bytes,
            skill.files, skill.share_bps, skill.published_us, skill.withdrawn_us,
        )
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Skill | None:
    row = tx.row(f"select {_SKILL} from skills where id = %s" + (" for update" if lock else ""), id_)  # noqa: S608
    return Skill(*row) if row else None


def version(tx: Tx, name: str, version_: str) -> Skill | None:
    row = tx.row(f"select {_SKILL} from skills where name = %s and version = %s", name, version_)  # noqa: S608
    return Skill(*row) if row else None


def latest(tx: Tx, name: str) -> Skill | None:
    """What was published last under a name and is not withdrawn."""
    row = tx.row(
        f"select {_SKILL} from skills where name = %s and withdrawn_us is null order by id desc limit 1",  # noqa: S608
        name,
    )
    return Skill(*row) if row else None


def count(tx: Tx, creator: str) -> int:
    return int(tx.value("select count(*) from skills where creator = %s", creator))


def page(tx: Tx, *, before: UUID | None, limit: int, creator: str | None) -> list[Skill]:
    """What can be ordered, newest first; or all of one creator."""
    rows = tx.rows(
        f"select {_SKILL} from skills where id < %s and case when %s::text is null then withdrawn_us is null"  # noqa: S608
        " else creator = %s end order by id desc limit %s",
        before or LAST_ID, creator, creator, limit,
    )  # fmt: skip
    return [Skill(*row) for row in rows]


def withdraw(tx: Tx, id_: UUID, at_us: int) -> None:
    tx.run("update skills set withdrawn_us = %s where id = %s and withdrawn_us is null", at_us, id_)


def of_creator(tx: Tx, creator: str, limit: int) -> list[UUID]:
    """What of a creator still has a name."""
    rows = tx.rows("select id from skills where creator = %s and name is not null order by id limit %s", creator, limit)
    return [row[0] for row in rows]


def erase(tx: Tx, id_: UUID, at_us: int) -> None:
    """Empty what a creator wrote."""
    tx.run(
        "update skills set name = null, version = null, description = null,"
        " withdrawn_us = coalesce(withdrawn_us, %s) where id = %s",
        at_us, id_,
    )  # fmt: skip


def note_use(tx: Tx, job: UUID, skill: UUID) -> None:
    """A job's order names a skill."""
    tx.run("insert into job_skills (job, skill) values (%s, %s)", job, skill)


def of_job(tx: Tx, job: UUID) -> Skill | None:
    """The skill that a job's order names."""
    row = tx.row(
        f"select {_SKILL} from skills where id = (select skill from job_skills where job = %s)",  # noqa: S608
        job,
    )
    return Skill(*row) if row else None


def record(tx: Tx, id_: UUID) -> SkillRecord:
    row = tx.row(
        "select count(*), count(j.winner), coalesce(sum(s.amount), 0) from job_skills u join jobs j on j.id = u.job"
        " left join attempt_shares s on s.attempt = j.winner and s.role = 'skill' where u.skill = %s",
        id_,
    )
    assert row is not None
    return SkillRecord(int(row[0]), int(row[1]), int(row[2]))
