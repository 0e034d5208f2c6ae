"""Publishing skills, finding them, and withdrawing them.

Guarantees: a version of a name is one folder for ever, and a name one creator's; what a job's order names is kept for
that job, also when it is withdrawn; only its creator, and providers at work on such an order, read its files.
"""

from __future__ import annotations

from uuid import UUID

from choir.bazaar.contracts.skills import SkillFolder
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.providers.service import owner_of
from choir.bazaar.skills import rules, store
from choir.bazaar.skills.model import (
    NewSkill,
    Skill,
    SkillClosed,
    SkillNameTaken,
    SkillRecord,
    SkillVersionTaken,
    SkillWithdrawn,
    TooManySkills,
    UnknownSkill,
    parse_skill_id,
    skill_id,
)
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy, format_time
from choir.foundation.errors import Invalid
from choir.foundation.ids import uuid7
from choir.identity.model import Principal, Scope
from choir.objects.service import Objects
from choir.storage.database import Tx

_ERASED_AT_ONCE = 100


class Skills:
    """Use cases of skills; all inside the caller's transaction."""

    def __init__(
        self, objects: Objects, clock: Clock, entropy: Entropy, policy: MarketPolicy, bazaar: BazaarPolicy
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._bazaar = bazaar

    def publish(self, tx: Tx, who: Principal, new: NewSkill) -> tuple[Skill, bool]:
        """Publish a version of a skill; the same again is the same skill. Says whether it is new."""
        who.must(Scope.SELL)
        creator = owner_of(who)
        share_bps = rules.check(new, self._policy, self._bazaar)
        if not store.take_name(tx, rules.name_digest(new.name), creator):
            raise SkillNameTaken(name=new.name)
        now_us = self._clock.now_us()
        skill = Skill(
            id=self._new_id(now_us),
            creator=creator,
            name=new.name,
            version=new.version,
            description=new.description,
            folder=new.folder.hash,
            bytes=new.folder.size,
            files=len(new.folder.files),
            share_bps=share_bps,
            published_us=now_us,
        )
        if not store.insert(tx, skill):
            return self._same(tx, skill), False
        if store.count(tx, creator) > self._policy.skills_per_creator_max:
            raise TooManySkills(limit=self._policy.skills_per_creator_max)
        self._objects.put_bytes(tx, [new.folder.to_bytes()], creator)
        self._objects.refer(tx, _holder(skill), skill.folder)
        return skill, True

    @staticmethod
    def _same(tx: Tx, asked: Skill) -> Skill:
        assert asked.name is not None
        assert asked.version is not None
        known = store.version(tx, asked.name, asked.version)
        if known is None or (known.folder, known.share_bps) != (asked.folder, asked.share_bps):
            raise SkillVersionTaken(name=asked.name, version=asked.version)
        return known

    def withdraw(self, tx: Tx, who: Principal, text: str) -> Skill:
        """No new order can name it; those that do keep it. Withdrawing twice changes nothing."""
        who.must(Scope.SELL)
        found = store.get(tx, self.find(tx, text).id, lock=True)
        assert found is not None
        if found.creator != owner_of(who):
            raise UnknownSkill(skill=text[:80])
        if found.withdrawn_us is None:
            store.withdraw(tx, found.id, self._clock.now_us())
        return self._get(tx, found.id)

    def find(self, tx: Tx, text: str) -> Skill:
        """A skill by its id, as NAME@VERSION, or the last one of a NAME."""
        name, _, version = text.partition("@")
        found: Skill | None
        if text.startswith("skill_"):
            try:
                found = store.get(tx, parse_skill_id(text))
            except Invalid:
                found = None
        elif version:
            found = store.version(tx, name, version)
        else:
            found = store.latest(tx, name)
        if found is None or found.name is None:
            raise UnknownSkill(skill=text[:80])
        return found

    def for_order(self, tx: Tx, id_: str, *, known: bool) -> Skill:
        """The skill that an order names; one that was withdrawn only for an order that is `known` already."""
        found = store.get(tx, parse_skill_id(id_))
        if found is None:
            raise UnknownSkill(skill=id_)
        if found.withdrawn_us is not None and not known:
            raise SkillWithdrawn(skill=id_, at=format_time(found.withdrawn_us))
        return found

    def page(self, tx: Tx, *, before: UUID | None, limit: int, creator: str | None = None) -> list[Skill]:
        """What orders can name, newest first; or all that one creator published."""
        return store.page(tx, before=before, limit=limit, creator=creator)

    def record(self, tx: Tx, skill: Skill) -> SkillRecord:
        """What came of it."""
        return store.record(tx, skill.id)

    def of_job(self, tx: Tx, job: UUID) -> Skill | None:
        """The skill that a job's order names."""
        return store.of_job(tx, job)

    @staticmethod
    def folder(who: Principal, skill: Skill) -> ObjectHash:
        """Its files, for its creator."""
        if who.source != skill.creator:
            raise SkillClosed
        return skill.folder

    def paths(self, tx: Tx, skill: Skill) -> list[tuple[str, int]]:
        """The names and sizes of its files, which everybody may know."""
        if not self._objects.exists(tx, skill.folder):
            return []
        found = SkillFolder.read(self._objects.get_atom(tx, skill.folder), None)
        return [(file.path, len(file.content)) for file in found.files]

    def forget(self, tx: Tx, owner: str) -> None:
        """A creator is erased: their skills are withdrawn and lose what the creator wrote."""
        now_us = self._clock.now_us()
        while ids := store.of_creator(tx, owner, _ERASED_AT_ONCE):
            for id_ in ids:
                found = self._get(tx, id_)
                store.erase(tx, id_, now_us)
                self._objects.unrefer(tx, _holder(found), found.folder)

    @staticmethod
    def _get(tx: Tx, id_: UUID) -> Skill:
        found = store.get(tx, id_)
        assert found is not None
        return found

    def _new_id(self, now_us: int) -> UUID:
        random = self._entropy.bytes(8)
        return uuid7(now_us, int.from_bytes(random[6:]), random[:6])


def _holder(skill: Skill) -> str:
    return f"bazaar:{skill_id(skill.id)}"
