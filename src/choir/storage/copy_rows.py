"""Rows for PostgreSQL's binary COPY, packed by hand because that is what the journal's speed rests on.

The format is PostgreSQL's own (documentation of COPY, "Binary Format"): a header, then for each row
the number of fields and each field as its length and bytes, then -1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"


def fixed_row(codes: str) -> struct.Struct:
    """A packer for rows of fixed-width fields, each packed as its width and its value.

    `fixed_row("qqh").pack(3, 8, a, 8, b, 2, c)` makes a row of two bigint and one smallint.
    """
    return struct.Struct(">h" + "".join(f"i{code}" for code in codes))


def binary_copy(rows: Iterable[bytes]) -> bytes:
    """The whole message of a COPY."""
    return b"".join((HEADER, *rows, TRAILER))
