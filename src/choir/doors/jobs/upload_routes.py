"""Uploads over HTTP: bytes in parts, for buyers and providers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from choir.bazaar.uploads.model import parse_upload_id
from choir.doors.http.access import AccessRoute, BuyerOrSellerDep, NodeDep, RawBodyDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.shapes import UploadIn, UploadOut
from choir.foundation.canonical import parse_object_hash

router = RoomRouter(prefix="/uploads", tags=["uploads"], route_class=AccessRoute)

_RAW: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("", status_code=201, responses=problems(409))
def begin_upload(body: UploadIn, who: BuyerOrSellerDep, node: NodeDep) -> UploadOut:
    """Begin an upload. Repeating it returns the same upload; bytes that are already stored are complete at once."""
    name = parse_object_hash(body.hash)
    return UploadOut.of(node.write(lambda tx: node.bazaar.uploads.begin(tx, who, body.bytes, name)))


@router.get("/{upload}", responses=problems(404))
def get_upload(upload: str, who: BuyerOrSellerDep, node: NodeDep) -> UploadOut:
    """Get the state of an upload."""
    id_ = parse_upload_id(upload)
    with node.read() as tx:
        return UploadOut.of(node.bazaar.uploads.get(tx, who, id_))


@router.put("/{upload}/parts/{n}", status_code=204, responses=problems(404), openapi_extra=_RAW)
def put_part(
    upload: str, n: Annotated[int, Path(ge=0, le=10_000_000)], who: BuyerOrSellerDep, node: NodeDep, data: RawBodyDep
) -> None:
    """Send a part as raw bytes; sending it again replaces it. All parts but the last have `part_bytes` bytes."""
    id_ = parse_upload_id(upload)
    node.write(lambda tx: node.bazaar.uploads.put_part(tx, who, id_, n, data))


@router.post("/{upload}/finish", responses=problems(404, 409))
def finish_upload(upload: str, who: BuyerOrSellerDep, node: NodeDep) -> UploadOut:
    """Complete an upload: it becomes an object if all parts are there and the hash matches."""
    id_ = parse_upload_id(upload)
    return UploadOut.of(node.write(lambda tx: node.bazaar.uploads.finish(tx, who, id_)))


@router.delete("/{upload}", status_code=204)
def drop_upload(upload: str, who: BuyerOrSellerDep, node: NodeDep) -> None:
    """Abort an upload. Idempotent."""
    id_ = parse_upload_id(upload)
    node.write(lambda tx: node.bazaar.uploads.drop(tx, who, id_))
