"""The node's keys: on record from the first to the current, and each handover can be followed."""

from __future__ import annotations

import pytest

from choir.foundation.signing import NodeSecret
from choir.ledger.checkpoints import Tree
from choir.ledger.keys import NotTheNodeKey
from choir.ledger.notes import KeyRotation, NoteForged, NoteUnsigned, VerifierKey, open_note
from tests.ledger.books import ALICE, SECRET, Books, check_export

SECOND, THIRD = NodeSecret(b"\x08" * 32), NodeSecret(b"\x09" * 32)


def rotate(books: Books, to: NodeSecret) -> KeyRotation:
    with books.tx() as tx:
        size = tx.value("select seq from ledger_head")
        rotation = books.keys.rotate(tx, to.signer(), size, Tree(tx).root(size))
    books.secret = to
    return rotation


def test_the_first_key_is_recorded_once(books: Books) -> None:
    with books.tx() as tx:
        books.keys.record_first(tx)
        books.secret = SECOND
        books.keys.record_first(tx)
        (only,) = books.keys.history(tx)
    assert only.vkey == VerifierKey(books.keys.origin, SECRET.signer().public)
    assert only.rotation is None


def test_who_trusted_the_first_key_can_follow_every_rotation(books: Books) -> None:
    books.fund(ALICE, 1)
    rotate(books, SECOND)
    books.clock.advance(1)
    books.fund(ALICE, 2)
    rotate(books, THIRD)
    books.clock.advance(1)
    books.checkpoint()
    with books.tx() as tx:
        history = books.keys.history(tx)
    trusted = VerifierKey(books.keys.origin, SECRET.signer().public)
    for key in history[1:]:
        assert key.rotation is not None
        rotation = KeyRotation.parse(open_note(key.rotation, [trusted]).text)
        assert open_note(key.rotation, [rotation.new]).signers == (rotation.new,)
        assert (rotation.old, rotation.origin) == (trusted, books.keys.origin)
        trusted = rotation.new
    assert trusted.public == THIRD.signer().public
    assert [key.n for key in history] == [1, 2, 3]
    books.check()
    assert check_export(books.export()).key == str(trusted)


def test_a_rotated_key_is_asked_for_again_without_a_restart(books: Books) -> None:
    books.checkpoint()
    other = Books(books.database, clock=books.clock, secret=SECOND)  # another process, which rotates
    other.secret = SECRET
    rotate(other, SECOND)
    with pytest.raises(NotTheNodeKey):
        books.checkpoint()
    books.secret = SECOND
    books.clock.advance(1)
    note = books.checkpoint().note
    assert open_note(note, [VerifierKey(books.keys.origin, SECOND.signer().public)])
    with pytest.raises(NoteUnsigned):
        open_note(note, [VerifierKey(books.keys.origin, SECRET.signer().public)])
    books.check()


def test_nothing_new_is_signed_again_only_with_a_new_key(books: Books) -> None:
    books.fund(ALICE, 1)
    first = books.checkpoint()
    assert books.checkpoint() == first
    books.clock.advance(1)
    rotate(books, SECOND)
    books.clock.advance(1)
    second = books.checkpoint()
    assert (second.size, second.root) == (first.size, first.root)
    assert open_note(second.note, [VerifierKey(books.keys.origin, SECOND.signer().public)])
    assert books.checkpoint() == second


def test_a_rotation_within_one_microsecond_is_noticed(books: Books) -> None:
    books.fund(ALICE, 1)
    books.checkpoint()
    rotate(books, SECOND)
    assert open_note(books.checkpoint().note, [VerifierKey(books.keys.origin, SECOND.signer().public)])
    assert check_export(books.export()).good


def test_a_wrong_key_signs_nothing_and_the_error_names_both_without_secrets(books: Books) -> None:
    books.secret = SECOND
    with pytest.raises(NotTheNodeKey) as found:
        books.checkpoint()
    with books.tx() as tx:
        assert books.checkpoints.latest(tx) is None
        with pytest.raises(NotTheNodeKey):
            books.keys.rotate(tx, THIRD.signer(), 0, bytes(32))
    for secret in (SECRET, SECOND):
        assert secret.secret.hex() not in str(found.value)
        assert secret.derive("signing").hex() not in str(found.value)


def test_a_forged_checkpoint_is_refused(books: Books) -> None:
    books.fund(ALICE, 1)
    note = books.checkpoint().note
    key = VerifierKey(books.keys.origin, SECRET.signer().public)
    with pytest.raises(NoteForged):
        open_note(note.replace("\n1\n", "\n2\n"), [key])


def test_a_key_cannot_hand_over_to_itself_or_come_back(books: Books) -> None:
    rotate(books, SECOND)
    with pytest.raises(Exception, match="key"):
        rotate(books, SECOND)
    with pytest.raises(Exception, match="key"):
        rotate(books, SECRET)
