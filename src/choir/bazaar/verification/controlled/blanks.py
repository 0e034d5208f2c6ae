"""Takes out of a test file what people say about it: comments, and the documentation of its tests.

They often name what is expected. Every byte of them becomes a space, so that everything else stays where it is.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

_QUOTE = re.compile(rb"[A-Za-z]{0,2}(\"\"\"|'''|\"|')")


def blanked(source: bytes, module: ast.Module) -> bytes:
    """The file without them. Raises what `tokenize` raises."""
    lines = source.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = bytearray(source)
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            start = starts[row - 1] + len(lines[row - 1].decode()[:column].encode())
            _blank(found, start, start + len(token.string.encode()))
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            text = _documentation(node)
            if text is not None:
                start = starts[text.lineno - 1] + text.col_offset
                assert text.end_lineno is not None
                assert text.end_col_offset is not None
                _blank_text(found, start, starts[text.end_lineno - 1] + text.end_col_offset)
    return bytes(found)


def _documentation(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Constant | None:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def _blank_text(found: bytearray, start: int, end: int) -> None:
    """What stands between the quotes of a text."""
    quote = _QUOTE.match(bytes(found[start:end]))
    if quote is None:
        return
    first, last = start + quote.end(), end - len(quote[1])
    if len(quote[1]) > 1 or b"\n" not in found[first:last]:
        _blank(found, first, last)


def _blank(found: bytearray, start: int, end: int) -> None:
    found[start:end] = bytes(sign if sign == 0x0A else 0x20 for sign in found[start:end])
