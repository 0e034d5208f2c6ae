"""Making proofs of what was owed to somebody from what is kept of a snapshot.

Guarantees: nothing is computed but the leaves of whoever asks; a proof reads a handful of rows at any size.
"""

from __future__ import annotations

from choir.ledger.liabilities import rules, store, tree
from choir.ledger.liabilities.model import Leaf, NoLongerKept, Owed, OwedProof, Share, Snapshot
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.model import account_name
from choir.storage.database import Tx


class Prover:
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
