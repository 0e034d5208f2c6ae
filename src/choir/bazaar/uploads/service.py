"""Bytes that are too many for one request: announced by size and hash, sent in parts, made an object in the end.

Guarantees: every step can be repeated; what becomes an object hashes to what was announced; nobody sees another's
upload; one owner has no more under way than policy allows, so that nobody fills the disk with what never becomes
an object; memory holds one part. What is not finished in its time is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from choir.bazaar.jobs.service import buyer_of
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.uploads import store
from choir.bazaar.uploads.model import BadPart, PartsMissing, TooManyUploads, UnknownUpload, upload_id
from choir.bazaar.uploads.store import Upload
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import TooLarge
from choir.foundation.ids import uuid7
from choir.identity.model import Principal, Scope, ScopeMissing
from choir.objects.model import QuotaExceeded
from choir.objects.service import Objects
from choir.storage.database import Tx

_MISSING_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Progress:
    """An upload, and what has not arrived of it."""

    upload: Upload
    missing: list[int]


class Uploads:
    """Uploads of buyers and providers; all inside the caller's transaction."""

    def __init__(self, objects: Objects, clock: Clock, entropy: Entropy, policy: BazaarPolicy) -> None:
        self._objects = objects
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def begin(self, tx: Tx, who: Principal, size: int, name: ObjectHash) -> Progress:
        """Announce bytes. The same announcement gives the same upload; what the owner has put before is done."""
        owner = self._owner(who)
        if size > self._policy.inputs_bytes_max:
            raise TooLarge(what="The upload", size=size, limit=self._policy.inputs_bytes_max)
        store.lock_owner(tx, owner)
        now_us = self._clock.now_us()
        held = self._objects.holds(tx, owner, name)
        there = held is not None and held.size == size
        known = store.find(tx, owner, name, size)
        if known is not None:
            if known.expires_us > now_us and (known.done_us is None or there):
                return self._progress(tx, known)
            store.drop(tx, known.id)
        upload = self._new(owner, size, name, now_us)
        if there:
            self._objects.keep_longer(tx, name)
            upload = replace(upload, done_us=now_us)
        else:
            self._check_room(tx, owner, size, now_us)
        store.insert(tx, upload)
        return self._progress(tx, upload)

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Progress:
        """What has arrived so far."""
        return self._progress(tx, self._own(who, id_, store.get(tx, id_)))

    def put_part(self, tx: Tx, who: Principal, id_: UUID, n: int, data: bytes) -> None:
        """Keep a part; sending it again replaces it. What comes after the end changes nothing."""
        upload = self._own(who, id_, store.lock(tx, id_, alone=False))
        if not 0 <= n < upload.parts:
            raise BadPart(n=n, why=f"it has {upload.parts} parts, counted from 0")
        if len(data) != upload.size_of(n):
            raise BadPart(n=n, why=f"it must have {upload.size_of(n)} bytes, not {len(data)}")
        if upload.done_us is None:
            store.put_part(tx, upload.id, n, data)

    def finish(self, tx: Tx, who: Principal, id_: UUID) -> Progress:
        """Make it an object that its owner can name by its hash."""
        upload = self._own(who, id_, store.lock(tx, id_, alone=True))
        if upload.done_us is not None:
            return Progress(upload, [])
        missing = store.missing(tx, upload, _MISSING_SHOWN)
        if missing:
            raise PartsMissing(upload=upload_id(id_), missing=_told(missing))
        self._objects.put_blob(tx, _parts(tx, upload), upload.owner, upload.hash)
        now_us = self._clock.now_us()
        store.finish(tx, upload.id, now_us)
        return Progress(replace(upload, done_us=now_us), [])

    def drop(self, tx: Tx, who: Principal, id_: UUID) -> None:
        """Give an upload up; one that is not there is given up already. An object that it became stays."""
        owner = self._owner(who)
        upload = store.lock(tx, id_, alone=True)
        if upload is not None and upload.owner == owner:
            store.drop(tx, id_)

    def put_off(self, tx: Tx, since_us: int, by_us: int) -> int:
        """What was not over then may take so much longer; says how many uploads these are."""
        return store.put_off(tx, since_us, by_us)

    def forget(self, tx: Tx, limit: int) -> int:
        """Drop what was not finished in its time."""
        return store.forget(tx, self._clock.now_us(), limit)

    def _new(self, owner: str, size: int, name: ObjectHash, now_us: int) -> Upload:
        random = self._entropy.bytes(8)
        id_ = uuid7(now_us, int.from_bytes(random[6:]), random[:6])
        return Upload(
            id_, owner, name, size, self._policy.part_bytes, now_us, now_us + self._policy.upload_s * MICROSECONDS
        )

    def _check_room(self, tx: Tx, owner: str, size: int, now_us: int) -> None:
        policy = self._policy
        count, announced = store.unfinished(tx, owner, now_us)
        if count >= policy.uploads_per_owner_max or announced + size > policy.upload_bytes_per_owner_max:
            raise TooManyUploads(
                uploads=count,
                bytes=announced,
                most=policy.uploads_per_owner_max,
                bytes_max=policy.upload_bytes_per_owner_max,
            )
        usage = self._objects.usage(tx, owner)
        if usage.used + announced + size > usage.limit:  # it is counted again when it is finished
            raise QuotaExceeded(owner=owner, used=usage.used + announced, limit=usage.limit, asked=size)

    def _progress(self, tx: Tx, upload: Upload) -> Progress:
        return Progress(upload, [] if upload.done_us is not None else store.missing(tx, upload, _MISSING_SHOWN))

    def _own(self, who: Principal, id_: UUID, found: Upload | None) -> Upload:
        owner = self._owner(who)
        if found is None or found.owner != owner or found.expires_us <= self._clock.now_us():
            raise UnknownUpload(upload=upload_id(id_))
        return found

    @staticmethod
    def _owner(who: Principal) -> str:
        """The person behind the credential is charged, so that many agents have no more room than one."""
        owner = buyer_of(who)
        if not who.scopes & {Scope.BUY, Scope.SELL}:
            raise ScopeMissing(scope=Scope.BUY.value)
        return owner


def _parts(tx: Tx, upload: Upload) -> Iterator[bytes]:
    for n in range(upload.parts):
        data = store.part(tx, upload.id, n)
        assert data is not None
        yield data


def _told(missing: list[int]) -> str:
    return f"part {missing[0]}" if len(missing) == 1 else f"part {missing[0]} and others"
