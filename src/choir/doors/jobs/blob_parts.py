"""Bytes on their way out, a part at a time: whoever reads slowly holds no connection of the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Response

from choir.bazaar.policy import BazaarPolicy
from choir.foundation.canonical import ObjectHash
from choir.node import Node
from choir.storage.database import Tx

Part = Annotated[
    int, Query(ge=0, le=10_000_000, description="Part number, from 0. A number past the end returns no bytes.")
]
_STRING = {"type": "string"}
BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A part of the bytes, at most `bazaar.part_bytes` (policy) long; empty past the end.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            "Choir-Size": {"description": "Total number of bytes.", "schema": _STRING},
            "Choir-Hash": {"description": "SHA-256 of all bytes.", "schema": _STRING},
        },
    }
}


def answer_part(node: Node, n: int, find: Callable[[Tx], ObjectHash]) -> Response:
    """One part of an object that `find` lets the caller read."""
    length = node.policy.of(BazaarPolicy).part_bytes
    with node.read() as tx:
        stat, data = node.objects.part(tx, find(tx), n * length, length)
    headers = {"Choir-Size": str(stat.size), "Choir-Hash": stat.hash, "Content-Disposition": "attachment"}
    return Response(data, media_type="application/octet-stream", headers=headers)
