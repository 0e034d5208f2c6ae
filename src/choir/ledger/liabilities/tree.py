"""A Merkle tree that also adds up: a node is a sum of 16 bytes and a hash of 32.

A parent's hash is over both children whole, so over each child's sum on its own. In the tree as it was first proposed
(Maxwell's) it was over their total only, and whoever made the tree could give different people different sums for one
node, each hiding what the others are owed (Hu, Zhang, Guo: Breaking the Binding, eprint 2018/1139).

Guarantees: a sum is in 0 … 2^127-1, whoever made it, so nothing can be negative or wrap around; a path has one valid
form for each place and size; if several leaves lead to one root, their amounts together are at most its sum.

The shape is that of RFC 6962: neighbours are paired level by level, and a last one without a neighbour moves up as it
is. Nodes lie in tiles of up to 256 neighbours, and only every eighth level is kept, as in the journal's own tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

from choir.foundation.errors import Broken
from choir.ledger.merkle import BadProof

SUM_END = 1 << 127
SUM_BYTES = 16
HASH_BYTES = 32
NODE_BYTES = SUM_BYTES + HASH_BYTES

_TILE_BITS = 8
_TILE_BYTES = NODE_BYTES << _TILE_BITS
_PAIR_BYTES = 2 * NODE_BYTES
_WHAT = "liabilities"

ReadTile = Callable[[int, int], bytes]  # (level, n) -> up to 256 neighbouring nodes


class SumOutOfRange(Broken):
    """An amount or a sum that is negative or does not fit."""

    code = "ledger.liabilities.out_of_range"
    sentence = "An amount of liabilities is out of range: it must be between 0 and 2^127-1."


def node(total: int, hash_: bytes) -> bytes:
    """A node as it is hashed and kept."""
    if not 0 <= total < SUM_END:
        raise SumOutOfRange
    return total.to_bytes(SUM_BYTES) + hash_


def sum_of(item: bytes) -> int:
    return int.from_bytes(item[:SUM_BYTES])


def hash_of(item: bytes) -> bytes:
    return item[SUM_BYTES:]


def join(left: bytes, right: bytes) -> bytes:
    """The node above two others."""
    return node(sum_of(left) + sum_of(right), hashlib.sha256(b"\x01" + left + right).digest())


def root_of(row: bytes) -> bytes:
    """The node above all of these."""
    while len(row) > NODE_BYTES:
        row = _halved(row)
    return row


def tiles(leaves: bytes | bytearray) -> Iterator[tuple[int, int, bytes]]:
    """All that is kept of a tree: level, number and nodes of each tile. The root is that of the last one."""
    level = 0
    row = leaves
    while True:
        above = []
        for n, start in enumerate(range(0, len(row), _TILE_BYTES)):
            tile = bytes(row[start : start + _TILE_BYTES])
            yield level, n, tile
            above.append(root_of(tile))
        if len(above) == 1:
            return
        level, row = level + 1, b"".join(above)


def top_level(size: int) -> int:
    """The level of the tile that the root is over."""
    level = 0
    while size > 1 << _TILE_BITS:
        level, size = level + 1, -(-size >> _TILE_BITS)
    return level


def path(index: int, size: int, read: ReadTile) -> list[bytes]:
    """The nodes beside the way from a leaf to the root, the lowest first."""
    found: list[bytes] = []
    level = 0
    while True:
        row, place = read(level, index >> _TILE_BITS), index % (1 << _TILE_BITS)
        while len(row) > NODE_BYTES:
            beside = (place ^ 1) * NODE_BYTES
            if beside < len(row):
                found.append(row[beside : beside + NODE_BYTES])
            row, place = _halved(row), place >> 1
        if size <= 1 << _TILE_BITS:
            return found
        level, index, size = level + 1, index >> _TILE_BITS, -(-size >> _TILE_BITS)


def climb(index: int, size: int, leaf: bytes, beside: Sequence[bytes]) -> bytes:
    """The root that a leaf and the nodes beside its way lead to."""
    if not 0 <= index < size:
        raise BadProof(what=_WHAT, why=f"a tree of {size} leaves has no leaf {index}")
    needed = path_length(index, size)
    if len(beside) != needed:
        raise BadProof(what=_WHAT, why=f"it has {len(beside)} sums where leaf {index} of {size} needs {needed}")
    place, last, found = index, size - 1, leaf
    following = iter(beside)
    while last:
        if place ^ 1 <= last:
            other = next(following)
            found = join(other, found) if place & 1 else join(found, other)
        place, last = place >> 1, last >> 1
    return found


def path_length(index: int, size: int) -> int:
    """How many nodes are beside the way of this leaf."""
    place, last, count = index, size - 1, 0
    while last:
        count += place ^ 1 <= last
        place, last = place >> 1, last >> 1
    return count


def _halved(row: bytes) -> bytes:
    """One level up."""
    paired = len(row) - len(row) % _PAIR_BYTES
    joined = [
        join(row[at : at + NODE_BYTES], row[at + NODE_BYTES : at + _PAIR_BYTES]) for at in range(0, paired, _PAIR_BYTES)
    ]
    return b"".join([*joined, row[paired:]])
