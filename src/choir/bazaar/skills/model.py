"""What a skill is: a folder with a name and a version, and the share of a price that its creator asks."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.bazaar.contracts.skills import SkillFolder
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id

SKILL = "skill"  # the name of a job's input that its worker gets


@dataclass(frozen=True, slots=True)
class NewSkill:
    """What a creator publishes."""

    name: str
    version: str
    description: str
    share_bps: int | None  # None: as much as policy allows
    folder: SkillFolder


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it is kept; nothing of it but being withdrawn ever changes."""

    id: UUID
    creator: str
    name: str | None  # nothing of what a creator wrote is left once they were erased
    version: str | None
    description: str | None
    folder: ObjectHash
    bytes: int
    files: int
    share_bps: int
    published_us: int
    withdrawn_us: int | None = None


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """What came of a skill: orders that name it, how many of them were paid, and what its creator got."""

    orders: int
    paid: int
    earned: int  # milli-satoshi


def skill_id(value: UUID) -> str:
    return show_id("skill", value)


def parse_skill_id(text: str) -> UUID:
    return parse_id("skill", text)


class UnknownSkill(NotFound):
    code = "bazaar.skill_unknown"
    sentence = "There is no skill {skill}."
    hint = "List skills with `choir skill ls`. Name one as NAME, NAME@VERSION or by its id."


class SkillWithdrawn(Refusal):
    code = "bazaar.skill_withdrawn"
    sentence = "The skill {skill} was withdrawn at {at}; new orders cannot name it."


class BadSkill(Invalid):
    code = "bazaar.bad_skill"
    sentence = "The skill's {what} is not valid: {why}."


class SkillNameTaken(Refusal):
    code = "bazaar.skill_name_taken"
    sentence = "The skill name '{name}' belongs to another creator."
    hint = "Choose another name."


class SkillVersionTaken(Refusal):
    code = "bazaar.skill_version_taken"
    sentence = "{name}@{version} is published already, with other content or another share."
    hint = "A published version never changes: publish another one."


class TooManySkills(Refusal):
    code = "bazaar.too_many_skills"
    sentence = "There are already {limit} skills of this creator, which is the limit."


class SkillClosed(NotAllowed):
    code = "bazaar.skill_closed"
    sentence = "You may not read the files of this skill."
    hint = "Their readers are its creator, and providers at work on an order that names it."
