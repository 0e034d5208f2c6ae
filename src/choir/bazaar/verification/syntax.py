"""Python code that nobody trusts, read by the node's own process.

The parser works in one piece: while it does, the process serves nobody and nothing can be cancelled. So what it is
given is bounded in bytes, and free of the one thing that it takes time for in the square of their number: the parts of
a dotted name in an import (32 seconds for 200 kB of them).

Guarantees: what is parsed is what Python itself would read, or nothing is; reading takes time in proportion to the
bytes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

BYTES_MAX = 1_000_000
# A file may say how it is encoded. Of these a text is what it looks like; others can hide one text in another.
_ENCODINGS = frozenset({"utf-8", "utf-8-sig", "ascii", "us-ascii", "iso-8859-1"})
_LONG_NAME = re.compile(r"(?:\.[\s\\]*+\w++[\s\\]*+){100}")

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse(source: bytes | str) -> ast.Module:
    """The syntax tree; raises one of `UNREADABLE`."""
    if len(source) > BYTES_MAX:
        raise ValueError("the code is too large to be read")
    text = source if isinstance(source, str) else _text(source)
    if _LONG_NAME.search(text):
        raise ValueError("a name has too many parts")
    return ast.parse(text)


def _text(source: bytes) -> str:
    lines = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(lines).readline)
    if encoding not in _ENCODINGS:
        raise SyntaxError(f"code in {encoding} is not read")
    return lines.decode(encoding)
