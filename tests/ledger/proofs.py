"""Verifying proofs of the journal as RFC 9162 says it: what whoever gets one does, and no node.

A verification returns nothing or raises `BadProof`, which says what does not fit; a missing, added or changed hash is
refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from choir.ledger.merkle import BadProof, node_hash

HASH_BYTES = 32


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf; the prefix keeps a leaf from passing as a node (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x00" + data).digest()


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


def _check_hashes(what: str, hashes: Sequence[bytes]) -> None:
    for item in hashes:
        if len(item) != HASH_BYTES:
            raise BadProof(what=what, why=f"a hash in it has {len(item)} bytes instead of {HASH_BYTES}")
