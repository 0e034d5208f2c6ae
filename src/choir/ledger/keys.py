"""The node's signing keys and how one hands over to the next.

Guarantees: every key the ledger was ever signed with is on record, from the first to the current; a
rotation is a note over the tree's size and root, signed by the old and by the new key, so whoever
trusted the old one can follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from choir.foundation.clock import Clock
from choir.foundation.errors import Unavailable
from choir.foundation.signing import Ed25519Signer
from choir.ledger.notes import KeyRotation, VerifierKey, sign_note
from choir.storage.database import Tx


class NotTheNodeKey(Unavailable):
    """The loaded key is not the one the ledger is signed with."""

    code = "ledger.key.mismatch"
    sentence = "The node's key ({loaded}) is not the one this ledger is signed with ({current})."
    hint = "Restore the node's key, or rotate it with `choir key rotate` where the current key is."


@dataclass(frozen=True, slots=True)
class NodeKey:
    """One key on record."""

    n: int
    vkey: VerifierKey
    at_us: int
    rotation: str | None  # the note by which the key before it handed over


class NodeKeys:
    """Signing with the current key."""

    def __init__(self, origin: str, load_signer: Callable[[], Ed25519Signer], clock: Clock) -> None:
        self.origin = origin
        self._load = load_signer
        self._clock = clock
        self._signer: Ed25519Signer | None = None

    def record_first(self, tx: Tx) -> None:
        """Put the first key on record, once."""
        vkey = VerifierKey(self.origin, self._load().public)
        tx.run(
            "insert into node_keys (n, vkey, at_us) values (1, %s, %s) on conflict do nothing",
            str(vkey),
            self._clock.now_us(),
        )

    def history(self, tx: Tx) -> list[NodeKey]:
        """All keys, first to current."""
        rows = tx.rows("select n, vkey, at_us, rotation from node_keys order by n")
        return [NodeKey(n, VerifierKey.parse(vkey), at_us, rotation) for n, vkey, at_us, rotation in rows]

    def current(self, tx: Tx) -> NodeKey:
        return self.history(tx)[-1]

    def signer(self, tx: Tx) -> Ed25519Signer:
        """The current key's signer; asks for the key again if it was rotated meanwhile."""
        current = self.current(tx).vkey
        if self._signer is None or self._signer.public != current.public:
            self._signer = self._load()
        if self._signer.public != current.public:
            loaded = VerifierKey(self.origin, self._signer.public)
            raise NotTheNodeKey(loaded=loaded.hash.hex(), current=current.hash.hex())
        return self._signer

    def rotate(self, tx: Tx, new: Ed25519Signer, size: int, root: bytes) -> KeyRotation:
        """Hand over to a new key at this size of the tree."""
        old = self.signer(tx)
        current = self.current(tx)
        rotation = KeyRotation(self.origin, current.vkey, VerifierKey(self.origin, new.public), size, root)
        note = sign_note(rotation.text(), self.origin, [old, new])
        tx.run(
            "insert into node_keys (n, vkey, at_us, rotation) values (%s, %s, %s, %s)",
            current.n + 1,
            str(rotation.new),
            self._clock.now_us(),
            note,
        )
        return rotation
