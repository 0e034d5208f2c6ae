"""What a document is, which reader it gets, and that fixed bytes have a fixed text."""

from __future__ import annotations

import hashlib

import pytest

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.documents import read_document, sniff
from choir.commons.sources.model import DocumentTooLarge, MediaType, UnreadableDocument
from tests.commons.sources.making import of_lines

LIMITS = SourcesPolicy()
PDF, HTML, MARKDOWN, TEXT = MediaType.PDF, MediaType.HTML, MediaType.MARKDOWN, MediaType.TEXT

PLAIN = "Über sources\r\n\r\n\r\nA  line\twith “quotes”, e\u0301 and ﬁ.\u200b\n漢字\u3000と仮名 [x]{#c1}\n".encode()
PAGE = """<!doctype html><title>Über</title><h1>Sources</h1><p>A line with “quotes”,<br>e&#x301; &amp; more.
<ul><li>one<li>two</ul><table><tr><td>2021<td>7</table><p hidden>no</p><script>no</script>""".encode()
PAPER = of_lines([b"\\334ber sources", b"A line with \\223quotes\\224, self\\255made and 5 %."], [b"Page two"])

# A new version of a library brings a new name here, with what it makes of the same bytes; a name never gets another
# text. What Unicode's version changes is not in these texts.
GOLDEN = {
    "plain/1 text/1": (PLAIN, TEXT, "67c8798e70daae57dad3d609c884c2a7bfb88d31eb119506d59d8d1e37c2f08f"),
    "markdown/1 text/1": (PLAIN, MARKDOWN, "67c8798e70daae57dad3d609c884c2a7bfb88d31eb119506d59d8d1e37c2f08f"),
    "html/1 libxml2/2.14.6 text/1": (PAGE, HTML, "2c4c264ddffc254f2dbd7d4a91aeb826a08cd173b4ceb99fe2cf8cee60718d77"),
    "pdf/1 pypdf/7.0.1 text/1": (PAPER, PDF, "0748e4a637c101dc96a397c42a6fbff31f3930ec8c1b439059af2f84a5563c6d"),
}


@pytest.mark.parametrize("reader", GOLDEN)
def test_fixed_bytes_have_a_fixed_text(reader: str) -> None:
    data, media_type, expected = GOLDEN[reader]
    read = read_document(data, media_type, LIMITS)
    assert read.reader.rpartition(" unicode/")[0] == reader
    assert hashlib.sha256(read.text.encode()).hexdigest() == expected, read.text


def test_markdown_is_its_own_text() -> None:
    text = "# Head\n\n[x]{#c1} **bold** {{extract sha256:00@1-2}}\n\n```evidence\nc1 supports x\n```"
    assert read_document(text.encode(), MARKDOWN, LIMITS).text == text


@pytest.mark.parametrize(
    ("data", "declared", "filename", "found"),
    [
        (b"%PDF-1.7", "text/plain", "x.txt", PDF),
        (b"\n %PDF-1.7", None, None, PDF),
        (b"other\n%PDF-1.7", "application/pdf", None, PDF),
        (b"other\n%PDF-1.7", None, "x.PDF", PDF),
        (b"about %PDF-1.7", None, "x.txt", TEXT),
        (b"<!DOCTYPE html><p>", "text/plain", "x.md", HTML),
        (b"\xef\xbb\xbf <!-- c --> <?xml version='1.0'?><HTML lang=de>", None, None, HTML),
        ("<html>x".encode("utf-16"), None, None, HTML),
        (b"<p>x", "text/html; charset=utf-8", None, HTML),
        (b"<p>x", "application/xhtml+xml", None, HTML),
        (b"<p>x", None, "page.htm", HTML),
        (b"<p>x", None, "page", TEXT),
        (b"# x", "text/markdown", "x.html", MARKDOWN),
        (b"# x", "application/octet-stream", "README.MD", MARKDOWN),
        (b"# x", "text/plain", "README.md", TEXT),
        (b"a,b", "text/csv", "x.csv", TEXT),
        ("x".encode("utf-16"), None, None, TEXT),
        (b"", None, None, TEXT),
    ],
)
def test_what_a_document_is(data: bytes, declared: str | None, filename: str | None, found: MediaType) -> None:
    assert sniff(data, declared, filename) is found


@pytest.mark.parametrize(
    ("data", "declared", "filename", "why"),
    [
        (b"PK\x03\x04\x14\0", None, "x.docx", "Office.*save it as PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "text/plain", "x.doc", "Office"),
        (b"{\\rtf1", None, "x.txt", "RTF"),
        (b"\x89PNG\r\n", None, None, "image"),
        (b"\xff\xd8\xff\xe0", "text/html", None, "image"),
        (b"\x1f\x8b\x08", None, None, "unpack"),
        (b"%!PS-Adobe", None, None, "PostScript"),
        (b"abc\0def", None, None, "binary"),
        (b"abc\0def", "text/markdown", "x.md", "binary"),
        (b"hello", "application/pdf", None, "called a PDF"),
        (b"hello", None, "x.pdf", "called a PDF"),
        (b"hello", "image/svg+xml", None, r"image/svg\+xml cannot be read"),
        (b"{}", "application/json", None, "application/json cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_words(
    data: bytes, declared: str | None, filename: str | None, why: str
) -> None:
    with pytest.raises(UnreadableDocument, match=why):
        sniff(data, declared, filename)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(b" \n\xef\xbb\xbf", TEXT), (b"<html><p hidden>x", HTML), (of_lines([b" "]), PDF), (b"", HTML)],
)
def test_a_document_without_text_is_refused(data: bytes, media_type: MediaType) -> None:
    with pytest.raises(UnreadableDocument, match="no text in it"):
        read_document(data, media_type, LIMITS)


def test_limits_hold_for_every_reader() -> None:
    small = SourcesPolicy(document_bytes_max=1_000, text_chars_max=100)
    for media_type in MediaType:
        with pytest.raises(DocumentTooLarge, match="1001 bytes"):
            read_document(b"a" * 1_001, media_type, small)
    for data, media_type in ((b"a" * 101, TEXT), (b"a" * 101, HTML), (of_lines([b"a" * 101]), PDF)):
        with pytest.raises(DocumentTooLarge, match="100 characters"):
            read_document(data, media_type, small)
