"""What `choir ledger verify` finds of what was published as owed, and that it goes through the journal once."""

from __future__ import annotations

import random
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from psycopg import IsolationLevel

from choir.ledger import holds, queries
from choir.ledger.liabilities import rules, store, verification
from choir.ledger.liabilities.count import Transact, count
from choir.ledger.liabilities.model import Snapshot
from choir.ledger.liabilities.service import note_of
from choir.ledger.model import Leg
from choir.ledger.notes import Checkpoint, sign_note
from choir.ledger.verification import verify_database
from choir.storage.database import Tx
from tests.ledger.books import ALICE, BOB, CAROL, ISSUANCE, Books, moved
from tests.ledger.owing import AGENT, STAKE, TREASURY, make, totals


def after(books: Books, dsn: str, change: str, *values: str) -> list[str]:
    """What verifying finds after a change that is then undone."""
    with psycopg.connect(dsn) as db:
        db.isolation_level = IsolationLevel.REPEATABLE_READ
        db.execute("drop trigger append_only on liability_snapshots")
        db.execute(change, values or None)
        found = [difference.what for difference in verify_database(Tx(db), books.keys).differences]
        db.rollback()
    return found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("note = replace(note, ' 10000 ', ' 9000 ')", "does not match the note's text"),
        ("note = checkpoint", "is not a liabilities note"),
        ("size = size - 1", "of another journal or size"),
    ],
)
def test_a_changed_snapshot_is_found_by_verifying(town: Books, superuser_dsn: str, change: str, why: str) -> None:
    make(town).publish()
    town.fund(CAROL, 5)
    town.check()
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute("drop trigger append_only on liability_snapshots")
        db.execute(f"update liability_snapshots set {change}")
    [found] = town.verify().differences
    assert why in found.what


def test_totals_that_the_node_signed_falsely_are_found_by_verifying(town: Books) -> None:
    snapshot, _ = make(town).publish()
    town.fund(CAROL, 5)
    said = note_of(snapshot)
    lower = replace(said, totals=(replace(said.totals[0], total=9_000), said.totals[1]))
    with town.tx() as tx:
        checkpoint = town.checkpoints.sign(tx)
        lower = replace(lower, journal=Checkpoint(town.keys.origin, checkpoint.size, checkpoint.root))
        note = sign_note(lower.text(), town.keys.origin, [town.load_signer()])
        store.insert(tx, Snapshot(UUID(int=5), checkpoint.size, 0, note, checkpoint.note, b"s" * 32))
    [found] = town.verify().differences
    assert found.what == "its totals are not what the journal gives"


@pytest.mark.parametrize("change", [{"accounts": 6}, {"root": bytes(32)}])
def test_roots_and_numbers_of_accounts_that_were_signed_falsely_are_found(
    town: Books, superuser_dsn: str, change: dict[str, object]
) -> None:
    """Their totals are right, so only who makes the trees anew can tell."""
    honest, _ = make(town).publish()
    said = note_of(honest)
    wrong = replace(said, totals=(replace(said.totals[0], **change), said.totals[1]))  # type: ignore[arg-type]
    note = sign_note(wrong.text(), town.keys.origin, [town.load_signer()])
    found = after(town, superuser_dsn, "update liability_snapshots set note = %s", note)
    assert found == ["its numbers of accounts, totals or roots are not what the journal and its secret give"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("update liability_tiles set nodes = nodes || nodes where asset = 'SAT' and share = 3", "a tile of the tree"),
        (
            "update liability_tiles set nodes = set_byte(nodes, 20, 7) where asset = 'SAT' and share = 0",
            "a tile of the",
        ),
        ("delete from liability_tiles where share = 2 and asset = 'CREDIT'", "a tile of the tree of CREDIT"),
        (
            "insert into liability_tiles select snapshot, asset, 0, 1, 0, nodes from liability_tiles limit 1",
            "a tile of",
        ),
        ("update liability_pages set rows = set_byte(rows, 30, 9) where asset = 'SAT'", "a page of SAT"),
        ("delete from liability_pages", "a page of CREDIT"),
        ("delete from liability_pages; delete from liability_tiles", "a tile of the tree of CREDIT"),
        ("insert into liability_pages select snapshot, 'USDC', first, rows from liability_pages limit 1", "for USDC"),
        ("update liability_snapshots set secret = sha256(secret)", "a tile of the tree of CREDIT"),
    ],
)
def test_whatever_is_changed_in_what_proofs_are_made_from_is_found(
    town: Books, superuser_dsn: str, change: str, what: str
) -> None:
    make(town).publish()
    town.fund(CAROL, 5)
    town.check()
    [found] = after(town, superuser_dsn, change)
    assert what in found


def test_notes_are_gone_through_once_and_only_what_is_kept_is_made_anew(
    town: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make(town, kept=2)
    made = []
    for n in range(5):
        town.fund(CAROL, n + 1)
        made.append(service.publish()[0].size)
    counted: list[int] = []

    def counting(transact: Transact, size: int, secret: bytes) -> dict[str, rules.Planter]:
        counted.append(size)
        return count(transact, size, secret)

    monkeypatch.setattr(verification, "count", counting)
    town.check()
    assert counted == [made[4], made[3]]


_PAYERS = (ALICE, BOB, CAROL, AGENT, STAKE, TREASURY)


class Random:
    """A ledger to which things happen, and what is then owed, by a plain reading of its postings."""

    def __init__(self, books: Books, seed: int) -> None:
        self.books, self.chance = books, random.Random(seed)
        self.open: dict[UUID, str] = {}
        self.n = 0

    def happen(self) -> None:
        self.n += 1
        acts = [self._fund, self._move, self._place, self._place, self._use, self._use]
        self.chance.choice(acts)()

    def _fund(self) -> None:
        self.books.post(moved(f"f{self.n}", ISSUANCE, self.chance.choice(_PAYERS), self.chance.randint(1, 99)))

    def _some(self, name: str) -> int:
        return self.chance.choice([1, self.books.balance(name)])  # often all of it: then only holds are owed

    def _move(self) -> None:
        payer, payee = self.chance.sample(_PAYERS, 2)
        if self.books.balance(payer):
            self.books.post(moved(f"m{self.n}", payer, payee, self._some(payer)))

    def _place(self) -> None:
        payer = self.chance.choice(_PAYERS)
        if self.books.balance(payer):
            self.open[self.books.place(payer, self._some(payer), key=f"h{self.n}", captures=9)] = payer

    def _use(self) -> None:
        if not self.open:
            return
        id_ = self.chance.choice(sorted(self.open))
        hold, payee = self.books.hold(id_), self.chance.choice(_PAYERS)
        leg = Leg(hold.account, payee, self.chance.randint(1, hold.remaining))
        if self.chance.random() < 0.3:
            self.books.post(holds.release(id_, reason="r", source="t", key=f"u{self.n}"))
        else:
            self.books.post(holds.capture(id_, (leg,), final=False, reason="r", source="t", key=f"u{self.n}"))
        if not self.books.hold(id_).remaining:
            del self.open[id_]

    def held(self, tx: Tx, name: str, size: int) -> int:
        return int(tx.value(_HELD_PLAINLY, name, size))

    def had(self, tx: Tx, name: str, size: int) -> int:
        return int(tx.value(_HAD_PLAINLY, name, size))


_HAD_PLAINLY = """
    select coalesce(sum(p.delta), 0) from postings p
        join accounts a on a.id = p.account where a.name = %s and p.seq <= %s
"""
_HELD_PLAINLY = """
    select coalesce(sum(p.delta), 0) from postings p join holds h on h.account = p.account
        join accounts a on a.id = h.payer where a.name = %s and p.seq <= %s
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_happened_what_was_owed_is_what_the_postings_add_up_to(town: Books, seed: int) -> None:
    """Also when it is asked for much later; and the journal agrees, gone through once."""
    happening = Random(town, seed)
    service = make(town)
    published: list[Snapshot] = []
    for _ in range(70):
        happening.happen()
        if happening.chance.random() < 0.12:
            published.append(service.publish()[0])
    assert len({each.size for each in published}) > 3
    with town.tx() as tx:
        for snapshot in published:
            owed = 0
            for name in _PAYERS:
                had, held = happening.had(tx, name, snapshot.size), happening.held(tx, name, snapshot.size)
                assert queries.balance_at_seq(tx, name, snapshot.size) == had
                assert queries.held_at_seq(tx, name, snapshot.size) == held
                owed += 0 if name == TREASURY else had + held
            assert totals(snapshot)["CREDIT"] == owed
    town.check()
