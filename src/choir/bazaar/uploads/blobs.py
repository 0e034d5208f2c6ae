"""Bytes that come with a request: in it, or uploaded before and named by their hash.

Guarantee: a hash stands for bytes only if the caller has put those bytes itself. Hashes of artifacts in escrow are
published; whoever knows one must not get at the bytes by naming it in an order of their own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass

from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.errors import Invalid, NotFound, TooLarge
from choir.objects.service import Objects
from choir.storage.database import Tx


class BadBlob(Invalid):
    code = "bazaar.bad_blob"
    sentence = "The bytes of '{what}' are not valid: {why}."


class NotUploaded(NotFound):
    code = "bazaar.not_uploaded"
    sentence = "You have not uploaded {hash}."
    hint = "Upload it first, then refer to it by its hash, for as long as the upload or a job keeps it."


@dataclass(frozen=True, slots=True)
class SentBlob:
    """Bytes as they were given: themselves, or the hash of what was uploaded."""

    what: str  # for messages: which bytes they are
    data: bytes | None = None
    hash: ObjectHash | None = None

    @property
    def name(self) -> ObjectHash:
        """What they hash to, or are said to."""
        if self.data is not None:
            return bytes_hash(self.data)
        assert self.hash is not None
        return self.hash


def read_blob(what: str, data: str | None, name: str | None) -> SentBlob:
    """From what travels: base64 or a hash, exactly one of them."""
    if (data is None) == (name is None):
        raise BadBlob(what=what, why="give either `data` or `hash`")
    if data is None:
        return SentBlob(what, hash=ObjectHash(name or ""))
    try:
        return SentBlob(what, data=base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise BadBlob(what=what, why="`data` must be base64 with its padding, and nothing else") from None


def keep(
    tx: Tx, objects: Objects, given: Collection[SentBlob], payer: str, holders: Collection[str], limits: dict[str, int]
) -> None:
    """Store what came along, charged to the payer, and see that what is named was put by one of the holders.

    In the order of their names, so that two requests with the same bytes do not block each other.
    """
    for item in given:
        _check_size(item.what, 0 if item.data is None else len(item.data), limits[item.what])
    here = [item.data for item in given if item.data is not None]
    if here:
        objects.put_bytes(tx, here, payer)
    for item in sorted((item for item in given if item.data is None), key=lambda item: item.name):
        held = [stat for owner in sorted(set(holders)) if (stat := objects.holds(tx, owner, item.name)) is not None]
        if not held:
            raise NotUploaded(hash=item.name)
        _check_size(item.what, held[0].size, limits[item.what])


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(what=f"The {what}", size=size, limit=limit)
