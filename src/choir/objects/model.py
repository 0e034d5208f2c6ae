"""What the object store is made of: objects, claims, signatures, and every refusal.

An object is a string of bytes named by its SHA-256. A blob is any bytes; an atom is a blob that is known
to be canonical JSON (RFC 8785). A claim says who is charged for an object; a reference says who needs it.
References keep objects, claims do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Broken, Invalid, NotFound, Refusal, TooLarge


class Kind(StrEnum):
    """What is known about an object's bytes."""

    ATOM = "atom"  # canonical JSON
    BLOB = "blob"  # anything


class Scheme(StrEnum):
    """How an object was signed; the message is always the 32 bytes of its hash."""

    ED25519 = "ed25519"
    BIP340 = "bip340"


@dataclass(frozen=True, slots=True)
class Stat:
    """What is known about an object without reading it."""

    hash: ObjectHash
    kind: Kind
    size: int
    created_us: int


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The answer to a put."""

    hash: ObjectHash
    size: int
    new: bool  # False: the store had it already


@dataclass(frozen=True, slots=True)
class OpenedObject:
    """An object being read: its facts at once, its bytes piece by piece. Reading to the end closes it."""

    stat: Stat
    chunks: Iterator[bytes]
    close: Callable[[], None]  # for who does not read to the end

    def __iter__(self) -> Iterator[bytes]:
        return self.chunks


@dataclass(frozen=True, slots=True)
class Piece:
    """A stored piece of an object."""

    n: int
    hash: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that was verified and stored beside an object."""

    scheme: Scheme
    public: bytes  # 32 bytes; x-only for BIP-340
    signature: bytes  # 64 bytes
    at_us: int


@dataclass(frozen=True, slots=True)
class SignedObject:
    """A signature over the hash of an object, not kept yet."""

    name: ObjectHash
    scheme: Scheme
    public: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of its quota an owner uses."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """What one round of collection did."""

    objects: int
    bytes: int
    more: bool  # whether another round now would find something to do


class UnknownObject(NotFound):
    code = "objects.unknown"
    sentence = "There is no object {hash}."
    hint = "It was never stored, or was garbage-collected because nothing referred to it."


class NotAnAtom(Invalid):
    code = "objects.not_an_atom"
    sentence = "The object {hash} is not canonical JSON: {why}."


class WrongHash(Invalid):
    code = "objects.wrong_hash"
    sentence = "The bytes hash to {actual}, not to {expected} as announced."
    hint = "The upload was damaged or is another file; nothing was stored."


class ObjectTooLarge(TooLarge):
    code = "objects.too_large"
    sentence = "The {what} is too large: it has {size} bytes or more, and the limit is {limit}."


class TooLargeToGet(TooLarge):
    code = "objects.too_large_to_get"
    sentence = "The object {hash} has {size} bytes; only up to {limit} are read at once."
    hint = "Stream it instead."


class QuotaExceeded(Refusal):
    code = "objects.quota_exceeded"
    sentence = "{owner} uses {used} of {limit} bytes, so {asked} more do not fit."
    hint = "Erase something; garbage collection frees the space."


class TooManySignatures(Refusal):
    code = "objects.too_many_signatures"
    sentence = "The object {hash} already has {limit} signatures, which is the limit."


class BadLabel(Invalid):
    code = "objects.bad_label"
    sentence = "This is not a valid {what}: {why}."


class Corrupt(Broken):
    code = "objects.corrupt"
    sentence = "The stored object {hash} is damaged: {why}."
    hint = "The disk or the database lost it; restore from a backup."
