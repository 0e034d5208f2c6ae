"""Damage in the tables is noticed before anyone gets a wrong byte, or at the latest before the last one."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import Broken
from choir.objects import rules
from choir.objects.model import Corrupt
from tests.objects.conftest import Store

Tamper = psycopg.Connection[tuple[Any, ...]]
DATA = random.Random(5).randbytes(4096 * 3 + 500)


def read_until_noticed(store: Store, data: bytes = DATA) -> int:
    """How many pieces were handed out before the damage was noticed; all of them were right."""
    name = bytes_hash(data)
    with pytest.raises(Corrupt) as noticed:
        store.get(name)
    assert isinstance(noticed.value, Broken)
    assert noticed.value.code == "objects.corrupt"
    handed_out: list[bytes] = []
    with store.database.unit_of_work() as tx, pytest.raises(Corrupt):
        handed_out.extend(store.objects.open(tx, name))
    return len(handed_out)


@pytest.mark.parametrize(("piece", "at"), [(0, 0), (0, 4095), (1, 17), (3, 499)])
def test_a_flipped_bit_is_noticed_before_its_piece_is_handed_out(
    store: Store, tamper: Tamper, piece: int, at: int
) -> None:
    name = store.put_blob(DATA).hash
    tamper.execute(
        "update object_pieces set data = set_byte(data, %s, get_byte(data, %s) # 1) where n = %s", [at, at, piece]
    )
    with store.database.unit_of_work() as tx:
        chunks = iter(store.objects.open(tx, name))
        for n in range(piece):
            assert next(chunks) == DATA[n * 4096 : (n + 1) * 4096]
        with pytest.raises(Corrupt):
            next(chunks)
    with pytest.raises(Corrupt):
        store.get(name)


@pytest.mark.parametrize(
    ("damage", "handed_out"),
    [
        ("delete from object_pieces where n = 0", 0),
        ("delete from object_pieces where n = 1", 1),
        ("delete from object_pieces where n = 3", 3),
        ("delete from object_pieces", 0),
        ("update object_pieces set hash = sha256('x') where n = 2", 2),
        ("update object_pieces set data = data || '\\x00'::bytea where n = 3", 3),
        ("update object_pieces set n = case n when 1 then 1002 else 1001 end where n in (1, 2);"
         " update object_pieces set n = n - 1000 where n > 1000", 1),
        ("update objects set size = size - 1", 3),
        ("update objects set size = size + 1", 4),  # all right bytes, and the error after them
        ("update objects set size = 0", 0),
    ],
)  # fmt: skip
def test_other_damage_is_noticed(store: Store, tamper: Tamper, damage: str, handed_out: int) -> None:
    store.put_blob(DATA)
    tamper.execute(damage)
    assert read_until_noticed(store) == handed_out


def test_a_piece_replaced_together_with_its_hash_is_noticed_before_the_last_piece(store: Store, tamper: Tamper) -> None:
    store.put_blob(DATA)
    forged = bytes(4096)
    tamper.execute("update object_pieces set data = %s, hash = %s where n = 0", [forged, rules.piece_hash(0, forged)])
    assert read_until_noticed(store) == 3  # nobody gets a whole object that is wrong


def test_a_damaged_atom_is_never_handed_out(store: Store, tamper: Tamper) -> None:
    name = store.put_atom({"amount": "100"}).hash
    forged = b'{"amount":"900"}'
    tamper.execute("update object_pieces set data = %s, hash = %s", [forged, rules.piece_hash(0, forged)])
    with store.database.unit_of_work() as tx:
        for ask in (store.objects.get, store.objects.get_atom):
            with pytest.raises(Corrupt):
                ask(tx, name)


@pytest.mark.parametrize(
    "statement",
    [
        "update object_pieces set data = ''",
        "update objects set digest = sha256('')",
        "update objects set size = 0",
        "update object_signatures set public = ''",
        "delete from object_signatures",
        "delete from object_owners",
        "update object_references set holder = ''",
        "update object_claims set owner = ''",
        "truncate object_pieces",
        "truncate objects cascade",
    ],
)
def test_the_application_role_cannot_change_what_is_stored(store: Store, statement: str) -> None:
    with pytest.raises(pg.InsufficientPrivilege), store.database.unit_of_work() as tx:
        tx.run(statement)


def test_pieces_without_an_object_cannot_be_committed(store: Store) -> None:
    with pytest.raises(pg.ForeignKeyViolation), store.database.unit_of_work() as tx:
        tx.run("insert into object_pieces (object, n, hash, data) values (99, 0, sha256('x'), 'x')")


@pytest.mark.parametrize(
    "damage",
    [
        "update object_pieces set data = set_byte(data, 17, 255 - get_byte(data, 17)) where n = 1",
        "delete from object_pieces where n = 1",
        "update object_pieces set n = 7 where n = 1",
        "delete from object_pieces",
    ],
)
def test_a_part_is_checked_as_the_whole_is(store: Store, tamper: Tamper, damage: str) -> None:
    name = store.put_blob(DATA).hash
    tamper.execute(damage)
    with store.database.unit_of_work() as tx, pytest.raises(Corrupt):
        store.objects.part(tx, name, 4096, 4096)
