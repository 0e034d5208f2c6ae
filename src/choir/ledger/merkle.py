"""The Merkle tree over the journal: RFC 6962 hashing, RFC 9162 proofs.

Pure functions over 32-byte hashes. Proofs are built from hashes of complete subtrees only, which
never change once they exist: node (level, index) covers the leaves [index << level, (index + 1) << level),
level 0 being the leaves. Storage gives them through a `read` function and may keep them as it likes.

Guarantees: a proof has exactly one valid form. A proof binds a leaf to a root; that a root belongs to a size is what
the signed checkpoint says, and only it. Whoever gets a proof verifies it (`auditor/`); no node has to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from choir.foundation.errors import Broken, Invalid

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


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees; the prefix keeps a leaf from passing as a node (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: all that is needed to append and to know the root.

    It holds one hash per set bit of the size, largest subtree first, so it stays below 64 hashes.
    """

    __slots__ = ("_hashes", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._hashes: list[bytes] = []

    @property
    def size(self) -> int:
        return self._size

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


def _split(start: int, end: int) -> int:
    """Where RFC 6962 divides a subtree: after the largest power of two below its count."""
    return start + (1 << ((end - start - 1).bit_length() - 1))
