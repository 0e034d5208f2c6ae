"""Skills over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from choir.bazaar.contracts.skills import SkillFolder
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.skills.model import NewSkill, Skill, parse_skill_id, skill_id
from choir.doors.http.access import AccessRoute, AnyoneDep, NodeDep, ReaderOrSellerDep, SellerDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.skills.shapes import SkillDetailOut, SkillFilesOut, SkillIn, SkillOut, SkillPage
from choir.storage.database import Tx

router = RoomRouter(prefix="/skills", tags=["skills"], route_class=AccessRoute)

SkillText = Annotated[str, Path(max_length=200, description="Its id, NAME@VERSION, or NAME for the last one.")]
Creator = Annotated[str | None, Query(max_length=80, description="All of this owner, withdrawn ones too.")]


@router.post("", status_code=201, responses=also(200, SkillOut, "This version was published before.") | problems(409))
def publish_skill(body: SkillIn, who: SellerDep, node: NodeDep, response: Response) -> SkillOut:
    """Publish a version of a skill. Orders that name it pay its share to the creator. Idempotent."""
    files = sorted((item.model_dump() for item in body.files), key=lambda item: str(item["path"]))
    folder = SkillFolder.from_json({"files": files}, node.policy.of(VerificationPolicy))
    new = NewSkill(body.name, body.version, body.description, body.share_bps, folder)

    def publish(tx: Tx) -> tuple[Skill, bool]:
        return node.bazaar.skills.publish(tx, who, new)

    found, made = node.write(publish)
    if not made:
        response.status_code = 200
    return SkillOut.of(found)


@router.get("")
def list_skills(
    _: AnyoneDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100, creator: Creator = None
) -> SkillPage:
    """List skills that orders can name, newest first; or all of one creator."""
    size = page_rows(limit, node.policy.of(BazaarPolicy))
    with node.read() as tx:
        found = node.bazaar.skills.page(tx, before=before_id(cursor, parse_skill_id), limit=size, creator=creator)
    following = skill_id(found[-1].id) if len(found) == size else None
    return SkillPage(items=[SkillOut.of(item) for item in found], next=following)


@router.get("/{skill}", responses=problems(404))
def get_skill(skill: SkillText, _: AnyoneDep, node: NodeDep) -> SkillDetailOut:
    """Get a skill, the names of its files, and what came of it."""
    service = node.bazaar.skills
    with node.read() as tx:
        found = service.find(tx, skill)
        return SkillDetailOut.with_record(found, service.paths(tx, found), service.record(tx, found))


@router.get("/{skill}/files", responses=problems(404))
def get_skill_files(skill: SkillText, who: ReaderOrSellerDep, node: NodeDep) -> SkillFilesOut:
    """Get the files of a skill of your own."""
    with node.read() as tx:
        name = node.bazaar.skills.folder(who, node.bazaar.skills.find(tx, skill))
        data = node.objects.get(tx, name)
    return SkillFilesOut.of(name, SkillFolder.from_bytes(data, node.policy.of(VerificationPolicy)))


@router.post("/{skill}/withdraw", responses=problems(404))
def withdraw_skill(skill: SkillText, who: SellerDep, node: NodeDep) -> SkillOut:
    """Withdraw a skill of your own: new orders cannot name it; those that do keep it. Idempotent."""
    return SkillOut.of(node.write(lambda tx: node.bazaar.skills.withdraw(tx, who, skill)))
