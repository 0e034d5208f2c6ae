"""The pure rules of the object store: how bytes are cut into pieces and checked, what fits, what is named how.

Guarantee: `checked` hands out a piece only when it is what was stored at that place, and the last piece only
when the whole object has its name. Whoever got all of an object got the right bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from choir.foundation.canonical import ObjectHash, hash_digest, parse_object_hash
from choir.foundation.signing import BadSignature, verify_bip340, verify_ed25519
from choir.objects.model import BadLabel, Corrupt, ObjectTooLarge, Piece, QuotaExceeded, Scheme, Stat
from choir.objects.policy import ObjectsPolicy

_HASH_PREFIX = "sha256:"


def digest_of(name: str) -> bytes:
    """The 32 bytes behind a name that may come from anywhere."""
    return hash_digest(parse_object_hash(name))


def name_of(digest: bytes) -> ObjectHash:
    """The name behind 32 bytes."""
    assert len(digest) == 32
    return ObjectHash(_HASH_PREFIX + digest.hex())


def cut(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of one size, the last one shorter; no piece is empty."""
    held = bytearray()
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            room = size - len(held)
            held += rest[:room]
            rest = rest[room:]
            if len(held) == size:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)


def piece_hash(n: int, data: bytes) -> bytes:
    """What is kept beside a piece. The position is in it, so that swapped pieces are noticed too."""
    hasher = hashlib.sha256(n.to_bytes(8))
    hasher.update(data)
    return hasher.digest()


def checked(stat: Stat, pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The bytes of the pieces, each after it was checked, or `Corrupt`."""
    whole, size = hashlib.sha256(), 0
    for n, piece in enumerate(pieces):
        if piece.n != n:
            raise Corrupt(hash=stat.hash, why=f"piece {n} is missing")
        if piece_hash(n, piece.data) != piece.hash:
            raise Corrupt(hash=stat.hash, why=f"piece {n} differs from what was stored")
        whole.update(piece.data)
        size += len(piece.data)
        if size > stat.size:
            raise Corrupt(hash=stat.hash, why=f"it has more than its {stat.size} bytes")
        if size == stat.size:
            _check_whole(stat, whole.digest())
        yield piece.data
    if size < stat.size:
        raise Corrupt(hash=stat.hash, why=f"only {size} of its {stat.size} bytes are there")
    _check_whole(stat, whole.digest())


def checked_part(stat: Stat, pieces: Iterable[Piece], piece_bytes: int, offset: int, length: int) -> bytes:
    """The bytes from an offset on, out of the pieces that hold them, each checked for itself, or `Corrupt`."""
    end = min(offset + length, stat.size)
    if offset >= end:
        return b""
    if piece_bytes == 0:
        raise Corrupt(hash=stat.hash, why="piece 0 is missing")
    found, first = bytearray(), offset // piece_bytes
    for n, piece in enumerate(pieces, first):
        if piece.n != n or piece_hash(n, piece.data) != piece.hash:
            raise Corrupt(hash=stat.hash, why=f"piece {n} is missing or differs from what was stored")
        found += piece.data
    part = bytes(found[offset - first * piece_bytes : end - first * piece_bytes])
    if len(part) != end - offset:
        raise Corrupt(hash=stat.hash, why=f"of the bytes from {offset} to {end} some are missing")
    return part


def _check_whole(stat: Stat, digest: bytes) -> None:
    if name_of(digest) != stat.hash:
        raise Corrupt(hash=stat.hash, why=f"its bytes are those of {name_of(digest)}")


def check_size(what: str, size: int, limit: int) -> None:
    """Refuse what is above a limit; `size` may be what was counted so far."""
    if size > limit:
        raise ObjectTooLarge(what=what, size=size, limit=limit)


def check_quota(owner: str, asked: int, used: int, limit: int) -> None:
    """Refuse what does not fit beside what the owner has."""
    if used + asked > limit:
        raise QuotaExceeded(owner=owner, asked=asked, used=used, limit=limit)


def check_owner(owner: str | None, policy: ObjectsPolicy) -> None:
    """Refuse a text that cannot name an owner; None is the node itself."""
    if owner is not None:
        _check_label("an owner", owner, policy.label_chars_max)


def held_by_object(holder: str, policy: ObjectsPolicy) -> bytes | None:
    """The digest of a holder that is itself an object; None for any other good holder."""
    _check_label("what points to an object", holder, policy.label_chars_max)
    return digest_of(holder) if holder.startswith(_HASH_PREFIX) else None


def _check_label(what: str, text: str, limit: int) -> None:
    if not 0 < len(text) <= limit:
        raise BadLabel(what=what, why=f"it must have 1 to {limit} characters")
    if not text.isprintable():  # this also keeps out what PostgreSQL cannot hold: NUL and lone surrogates
        raise BadLabel(what=what, why="it has non-printable characters")


def check_signature(scheme: Scheme, public: bytes, digest: bytes, signature: bytes) -> None:
    """Raise `BadSignature` unless the signature is by this key over this digest."""
    if len(public) != 32 or len(signature) != 64:
        raise BadSignature(scheme=scheme.value)
    if scheme is Scheme.ED25519:
        verify_ed25519(public, digest, signature)
    else:
        verify_bip340(public, digest, signature)


def within_bytes(sizes: Iterable[int], limit: int) -> int:
    """How many of these, from the first on, stay within the limit together; the first always does."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > limit:
            break
        count += 1
    return count
