"""Tags of things that do not change: who has one already is told so instead (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Header, Response

IfNoneMatch = Annotated[str | None, Header(description="The `ETag` that the caller has.")]
NOT_CHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified."}}


def tag_of(content: bytes) -> str:
    """A tag for something that has no hash of its own."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def unchanged(if_none_match: str | None, tag: str) -> Response | None:
    """The answer to somebody who has it; None for everybody else."""
    if if_none_match is None or not _names(if_none_match, tag):
        return None
    return Response(status_code=304, headers={"ETag": tag})


def _names(given: str, tag: str) -> bool:
    """Whether an If-None-Match header names this tag; the comparison is weak."""
    tags = [item.strip().removeprefix("W/") for item in given.split(",")]
    return "*" in tags or tag in tags
