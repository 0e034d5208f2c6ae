"""Checkpoints and proofs, at sizes around the edges of tiles and with or without stored tiles."""

from __future__ import annotations

import base64
from dataclasses import replace
from itertools import pairwise

import psycopg
import pytest

from choir.ledger import hashing, merkle, queries
from choir.ledger.checkpoints import JournalGap, NoCheckpoint, SignedCheckpoint, Tree, leaf_hashes, what_differs
from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from choir.storage.database import Tx
from tests.ledger.books import ALICE, BOB, ISSUANCE, SECRET, Books, moved
from tests.ledger.proofs import verify_consistency, verify_inclusion

SIZES = (0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513)


def grow(books: Books, size: int) -> None:
    with books.tx() as tx:
        now = queries.head(tx).seq
    if size > now:
        books.batch([[moved(f"k{n}", ISSUANCE, ALICE, 1)] for n in range(now, size)])


def leaves_of(tx: Tx) -> list[bytes]:
    """Merkle leaves by the words of the specification, from what anyone can read."""
    leaves = []
    for seq, id_, at_us, content, hash_ in tx.rows("select seq, id, at_us, content, hash from entries order by seq"):
        prev = tx.value("select hash from entries where seq = %s", seq - 1) or bytes(32)
        assert hashing.entry_hash(prev, seq, at_us, id_, hashing.content_digest(content)) == hash_
        leaves.append(hashing.leaf_hash(prev, seq, at_us, id_, hashing.content_digest(content)))
    return leaves


def root_of(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return merkle.EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return merkle.node_hash(root_of(leaves[:split]), root_of(leaves[split:]))


@pytest.mark.parametrize("tiles", [False, True], ids=["without tiles", "with tiles"])
def test_checkpoints_at_every_edge_prove_every_entry_and_each_other(books: Books, *, tiles: bool) -> None:
    signed: list[SignedCheckpoint] = []
    for size in SIZES:
        grow(books, size)
        with books.tx() as tx:
            if tiles:
                assert books.checkpoints.keep_tiles(tx) is False
            signed.append(books.checkpoints.sign(tx))
            leaves = leaves_of(tx)
            key = VerifierKey(books.keys.origin, SECRET.signer().public)
            checkpoint = Checkpoint.parse(open_note(signed[-1].note, [key]).text)
            assert (checkpoint.size, checkpoint.root) == (size, root_of(leaves))
            tree = Tree(tx)
            for index in range(0, size, 1 if size > 512 or size < 10 else 37):
                proof = merkle.inclusion_proof(index, size, tree.node)
                verify_inclusion(index, size, leaves[index], proof, checkpoint.root)
    with books.tx() as tx:
        for i, earlier in enumerate(signed):
            for later in signed[i:]:
                if earlier.size == 0:
                    continue
                proof = books.checkpoints.prove_consistency(tx, earlier.size, later.size)
                verify_consistency(earlier.size, later.size, earlier.root, later.root, proof)
        expected = {(0, 0), (0, 1)} if tiles else set()
        assert set(tx.rows("select level, n from merkle_tiles")) == expected
    books.check()


def test_a_proof_is_whole_and_for_one_entry_only(books: Books) -> None:
    grow(books, 20)
    books.checkpoint()
    with books.tx() as tx:
        entries = queries.entries(tx)
        proofs = [books.checkpoints.prove(tx, entry) for entry in entries]
    for proof, other in pairwise(proofs):
        one = proof.entry
        leaf = hashing.leaf_hash(one.prev, one.seq, one.at_us, one.id, hashing.content_digest(_content(books, one.seq)))
        verify_inclusion(one.seq - 1, proof.checkpoint.size, leaf, proof.proof, proof.checkpoint.root)
        with pytest.raises(merkle.BadProof):
            verify_inclusion(one.seq - 1, proof.checkpoint.size, leaf, other.proof, proof.checkpoint.root)
        with pytest.raises(merkle.BadProof):
            verify_inclusion(one.seq, proof.checkpoint.size, leaf, proof.proof, proof.checkpoint.root)


def _content(books: Books, seq: int) -> str:
    with books.tx() as tx:
        return str(tx.value("select content from entries where seq = %s", seq))


def test_an_entry_without_a_checkpoint_over_it_has_no_proof_yet(books: Books) -> None:
    grow(books, 2)
    with books.tx() as tx:
        first, second = queries.entries(tx)
        with pytest.raises(NoCheckpoint):
            books.checkpoints.prove(tx, first)
    books.checkpoint()
    grow(books, 3)
    with books.tx() as tx:
        third = queries.entries(tx)[2]
        assert books.checkpoints.prove(tx, second).checkpoint.size == 2
        with pytest.raises(NoCheckpoint):
            books.checkpoints.prove(tx, third)
        with pytest.raises(NoCheckpoint):
            books.checkpoints.at_least(tx, 3, "three entries")
        assert books.checkpoints.at_least(tx, 1, "one entry").size == 2
        with pytest.raises(NoCheckpoint):
            books.checkpoints.prove_consistency(tx, 2, 4)
        with pytest.raises(merkle.NoProof):
            books.checkpoints.prove_consistency(tx, 0, 2)


def test_signing_without_news_gives_the_same_checkpoint(books: Books) -> None:
    grow(books, 3)
    first = books.checkpoint()
    books.clock.advance(60)
    assert books.checkpoint() == first
    grow(books, 4)
    assert books.checkpoint().size == 4


def test_a_checkpoint_commits_to_the_account_acts_of_its_moment(books: Books) -> None:
    grow(books, 3)
    first = books.checkpoint()
    books.change("freeze", BOB)
    second = books.checkpoint()
    assert (second.size, second.root) == (first.size, first.root)
    assert (first.acts, second.acts) == (7, 8)
    assert books.checkpoint() == second
    with books.tx() as tx:
        assert books.checkpoints.latest(tx) == second
        assert books.checkpoints.exactly(tx, 3) == second
        for signed in (first, second):
            hash_ = tx.value("select hash from account_acts where n = %s", signed.acts)
            assert signed.acts_hash == hash_
            line = f"acts {signed.acts} {base64.b64encode(hash_).decode()}"
            assert signed.note.split("\n")[3:5] == [line, ""]
            checkpoint = Checkpoint.parse(signed.note.partition("\n\n")[0] + "\n")
            assert (checkpoint.acts, checkpoint.acts_hash) == (signed.acts, signed.acts_hash)
    books.check()


def test_a_checkpoint_that_saw_fewer_acts_is_not_the_latest(books: Books) -> None:
    """Of two that sign at once, the one that looked earlier may write later."""
    grow(books, 1)
    with books.tx() as slow:
        slow.run("set transaction isolation level repeatable read")
        assert queries.head(slow).acts == 7
        books.change("freeze", BOB)
        newer = books.checkpoint()
        assert books.checkpoints.sign(slow).acts == 7
    with books.tx() as tx:
        assert books.checkpoints.latest(tx) == newer
        assert books.checkpoints.exactly(tx, 1) == newer
    books.check()


def test_what_a_database_lost_or_changed_since_a_checkpoint_is_told(books: Books, superuser_dsn: str) -> None:
    def told(checkpoint: Checkpoint) -> str | None:
        with books.tx() as tx:
            return what_differs(tx, checkpoint)

    grow(books, 4)
    books.change("freeze", BOB)
    grow(books, 6)
    books.change("unfreeze", BOB)
    signed = books.checkpoint()
    now = Checkpoint(books.keys.origin, signed.size, signed.root, signed.acts, signed.acts_hash)
    assert told(now) is None
    grow(books, 8)
    books.change("freeze", BOB)
    assert told(now) is None, "a journal that has grown is fine"
    assert told(replace(now, acts=None, acts_hash=b"")) is None
    assert told(replace(now, size=9)) == "the end of history is missing"
    assert told(replace(now, root=bytes(32))) == "history was changed"
    assert told(replace(now, acts=11)) == "the end of the account history is missing"
    assert told(replace(now, acts_hash=bytes(32))) == "account history was changed"
    assert told(replace(now, acts=0, acts_hash=bytes(32))) == "account history was changed"
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("drop trigger append_only on account_acts")
        superuser.execute("update account_acts set after_seq = 5 where n = 10")
        assert told(now) == "account history was changed", "the act after it was dated back"
        superuser.execute("update account_acts set after_seq = 8 where n = 10")
        assert told(now) is None
        superuser.execute("update account_acts set after_seq = 7 where n = 9")
        assert told(now) == "account history was changed"
        superuser.execute("delete from account_acts where n = 9")
        assert told(now) == "account history was changed"


def test_the_latest_checkpoint_is_the_largest_whoever_signed_first(books: Books) -> None:
    """Two processes may sign at once, and the one that looked earlier may write later."""
    grow(books, 1)
    with books.tx() as slow:
        slow.run("set transaction isolation level repeatable read")
        assert queries.head(slow).seq == 1
        books.post(moved("more", ISSUANCE, BOB, 1))
        larger = books.checkpoint()
        assert books.checkpoints.sign(slow).size == 1
    with books.tx() as tx:
        assert books.checkpoints.latest(tx) == larger
        assert books.checkpoints.prove(tx, queries.entries(tx)[1]).checkpoint == larger
    books.check()


def test_tiles_are_kept_some_at_a_time_and_levels_above_follow(books: Books, superuser_dsn: str) -> None:
    """65 536 leaves make a tile of the second level; the rows below it are invented to save time."""
    grow(books, 513)
    with books.tx() as tx:
        assert books.checkpoints.keep_tiles(tx, tiles_max=1) is True
        assert tx.rows("select level, n from merkle_tiles") == [(0, 0)]
        assert books.checkpoints.keep_tiles(tx, tiles_max=5) is False
        assert tx.rows("select level, n from merkle_tiles order by 1, 2") == [(0, 0), (0, 1)]
    invented = [bytes([n, level]) * 4096 for level in (0,) for n in range(256)]
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("drop trigger append_only on merkle_tiles")
        superuser.execute("truncate merkle_tiles")
        for n, tile in enumerate(invented):
            superuser.execute("insert into merkle_tiles values (0, %s, %s)", [n, tile])
        superuser.execute("update ledger_head set seq = 65536")
    with books.tx() as tx:
        assert books.checkpoints.keep_tiles(tx) is False
        hashes = [tile[at : at + 32] for tile in invented for at in range(0, 8192, 32)]
        upper = [root_of(hashes[at : at + 256]) for at in range(0, 65536, 256)]
        assert tx.value("select hashes from merkle_tiles where level = 1 and n = 0") == b"".join(upper)
        assert Tree(tx).root(65536) == root_of(upper)
        assert Tree(tx, stored=1).root(65536) == root_of(upper), "computed from the level below"
        assert Tree(tx).node(12, 3) == root_of(upper[48:64])
        for index in (0, 255, 256, 65535):
            proof = merkle.inclusion_proof(index, 65536, Tree(tx).node)
            verify_inclusion(index, 65536, hashes[index], proof, root_of(upper))


def test_leaves_are_computed_from_the_journal_and_a_gap_is_not_papered_over(books: Books, superuser_dsn: str) -> None:
    grow(books, 5)
    with books.tx() as tx:
        assert leaf_hashes(tx, 0, 5) == leaves_of(tx)
        assert leaf_hashes(tx, 2, 2) == leaves_of(tx)[2:4]
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("drop trigger append_only on entries")
        superuser.execute("delete from entries where seq = 3")
    with books.tx() as tx, pytest.raises(JournalGap):
        leaf_hashes(tx, 0, 5)
