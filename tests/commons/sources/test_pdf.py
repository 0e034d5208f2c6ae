"""The text of PDFs: honest ones, odd ones, and those that would take all memory or never end."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.model import DocumentTooLarge, MediaType, ReadingTooLong, UnreadableDocument
from choir.commons.sources.pdf import read_pdf
from choir.commons.sources.reader import DocumentReader
from choir.commons.sources.text import normalise
from choir.foundation.errors import Refusal
from tests.commons.sources.making import FONT, drawn, of_lines, packed, pdf, stream, with_pages

LIMITS = SourcesPolicy()
CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"


def text_of(data: bytes) -> str:
    return read_pdf(data, LIMITS).text


def form(content: bytes, calls: int) -> bytes:
    """A part that draws something and may call the object with that number."""
    uses = b"/Font<</F1 3 0 R>>/XObject<</X %d 0 R>>" % calls
    return stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<<%s>>" % uses)


def with_forms(calls: bytes, number: int) -> bytes:
    """A page whose forms call each other, down to a last one that draws."""
    forms = [form(calls, 7 + place) for place in range(number)]
    return with_pages(
        [stream(drawn([b"top"]) + b" /X Do")], b"/XObject<</X 6 0 R>>", [*forms, form(drawn([b"deep"]), 3)]
    )


def page_tree(*nodes: bytes) -> bytes:
    """A file with these nodes, numbered from 2, and then a page with its font and content."""
    number = len(nodes) + 2
    page = b"<</Type/Page/Contents %d 0 R/Resources<</Font<</F1 %d 0 R>>>>>>" % (number + 2, number + 1)
    return pdf([CATALOGUE, *nodes, page, FONT, stream(drawn([b"text"]))])


def node(kids: bytes, count: bytes = b"1") -> bytes:
    return b"<</Type/Pages/Count %s/Kids[%s]>>" % (count, kids)


# --- honest and odd ones ------------------------------------------------------------------------------


def test_lines_and_pages_are_read_in_order() -> None:
    assert text_of(of_lines([b"Hello", b"World"], [b"Page \\(two\\)"])) == "Hello\nWorld\n\nPage (two)"


def test_its_title_is_what_it_says() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(of_lines([b"x"])))
    writer.add_metadata({"/Title": "On\nsources\u202e"})
    data = io.BytesIO()
    writer.write(data)
    assert read_pdf(data.getvalue(), LIMITS).title == "On sources"


def test_a_title_that_cannot_be_read_is_none() -> None:
    data = of_lines([b"x"])
    assert read_pdf(data.replace(b"/Root 1 0 R", b"/Root 1 0 R/Info 1 0 R"), LIMITS).title == ""


def test_letters_that_a_font_has_as_one_are_several() -> None:
    names = b"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Differences[1/ffi/ffl]>>>>"
    data = with_pages([stream(drawn([b"e\x01cient sni\x02e"]))])
    assert text_of(data.replace(FONT, names)) == "efficient sniffle"


@pytest.mark.parametrize(
    "data",
    [
        of_lines([b"text"]).replace(b"startxref\n", b"startxref\n9"),
        b"other bytes\n" + of_lines([b"text"]),
        of_lines([b"text"]).replace(b"/Size", b"/Prev 5/Size"),
        page_tree(node(b"3 0 R", b"9" * 30)),
    ],
)
def test_odd_ones_are_read_as_well(data: bytes) -> None:
    assert text_of(data) == "text"


def test_encrypted_ones_are_refused() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(of_lines([b"x"])))
    writer.encrypt("", "owner", algorithm="AES-256")
    data = io.BytesIO()
    writer.write(data)
    with pytest.raises(UnreadableDocument, match="encrypted"):
        text_of(data.getvalue())


def test_article_syntax_in_a_pdf_is_plain_text() -> None:
    assert text_of(of_lines([b"[x]{#c1} {{extract sha256:00@1-2}}"])) == "[x]{#c1} {{extract sha256:00@1-2}}"


def test_a_document_does_not_write_our_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        text_of(of_lines([b"text"]).replace(b"startxref\n", b"startxref\n9"))
    assert caplog.records == []


# --- hostile ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (with_pages([packed(b"a" * 100_000_000)]), "Limit reached"),
        (with_pages([packed(b"a" * 100_000_000, 3)]), "Limit reached"),
        (page_tree(*[node(b"%d 0 R" % (place + 3)) for place in range(1_000)]), "depth"),
        (page_tree(node(b"2 0 R")), "cyclic"),
        (page_tree(node(b"3 0 R"), node(b"4 0 R"), node(b"2 0 R")), "cyclic"),
        (page_tree(*[node(b"%d 0 R " % (place + 3) * 10) for place in range(12)]), "limit"),
        (page_tree(node(b"3 0 R " * 200_000)), "maximum"),
        (with_forms(b"/X Do", 2_000), "too deeply"),
        (with_forms(b"/X Do " * 20, 5), "too many parts"),
        (with_pages([stream(b"BT /F1 %s Tf (x) Tj ET" % (b"9" * 100_000))]), "damaged"),
        (with_pages([drawn([b"x"]).join([b"<</Length %s>>\nstream\n" % (b"9" * 40), b"\nendstream"])]), "length"),
        (with_pages([stream(b"BT /F1 12 Tf " + b"[" * 100_000 + b"(x)" + b"]" * 100_000 + b" TJ ET")]), "recursion"),
        (pdf([b"<</Type/Catalog/Pages " + b"[" * 100_000 + b">>"]), "damaged"),
        (pdf([CATALOGUE]), "damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 100, "damaged"),
        (b"%PDF-1.7", "damaged"),
    ],
)
def test_hostile_ones_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableDocument, match=why):
        text_of(data)


def test_too_many_pages_are_refused() -> None:
    with pytest.raises(DocumentTooLarge, match="3000 pages"):
        text_of(of_lines(*[[b"x"]] * 3_000))
    with pytest.raises(DocumentTooLarge, match="90000 pages"):
        text_of(page_tree(node(b"3 0 R " * 90_000)))


def test_reading_stops_at_the_limit_inside_a_page() -> None:
    endless = with_forms(b"/X Do " * 20, 5)  # more than three million times "deep"
    with pytest.raises(DocumentTooLarge, match="1000 characters"):
        read_pdf(endless, SourcesPolicy(text_chars_max=1_000))


@pytest.fixture(scope="module")
def small() -> Iterator[DocumentReader]:
    reader = DocumentReader(SourcesPolicy(read_bytes_max=200_000_000, read_s_max=5))
    yield reader
    reader.close()


@pytest.mark.parametrize(
    "content",
    [
        b"BT /F1 12 Tf (" + b"a" * 60_000_000 + b") Tj ET",
        b"BT /F1 12 Tf " + b"(aaaaaaaaaaaaaaaaaaaaa) Tj\n" * 2_000_000 + b"ET",
    ],
)
def test_what_takes_all_memory_or_time_is_ended(small: DocumentReader, content: bytes) -> None:
    with pytest.raises((ReadingTooLong, DocumentTooLarge)):
        small.read(with_pages([packed(content)]), MediaType.PDF)
    assert small.read(of_lines([b"text"]), MediaType.PDF).text == "text"


@given(st.data())
def test_any_damage_gives_a_normalised_text_or_a_refusal(data: st.DataObject) -> None:
    damaged = bytearray(of_lines([b"Hello", b"World"], [b"Two"]))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        found = text_of(bytes(damaged))
    except Refusal:
        return
    assert found == normalise(found)
