"""Arrays for PostgreSQL, packed in its binary format at once.

The driver's own dumper goes through Python for every element; batches of the journal have tens of
thousands of them. The format is PostgreSQL's (array_recv): dimensions, a null flag, the element type,
then each element as its length and bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain, repeat

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = struct.Struct(">iiiii")  # dimensions, has nulls, element type, length, lower bound
_LENGTH = struct.Struct(">i").pack


class PackedArray:
    """An array that is packed already."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Bigints(PackedArray):
    """bigint[]"""

    __slots__ = ()


class Smallints(PackedArray):
    """smallint[]"""

    __slots__ = ()


class Texts(PackedArray):
    """text[]"""

    __slots__ = ()


class Byteas(PackedArray):
    """bytea[]"""

    __slots__ = ()


class Uuids(PackedArray):
    """uuid[]"""

    __slots__ = ()


def bigints(values: Sequence[int]) -> Bigints:
    return Bigints(_fixed(20, "q", 8, values))


def smallints(values: Sequence[int]) -> Smallints:
    return Smallints(_fixed(21, "h", 2, values))


def texts(values: Sequence[str]) -> Texts:
    return Texts(_varying(25, [value.encode() for value in values]))


def byteas(values: Sequence[bytes]) -> Byteas:
    return Byteas(_varying(17, values))


def uuids(values: Sequence[bytes]) -> Uuids:
    """From their sixteen bytes."""
    return Uuids(_varying(2950, values))


def _fixed(element: int, code: str, width: int, values: Sequence[int]) -> bytes:
    flat = chain.from_iterable(zip(repeat(width), values, strict=False))
    return _header(element, len(values)) + struct.pack(">" + ("i" + code) * len(values), *flat)


def _varying(element: int, values: Sequence[bytes]) -> bytes:
    if len(values) > 1 and values[0] == values[-1] and values.count(values[0]) == len(values):
        return _header(element, len(values)) + (_LENGTH(len(values[0])) + values[0]) * len(values)
    parts = [_header(element, len(values))]
    for value in values:
        parts.append(_LENGTH(len(value)))
        parts.append(value)
    return b"".join(parts)


def _header(element: int, length: int) -> bytes:
    return _HEADER.pack(1, 0, element, length, 1)


def _register(kind: type[PackedArray], array_oid: int) -> None:
    class PackedDumper(Dumper):
        format = Format.BINARY
        oid = array_oid

        def dump(self, obj: PackedArray) -> bytes:
            return obj.data

    psycopg.adapters.register_dumper(kind, PackedDumper)


for _kind, _oid in ((Bigints, 1016), (Smallints, 1005), (Texts, 1009), (Byteas, 1001), (Uuids, 2951)):
    _register(_kind, _oid)
