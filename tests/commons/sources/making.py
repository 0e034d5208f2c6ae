"""PDFs made by hand, honest and hostile ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(data), data)


def packed(data: bytes, times: int = 1) -> bytes:
    """A stream that is compressed, maybe several times over."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    return stream(data, b"/Filter[%s]" % (b"/FlateDecode" * times))


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A file of numbered objects, of which the first is the catalogue."""
    found = b"%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, len(found))
    return found + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + end


def drawn(lines: Sequence[bytes]) -> bytes:
    """Instructions that draw lines of text below each other."""
    return b"BT /F1 12 Tf 72 720 Td 14 TL\n" + b"".join(b"(%s) Tj T*\n" % each for each in lines) + b"ET"


def with_pages(contents: Sequence[bytes], resources: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """A file with a page for each content stream; further objects are numbered after the contents."""
    first = 4
    pages = b" ".join(b"%d 0 R" % (first + 2 * place) for place in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>%s>>>>"
        % (pages, len(contents), resources),
        FONT,
    ]
    for place, content in enumerate(contents):
        objects += [b"<</Type/Page/Parent 2 0 R/Contents %d 0 R>>" % (first + 2 * place + 1), content]
    return pdf([*objects, *more])


def of_lines(*pages: Sequence[bytes]) -> bytes:
    return with_pages([stream(drawn(lines)) for lines in pages])
