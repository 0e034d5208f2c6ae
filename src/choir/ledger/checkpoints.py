"""The journal as a Merkle log: tiles, signed checkpoints, proofs.

Guarantees: a checkpoint commits to every entry up to its size and to every account act so far; an
inclusion proof shows that an entry
is under it, a consistency proof that a later checkpoint only added to it. Complete tiles of 256
hashes are kept, so a proof reads a handful of rows at any size; posting an entry costs nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from choir.foundation.clock import Clock
from choir.foundation.errors import Broken, NotFound
from choir.foundation.signing import Ed25519Signer
from choir.ledger import hashing, merkle, queries
from choir.ledger.keys import NodeKeys
from choir.ledger.model import Entry
from choir.ledger.notes import Checkpoint, NoteUnsigned, VerifierKey, open_note, sign_note
from choir.storage.database import Tx

_TILE_BITS = 8
_TILE = 1 << _TILE_BITS
_HASH = 32
_LEVELS = 8  # 64 bits of entries in steps of 8


class NoCheckpoint(NotFound):
    """A proof was asked for under a checkpoint that does not exist."""

    code = "ledger.checkpoint.unknown"
    sentence = "There is no checkpoint that covers {what}."
    hint = "Sign one with `choir ledger checkpoint`."


class JournalGap(Broken):
    """Entries that must be there are not."""

    code = "ledger.journal.gap"
    sentence = "Some entries between {first} and {last} are missing."
    hint = "`choir ledger verify` lists them."


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint as it was published."""

    size: int
    root: bytes
    acts: int
    acts_hash: bytes
    at_us: int
    note: str


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Everything a verifier needs to know that an entry is in the journal."""

    entry: Entry
    proof: list[bytes]
    checkpoint: SignedCheckpoint
    rotations: list[str]


class Tree:
    """The stored Merkle tree, read through one transaction."""

    def __init__(self, tx: Tx, *, stored: int = _LEVELS) -> None:
        self._tx = tx
        self._stored = stored  # only tiles below this level are believed; the others are computed
        self._tiles: dict[tuple[int, int], bytes | None] = {}

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree."""
        tile_level, height = divmod(level, _TILE_BITS)
        return _fold(self.row(tile_level, index << height, 1 << height))

    def root(self, size: int) -> bytes:
        return merkle.tree_root(size, self.node)

    def row(self, tile_level: int, first: int, count: int) -> list[bytes]:
        """Neighbouring hashes of height 8 * tile_level."""
        tile = self._tile(tile_level, first >> _TILE_BITS) if tile_level < self._stored else None
        if tile is not None:
            start = first % _TILE * _HASH
            return [tile[at : at + _HASH] for at in range(start, start + count * _HASH, _HASH)]
        if tile_level == 0:
            return leaf_hashes(self._tx, first, count)
        return [self._tile_root(tile_level - 1, first + offset) for offset in range(count)]

    def _tile_root(self, tile_level: int, n: int) -> bytes:
        return _fold(self.row(tile_level, n << _TILE_BITS, _TILE))

    def _tile(self, tile_level: int, n: int) -> bytes | None:
        key = (tile_level, n)
        if key not in self._tiles:
            self._tiles[key] = self._tx.value("select hashes from merkle_tiles where level = %s and n = %s", *key)
        return self._tiles[key]


class Checkpoints:
    """Signing checkpoints and making proofs under them."""

    def __init__(self, keys: NodeKeys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._compare: Callable[[Tx], None] = lambda _: None

    def compare_first(self, compare: Callable[[Tx], None]) -> None:
        """Let this look at the journal before anything is signed; it raises where the journal lost what was published.

        A database can go back while the node runs. Signing then would show two histories.
        """
        self._compare = compare

    def keep_tiles(self, tx: Tx, tiles_max: int = 256) -> bool:
        """Store complete tiles that are not stored yet, lowest first; says whether more are left."""
        size = queries.head(tx).seq
        left = tiles_max
        level = 0
        while size >> _TILE_BITS:
            size >>= _TILE_BITS  # complete tiles of this level
            done = tx.value("select coalesce(max(n) + 1, 0) from merkle_tiles where level = %s", level)
            for n in range(done, min(size, done + left)):
                _keep_tile(tx, level, n)
            left -= max(0, min(size - done, left))
            if left == 0:
                return True
            level += 1
        return False

    def sign(self, tx: Tx) -> SignedCheckpoint:
        """A checkpoint over everything so far; the last one if there is no new entry, act or key."""
        head = queries.head(tx)  # one row: entries and acts of one moment
        signer = self._keys.signer(tx)
        last = self.latest(tx)
        if last is not None and (last.size, last.acts) == (head.seq, head.acts) and self._is_by(last, signer):
            return last
        self._compare(tx)
        root = Tree(tx).root(head.seq)
        at_us = self._clock.now_us()
        checkpoint = Checkpoint(self._keys.origin, head.seq, root, head.acts, head.acts_hash)
        note = sign_note(checkpoint.text(), self._keys.origin, [signer])
        tx.run(
            "insert into checkpoints (size, root, acts, acts_hash, at_us, note) values (%s, %s, %s, %s, %s, %s)",
            head.seq, root, head.acts, head.acts_hash, at_us, note,
        )  # fmt: skip
        return SignedCheckpoint(head.seq, root, head.acts, head.acts_hash, at_us, note)

    def latest(self, tx: Tx) -> SignedCheckpoint | None:
        """The one that covers most: of two that sign at once, the one that looked earlier may write later."""
        return tx.one_or_none(
            SignedCheckpoint,
            "select size, root, acts, acts_hash, at_us, note from checkpoints"
            " order by size desc, acts desc, n desc limit 1",
        )

    def _is_by(self, checkpoint: SignedCheckpoint, signer: Ed25519Signer) -> bool:
        try:
            open_note(checkpoint.note, [VerifierKey(self._keys.origin, signer.public)])
        except NoteUnsigned:
            return False
        return True

    def at_least(self, tx: Tx, size: int, what: str) -> SignedCheckpoint:
        """The first checkpoint with at least this many entries."""
        found = tx.one_or_none(
            SignedCheckpoint,
            "select size, root, acts, acts_hash, at_us, note from checkpoints where size >= %s"
            " order by size, acts desc, n desc limit 1",
            size,
        )
        if found is None:
            raise NoCheckpoint(what=what)
        return found

    def exactly(self, tx: Tx, size: int) -> SignedCheckpoint:
        """The checkpoint of this size."""
        found = self.at_least(tx, size, f"{size} entries")
        if found.size != size:
            raise NoCheckpoint(what=f"exactly {size} entries")
        return found

    def prove(self, tx: Tx, entry: Entry) -> InclusionProof:
        """That an entry is under the latest checkpoint that covers it."""
        checkpoint = self.latest(tx)
        if checkpoint is None or checkpoint.size < entry.seq:
            raise NoCheckpoint(what=f"entry {entry.seq}")
        proof = merkle.inclusion_proof(entry.seq - 1, checkpoint.size, Tree(tx).node)
        return InclusionProof(entry, proof, checkpoint, self.rotations(tx))

    def prove_consistency(self, tx: Tx, size1: int, size2: int) -> list[bytes]:
        """That the tree of size2 begins with the tree of size1."""
        if size2 > queries.head(tx).seq:
            raise NoCheckpoint(what=f"{size2} entries")
        return merkle.consistency_proof(size1, size2, Tree(tx).node)

    def rotations(self, tx: Tx) -> list[str]:
        return [key.rotation for key in self._keys.history(tx) if key.rotation is not None]


def what_differs(tx: Tx, checkpoint: Checkpoint) -> str | None:
    """What keeps this journal from being one that grew out of the checkpoint's; nothing if it is."""
    head = queries.head(tx)
    if checkpoint.size > head.seq:
        return "the end of history is missing"
    if Tree(tx).root(checkpoint.size) != checkpoint.root:
        return "history was changed"
    if checkpoint.acts is None:
        return None
    if checkpoint.acts > head.acts:
        return "the end of the account history is missing"
    return None if _acts_are_kept(tx, checkpoint.acts, checkpoint) else "account history was changed"


def _acts_are_kept(tx: Tx, acts: int, checkpoint: Checkpoint) -> bool:
    """The checkpoint's last act is still there, and the next one came no earlier than the checkpoint."""
    query = "select after_seq, hash from account_acts where n = %s"
    last, following = tx.row(query, acts) or (0, hashing.ZERO_HASH), tx.row(query, acts + 1)
    if following is not None and following[0] < checkpoint.size:
        return False
    return bool(last[0] <= checkpoint.size and last[1] == checkpoint.acts_hash)


def leaf_hashes(tx: Tx, first: int, count: int) -> list[bytes]:
    """The Merkle leaves of the entries first+1 to first+count, computed from the journal."""
    rows = tx.rows(
        "select seq, id, at_us, content, hash from entries where seq between %s and %s order by seq",
        first,
        first + count,
    )
    prev = hashing.ZERO_HASH
    leaves: list[bytes] = []
    for seq, id_, at_us, content, hash_ in rows:
        if seq > first:
            leaves.append(hashing.leaf_hash(prev, seq, at_us, id_, hashing.content_digest(content)))
        prev = hash_
    if len(leaves) != count:
        raise JournalGap(first=first + 1, last=first + count)
    return leaves


def _keep_tile(tx: Tx, level: int, n: int) -> None:
    hashes = Tree(tx).row(level, n << _TILE_BITS, _TILE)
    tx.run(
        "insert into merkle_tiles (level, n, hashes) values (%s, %s, %s) on conflict do nothing",
        level,
        n,
        b"".join(hashes),
    )


def _fold(hashes: list[bytes]) -> bytes:
    """The root over a power of two of neighbouring hashes."""
    while len(hashes) > 1:
        hashes = [merkle.node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]
