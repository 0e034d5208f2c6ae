"""Shapes of skills. Files travel as base64; shares are basis points; amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.bazaar.skills.model import skill_id
from choir.doors.jobs.shapes import HASH
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from choir.bazaar.contracts.skills import SkillFolder
    from choir.bazaar.skills.model import Skill, SkillRecord

_FILE_CHARS_MAX = 28_000_000
SKILL = "skill_01j9zrc7xh8zv3p5q6r7s8t9va"


class SkillFileIn(Wire, json_schema_extra=example(path="SKILL.md", content="IyBIb3cK", executable=False)):
    """A file of a skill."""

    path: str = Field(max_length=500, description="Relative, in plain form.")
    content: str = Field(max_length=_FILE_CHARS_MAX, description="In base64.")
    executable: bool = False


class SkillIn(
    Wire,
    json_schema_extra=example(
        name="mend-python", version="1.0", description="How to mend Python code.", share_bps=1000,
        files=[{"path": "SKILL.md", "content": "IyBIb3cK", "executable": False}],
    ),
):  # fmt: skip
    """A skill to publish. A published version never changes."""

    name: str = Field(max_length=200, description="Lower-case letters, digits and hyphens; it stays its creator's.")
    version: str = Field(max_length=200)
    description: str = Field(max_length=5_000, description="What it is for, in a line; everybody can read it.")
    share_bps: int | None = Field(
        default=None, ge=0, le=10_000, description="Share of the price of work that uses it; default: the maximum."
    )
    files: list[SkillFileIn] = Field(max_length=10_000, description="With `SKILL.md` among them.")


_SKILL: dict[str, Any] = {
    "id": SKILL, "name": "mend-python", "version": "1.0", "description": "How to mend Python code.", "creator": OWNER,
    "hash": HASH, "bytes": 6, "files": 1, "share_bps": 1000, "published_at": AT, "withdrawn_at": None,
}  # fmt: skip


class SkillOut(Wire, json_schema_extra=example(**_SKILL)):
    """A published skill. Only its creator, and providers at work on an order that names it, read its files."""

    id: str = Field(description="Orders name it: `skill` in the request.")
    name: str | None
    version: str | None
    description: str | None
    creator: str
    hash: str = Field(description="Of its folder.")
    bytes: int
    files: int
    share_bps: int
    published_at: str
    withdrawn_at: str | None

    @classmethod
    def of(cls, item: Skill) -> SkillOut:
        return cls.model_validate(told(item))


class SkillPathOut(Wire, json_schema_extra=example(path="SKILL.md", bytes=6)):
    path: str
    bytes: int


class SkillDetailOut(
    Wire,
    json_schema_extra=example(**_SKILL, paths=[{"path": "SKILL.md", "bytes": 6}], orders=3, paid=2, earned="60000"),
):
    """A skill with the names of its files and what came of it."""

    id: str
    name: str | None
    version: str | None
    description: str | None
    creator: str
    hash: str
    bytes: int
    files: int
    share_bps: int
    published_at: str
    withdrawn_at: str | None
    paths: list[SkillPathOut] = Field(description="Empty once it was removed.")
    orders: int = Field(description="Orders that named it.")
    paid: int = Field(description="Of these, how many were paid.")
    earned: str = Field(description="What its creator got.")

    @classmethod
    def with_record(cls, item: Skill, paths: list[tuple[str, int]], record: SkillRecord) -> SkillDetailOut:
        more = {"orders": record.orders, "paid": record.paid, "earned": str(record.earned)}
        shown = [{"path": path, "bytes": size} for path, size in paths]
        return cls.model_validate({**told(item), "paths": shown, **more})


class SkillPage(Wire, json_schema_extra=example(items=[_SKILL], next=None)):
    items: list[SkillOut]
    next: str | None = None


class SkillFilesOut(
    Wire, json_schema_extra=example(hash=HASH, files=[{"path": "SKILL.md", "content": "IyBIb3cK", "executable": False}])
):
    """The files of a skill, for its creator."""

    hash: str
    files: list[SkillFileIn]

    @classmethod
    def of(cls, hash_: str, folder: SkillFolder) -> SkillFilesOut:
        return cls.model_validate({"hash": hash_, "files": folder.to_json()["files"]})


def told(item: Skill) -> dict[str, Any]:
    return {
        "id": skill_id(item.id),
        "name": item.name,
        "version": item.version,
        "description": item.description,
        "creator": item.creator,
        "hash": item.folder,
        "bytes": item.bytes,
        "files": item.files,
        "share_bps": item.share_bps,
        "published_at": format_time(item.published_us),
        "withdrawn_at": maybe_time(item.withdrawn_us),
    }
