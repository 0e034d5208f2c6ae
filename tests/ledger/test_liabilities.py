"""Publishing what is owed, on a real database and while entries are posted; and proving it to who is owed."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest

from choir.doors.liabilities import routes as door
from choir.ledger import holds, queries
from choir.ledger.checkpoints import Tree
from choir.ledger.claims import Claims
from choir.ledger.liabilities import rules
from choir.ledger.liabilities.count import count
from choir.ledger.liabilities.model import NoLongerKept, NotAllCounted, NothingPublished, Snapshot
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.liabilities.service import note_of
from choir.ledger.merkle import EMPTY_ROOT
from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from tests.auditor.verifier import audit
from tests.ledger.books import ALICE, ALICE_SAT, BOB, BOB_SAT, CAROL, ISSUANCE, Books, check_export, moved
from tests.ledger.owing import AGENT, OWNERS, STAKE, TREASURY, check, make, prove, told, totals


def test_all_that_people_and_agents_have_and_nothing_else_is_owed(town: Books) -> None:
    service = make(town)
    snapshot, new = service.publish()
    assert new
    assert totals(snapshot) == {"CREDIT": 10_000, "SAT": 77}
    assert [(item.asset, item.accounts) for item in note_of(snapshot).totals] == [("CREDIT", 5), ("SAT", 1)]
    assert told(prove(town, service, "person:alice")) == {ALICE: (10_000 - 900 - 300 - 400 - 800, 500 + 200)}
    assert told(prove(town, service, "person:bob")) == {BOB: (950, 0), BOB_SAT: (77, 0), STAKE: (50, 0)}
    assert told(prove(town, service, "agent:a1")) == {AGENT: (300, 0)}
    for owner in OWNERS:
        assert check(town, prove(town, service, owner)) == note_of(snapshot)


def test_a_claim_is_owed_and_audited_like_anything_else(town: Books, tmp_path: Path) -> None:
    claims = Claims(town.ledger, town.accounts)
    town.change("freeze", ALICE)
    with town.tx() as tx:
        places = claims.payable(tx, [ALICE, BOB, TREASURY], reason="a test", source="test")
        assert places == {ALICE: "person:alice/claim/CREDIT", BOB: BOB, TREASURY: TREASURY}
        assert claims.takeable(tx, ALICE) == {places[ALICE]: 0}
    town.post(moved("owed", BOB, places[ALICE], 150))
    service = make(town)
    snapshot, _ = service.publish()
    assert totals(snapshot) == {"CREDIT": 10_000, "SAT": 77}
    assert told(prove(town, service, "person:alice"))[places[ALICE]] == (150, 0)
    town.check()
    town.sign_from_now()
    assert audit(tmp_path, town.export()).code == 0
    assert check_export(town.export()).good


def test_the_totals_are_those_of_the_trial_balance(town: Books) -> None:
    snapshot, _ = make(town).publish()
    with town.tx() as tx:
        lines = {(line.asset, line.role): line.balance for line in queries.trial_balance(tx)}
    roles = [lines["CREDIT", role] for role in ("available", "stake", "escrow")]
    assert totals(snapshot) == {"CREDIT": sum(roles) - 700, "SAT": lines["SAT", "available"]}  # the treasury's hold


def test_the_note_is_bound_to_the_checkpoint(town: Books) -> None:
    snapshot, _ = make(town).publish()
    key = VerifierKey(town.keys.origin, town.load_signer().public)
    assert LiabilitiesNote.parse(open_note(snapshot.note, [key]).text) == note_of(snapshot)
    journal = Checkpoint.parse(open_note(snapshot.checkpoint, [key]).text)
    with town.tx() as tx:
        assert note_of(snapshot).journal.root == journal.root == Tree(tx).root(snapshot.size)
        assert snapshot.size == journal.size == queries.head(tx).seq


def test_there_is_one_for_each_size(town: Books) -> None:
    service = make(town)
    first, _ = service.publish()
    assert make(town, seed=6).publish() == (first, False)
    town.fund(CAROL, 5)
    second, new = service.publish()
    assert new
    assert second.size == first.size + 1
    with town.tx() as tx:
        assert service.latest(tx) == second
        assert service.of_size(tx, first.size) == first
        with pytest.raises(NothingPublished):
            service.of_size(tx, first.size + 7)
    assert told(prove(town, service, "person:carol")) == {CAROL: (405, 0)}
    earlier = prove(town, service, "person:carol", first.size)
    assert told(earlier) == {CAROL: (400, 0)}
    assert check(town, earlier).journal.size == first.size


def test_one_that_was_lost_is_made_again_word_for_word(town: Books, superuser_dsn: str) -> None:
    """Else an honest node that restored a backup would seem to say different things to different people."""
    before, _ = make(town).publish()
    proof = door.proof(prove(town, make(town), "person:bob"))
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute("drop trigger append_only on liability_snapshots")
        db.execute("delete from liability_snapshots; delete from liability_tiles; delete from liability_pages")
    again, new = make(town, seed=9).publish()
    assert new
    assert (again.note, again.checkpoint) == (before.note, before.checkpoint)
    assert door.proof(prove(town, make(town), "person:bob")) == proof
    town.fund(CAROL, 1)
    later, _ = make(town).publish()
    assert later.secret != again.secret


def test_a_hold_that_ended_since_is_still_told_as_it_was(town: Books) -> None:
    with town.tx() as tx:
        checkpoint = town.checkpoints.sign(tx)
    parts = holds.placed_id("test", "parts")
    town.post(holds.release(parts, reason="r", source="t", key="over"))
    planters = count(town.database.unit_of_work, checkpoint.size, b"\x01" * 32)
    assert {asset: planter.total for asset, planter in planters.items()} == {"CREDIT": 10_000, "SAT": 77}
    with town.tx() as tx:
        held = {name: queries.held_at_seq(tx, name, checkpoint.size) for name in (ALICE, BOB, TREASURY)}
        assert held == {ALICE: 700, BOB: 0, TREASURY: 700}
        assert queries.held_at_seq(tx, ALICE, checkpoint.size + 1) == 200


def test_entries_go_on_meanwhile(town: Books) -> None:
    """Every total is that of the entries up to its number, whatever is posted while it is counted."""
    stop = threading.Event()
    failed: list[BaseException] = []

    def work(who: int) -> None:
        try:
            n = 0
            while not stop.is_set():
                town.submitter.submit(moved(f"w{who} {n}", ISSUANCE, CAROL, 3))
                town.submitter.submit(moved(f"v{who} {n}", CAROL, BOB, 2))
                held = holds.place(
                    CAROL, 1, expires_us=town.clock.at_us + 10**9, reason="r", source="t", key=f"h{who} {n}"
                )
                town.submitter.submit(held)
                n += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    service = make(town)
    snapshots = []
    for _ in range(6):
        snapshot, _new = service.publish()
        snapshots.append(snapshot)
        for owner in OWNERS:
            assert check(town, prove(town, service, owner, snapshot.size)).journal.size == snapshot.size
    stop.set()
    for thread in threads:
        thread.join(20)
    assert not failed
    assert len({snapshot.size for snapshot in snapshots}) > 1
    for snapshot in snapshots:
        with town.tx() as tx:
            expected = tx.value(
                "select sum(p.delta) from postings p join accounts a on a.id = p.account where p.seq <= %s"
                " and a.name like '%%/CREDIT' and a.name not like 'system%%' and a.name not like 'treasury%%'",
                snapshot.size,
            )
        assert totals(snapshot)["CREDIT"] == expected - 700


def test_two_at_once_publish_one(town: Books) -> None:
    services = [make(town, seed=seed) for seed in range(4)]
    found: list[tuple[Snapshot, bool]] = []
    threads = [threading.Thread(target=lambda each=each: found.append(each.publish())) for each in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 4
    assert len({snapshot.id for snapshot, _ in found}) == 1
    assert [new for _, new in found].count(True) == 1
    with town.tx() as tx:
        for table in ("liability_tiles", "liability_pages"):
            kept = {row[0] for row in tx.rows(f"select distinct snapshot from {table}")}
            assert kept == {found[0][0].id}, table


def test_more_accounts_than_fit_a_tile_or_a_batch(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("choir.ledger.liabilities.count._BATCH_ACCOUNTS", 64)
    names = [f"person:n{n}/available/CREDIT" for n in range(300)]
    books.open(*names)
    books.batch([[moved(f"f{n}", ISSUANCE, name, n * n + 1)] for n, name in enumerate(names)])
    service = make(books)
    snapshot, _ = service.publish()
    assert totals(snapshot) == {"CREDIT": sum(n * n + 1 for n in range(300))}
    assert note_of(snapshot).totals[0].accounts == 300
    for n in (0, 1, 63, 64, 255, 256, 299):
        proof = prove(books, service, f"person:n{n}")
        assert told(proof) == {names[n]: (n * n + 1, 0)}
        check(books, proof)


def test_old_ones_are_forgotten_but_for_their_notes(town: Books) -> None:
    service = make(town, kept=2)
    made = [service.publish()[0]]
    for n in range(2):
        town.fund(CAROL, n + 1)
        made.append(service.publish()[0])
    with pytest.raises(NoLongerKept):
        prove(town, service, "person:bob", made[0].size)
    for each in made[1:]:
        check(town, prove(town, service, "person:bob", each.size))
    with town.tx() as tx:
        assert service.of_size(tx, made[0].size).note == made[0].note


def test_nothing_is_published_that_does_not_add_up(town: Books) -> None:
    service = make(town)
    with town.tx() as tx:
        bob = tx.value("select id from accounts where name = %s", BOB)
        last = queries.head(tx).seq
        tx.run("insert into postings values (%s, %s, 99, -1, 949)", bob, last)  # behind the ledger's back
    with pytest.raises(NotAllCounted, match=r"are 99\.99 and all other accounts -100\.00"):
        service.publish()
    with town.tx() as tx, pytest.raises(NothingPublished):
        service.latest(tx)


def test_an_empty_journal_owes_nothing(empty_books: Books) -> None:
    service = make(empty_books)
    snapshot, _ = service.publish()
    assert note_of(snapshot) == LiabilitiesNote(Checkpoint(empty_books.keys.origin, 0, EMPTY_ROOT), ())
    proof = prove(empty_books, service, "person:alice")
    assert proof.accounts == ()
    check(empty_books, proof)


def test_who_is_owed_nothing_is_told_so(town: Books) -> None:
    service = make(town)
    service.publish()
    town.open(ALICE_SAT, "person:dora/available/CREDIT")
    assert prove(town, service, "person:dora").accounts == ()
    assert prove(town, service, "person:ali").accounts == ()  # no one's name begins as another's


def test_secrets_are_not_shown(town: Books) -> None:
    service = make(town)
    snapshot, _ = service.publish()
    assert len(snapshot.secret) == rules.SECRET_BYTES
    assert repr(snapshot.secret) not in repr(snapshot)
    assert snapshot.secret.hex() not in door.proof(prove(town, service, "person:bob")).model_dump_json()
