"""What tests of liabilities share: a town of people who are owed something, and how they check it."""

from __future__ import annotations

from dataclasses import replace

from choir.doors.liabilities import proof as sdk_owed
from choir.doors.liabilities import routes as door
from choir.foundation.clock import SeededEntropy
from choir.ledger import holds
from choir.ledger.liabilities.model import Proof, Snapshot
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.liabilities.service import Liabilities, note_of
from choir.ledger.model import Leg
from choir.ledger.notes import VerifierKey
from tests.ledger.books import ALICE, BOB, BOB_SAT, CAROL, Books, moved

TREASURY = "treasury:main/pool/CREDIT"
AGENT = "agent:a1/available/CREDIT"
STAKE = "person:bob/stake/CREDIT"
OWNERS = ("person:alice", "person:bob", "person:carol", "agent:a1")


def make(books: Books, seed: int = 5, kept: int = 12) -> Liabilities:
    policy = replace(books.policy, liabilities_kept=kept)
    entropy = SeededEntropy(seed)
    return Liabilities(
        books.database, books.keys, books.checkpoints, books.clock, entropy, policy, lambda: books.secret
    )


def prove(books: Books, service: Liabilities, owner: str, size: int | None = None) -> Proof:
    with books.tx() as tx:
        return service.prove(tx, [owner], size)


def check(books: Books, proof: Proof) -> LiabilitiesNote:
    """As whoever gets it would, by the SDK's own check."""
    return sdk_owed.check_proof(door.proof(proof), VerifierKey(books.keys.origin, books.load_signer().public))


def told(proof: Proof) -> dict[str, tuple[int, int]]:
    return {each.owed.account: (each.owed.balance, each.owed.held) for each in proof.accounts}


def totals(snapshot: Snapshot) -> dict[str, int]:
    return {item.asset: item.total for item in note_of(snapshot).totals}


def settle(books: Books) -> Books:
    """People, an agent and the treasury; holds of all of them, some over, some open."""
    books.open(TREASURY, AGENT, STAKE)
    books.fund(ALICE, 10_000)
    books.fund(BOB_SAT, 77)
    books.fund(TREASURY, 5_000)
    books.post(moved("a", ALICE, BOB, 900), moved("b", ALICE, AGENT, 300), moved("c", BOB, STAKE, 50))
    done = books.place(ALICE, 1_000, key="done")
    books.post(holds.capture(done, (Leg(books.hold(done).account, CAROL, 400),), reason="r", source="t", key="k"))
    parts = books.place(ALICE, 600, key="parts", captures=3)
    account = books.hold(parts).account
    books.post(holds.capture(parts, (Leg(account, BOB, 100),), final=False, reason="r", source="t", key="part"))
    books.place(ALICE, 200, key="another")
    books.place(TREASURY, 700, key="treasury's")
    return books
