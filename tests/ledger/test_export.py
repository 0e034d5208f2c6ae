"""Exports: complete, byte-exact, verifiable by anyone, and loaded again without losing a bit."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from choir.foundation.canonical import canonical_bytes
from choir.foundation.signing import NodeSecret
from choir.ledger import holds, queries
from choir.ledger.checkpoints import Tree
from choir.ledger.export_file import BadExport
from choir.ledger.exporter import TRAILER_DOMAIN
from choir.ledger.importer import ExportDoesNotVerify, LedgerNotEmpty, import_export
from choir.ledger.keys import NotTheNodeKey
from choir.ledger.model import Leg
from choir.ledger.notes import VerifierKey
from choir.ledger.streams import silent
from choir.ledger.verification import Report, verify_export
from choir.storage.database import Database
from tests.conftest import DatabaseFactory
from tests.ledger.books import ALICE, ALICE_SAT, BOB, CAROL, ISSUANCE, SECRET, Books, check_export, draft, moved

SECOND = NodeSecret(b"\x08" * 32)


def found_lines(report: Report) -> list[str]:
    return [difference.where for difference in report.differences if difference.where.startswith("line ")]


@pytest.fixture
def small(empty_books: Books) -> Books:
    """Few lines, so that every byte of them can be tried."""
    empty_books.open(ISSUANCE, ALICE)
    empty_books.fund(ALICE, 5)
    empty_books.fund(ALICE, 7)
    return empty_books


@pytest.fixture
def rich(books: Books) -> Books:
    """Everything that an export can hold."""
    books.fund(ALICE, 1000)
    books.change("freeze", CAROL)
    books.fund(ALICE_SAT, 2**62)
    books.change("unfreeze", CAROL)
    books.post(
        replace(draft('Ünïcode 😀 \x01\x7f"\\', Leg(ALICE, BOB, 1), Leg(ALICE, BOB, 2)), memo="a secret", refs=("a",))
    )
    done = books.place(ALICE, 50, key="done", captures=3)
    account = books.hold(done).account
    books.post(holds.capture(done, (Leg(account, BOB, 5),), final=False, reason="r", source="test", key="c1"))
    books.clock.advance(1)
    with books.tx() as tx:
        size = queries.head(tx).seq
        books.keys.rotate(tx, SECOND.signer(), size, Tree(tx).root(size))
    books.secret = SECOND
    books.post(holds.capture(done, (Leg(account, BOB, 5),), reason="r", source="test", key="c2"))
    books.place(ALICE, 70, key="open", captures=3)
    part = books.place(ALICE, 70, key="part", captures=3, seconds=5)
    inside = books.hold(part).account
    books.post(holds.capture(part, (Leg(inside, BOB, 5),), final=False, reason="r", source="test", key="c3"))
    books.change("freeze", BOB)
    books.change("close", CAROL)
    books.clock.advance(10)
    return books


def test_an_export_verifies_with_no_database(rich: Books) -> None:
    data = rich.export()
    report = check_export(data)
    assert report.good, report.differences
    with rich.tx() as tx:
        head = queries.head(tx)
        assert (report.entries, report.accounts, report.root) == (head.seq, 7, Tree(tx).root(head.seq))
    assert report.key == str(VerifierKey(rich.keys.origin, SECOND.signer().public))
    assert b"a secret" not in data


def test_the_same_ledger_gives_the_same_bytes(rich: Books) -> None:
    first = rich.export()
    rich.clock.advance(60)
    assert rich.export() == first


def test_an_empty_ledger_can_be_exported(empty_books: Books) -> None:
    report = check_export(empty_books.export())
    assert report.good
    assert (report.entries, report.accounts) == (0, 0)


def test_every_line_is_canonical_json(rich: Books) -> None:
    lines = rich.export().splitlines(keepends=True)
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == [
        "header", "rotation", *["account"] * 7, "entry", "account", "entry", "account", *["entry"] * 7,
        "account", "account", "trailer",
    ]  # fmt: skip
    assert all(canonical_bytes(json.loads(line)) + b"\n" == line for line in lines)


def test_a_changed_byte_anywhere_is_found_with_its_line(small: Books) -> None:
    data = small.export()
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        report = check_export(changed)
        assert found_lines(report), (place, data[max(0, place - 30) : place + 10], report.differences)
        line = 1 + data[:place].count(b"\n")
        assert min(int(where.split()[1]) for where in found_lines(report)) >= line


def test_a_high_bit_anywhere_is_found_too(small: Books) -> None:
    data = small.export()
    for place in range(0, len(data), 3):
        for bit in (0x80, 0x20, 0x10):
            changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            assert found_lines(check_export(changed)), (place, bit)


def test_the_trailers_signature_has_one_form_only(small: Books) -> None:
    """Base64 that decodes to the same bytes is still another file."""
    lines = small.export().splitlines(keepends=True)
    trailer = json.loads(lines[-1])
    signature = trailer["signature"]
    assert signature.endswith("==")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = letters[letters.index(signature[-3]) ^ 1]
    assert base64.b64decode(signature[:-3] + other + "==") == base64.b64decode(signature)
    trailer["signature"] = signature[:-3] + other + "=="
    report = check_export(b"".join(lines[:-1]) + canonical_bytes(trailer) + b"\n")
    assert found_lines(report) == [f"line {len(lines)}"]


def variants(lines: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    for n in range(len(lines)):
        yield f"dropped {n + 1}", lines[:n] + lines[n + 1 :]
        yield f"doubled {n + 1}", lines[: n + 1] + lines[n:]
        if n:
            yield f"swapped {n + 1}", [*lines[: n - 1], lines[n], lines[n - 1], *lines[n + 1 :]]
        yield f"cut {n + 1}", [*lines[:n], lines[n][:-1]]
        yield f"ended before {n + 1}", lines[:n]
        yield f"blank before {n + 1}", [*lines[:n], b"\n", *lines[n:]]
    yield "followed by more", [*lines, lines[-1]]
    yield "followed by blank", [*lines, b"\n"]


def test_dropped_doubled_swapped_and_cut_lines_are_found(rich: Books) -> None:
    lines = rich.export().splitlines(keepends=True)
    for name, changed in variants(lines):
        report = check_export(b"".join(changed))
        assert found_lines(report), name


def resigned(lines: list[bytes], secret: NodeSecret) -> bytes:
    """The trailer made to fit the lines before it, by somebody who has the key."""
    import hashlib

    body = b"".join(lines[:-1])
    trailer = json.loads(lines[-1])
    trailer |= {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    del trailer["signature"]
    signature = secret.signer().sign(TRAILER_DOMAIN + canonical_bytes(trailer))
    return body + canonical_bytes(trailer | {"signature": base64.b64encode(signature).decode()}) + b"\n"


def test_even_who_has_the_key_cannot_make_a_changed_line_pass(rich: Books) -> None:
    lines = rich.export().splitlines(keepends=True)
    assert check_export(resigned(lines, SECOND)).good
    for n in range(1, len(lines) - 1):
        value = json.loads(lines[n])
        for name in value:
            changed = dict(value)
            if isinstance(value[name], int):
                changed[name] += 1
            elif name == "content":
                changed["content"] = value["content"] | {"reason": "another"}
            elif name != "type":
                changed[name] = value[name][:-1] + ("0" if value[name][-1] != "0" else "1")
            else:
                continue
            bad = [*lines[:n], canonical_bytes(changed) + b"\n", *lines[n + 1 :]]
            report = check_export(resigned(bad, SECOND))
            assert found_lines(report), (n + 1, name)
    for n in range(1, len(lines) - 1):
        for bad in ([*lines[:n], *lines[n + 1 :]], [*lines[: n + 1], *lines[n:]]):
            assert not check_export(resigned(bad, SECOND)).good, n + 1


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (0, {"type": "header"}),
        (0, []),
        (0, "header"),
        (0, None),
        (0, {"format": "choir-ledger-export/2", "key": "k", "origin": "o", "type": "header"}),
        (3, {"type": "entry"}),
        (3, {"type": ["entry"]}),
        (3, {"type": "other"}),
    ],
)
def test_lines_of_other_shapes_are_named(small: Books, line: int, value: object) -> None:
    lines = small.export().splitlines(keepends=True)
    lines[line] = canonical_bytes(value) + b"\n"
    assert found_lines(check_export(b"".join(lines)))[0] == f"line {line + 1}"


@pytest.mark.parametrize("data", [b"", b"\n", b"\0", b"{}", b"{}\n", b"[" * 5000 + b"\n", b"\xff\xfe\n", b"null\n"])
def test_what_is_no_export_is_said_to_be_none(data: bytes) -> None:
    assert found_lines(check_export(data)) == ["line 1"]


def test_a_trusted_key_that_did_not_sign_is_missed(small: Books) -> None:
    mine = VerifierKey(small.keys.origin, SECRET.signer().public)
    other = VerifierKey(small.keys.origin, SECOND.signer().public)
    data = small.export()
    assert verify_export(io.BytesIO(data), trusted=mine).good
    assert not verify_export(io.BytesIO(data), trusted=other).good


def test_a_fork_is_exposed_by_an_earlier_checkpoint(databases: DatabaseFactory, small: Books) -> None:
    held = small.checkpoint().note
    small.fund(ALICE, 9)
    assert check_export(small.export(), held=[held]).good
    with other_books(databases) as forked:
        with psycopg.connect(databases.server.dsn("choir_owner", forked.name), autocommit=True) as owner:
            owner.execute("update node set origin = %s", [small.keys.origin])
        fork = Books(forked.database).sign_from_now()
        fork.open(ISSUANCE, ALICE)
        for amount in (5, 8, 9):  # the second payment was 7 in the history that was shown before
            fork.fund(ALICE, amount)
        data = fork.export()
    assert check_export(data).good, "by itself the other history is in order"
    (difference,) = check_export(data, held=[held]).differences
    assert difference.where == "entry 2"
    assert "forked" in difference.what


def test_a_missing_end_is_exposed_by_a_later_checkpoint(small: Books) -> None:
    early = small.export()
    small.fund(ALICE, 9)
    later = small.checkpoint().note
    assert check_export(early).good, "only who holds a later checkpoint can know"
    (difference,) = check_export(early, held=[later]).differences
    assert "the end is missing" in difference.what


def test_another_account_history_is_exposed_by_an_earlier_checkpoint(databases: DatabaseFactory, small: Books) -> None:
    small.change("freeze", ALICE)
    held = small.checkpoint().note
    small.change("unfreeze", ALICE)
    assert check_export(small.export(), held=[held]).good
    with other_books(databases) as forked:
        with psycopg.connect(databases.server.dsn("choir_owner", forked.name), autocommit=True) as owner:
            owner.execute("update node set origin = %s", [small.keys.origin])
        fork = Books(forked.database).sign_from_now()
        fork.open(ISSUANCE, ALICE)
        for amount in (5, 7):
            fork.fund(ALICE, amount)
        fork.open(BOB)  # in the history that was shown before, Alice was frozen here
        data = fork.export()
        assert check_export(data).good, "by itself the other history is in order"
        differences = check_export(data, held=[held]).differences
    assert any("account history was forked" in difference.what for difference in differences)


def test_a_missing_end_of_the_account_history_is_exposed_by_a_later_checkpoint(small: Books) -> None:
    early = small.export()
    small.change("freeze", ALICE)
    later = small.checkpoint().note
    assert check_export(early).good
    (difference,) = check_export(early, held=[later]).differences
    assert "the end of the account history is missing" in difference.what


def test_a_held_checkpoint_of_somebody_else_is_a_difference(small: Books) -> None:
    held = small.checkpoint().note
    data = small.export()
    for wrong in (held.replace("\n2\n", "\n3\n"), "nonsense", held[:-2]):
        report = check_export(data, held=[wrong])
        assert [difference.where for difference in report.differences] == ["the checkpoint you hold"]


class other_books:  # noqa: N801 - reads as a phrase
    """A second, empty database."""

    def __init__(self, databases: DatabaseFactory) -> None:
        self._databases = databases

    def __enter__(self) -> other_books:
        self.name = self._databases.make()
        self.database = Database(self._databases.server.dsn("choir_app", self.name), wait_s=30).open()
        self.books = Books(self.database, seed=2)
        return self

    def __exit__(self, *_: object) -> None:
        self.books.close()
        self.database.close()
        self._databases.drop(self.name)

    def load(self, data: bytes, folder: Path, secret: NodeSecret) -> Books:
        path = folder / "export.jsonl"
        path.write_bytes(data)
        with psycopg.connect(self._databases.server.dsn("choir_owner", self.name), autocommit=True) as owner:
            import_export(owner, path, secret.signer(), silent)
        return Books(self.database, secret=secret, seed=3)


def test_an_import_gives_the_same_bytes_and_the_ledger_goes_on(
    databases: DatabaseFactory, rich: Books, tmp_path: Path
) -> None:
    data = rich.export()
    with other_books(databases) as other:
        copy = other.load(data, tmp_path, SECOND)
        copy.clock.at_us = rich.clock.at_us
        assert copy.export() == data
        copy.check()
        for name in (ALICE, BOB, ALICE_SAT, ISSUANCE):
            assert copy.balance(name) == rich.balance(name)
        for key in ("done", "open", "part"):
            id_ = holds.placed_id("test", key)
            assert copy.hold(id_) == rich.hold(id_)
        again = copy.post(moved(f"fund {ALICE} 1000", ISSUANCE, ALICE, 1000))[0]
        assert (again.seq, again.again) == (1, True)
        copy.post(holds.expire(holds.placed_id("test", "part")))
        copy.place(ALICE, 1, key="new")
        copy.open("person:new/available/CREDIT")
        copy.check()
        assert check_export(copy.export(), held=[json.loads(data.splitlines()[-1])["checkpoint"]]).good
        copy.close()


def test_an_import_after_the_first_start_needs_the_same_first_key(
    databases: DatabaseFactory, small: Books, tmp_path: Path
) -> None:
    data = small.export()
    with other_books(databases) as other:
        other.books.secret = SECOND
        other.books.sign_from_now()
        with pytest.raises(LedgerNotEmpty):
            other.load(data, tmp_path, SECRET)
        with other.books.tx() as tx:
            assert tx.value("select count(*) from entries") == 0


def test_an_import_into_a_used_ledger_is_refused(databases: DatabaseFactory, small: Books, tmp_path: Path) -> None:
    with other_books(databases) as other:
        other.books.open(ALICE)
        with pytest.raises(LedgerNotEmpty):
            other.load(small.export(), tmp_path, SECRET)


def test_an_import_needs_the_key_that_signs_now(databases: DatabaseFactory, rich: Books, tmp_path: Path) -> None:
    with other_books(databases) as other, pytest.raises(NotTheNodeKey):
        other.load(rich.export(), tmp_path, SECRET)


def test_nothing_of_a_bad_file_is_imported(databases: DatabaseFactory, small: Books, tmp_path: Path) -> None:
    data = small.export()
    with other_books(databases) as other:
        with pytest.raises(ExportDoesNotVerify):
            other.load(data.replace(b'"5"', b'"6"', 1), tmp_path, SECRET)
        with other.books.tx() as tx:
            assert tx.value("select count(*) from accounts") == 0
        other.load(data, tmp_path, SECRET).check()


def test_a_bad_export_says_its_line() -> None:
    assert "Line 3" in str(BadExport(line=3, why="it is cut"))
