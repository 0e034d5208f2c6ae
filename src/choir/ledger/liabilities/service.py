"""Publishing what the node owes, and proving to somebody that what it owes them is part of it.

Guarantees: a snapshot tells of the journal as it was after a number of entries that a checkpoint was signed over; there
is one for each number. What it counts and all that it does not count add up to zero, asset by asset, or it is not
published. The same journal and key give the same note, word for word; after a change of keys, a number that the former
key may have signed for is left alone. Entries are posted meanwhile: no transaction is open while this computes.

One at a time: whoever makes a snapshot holds a lock of the database on one connection, and writes through that
connection alone. A process that was killed or cut off holds nothing and can write nothing any more, and what it left is
forgotten by whoever begins next.

Other services never commit. `Liabilities.publish` does, several times: it takes long, and a transaction that is open
for minutes would keep the database from cleaning up behind everybody else. So a background task calls it, and no door.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import TypeVar
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.foundation.signing import NodeSecret
from choir.ledger import queries
from choir.ledger.checkpoints import Checkpoints, SignedCheckpoint
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities import rules, store
from choir.ledger.liabilities.count import Step, count, go_on
from choir.ledger.liabilities.model import (
    NoLongerKept,
    NothingPublished,
    Proof,
    PublicationRequest,
    Snapshot,
    WaitsForAnEntry,
)
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.liabilities.proof import Prover
from choir.ledger.notes import Checkpoint, KeyRotation, sign_note
from choir.ledger.policy import LedgerPolicy
from choir.storage.database import Database, Tx, translated_errors
from choir.storage.tasks import failures, hasten

T = TypeVar("T")
Write = Callable[[], AbstractContextManager[Tx]]

PUBLISH = "ledger.liabilities"  # the background task

_BATCH_TILES = 64  # of 12 KB
_TRY_S = 0.1  # between two tries to be alone


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

    # Publishing

    def ask(self, tx: Tx) -> Snapshot | PublicationRequest:
        """The snapshot of all entries so far; if there is none, one is made now, or after the one under way."""
        size = queries.head(tx).seq
        known = store.of_size(tx, size)
        if known is not None:
            return known
        self._leave_to_former_keys(tx, size)
        before = failures(tx, PUBLISH)
        hasten(tx, PUBLISH, self._clock.now_us())
        return PublicationRequest(size, before.last_error)

    def made_since(self, tx: Tx, asked: PublicationRequest) -> Snapshot | None:
        """What was asked for, or something newer, once it is there."""
        found = store.latest(tx)
        return None if found is None or found.size < asked.size else found

    def failure(self, tx: Tx) -> str | None:
        """Why the last try failed, if one did since somebody asked."""
        found = failures(tx, PUBLISH)
        return found.last_error if found.attempts else None

    def publish(self, step: Step = go_on) -> tuple[Snapshot, bool]:
        """Say what is owed after all entries so far; whether that is new. With no new entry, it is the last one.

        Waits for whoever is counting already. `step` is called now and then; what it raises ends this.
        """
        with self._alone(step) as write:
            with write() as tx:
                store.forget_unfinished(tx)
            with write() as tx:
                checkpoint = self._checkpoints.sign(tx)
                known = store.of_size(tx, checkpoint.size)
                if known is None:
                    self._leave_to_former_keys(tx, checkpoint.size)
            return (known, False) if known is not None else (self._make(write, checkpoint, step), True)

    def _make(self, write: Write, checkpoint: SignedCheckpoint, step: Step) -> Snapshot:
        id_, secret = uuid7(self._clock.now_us(), 0, self._entropy.bytes(6)), self._secret(checkpoint)
        planters = count(self._database.unit_of_work, checkpoint.size, secret, step)
        totals = []
        with write() as tx:
            store.begin(tx, id_)
        for asset in sorted(planters):
            _keep(write, id_, asset, planters[asset], step)
            totals.append(planters.pop(asset).asset_total(asset))
        journal = Checkpoint(self._keys.origin, checkpoint.size, checkpoint.root)
        text = LiabilitiesNote(journal, tuple(totals)).text()
        with write() as tx:
            self._leave_to_former_keys(tx, checkpoint.size)  # the key may have changed since it hid the leaves
            note = sign_note(text, self._keys.origin, [self._keys.signer(tx)])
            snapshot = Snapshot(id_, checkpoint.size, self._clock.now_us(), note, checkpoint.note, secret)
            new = store.insert(tx, snapshot)
            assert new, "somebody else made one, although nobody else may"
            store.finish(tx, id_)
            for old in store.too_old(tx, self._policy.liabilities_kept):
                store.forget(tx, old)
        return snapshot

    def _leave_to_former_keys(self, tx: Tx, size: int) -> None:
        """Raise if a key before this one may have signed for so many entries: that note could not be made again, and
        a second one that differs would look like cheating. When keys changed is signed and in every export."""
        rotation = self._keys.current(tx).rotation
        if rotation is not None and size <= KeyRotation.parse(rotation.rpartition("\n\n")[0] + "\n").size:
            raise WaitsForAnEntry(size=size)

    def _secret(self, checkpoint: SignedCheckpoint) -> bytes:
        """What hides the leaves. It follows from the node's key and the journal, so that a node which lost a snapshot,
        by restoring a backup, makes the same one again instead of a second note for one size."""
        return self._load_secret().derive(f"liabilities {self._keys.origin} {checkpoint.size} {checkpoint.root.hex()}")

    @contextmanager
    def _alone(self, step: Step) -> Iterator[Write]:
        """Nobody else makes a snapshot meanwhile. Everything is written through the connection that has the lock: if
        that is lost, so is the right to write, and no clock has to be trusted for it."""
        with translated_errors():
            connection = self._database.dedicated()
            try:
                store.notice_absence(Tx(connection))
                while not store.try_alone(Tx(connection)):
                    step()
                    time.sleep(_TRY_S)

                @contextmanager
                def write() -> Iterator[Tx]:
                    with connection.transaction():
                        yield Tx(connection)

                yield write
            finally:
                connection.close()

    # Reading

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
        prover = Prover(tx, snapshot, note)
        found = [prover.prove(id_, name) for owner in sorted(owners) for id_, name in store.accounts_of(tx, owner)]
        accounts = tuple(each for each in found if each is not None)
        return Proof(snapshot, self._checkpoints.rotations(tx), accounts)

    def rotations(self, tx: Tx) -> list[str]:
        """How the node's keys followed one another, for whoever trusts an earlier one."""
        return self._checkpoints.rotations(tx)


def note_of(snapshot: Snapshot) -> LiabilitiesNote:
    """What a snapshot says."""
    return LiabilitiesNote.inside(snapshot.note)


def _keep(write: Write, id_: UUID, asset: str, planter: rules.Planter, step: Step) -> None:
    for tiles in _batches(planter.tiles()):
        step()
        with write() as tx:
            store.put_tiles(tx, id_, asset, tiles)
    for pages in _batches(planter.pages()):
        step()
        with write() as tx:
            store.put_pages(tx, id_, asset, pages)


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, _BATCH_TILES)):
        yield batch
