"""The Merkle tree over the journal: RFC 6962 hashing, RFC 9162 proofs.

Pure functions over 32-byte hashes. Proofs are built from hashes of complete subtrees only, which
never change once they exist: node (level, index) covers the leaves [index << level, (index + 1) << level),
level 0 being the leaves. Storage gives them through a `read` function and may keep them as it likes.

Guarantees: a verification returns nothing or raises `BadProof`, which says what does not fit; a proof
has exactly one valid form, so a missing, added or changed hash is refused. A proof binds a leaf to a
root; that a root belongs to a size is what the signed checkpoint says, and only it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from choir.foundation.errors import Broken, Invalid

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()

ReadNode = Callable[[int, int], bytes]  # (level, index) of a complete subtree -> its hash


class BadProof(Broken):
    """A proof that does not lead to the root it was given for."""

    code = "ledger.proof.bad"
    sentence = "The {what} proof does not verify: {why}."


class NoProof(Invalid):
    """A question about leaves or sizes for which no proof can exist."""

    code = "ledger.proof.none"
    sentence = "There is no {what} proof for this: {why}."


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf; the prefix keeps a leaf from passing as a node (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: all that is needed to append and to know the root.

    It holds one hash per set bit of the size, largest subtree first, so it stays below 64 hashes.
    """

    __slots__ = ("_hashes", "_size")

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        if size < 0 or len(hashes) != size.bit_count() or any(len(item) != HASH_BYTES for item in hashes):
            raise Invalid(what="Merkle frontier", why=f"a tree of {size} leaves has one hash per set bit of its size")
        self._size = size
        self._hashes = list(hashes)

    @classmethod
    def load(cls, size: int, read: ReadNode) -> Frontier:
        """The frontier of a stored tree."""
        levels = [level for level in reversed(range(size.bit_length())) if size >> level & 1]
        return cls(size, [read(level, (size >> level) - 1) for level in levels])

    @property
    def size(self) -> int:
        return self._size

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """What to keep in order to make this frontier again."""
        return tuple(self._hashes)

    def append(self, leaf: bytes) -> list[bytes]:
        """Add a leaf hash. Returns the complete subtrees that it closes, the leaf itself first.

        The one at place `level` of that list is node (level, (size >> level) - 1) of the grown tree.
        """
        closed = [leaf]
        rest = self._size
        while rest & 1:
            closed.append(node_hash(self._hashes.pop(), closed[-1]))
            rest >>= 1
        self._hashes.append(closed[-1])
        self._size += 1
        return closed

    def root(self) -> bytes:
        """The root of the tree as it is now."""
        if not self._hashes:
            return EMPTY_ROOT
        root = self._hashes[-1]
        for left in reversed(self._hashes[:-1]):
            root = node_hash(left, root)
        return root


def subtree_hash(start: int, end: int, read: ReadNode) -> bytes:
    """The hash over the leaves [start, end), which must be a subtree of some larger tree.

    That is so when `start` is a multiple of the smallest power of two that is not below the count.
    """
    count = end - start
    if start < 0 or count < 1 or start % (1 << (count - 1).bit_length()):
        raise NoProof(what="subtree", why=f"the leaves from {start} up to {end} are not one subtree")
    level = count.bit_length() - 1
    if count == 1 << level:
        return read(level, start >> level)
    middle = start + (1 << level)
    return node_hash(read(level, start >> level), subtree_hash(middle, end, read))


def tree_root(size: int, read: ReadNode) -> bytes:
    """The root of the first `size` leaves."""
    return subtree_hash(0, size, read) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, read: ReadNode) -> list[bytes]:
    """The hashes that lead from a leaf to the root of the first `size` leaves, the lowest first."""
    if not 0 <= index < size:
        raise NoProof(what="inclusion", why=f"a tree of {size} leaves has no leaf {index}")
    proof: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = _split(start, end)
        if index < middle:
            proof.append(subtree_hash(middle, end, read))
            end = middle
        else:
            proof.append(subtree_hash(start, middle, read))
            start = middle
    return proof[::-1]


def consistency_proof(size1: int, size2: int, read: ReadNode) -> list[bytes]:
    """The hashes that show the tree of `size2` leaves to begin with the tree of `size1` leaves."""
    if not 0 < size1 <= size2:
        raise NoProof(what="consistency", why=f"sizes must be positive and not shrink, these are {size1} and {size2}")
    proof: list[bytes] = []
    start, end = 0, size2
    while end != size1:
        middle = _split(start, end)
        if size1 <= middle:
            proof.append(subtree_hash(middle, end, read))
            end = middle
        else:
            proof.append(subtree_hash(start, middle, read))
            start = middle
    if start:  # else what is left is the whole old tree, whose root the verifier has
        proof.append(subtree_hash(start, end, read))
    return proof[::-1]


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Raise unless the leaf hash is at this index below this root (RFC 9162, section 2.1.3.2)."""
    what = "inclusion"
    if not 0 <= index < size:
        raise BadProof(what=what, why=f"a tree of {size} leaves has no leaf {index}")
    _check_hashes(what, [leaf, root, *proof])
    place, last, computed = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise BadProof(what=what, why=f"it has {len(proof)} hashes, more than leaf {index} of {size} needs")
        if place & 1 or place == last:
            computed = node_hash(sibling, computed)
            place, last = _skip_lone_levels(place, last)
        else:
            computed = node_hash(computed, sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise BadProof(what=what, why=f"it has {len(proof)} hashes, fewer than leaf {index} of {size} needs")
    if computed != root:
        raise BadProof(what=what, why=f"it leads to the root {computed.hex()}, not to {root.hex()}")


def verify_consistency(size1: int, size2: int, root1: bytes, root2: bytes, proof: Sequence[bytes]) -> None:
    """Raise unless the second tree begins with the first one (RFC 9162, section 2.1.4.2).

    An empty first tree is refused: everything begins with it, so there is nothing to prove.
    """
    what = "consistency"
    if not 0 < size1 <= size2:
        raise BadProof(what=what, why=f"sizes must be positive and not shrink, these are {size1} and {size2}")
    if size1 == size2:
        if root1 != root2:
            raise BadProof(what=what, why=f"two trees of {size1} leaves have different roots")
        if proof:
            raise BadProof(what=what, why="trees of equal size need no hashes")
        return
    _check_hashes(what, [root1, root2, *proof])
    old, new = _consistency_roots(size1, size2, root1, proof)
    if old != root1:
        raise BadProof(what=what, why=f"it leads to the old root {old.hex()}, not to {root1.hex()}")
    if new != root2:
        raise BadProof(what=what, why=f"it leads to the new root {new.hex()}, not to {root2.hex()}")


def _consistency_roots(size1: int, size2: int, root1: bytes, proof: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The old and the new root that the proof's hashes lead to."""
    counts = f"it has {len(proof)} hashes, {{}} than from {size1} to {size2} needs"
    path = [root1, *proof] if size1.bit_count() == 1 else list(proof)  # a full old tree is its own first hash
    if not path:
        raise BadProof(what="consistency", why=counts.format("fewer"))
    place, last = size1 - 1, size2 - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise BadProof(what="consistency", why=counts.format("more"))
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            place, last = _skip_lone_levels(place, last)
        else:
            new = node_hash(new, sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise BadProof(what="consistency", why=counts.format("fewer"))
    return old, new


def _skip_lone_levels(place: int, last: int) -> tuple[int, int]:
    """Climb over the levels at which the last node has no sibling."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last


def _split(start: int, end: int) -> int:
    """Where RFC 6962 divides a subtree: after the largest power of two below its count."""
    return start + (1 << ((end - start - 1).bit_length() - 1))


def _check_hashes(what: str, hashes: Sequence[bytes]) -> None:
    for item in hashes:
        if len(item) != HASH_BYTES:
            raise BadProof(what=what, why=f"a hash in it has {len(item)} bytes instead of {HASH_BYTES}")
