"""Objects in PostgreSQL.

Who adds to an object first locks its row FOR KEY SHARE (`lock`, or in the same statement); these locks do not
exclude each other. The collector takes rows FOR UPDATE, skipping what is locked, so whatever it
removes has nobody at work on it, and it never waits. Locks are taken owner first, then object.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from choir.foundation.canonical import ObjectHash
from choir.objects.model import Kind, OpenedObject, Piece, Scheme, Signature, SignedObject, Stat
from choir.objects.rules import checked, name_of
from choir.storage.database import Tx

_COLLECTOR = 0x43484F49524F424A  # "CHOIROBJ": one collector at a time
_READ_PIECES = 2  # fetched at a time while streaming; memory is this many pieces

_cursors = itertools.count()


@dataclass(frozen=True, slots=True)
class Row:
    """An object's row."""

    id: int
    digest: bytes
    kind: str
    size: int
    created_us: int

    @property
    def stat(self) -> Stat:
        return Stat(name_of(self.digest), Kind(self.kind), self.size, self.created_us)


@contextmanager
def savepoint(tx: Tx) -> Iterator[None]:
    """Undo what the block wrote if it raises, whatever the caller does with its transaction then."""
    tx.run("savepoint objects")
    try:
        yield
    except BaseException:
        if not tx.connection.closed:
            tx.run("rollback to savepoint objects")
            tx.run("release savepoint objects")
        raise
    tx.run("release savepoint objects")


# Objects


def find(tx: Tx, digest: bytes) -> Row | None:
    return tx.one_or_none(Row, "select id, digest, kind, size, created_us from objects where digest = %s", digest)


def lock(tx: Tx, digest: bytes) -> Row | None:
    """The object, kept from collection until the transaction ends."""
    return tx.one_or_none(
        Row, "select id, digest, kind, size, created_us from objects where digest = %s for key share", digest
    )


def lock_alone(tx: Tx, id_: int) -> None:
    """Keep others from counting what is beside an object that is already locked."""
    tx.run("select from objects where id = %s for no key update", id_)


@dataclass(frozen=True, slots=True)
class Put:
    """What became of putting an object; `used` is there if it did not fit: what its owner has."""

    id: int
    new: bool
    used: int | None


def put(
    tx: Tx,
    items: Sequence[tuple[Row, Piece]],
    owner: str | None,
    holder: str | None,
    quota: int,
    small: int,
    near: int,
) -> list[Put]:
    """Store objects of at most one piece unless they are there, in this order; charge the owner once for each, and
    keep them for the holder. What comes behind one that does not fit is put all the same: the caller undoes it."""
    rows = [row for row, _ in items]
    pieces = [piece for _, piece in items]
    found = tx.rows(
        "select p.id, p.is_new, p.used from unnest(%b::bytea[], %s::text[], %s::bigint[], %b::bytea[], %b::bytea[],"
        " %s::bigint[]) with ordinality as o (digest, kind, size, hash, data, at_us, n),"
        " lateral object_put(o.digest, o.kind, o.size, o.hash, o.data, %s, %s, o.at_us, %s, %s, %s) p order by o.n",
        [row.digest for row in rows], [row.kind for row in rows], [row.size for row in rows],
        [piece.hash for piece in pieces], [piece.data for piece in pieces], [row.created_us for row in rows],
        owner, holder, quota, small, near,
    )  # fmt: skip
    return [Put(*row) for row in found]


def reserve_id(tx: Tx) -> int:
    """An id for an object whose pieces come before it."""
    return int(tx.value("select nextval('objects_id_seq')"))


def insert(tx: Tx, row: Row) -> bool:
    """Store an object's row unless another transaction has; waits for one that is about to."""
    return bool(
        tx.run(
            "insert into objects (id, digest, kind, size, created_us) values (%s, %s, %s, %s, %s)"
            " on conflict (digest) do nothing",
            row.id, row.digest, row.kind, row.size, row.created_us,
        )
    )  # fmt: skip


# Pieces


def add_piece(tx: Tx, id_: int, piece: Piece) -> None:
    tx.run(
        "insert into object_pieces (object, n, hash, data) values (%s, %s, %b, %b)",
        id_, piece.n, piece.hash, piece.data,
    )  # fmt: skip


def drop_pieces(tx: Tx, id_: int) -> None:
    tx.run("delete from object_pieces where object = %s", id_)


def open_(tx: Tx, digest: bytes) -> OpenedObject | None:
    """Read an object through a server-side cursor: one snapshot, so collection cannot cut it short."""
    cursor = tx.connection.cursor(name=f"objects_{next(_cursors)}")
    cursor.itersize = _READ_PIECES
    cursor.execute(_READ, [digest], binary=True)
    first = cursor.fetchone()
    if first is None:
        cursor.close()
        return None
    stat = Row(*first[:5]).stat

    def pieces() -> Iterator[Piece]:
        with cursor:
            if first[5] is None:  # an empty object has no pieces
                return
            for row in itertools.chain([first], cursor):
                yield Piece(*row[5:])

    return OpenedObject(stat, checked(stat, pieces()), cursor.close)


def read(tx: Tx, digest: bytes, size_max: int) -> tuple[Stat, list[Piece]] | None:
    """An object with its pieces; without them if it is larger than asked for."""
    rows = tx.connection.execute(_READ_WHOLE, [size_max, digest], binary=True).fetchall()
    if not rows:
        return None
    return Row(*rows[0][:5]).stat, [Piece(*row[5:]) for row in rows if row[5] is not None]


def read_part(tx: Tx, digest: bytes, offset: int, length: int) -> tuple[Stat, int, list[Piece]] | None:
    """An object with the size of its pieces and those of them that hold a part of it."""
    rows = tx.connection.execute(_READ_PART, [offset, offset + length - 1, digest], binary=True).fetchall()
    if not rows:
        return None
    return Row(*rows[0][:5]).stat, rows[0][5] or 0, [Piece(*row[6:]) for row in rows if row[6] is not None]


# All pieces of an object but the last have the size of the first, whatever the policy is by now.
_READ_PART = """
    select o.id, o.digest, o.kind, o.size, o.created_us, f.bytes, p.n, p.hash, p.data
    from objects o
    left join lateral (select octet_length(data) as bytes from object_pieces where object = o.id and n = 0) f on true
    left join lateral (
        select n, hash, data from object_pieces
        where object = o.id and n between (least(%b::bigint, o.size) / f.bytes)::integer
            and (least(%b::bigint, o.size) / f.bytes)::integer
        order by n
    ) p on true
    where o.digest = %b
"""


# Here and below the pieces come in order because the inner select is ordered and the outer one has a single
# row; were it ever otherwise, the check of positions would say so.
_READ = """
    select o.id, o.digest, o.kind, o.size, o.created_us, p.n, p.hash, p.data
    from objects o
    left join lateral (select n, hash, data from object_pieces where object = o.id order by n) p on true
    where o.digest = %b
"""

_READ_WHOLE = """
    select o.id, o.digest, o.kind, o.size, o.created_us, p.n, p.hash, p.data
    from objects o
    left join lateral (
        select n, hash, data from object_pieces where object = o.id and o.size <= %b::bigint order by n
    ) p on true
    where o.digest = %b
"""


# Owners and what they are charged for


def lock_owner(tx: Tx, owner: str) -> None:
    """From here to the commit this transaction alone puts what is large, or near the owner's quota."""
    if not _lock_known_owner(tx, owner):
        tx.run("insert into object_owners (owner, used_bytes) values (%s, 0) on conflict do nothing", owner)
        _lock_known_owner(tx, owner)


def _lock_known_owner(tx: Tx, owner: str) -> bool:
    # NO KEY: the collector's refunds point to this row, and must not have to wait for us.
    return tx.row("select from object_owners where owner = %s for no key update", owner) is not None


def used_bytes(tx: Tx, owner: str) -> int:
    return int(
        tx.value(
            "select coalesce((select used_bytes from object_owners where owner = %s), 0)"
            " - coalesce((select sum(bytes) from object_refunds where owner = %s), 0)",
            owner, owner,
        )
    )  # fmt: skip


def settle(tx: Tx, owner: str) -> int:
    """Bring the locked owner's total up to date; the total."""
    return int(tx.value("select object_settle(%s)", owner))


def has_claim(tx: Tx, owner: str, id_: int) -> bool:
    return tx.row("select from object_claims where owner = %s and object = %s", owner, id_) is not None


def add_claim(tx: Tx, owner: str, id_: int, size: int, at_us: int) -> None:
    """Charge the locked owner for an object, once."""
    added = tx.run(
        "insert into object_claims (owner, object, at_us) values (%s, %s, %s) on conflict do nothing", owner, id_, at_us
    )
    if added:
        tx.run("update object_owners set used_bytes = used_bytes + %s where owner = %s", size, owner)


def drop_claim(tx: Tx, owner: str, id_: int, size: int) -> bool:
    """Give an owner the size of a locked object back, if it was charged."""
    dropped = tx.run("delete from object_claims where owner = %s and object = %s", owner, id_)
    if dropped:
        tx.run("insert into object_refunds (owner, bytes) values (%s, %s)", owner, size)
    return bool(dropped)


def claimed(tx: Tx, owner: str, after: bytes, limit: int) -> list[bytes]:
    rows = tx.rows(
        "select o.digest from object_claims c join objects o on o.id = c.object"
        " where c.owner = %s and o.digest > %s order by o.digest limit %s",
        owner, after, limit,
    )  # fmt: skip
    return [bytes(row[0]) for row in rows]


# References


def refer(tx: Tx, holder: str, digests: Sequence[bytes], at_us: int) -> tuple[int, int]:
    """Keep objects for a holder: how many of them are there, and how many were not kept for it before."""
    found = tx.row(
        "with kept as materialized (select id from objects where digest = any(%s) order by digest for key share),"
        " added as (insert into object_references (holder, object, at_us) select %s, id, %s from kept"
        "  on conflict do nothing returning 1)"
        " select (select count(*) from kept), (select count(*) from added)",
        list(digests), holder, at_us,
    )  # fmt: skip
    assert found is not None
    return found[0], found[1]


def drop_reference(tx: Tx, holder: str, id_: int) -> bool:
    return bool(tx.run("delete from object_references where holder = %s and object = %s", holder, id_))


def touch(tx: Tx, id_: int, at_us: int) -> None:
    """Have the collector look at the object when its time without references could be over."""
    tx.run("insert into object_touches (object, at_us) values (%s, %s)", id_, at_us)


# Signatures


def signature(tx: Tx, id_: int, scheme: Scheme, public: bytes) -> Signature | None:
    row = tx.row(
        "select scheme, public, signature, at_us from object_signatures"
        " where object = %s and scheme = %s and public = %s",
        id_, scheme.value, public,
    )  # fmt: skip
    return None if row is None else Signature(Scheme(row[0]), *row[1:])


def signatures(tx: Tx, digest: bytes, by: Collection[bytes] | None) -> list[Signature] | None:
    """An object's signatures, oldest first, of all or these keys; None if there is no such object."""
    rows = tx.rows(
        "select s.scheme, s.public, s.signature, s.at_us from objects o left join object_signatures s"
        " on s.object = o.id and (%s::bytea[] is null or s.public = any(%s))"
        " where o.digest = %s order by s.at_us, s.scheme, s.public",
        None if by is None else list(by), None if by is None else list(by), digest,
    )  # fmt: skip
    if not rows:
        return None
    return [Signature(Scheme(scheme), *rest) for scheme, *rest in rows if scheme is not None]


def sign(tx: Tx, digest: bytes, item: Signature) -> tuple[bool, Signature | None]:
    """Add a signature to an object: whether the object is there, and the one that its key had given before, if any."""
    found = tx.row(
        "with signed as materialized (select id from objects where digest = %s for key share),"
        " added as (insert into object_signatures (object, scheme, public, signature, at_us)"
        "  select id, %s, %s, %s, %s from signed on conflict do nothing returning 1)"
        " select (select id from signed), exists (select from added)",
        digest, item.scheme.value, item.public, item.signature, item.at_us,
    )  # fmt: skip
    assert found is not None
    id_, added = found
    if id_ is None or added:
        return id_ is not None, None
    return True, signature(tx, id_, item.scheme, item.public)


def sign_all(tx: Tx, items: Sequence[tuple[bytes, SignedObject]], at_us: int) -> int:
    """Add signatures to objects, each unless its key has given one before; says how many of the objects are there."""
    there: int = tx.value(
        "with signed as materialized (select o.id, s.scheme, s.public, s.signature from unnest(%b::bytea[], %s::text[],"
        "  %b::bytea[], %b::bytea[]) as s (digest, scheme, public, signature) join objects o using (digest)"
        "  order by o.id for key share of o),"
        " added as (insert into object_signatures (object, scheme, public, signature, at_us)"
        "  select id, scheme, public, signature, %s from signed on conflict do nothing)"
        " select count(*) from signed",
        [digest for digest, _ in items], [item.scheme.value for _, item in items],
        [item.public for _, item in items], [item.signature for _, item in items], at_us,
    )  # fmt: skip
    return there


def count_signatures(tx: Tx, id_: int) -> int:
    return int(tx.value("select count(*) from object_signatures where object = %s", id_))


def add_signature(tx: Tx, id_: int, item: Signature) -> None:
    tx.run(
        "insert into object_signatures (object, scheme, public, signature, at_us) values (%s, %s, %s, %s, %s)",
        id_, item.scheme.value, item.public, item.signature, item.at_us,
    )  # fmt: skip


# Collection


def become_collector(tx: Tx) -> bool:
    """Whether this transaction may collect; another one may be at it."""
    return bool(tx.value("select pg_try_advisory_xact_lock(%s)", _COLLECTOR))


def due(tx: Tx, until_us: int, limit: int) -> list[int]:
    """The objects of the oldest touches, an object as often as it was touched."""
    return [
        row[0]
        for row in tx.rows(
            "select object from object_touches where at_us <= %s order by at_us, n limit %s", until_us, limit
        )
    ]


def lock_for_removal(tx: Tx, ids: Sequence[int]) -> list[Row]:
    """Those of the objects that nobody is at work on, kept so."""
    return tx.all(
        Row,
        "select id, digest, kind, size, created_us from objects where id = any(%s) order by id for update skip locked",
        list(ids),
    )


def needed(tx: Tx, ids: Sequence[int], until_us: int) -> set[int]:
    """Those of the locked objects that something points to, or that were touched since."""
    rows = tx.rows(
        "select id from unnest(%s::bigint[]) as asked (id)"
        " where exists (select from object_references r where r.object = asked.id)"
        " or exists (select from object_touches t where t.object = asked.id and t.at_us > %s)",
        list(ids), until_us,
    )  # fmt: skip
    return {row[0] for row in rows}


def drop_touches(tx: Tx, ids: Sequence[int], until_us: int) -> None:
    """Forget touches that were looked at."""
    tx.run("delete from object_touches where object = any(%s) and at_us <= %s", list(ids), until_us)


def remove(tx: Tx, ids: Sequence[int], names: Sequence[ObjectHash], at_us: int) -> None:
    """Remove locked objects with all that is theirs; give owners their bytes back; let go of what they held."""
    tx.run(
        "insert into object_refunds (owner, bytes) select c.owner, sum(o.size)"
        " from object_claims c join objects o on o.id = c.object where c.object = any(%s) group by c.owner",
        list(ids),
    )
    tx.run(
        "with released as (delete from object_references where holder = any(%s) returning object)"
        " insert into object_touches (object, at_us) select distinct object, %s::bigint from released",
        list(names), at_us,
    )  # fmt: skip
    tx.run("delete from objects where id = any(%s)", list(ids))
