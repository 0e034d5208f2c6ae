"""Publishing what the node owes, and proving to somebody that what it owes them is part of it.

Guarantees: a snapshot tells of the journal as it was after a number of entries that a checkpoint was signed over; there
is one for each number. What it counts and all that it does not count add up to zero, asset by asset, or it is not
published. The same journal and key give the same note, word for word. Entries are posted meanwhile: nothing is locked,
and no transaction is open while this computes. Its cost grows with the accounts and holds, not with the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.foundation.policy import LedgerPolicy
from choir.foundation.signing import NodeSecret
from choir.ledger.checkpoints import Checkpoints, SignedCheckpoint
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities import rules, store, tree
from choir.ledger.liabilities.model import (
    Leaf,
    NoLongerKept,
    NotAllCounted,
    NothingPublished,
    Owed,
    OwedProof,
    Proof,
    Share,
    Snapshot,
)
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.model import account_name
from choir.ledger.notes import Checkpoint, sign_note
from choir.storage.database import Database, Tx

T = TypeVar("T")

_BATCH_ACCOUNTS = 5_000
_BATCH_TILES = 64  # of 12 KB
_UNFINISHED_S = 3600  # a snapshot that was begun longer ago is not being made any more


class Liabilities:
    """Snapshots of what the node owes. Making one takes several transactions, which it owns."""

    def __init__(
        self,
        database: Database,
        keys: NodeKeys,
        checkpoints: Checkpoints,
        clock: Clock,
        entropy: Entropy,
        policy: LedgerPolicy,
        load_secret: Callable[[], NodeSecret],
    ) -> None:
        self._database = database
        self._keys = keys
        self._checkpoints = checkpoints
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._load_secret = load_secret

    def publish(self) -> tuple[Snapshot, bool]:
        """Say what is owed after all entries so far; whether that is new. With no new entry, it is the last one."""
        with self._database.unit_of_work() as tx:
            checkpoint = self._checkpoints.sign(tx)
            known = store.of_size(tx, checkpoint.size)
        if known is not None:
            return known, False
        id_, secret = self._new_id(self._clock.now_us()), self._secret(checkpoint)
        planters = self._count(checkpoint.size, secret)
        totals = []
        for asset in sorted(planters):
            self._keep(id_, asset, planters[asset])
            totals.append(planters.pop(asset).asset_total(asset))
        journal = Checkpoint(self._keys.origin, checkpoint.size, checkpoint.root)
        with self._database.unit_of_work() as tx:
            text = LiabilitiesNote(journal, tuple(totals)).text()
            note = sign_note(text, self._keys.origin, [self._keys.signer(tx)])
            snapshot = Snapshot(id_, checkpoint.size, self._clock.now_us(), note, checkpoint.note, secret)
            new = store.insert(tx, snapshot)
            self._forget(tx, None if new else id_)
            published = store.of_size(tx, checkpoint.size)
            assert published is not None
        return published, new

    def latest(self, tx: Tx) -> Snapshot:
        found = store.latest(tx)
        if found is None:
            raise NothingPublished(when=" yet")
        return found

    def of_size(self, tx: Tx, size: int) -> Snapshot:
        found = store.of_size(tx, size)
        if found is None:
            raise NothingPublished(when=f" after entry {size}")
        return found

    def prove(self, tx: Tx, owners: Iterable[str], size: int | None = None) -> Proof:
        """That everything which is owed to these owners is part of the totals, by the latest snapshot or another."""
        snapshot = self.latest(tx) if size is None else self.of_size(tx, size)
        note = note_of(snapshot)
        if note.totals and not store.is_kept(tx, snapshot.id):
            raise NoLongerKept(size=snapshot.size)
        prover = _Prover(tx, snapshot, note)
        found = [prover.prove(id_, name) for owner in sorted(owners) for id_, name in store.accounts_of(tx, owner)]
        accounts = tuple(each for each in found if each is not None)
        return Proof(snapshot, self._checkpoints.rotations(tx), accounts)

    def rotations(self, tx: Tx) -> list[str]:
        """How the node's keys followed one another, for whoever trusts an earlier one."""
        return self._checkpoints.rotations(tx)

    def _secret(self, checkpoint: SignedCheckpoint) -> bytes:
        """What hides the leaves. It follows from the node's key and the journal, so that a node which lost a snapshot,
        by restoring a backup, makes the same one again instead of a second note for one size."""
        return self._load_secret().derive(f"liabilities {self._keys.origin} {checkpoint.size} {checkpoint.root.hex()}")

    def _count(self, size: int, secret: bytes) -> dict[str, rules.Planter]:
        """Everything that is owed, by asset, and compared with everything that is not."""
        with self._database.unit_of_work() as tx:
            rest = store.rest_by_asset(tx, size)
            held_for = store.held_for(tx, size)
        held: dict[int, int] = {}
        for payer, name, amount in held_for:
            read = account_name(name)
            if rules.is_owed(read.owner_kind):
                held[payer] = amount
            else:
                rest[read.asset.name] = rest.get(read.asset.name, 0) + amount
        planters: dict[str, rules.Planter] = {}
        for id_, name, balance in self._accounts(size):
            asset = name.rpartition("/")[2]
            owed = Owed(name, balance, held.pop(id_, 0))
            if owed.amount:
                planters.setdefault(asset, rules.Planter(secret)).add(id_, owed)
        _check_all_counted({asset: planter.total for asset, planter in planters.items()}, rest)
        return planters

    def _accounts(self, size: int) -> Iterator[tuple[int, str, int]]:
        after = 0
        while True:
            with self._database.unit_of_work() as tx:
                batch = store.owed_accounts(tx, size, after=after, limit=_BATCH_ACCOUNTS)
            yield from batch
            if len(batch) < _BATCH_ACCOUNTS:
                return
            after = batch[-1][0]

    def _keep(self, id_: UUID, asset: str, planter: rules.Planter) -> None:
        for tiles in _batches(planter.tiles()):
            with self._database.unit_of_work() as tx:
                store.put_tiles(tx, id_, asset, tiles)
        for pages in _batches(planter.pages()):
            with self._database.unit_of_work() as tx:
                store.put_pages(tx, id_, asset, pages)

    def _forget(self, tx: Tx, needless: UUID | None) -> None:
        """Drop what nobody proves anything from any more, and what was made although somebody else was earlier."""
        before = self._new_id(self._clock.now_us() - _UNFINISHED_S * MICROSECONDS)
        old = store.to_forget(tx, keep=self._policy.liabilities_kept, unfinished_before=before)
        for each in [*old, needless] if needless else old:
            store.forget(tx, each)

    def _new_id(self, at_us: int) -> UUID:
        return uuid7(at_us, 0, self._entropy.bytes(6))


def note_of(snapshot: Snapshot) -> LiabilitiesNote:
    """What a snapshot says. It is our own, so who signed it is not looked at."""
    return LiabilitiesNote.parse(snapshot.note.rpartition("\n\n")[0] + "\n")


class _Prover:
    """Makes proofs from what is kept of one snapshot."""

    def __init__(self, tx: Tx, snapshot: Snapshot, note: LiabilitiesNote) -> None:
        self._tx = tx
        self._snapshot = snapshot
        self._note = note
        self._tiles: dict[tuple[str, int, int, int], bytes] = {}

    def prove(self, id_: int, name: str) -> OwedProof | None:
        """Nothing where nothing was owed."""
        asset = account_name(name).asset.name
        page = store.page(self._tx, self._snapshot.id, asset, id_)
        row = None if page is None else rules.find_row(page, id_)
        if row is None:
            return None
        balance, held, places = row
        owed = Owed(name, balance, held)
        leaves = rules.leaves_of(self._snapshot.secret, owed, places)
        roots = [self._root(asset, share) for share in range(rules.SHARES)]
        return OwedProof(owed, tuple(self._share(asset, share, leaf, roots) for share, leaf in enumerate(leaves)))

    def _share(self, asset: str, share: int, leaf: Leaf, roots: list[bytes]) -> Share:
        lower = tree.path(leaf.index, self._accounts(asset), lambda level, n: self._tile(asset, share, level, n))
        return Share(leaf, (*lower, *rules.beside_roots(share, roots)))

    def _root(self, asset: str, share: int) -> bytes:
        return tree.root_of(self._tile(asset, share, tree.top_level(self._accounts(asset)), 0))

    def _accounts(self, asset: str) -> int:
        total = self._note.of(asset)
        assert total is not None
        return total.accounts

    def _tile(self, asset: str, share: int, level: int, n: int) -> bytes:
        key = (asset, share, level, n)
        if key not in self._tiles:
            found = store.tile(self._tx, self._snapshot.id, *key)
            if found is None:  # forgotten while this went on
                raise NoLongerKept(size=self._snapshot.size)
            self._tiles[key] = found
        return self._tiles[key]


def _check_all_counted(owed: dict[str, int], rest: dict[str, int]) -> None:
    for asset in sorted({*owed, *rest}):
        if owed.get(asset, 0) + rest.get(asset, 0):
            raise NotAllCounted(asset=asset, owed=str(owed.get(asset, 0)), rest=str(rest.get(asset, 0)))


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, _BATCH_TILES)):
        yield batch
