"""Sum trees of liabilities in memory, and the proofs that an honest node would give from them."""

from __future__ import annotations

from collections.abc import Sequence

from choir.ledger.liabilities import rules, tree
from choir.ledger.liabilities.model import Owed, OwedProof, Share
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.notes import Checkpoint

JOURNAL = Checkpoint("choir.test", 42, b"\x05" * 32)
SECRET = b"\x09" * rules.SECRET_BYTES


def people(*amounts: int, held: int = 0) -> list[Owed]:
    return [Owed(f"person:p{n}/available/CREDIT", amount, held) for n, amount in enumerate(amounts)]


class Grove:
    """The trees of one asset."""

    def __init__(self, accounts: Sequence[Owed], secret: bytes = SECRET) -> None:
        self.accounts = list(accounts)
        self.secret = secret
        planter = rules.Planter(secret)
        for id_, owed in enumerate(accounts, start=1):
            planter.add(id_, owed)
        self.tiles = {(share, level, n): nodes for share, level, n, nodes in planter.tiles()}
        self.pages = list(planter.pages())
        self.total = planter.asset_total("CREDIT")
        self.note = LiabilitiesNote(JOURNAL, (self.total,))

    @property
    def size(self) -> int:
        return self.total.accounts

    def places(self, owed: Owed) -> Sequence[int]:
        id_ = self.accounts.index(owed) + 1
        page = next(rows for first, rows in reversed(self.pages) if first <= id_)
        found = rules.find_row(page, id_)
        assert found is not None
        assert found[:2] == (owed.balance, owed.held)
        return found[2]

    def root(self, share: int) -> bytes:
        return tree.root_of(self.tiles[share, tree.top_level(self.size), 0])

    def prove(self, owed: Owed) -> OwedProof:
        leaves = rules.leaves_of(self.secret, owed, self.places(owed))
        roots = [self.root(share) for share in range(rules.SHARES)]
        shares = []
        for share, leaf in enumerate(leaves):
            lower = tree.path(leaf.index, self.size, lambda level, n, share=share: self.tiles[share, level, n])  # type: ignore[misc]
            shares.append(Share(leaf, (*lower, *rules.beside_roots(share, roots))))
        return OwedProof(owed, tuple(shares))
