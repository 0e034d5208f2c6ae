"""Skills, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from choir.doors.sdk.calls import Call, R, Room, call, pages, path
from choir.doors.skills.shapes import SkillDetailOut, SkillFilesOut, SkillOut, SkillPage


class SkillsClient(Room[R]):
    """Skills: folders that orders can name."""

    @call
    def publish(
        self, name: str, version: str, description: str, files: Sequence[dict[str, Any]], share_bps: int | None = None
    ) -> Call[SkillOut]:
        """Publish a version of a skill; `files` have path, content in base64, and executable. Idempotent."""
        body = {"name": name, "version": version, "description": description, "files": list(files)}
        return Call("POST", "/v1/skills", SkillOut, body | {"share_bps": share_bps}, again=True)

    @pages
    def all(self, *, creator: str | None = None, limit: int = 100) -> Call[SkillPage]:
        """Iterate over skills that orders can name, newest first; or over all of one creator."""
        return Call("GET", "/v1/skills", SkillPage, params={"limit": limit, "creator": creator})

    @call
    def get(self, skill: str) -> Call[SkillDetailOut]:
        """Get a skill by its id, as NAME@VERSION, or the last one of a NAME."""
        return Call("GET", path("/v1/skills/{skill}", skill=skill), SkillDetailOut)

    @call
    def files(self, skill: str) -> Call[SkillFilesOut]:
        """Get the files of a skill of your own."""
        return Call("GET", path("/v1/skills/{skill}/files", skill=skill), SkillFilesOut)

    @call
    def withdraw(self, skill: str) -> Call[SkillOut]:
        """Withdraw a skill of your own."""
        return Call("POST", path("/v1/skills/{skill}/withdraw", skill=skill), SkillOut, again=True)
