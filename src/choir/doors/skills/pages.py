"""Pages of skills: what orders can name, and one skill.

Guarantees: anybody may read them; they show what `/v1/skills` tells, and no content of a file.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.skills.model import parse_skill_id, skill_id
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, before_id
from choir.doors.web.names import names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ROWS = 25


@router.get("/skills")
def skills_page(request: Request, node: NodeDep, visitor: VisitorDep, cursor: IdCursor = "") -> Response:
    """Skills that orders can name, newest first."""
    with node.read() as tx:
        found = node.bazaar.skills.page(tx, before=before_id(cursor, parse_skill_id), limit=_ROWS + 1)
        shown = found[:_ROWS]
        creators = names(node, tx, [item.creator for item in shown])
    following = f"/skills?cursor={skill_id(shown[-1].id)}" if len(found) > _ROWS else ""
    lines = [(item, skill_id(item.id), creators[item.creator]) for item in shown]
    frame = {"skills": lines, "next": following, "first_page": cursor == "", "visitor": visitor}
    return page(request, "skills.html", frame)


@router.get("/skills/{skill}")
def skill_page(
    skill: Annotated[str, Path(max_length=200)], request: Request, node: NodeDep, visitor: VisitorDep
) -> Response:
    """One skill: what it is for, its files by name, and what came of it."""
    service = node.bazaar.skills
    with node.read() as tx:
        found = service.find(tx, skill)
        shown = {
            "skill": found,
            "id": skill_id(found.id),
            "creator": names(node, tx, [found.creator])[found.creator],
            "paths": service.paths(tx, found),
            "record": service.record(tx, found),
        }
    own = visitor is not None and visitor.person.owner == found.creator
    return page(request, "skill.html", {**shown, "own": own, "visitor": visitor})
