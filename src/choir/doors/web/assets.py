"""Style sheets, scripts and pictures of the pages.

Guarantees: an address holds the hash of all files together, so that a browser may keep what it got for ever,
and modules that import each other by relative names always come from one version; nothing outside this
folder can be asked for, since only the names that were there at the start are known.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from choir.doors import DOORS
from choir.foundation.errors import NotFound

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"  # for a page from before an upgrade: the file is good, its address is not

router = APIRouter(include_in_schema=False)


class UnknownAsset(NotFound):
    code = "web.asset_unknown"
    sentence = "There is no file {name}."


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, read once."""

    body: bytes
    type: str
    etag: str


@cache
def assets() -> dict[str, Asset]:
    """Every file of every door by its name."""
    found: dict[str, Asset] = {}
    folders = [files(package).joinpath("static") for package in ("choir.doors.web", *DOORS)]
    for item in sorted((item for folder in folders if folder.is_dir() for item in folder.iterdir()), key=_name):
        assert item.name not in found, f"two doors have a file {item.name}"
        suffix = item.name[item.name.rfind(".") :]
        if suffix in _TYPES:
            body = item.read_bytes()
            found[item.name] = Asset(body, _TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found


def _name(item: Traversable) -> str:
    return item.name


@cache
def version() -> str:
    """The hash of all files together."""
    whole = hashlib.sha256()
    for name, item in assets().items():
        whole.update(f"{name} {item.etag}\n".encode())
    return whole.hexdigest()[:16]


def address(name: str) -> str:
    """Where a page finds a file."""
    assert name in assets(), f"there is no file {name}"
    return f"/static/{version()}/{name}"


@router.get("/static/{hash_}/{name}")
async def get_asset(hash_: str, name: str, request: Request) -> Response:
    """A file, to be kept for ever when its address is of this version."""
    item = assets().get(name)
    if item is None:
        raise UnknownAsset(name=name[:60])
    headers = {"ETag": item.etag, "Cache-Control": _FOR_EVER if hash_ == version() else _ASK_AGAIN}
    if item.etag in (part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers=headers)
    return Response(item.body, media_type=item.type, headers=headers)
