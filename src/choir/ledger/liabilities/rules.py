"""What counts as owed, how it is split and hidden among the leaves, and how a proof is checked.

**Owed** is what people and agents have, in whatever role, and what is held for them: a hold's money belongs to its
payer until it is captured. What the treasury, the node itself and the outside world have is not owed to anybody here.

**Hiding.** A sum tree shows the sums beside the way of a leaf, and the lowest of them is a single other leaf. So an
amount is split into four random shares, and there are four trees, one for each share of everybody, each in a random
order of its own. Below the four roots no sum covers more than one share of anybody, and nothing tells which leaves of
two trees belong to the same account. Order, shares and salts follow from a secret of the snapshot.

Guarantees: a leaf commits to its account's name, to all that is owed on it and to its share, under a salt: nobody can
be given another's leaf, and nobody can guess whose a leaf is. A proof is checked against the signed note alone.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise

from choir.ledger.liabilities import tree
from choir.ledger.liabilities.model import Leaf, Owed, OwedProof, TooManyAccounts
from choir.ledger.liabilities.note import AssetTotal, LiabilitiesNote
from choir.ledger.merkle import BadProof
from choir.ledger.model import account_name

SHARES = 4
SALT_BYTES = 16
SECRET_BYTES = 32
OWED_KINDS = ("agent", "person")
ACCOUNTS_MAX = 2**32 - 1  # of one asset: a place in a tree is kept in 32 bits

_PAGE_ROWS = 256
_NUMBERS = struct.Struct(">4Q3Q")  # a place in each order; where the amount is cut
_ROW = struct.Struct(">qq16s4I")  # account, balance, held, the place of each share
_WHAT = "liabilities"


def is_owed(owner_kind: str) -> bool:
    return owner_kind in OWED_KINDS


def leaf_node(owed: Owed, share: int, amount: int, salt: bytes) -> bytes:
    """A leaf of the tree of this share."""
    numbers = b"".join([bytes([share]), *(each.to_bytes(tree.SUM_BYTES) for each in (amount, owed.balance, owed.held))])
    preimage = b"".join((b"\x00choir-liability-v1", salt, numbers, owed.account.encode()))
    return tree.node(amount, hashlib.sha256(preimage).digest())


def split(secret: bytes, owed: Owed) -> tuple[tuple[int, ...], list[int], list[bytes]]:
    """For each share of an account: what it is ordered by, its amount, its salt."""
    name = owed.account.encode()
    numbers = _NUMBERS.unpack(hashlib.blake2b(name, digest_size=_NUMBERS.size, key=secret, person=b"order").digest())
    end = owed.amount + 1
    cuts = [0, *sorted(number * end >> 64 for number in numbers[SHARES:]), owed.amount]
    amounts = [high - low for low, high in pairwise(cuts)]
    salts = hashlib.blake2b(name, digest_size=SHARES * SALT_BYTES, key=secret, person=b"salts").digest()
    return (
        numbers[:SHARES],
        amounts,
        [salts[at : at + SALT_BYTES] for at in range(0, len(salts), SALT_BYTES)],
    )


class Planter:
    """Makes the trees of one asset from its accounts, given one by one in the order of their ids.

    It takes about 400 bytes for each account: leaves can only be put in their order when all of them are known.
    """

    def __init__(self, secret: bytes) -> None:
        assert len(secret) == SECRET_BYTES
        self._secret = secret
        self._rows = bytearray()
        self._leaves = [bytearray() for _ in range(SHARES)]
        self._order_keys = [array("Q") for _ in range(SHARES)]
        self._places: list[array[int]] = []
        self._roots: list[bytes] = []
        self.accounts = 0
        self.total = 0

    def add(self, account: int, owed: Owed) -> None:
        """Count what is owed on an account; one on which nothing is owed has no leaf."""
        if not owed.amount:
            return
        if self.accounts == ACCOUNTS_MAX:
            raise TooManyAccounts(limit=ACCOUNTS_MAX)
        order_keys, amounts, salts = split(self._secret, owed)
        for share in range(SHARES):
            self._leaves[share] += leaf_node(owed, share, amounts[share], salts[share])
            self._order_keys[share].append(order_keys[share])
        self._rows += _ROW.pack(account, owed.balance, owed.held.to_bytes(tree.SUM_BYTES), 0, 0, 0, 0)
        self.accounts += 1
        self.total += owed.amount

    def tiles(self) -> Iterator[tuple[int, int, int, bytes]]:
        """Put everything in its order, and give share, level, number and nodes of each tile to keep."""
        for share in range(SHARES):
            tile = b""
            for level, n, tile in tree.tiles(self._in_order(share)):
                yield share, level, n, tile
            self._roots.append(tree.root_of(tile))

    def _in_order(self, share: int) -> bytearray:
        """The leaves of a share's tree in their order; where each account's is, is remembered."""
        keys, leaves, size = self._order_keys[share], self._leaves[share], tree.NODE_BYTES
        places = array("I", bytes(4 * self.accounts))
        row = bytearray(len(leaves))
        for place, n in enumerate(sorted(range(self.accounts), key=keys.__getitem__)):
            places[n] = place
            row[place * size : (place + 1) * size] = leaves[n * size : (n + 1) * size]
        leaves.clear()
        self._places.append(places)
        return row

    def pages(self) -> Iterator[tuple[int, bytes]]:
        """After the tiles: where each account's shares are; the first account of each page, and its rows."""
        for first in range(0, self.accounts, _PAGE_ROWS):
            rows = []
            for n in range(first, min(first + _PAGE_ROWS, self.accounts)):
                account, balance, held, *_ = _ROW.unpack_from(self._rows, n * _ROW.size)
                rows.append(_ROW.pack(account, balance, held, *(places[n] for places in self._places)))
            yield _ROW.unpack(rows[0])[0], b"".join(rows)

    def asset_total(self, asset: str) -> AssetTotal:
        """After the tiles: what the note says about this asset."""
        root = tree.root_of(b"".join(self._roots))
        assert tree.sum_of(root) == self.total
        return AssetTotal(asset, self.accounts, self.total, tree.hash_of(root))


def find_row(page: bytes, account: int) -> tuple[int, int, Sequence[int]] | None:
    """An account on a page: its balance, what is held, the place of each share."""
    for id_, balance, held, *places in _ROW.iter_unpack(page):
        if id_ == account:
            return balance, int.from_bytes(held), places
    return None


def leaves_of(secret: bytes, owed: Owed, places: Sequence[int]) -> list[Leaf]:
    """The leaves of an account, one for each share."""
    _, amounts, salts = split(secret, owed)
    return [Leaf(*each) for each in zip(amounts, salts, places, strict=True)]


def beside_roots(share: int, roots: Sequence[bytes]) -> list[bytes]:
    """The nodes beside the way from the root of a share's tree to the root of all."""
    row = b"".join(roots)
    return tree.path(share, SHARES, lambda _level, _n: row)


def check(proof: OwedProof, note: LiabilitiesNote) -> None:
    """Raise unless all that is owed on the account is part of the total that the note tells of its asset."""
    owed = proof.owed
    name = account_name(owed.account)
    total = note.of(name.asset.name)
    if not is_owed(name.owner_kind):
        raise BadProof(what=_WHAT, why=f"{owed.account} is not an account with liabilities")
    if total is None:
        raise BadProof(what=_WHAT, why=f"the note does not list {name.asset.name}")
    if not _in_range(owed.balance) or not _in_range(owed.held):
        raise BadProof(what=_WHAT, why="an amount is out of range")
    if len(proof.shares) != SHARES or sum(share.leaf.amount for share in proof.shares) != owed.amount:
        raise BadProof(what=_WHAT, why=f"the {SHARES} shares do not add up to the liability on {owed.account}")
    for share in range(SHARES):
        if _root_from(proof, share, total.accounts) != tree.node(total.total, total.root):
            raise BadProof(what=_WHAT, why=f"share {share} of {owed.account} leads to another root or total")


def _root_from(proof: OwedProof, share: int, accounts: int) -> bytes:
    """The root of all that a share leads to: through its own tree, then over the four."""
    leaf, beside = proof.shares[share].leaf, proof.shares[share].beside
    if len(leaf.salt) != SALT_BYTES or not _in_range(leaf.amount):
        raise BadProof(what=_WHAT, why="a salt or an amount is out of range")
    if any(len(item) != tree.NODE_BYTES for item in beside):
        raise BadProof(what=_WHAT, why=f"a node in it does not have {tree.NODE_BYTES} bytes")
    if not 0 <= leaf.index < accounts:
        raise BadProof(what=_WHAT, why=f"a tree of {accounts} leaves has no leaf {leaf.index}")
    lower = tree.path_length(leaf.index, accounts)
    node = leaf_node(proof.owed, share, leaf.amount, leaf.salt)
    root = tree.climb(leaf.index, accounts, node, beside[:lower])
    return tree.climb(share, SHARES, root, beside[lower:])


def _in_range(amount: int) -> bool:
    return 0 <= amount < tree.SUM_END
