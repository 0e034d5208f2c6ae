"""Putting, reading, signing, referring to and collecting objects, inside the caller's transaction.

Guarantees: an object's name is the hash of its bytes, checked when it is put and whenever it is read; equal
objects are stored once, whoever puts them and however many at once; a refusal keeps nothing; each owner is
charged once for each object it put; nothing is collected while anything points to it, within
`objects.unreferenced_s` of its last put or lost reference, or while a transaction is at work on it.

An owner's quota is exact where it matters: whatever is not small, or comes near the quota, is put by one transaction of
that owner at a time. Small objects far from it are put without waiting. Should something large bring the owner to its
quota just then, it is exceeded by the small ones that are under way at that moment, and by no more.

A transaction that puts several new objects should put them together with `put_atoms` or in the order of their
hashes: two that put the same ones in opposite orders would wait for each other, and one be asked to repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from choir.foundation.canonical import NotCanonical, ObjectHash, canonical_bytes, parse_canonical
from choir.foundation.clock import MICROSECONDS, Clock
from choir.objects import rules, store
from choir.objects.model import (
    BadLabel,
    CollectionReport,
    Kind,
    NotAnAtom,
    OpenedObject,
    Piece,
    Scheme,
    Signature,
    SignedObject,
    Stat,
    StoredObject,
    TooLargeToGet,
    TooManySignatures,
    UnknownObject,
    Usage,
    WrongHash,
)
from choir.objects.policy import ObjectsPolicy
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class _Arrived:
    """What came in and now wants to be an object."""

    digest: bytes
    size: int
    id: int | None  # where its pieces are stored already; None: it is there as a whole


class Objects:
    """The object store. An owner of None is the node itself, which is not charged."""

    def __init__(self, clock: Clock, policy: ObjectsPolicy) -> None:
        self.clock = clock
        self.policy = policy

    # Putting

    def put_atom(self, tx: Tx, value: Any, owner: str | None, holder: str | None = None) -> StoredObject:
        """Store a JSON value, or bytes that must be in canonical form already; kept for the holder from now on."""
        rules.check_owner(owner, self.policy)
        return self._put(tx, [self._atom_bytes(value)], Kind.ATOM, owner, holder)[0]

    def put_atoms(
        self, tx: Tx, values: Sequence[Any], owner: str | None, holder: str | None = None
    ) -> list[StoredObject]:
        """Store several or none, in an order in which no two callers can block each other."""
        rules.check_owner(owner, self.policy)
        arrived = [self._atom_bytes(value) for value in values]
        # What is the node's own always fits, so that there is nothing to be undone.
        with store.savepoint(tx) if owner is not None else nullcontext():
            different = _by_hash(arrived)
            stored = dict(zip(different, self._put(tx, different, Kind.ATOM, owner, holder), strict=True))
        return [stored[data] for data in arrived]

    def put_bytes(self, tx: Tx, values: Collection[bytes], owner: str | None) -> None:
        """Store bytes that are here as a whole. If some do not fit, the caller's transaction must not go on."""
        rules.check_owner(owner, self.policy)
        for data in values:
            rules.check_size("blob", len(data), self.policy.blob_bytes_max)
        if all(len(data) <= self.policy.chunk_bytes for data in values):
            self._put(tx, _by_hash(values), Kind.BLOB, owner, None)
            return
        for data in _by_hash(values):
            self.put_blob(tx, [data], owner)

    def _put(
        self, tx: Tx, values: Sequence[bytes], kind: Kind, owner: str | None, holder: str | None
    ) -> list[StoredObject]:
        """Store what has at most one piece; raises if some of it does not fit, and then some may have been stored."""
        if holder is not None and rules.held_by_object(holder, self.policy) is not None:
            raise BadLabel(what="what points to an object", why="an object is told by itself that it points to another")
        now_us = self.clock.now_us()
        digests = [hashlib.sha256(data).digest() for data in values]
        items = [
            (store.Row(0, digest, kind.value, len(data), now_us), Piece(0, rules.piece_hash(0, data), data))
            for digest, data in zip(digests, values, strict=True)
        ]
        policy = self.policy
        limits = (policy.owner_quota_bytes, policy.small_bytes, policy.near_quota_bytes)
        found = store.put(tx, items, owner, holder, *limits)
        for item, data in zip(found, values, strict=True):
            if item.used is not None:
                assert owner is not None
                rules.check_quota(owner, len(data), item.used, policy.owner_quota_bytes)
        return [
            StoredObject(rules.name_of(digest), len(data), item.new)
            for item, digest, data in zip(found, digests, values, strict=True)
        ]

    def put_blob(
        self, tx: Tx, chunks: Iterable[bytes], owner: str | None, expect: ObjectHash | None = None
    ) -> StoredObject:
        """Store bytes as they come, in constant memory; no lock on the owner is held while they come."""
        rules.check_owner(owner, self.policy)
        expected = None if expect is None else rules.digest_of(expect)
        with store.savepoint(tx):
            known = expected is not None and store.lock(tx, expected) is not None
            arrived = self._arrived_blob(tx, chunks, None if known else store.reserve_id(tx))
            if expected is not None and arrived.digest != expected:
                raise WrongHash(expected=expect, actual=rules.name_of(arrived.digest))
            return self._keep(tx, arrived, owner)

    def _atom_bytes(self, value: Any) -> bytes:
        limit = self.policy.atom_bytes_max
        if isinstance(value, bytes):
            rules.check_size("atom", len(value), limit)  # before anybody tries to parse it
            parse_canonical(value)
            return value
        data = canonical_bytes(value)
        rules.check_size("atom", len(data), limit)
        return data

    def _arrived_blob(self, tx: Tx, chunks: Iterable[bytes], id_: int | None) -> _Arrived:
        """Hash the bytes and store them in pieces under the id; without an id only hash them."""
        whole, size = hashlib.sha256(), 0
        for n, data in enumerate(rules.cut(chunks, self.policy.chunk_bytes)):
            size += len(data)
            rules.check_size("blob", size, self.policy.blob_bytes_max)
            whole.update(data)
            if id_ is not None:
                store.add_piece(tx, id_, Piece(n, rules.piece_hash(n, data), data))
        return _Arrived(whole.digest(), size, id_)

    def _keep(self, tx: Tx, item: _Arrived, owner: str | None) -> StoredObject:
        """Store what is not there yet and charge who is not charged yet; a refusal comes before any of it."""
        now_us = self.clock.now_us()
        if owner is not None:
            store.lock_owner(tx, owner)
        id_, new, charge = self._store_once(tx, item, owner, now_us)
        if owner is not None and charge:
            store.add_claim(tx, owner, id_, item.size, now_us)
        store.touch(tx, id_, now_us)
        return StoredObject(rules.name_of(item.digest), item.size, new)

    def _store_once(self, tx: Tx, item: _Arrived, owner: str | None, now_us: int) -> tuple[int, bool, bool]:
        """The object's id, whether this call stored it, and whether the owner has yet to be charged for it."""
        while True:
            found = store.lock(tx, item.digest)
            charge = owner is not None and (found is None or not store.has_claim(tx, owner, found.id))
            if owner is not None and charge:
                used = store.settle(tx, owner)
                rules.check_quota(owner, item.size, used, self.policy.owner_quota_bytes)
            if found is not None:
                self._reuse(tx, item)
                return found.id, False, charge
            id_ = self._store_new(tx, item, now_us)
            if id_ is not None:
                return id_, True, charge
            # Another transaction stored it first, and has committed: look again.

    @staticmethod
    def _reuse(tx: Tx, item: _Arrived) -> None:
        if item.id is not None:
            store.drop_pieces(tx, item.id)

    @staticmethod
    def _store_new(tx: Tx, item: _Arrived, now_us: int) -> int | None:
        assert item.id is not None, "an announced object is locked, so it cannot have gone"
        row = store.Row(item.id, item.digest, Kind.BLOB.value, item.size, now_us)
        return item.id if store.insert(tx, row) else None

    # Reading

    def exists(self, tx: Tx, name: ObjectHash) -> bool:
        return store.find(tx, rules.digest_of(name)) is not None

    def stat(self, tx: Tx, name: ObjectHash) -> Stat:
        return self._find(tx, name).stat

    def open(self, tx: Tx, name: ObjectHash) -> OpenedObject:
        """The object in checked pieces, while the transaction lasts; collection cannot cut it short."""
        opened = store.open_(tx, rules.digest_of(name))
        if opened is None:
            raise UnknownObject(hash=name)
        return opened

    def get(self, tx: Tx, name: ObjectHash) -> bytes:
        """The whole object, checked, if it is small enough for that."""
        limit = self.policy.whole_bytes_max
        found = store.read(tx, rules.digest_of(name), limit)
        if found is None:
            raise UnknownObject(hash=name)
        stat, pieces = found
        if stat.size > limit:
            raise TooLargeToGet(hash=name, size=stat.size, limit=limit)
        return b"".join(rules.checked(stat, pieces))

    def part(self, tx: Tx, name: ObjectHash, offset: int, length: int) -> tuple[Stat, bytes]:
        """Some of an object's bytes, checked piece by piece; fewer at its end and none behind it."""
        assert offset >= 0
        assert length > 0
        found = store.read_part(tx, rules.digest_of(name), offset, length)
        if found is None:
            raise UnknownObject(hash=name)
        stat, piece_bytes, pieces = found
        return stat, rules.checked_part(stat, pieces, piece_bytes, offset, length)

    def get_atom(self, tx: Tx, name: ObjectHash) -> Any:
        """The JSON value of an atom."""
        try:
            return parse_canonical(self.get(tx, name))
        except NotCanonical as error:
            raise NotAnAtom(hash=name, why=error.fields["why"]) from None

    @staticmethod
    def _find(tx: Tx, name: ObjectHash) -> store.Row:
        row = store.find(tx, rules.digest_of(name))
        if row is None:
            raise UnknownObject(hash=name)
        return row

    @staticmethod
    def _lock(tx: Tx, name: ObjectHash) -> store.Row:
        row = store.lock(tx, rules.digest_of(name))
        if row is None:
            raise UnknownObject(hash=name)
        return row

    # Signatures

    def add_signature(
        self, tx: Tx, name: ObjectHash, scheme: Scheme, public: bytes, signature: bytes, *, limited: bool = True
    ) -> Signature:
        """Verify a signature over the object's hash and keep it; one for each key, and the first one stays.

        Where many sign the same as part of something that is limited otherwise, nobody shall be too late.
        """
        digest = rules.digest_of(name)
        rules.check_signature(scheme, public, digest, signature)
        if limited:
            self._must_have_room(tx, name, scheme, public)
        added = Signature(scheme, public, signature, self.clock.now_us())
        there, known = store.sign(tx, digest, added)
        if not there:
            raise UnknownObject(hash=name)
        return known or added

    def add_signatures(self, tx: Tx, signed: Sequence[SignedObject]) -> None:
        """Verify and keep signatures of several objects at once; a key that has signed one before adds nothing."""
        for item in signed:
            rules.check_signature(item.scheme, item.public, rules.digest_of(item.name), item.signature)
        there = store.sign_all(tx, [(rules.digest_of(item.name), item) for item in signed], self.clock.now_us())
        if there < len(signed):
            raise UnknownObject(hash=next(item.name for item in signed if not self.exists(tx, item.name)))

    def _must_have_room(self, tx: Tx, name: ObjectHash, scheme: Scheme, public: bytes) -> None:
        """Refuse one signature too many; from here on nobody else counts or adds one."""
        row = self._lock(tx, name)
        if store.signature(tx, row.id, scheme, public) is not None:
            return
        store.lock_alone(tx, row.id)
        if store.signature(tx, row.id, scheme, public) is not None:
            return
        if store.count_signatures(tx, row.id) >= self.policy.signatures_max:
            raise TooManySignatures(hash=name, limit=self.policy.signatures_max)

    def signatures(self, tx: Tx, name: ObjectHash, by: Collection[bytes] | None = None) -> list[Signature]:
        """The object's signatures, oldest first, of all or `by` these keys; verified before they were stored."""
        found = store.signatures(tx, rules.digest_of(name), by)
        if found is None:
            raise UnknownObject(hash=name)
        return found

    # Who needs an object, and who is charged for it

    def refer(self, tx: Tx, holder: str, name: ObjectHash) -> bool:
        """Keep the object for this holder; False if it was kept for it already.

        A holder that is an object's hash must be there, and lets go of everything when it is collected.
        """
        by_object = rules.held_by_object(holder, self.policy)
        if holder == name:
            raise BadLabel(what="what points to an object", why="an object cannot keep itself")
        if by_object is not None and store.lock(tx, by_object) is None:
            raise UnknownObject(hash=holder)
        return self._refer(tx, holder, [name]) == 1

    def refer_all(self, tx: Tx, holder: str, names: Collection[ObjectHash]) -> None:
        """Keep several objects for a holder that is no object itself."""
        assert rules.held_by_object(holder, self.policy) is None
        self._refer(tx, holder, sorted(set(names)))

    def _refer(self, tx: Tx, holder: str, names: Sequence[ObjectHash]) -> int:
        digests = [rules.digest_of(name) for name in names]
        there, added = store.refer(tx, holder, digests, self.clock.now_us())
        if there < len(digests):
            raise UnknownObject(hash=next(name for name in names if not self.exists(tx, name)))
        return added

    def unrefer(self, tx: Tx, holder: str, name: ObjectHash) -> bool:
        """Let go of the object; False if this holder did not keep it."""
        by_object = rules.held_by_object(holder, self.policy)
        if by_object is not None:
            store.lock(tx, by_object)  # so that it is not collected, and lets go by itself, meanwhile
        row = store.lock(tx, rules.digest_of(name))
        if row is None or not store.drop_reference(tx, holder, row.id):
            return False
        store.touch(tx, row.id, self.clock.now_us())
        return True

    def holds(self, tx: Tx, owner: str, name: ObjectHash) -> Stat | None:
        """The object, if this owner itself has put it; None says nothing about whether others have."""
        rules.check_owner(owner, self.policy)
        row = store.find(tx, rules.digest_of(name))
        return row.stat if row is not None and store.has_claim(tx, owner, row.id) else None

    def keep_longer(self, tx: Tx, name: ObjectHash) -> None:
        """Have the object's time without references begin anew, as if it were put now."""
        store.touch(tx, self._lock(tx, name).id, self.clock.now_us())

    def usage(self, tx: Tx, owner: str) -> Usage:
        """What the owner is charged for now."""
        rules.check_owner(owner, self.policy)
        return Usage(store.used_bytes(tx, owner), self.policy.owner_quota_bytes)

    def erase(self, tx: Tx, owner: str, name: ObjectHash) -> bool:
        """Give up an owner's claim and give it its bytes back; False if it had none.

        The object itself goes as every other: when nothing has pointed to it for long enough.
        """
        rules.check_owner(owner, self.policy)
        digest = rules.digest_of(name)
        row = store.lock(tx, digest)
        return row is not None and store.drop_claim(tx, owner, row.id, row.size)

    def claimed(self, tx: Tx, owner: str, *, after: ObjectHash | None = None, limit: int = 100) -> list[ObjectHash]:
        """A page of what the owner is charged for, by name; `after` is the last name of the page before."""
        rules.check_owner(owner, self.policy)
        digests = store.claimed(tx, owner, b"" if after is None else rules.digest_of(after), limit)
        return [rules.name_of(digest) for digest in digests]

    # Collection

    def collect(self, tx: Tx, now_us: int) -> CollectionReport:
        """Remove some of what nothing has pointed to for long enough; waits for nobody."""
        if not store.become_collector(tx):
            return CollectionReport(0, 0, more=False)
        until_us = now_us - self.policy.unreferenced_s * MICROSECONDS
        due = store.due(tx, until_us, self.policy.collect_objects_max)
        rows = store.lock_for_removal(tx, list(dict.fromkeys(due)))
        # Only now, in a statement of its own, is what it sees the last word: nobody can add to locked objects.
        needed = store.needed(tx, [row.id for row in rows], until_us)
        store.drop_touches(tx, list(needed), until_us)
        idle = [row for row in rows if row.id not in needed]
        removed = idle[: rules.within_bytes([row.size for row in idle], self.policy.collect_bytes_max)]
        store.remove(tx, [row.id for row in removed], [row.stat.hash for row in removed], now_us)
        full = len(due) == self.policy.collect_objects_max or len(removed) < len(idle)
        return CollectionReport(len(removed), sum(row.size for row in removed), more=full and bool(rows))


def _by_hash(values: Iterable[bytes]) -> list[bytes]:
    """Each once, in the order of their names."""
    return sorted(set(values), key=lambda data: hashlib.sha256(data).digest())
