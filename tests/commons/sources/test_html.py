"""The visible text of pages, honest and hostile ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.html import read_html
from choir.commons.sources.model import DocumentTooLarge, UnreadableDocument
from choir.commons.sources.text import normalise
from choir.foundation.errors import Refusal

LIMITS = SourcesPolicy()


def text_of(page: str | bytes) -> str:
    return read_html(page.encode() if isinstance(page, str) else page, LIMITS).text


def in_charset(charset: str, text: bytes) -> bytes:
    return b'<meta http-equiv="Content-Type" content="text/html; charset=%s"><p>' % charset.encode() + text


# --- what is seen -------------------------------------------------------------------------------------


def test_a_page_is_read_in_document_order_with_blocks_on_lines_of_their_own() -> None:
    page = """<!DOCTYPE html><html><head><title>A &amp; B</title><style>p {}</style></head><body>
      <nav><a href=/>Home</a> <a href=/x>More</a></nav>
      <h1>Head</h1><p>First <b>bold</b>, in
      two lines.<p>Second&nbsp;one<br>broken<br><br>twice</p>
      <ul><li>one<li>two</ul><div>a<div>b</div>c</div>
      <table><tr><th>Year<th>Rate</tr><tr><td>2021<td></td><td>7</td></tr></table>
      <footer>Foot<sup>1</sup></footer></body></html>"""
    read = read_html(page.encode(), LIMITS)
    assert read.title == "A & B"
    assert read.text == (
        "Home More\n\nHead\n\nFirst bold, in two lines.\n\nSecond one\nbroken\n\ntwice\n\none\ntwo\n\na\nb\nc\n\n"
        "Year | Rate\n2021 | 7\n\nFoot1"
    )


def test_preformatted_lines_stay_lines() -> None:
    assert text_of("<pre>a  b\n  c\n\nd</pre><p>e\nf") == "a b\nc\n\nd\n\ne f"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>if (a < b) x('</p>')</script>",
        "<style>no</style>",
        "<template><p>no</p></template>",
        "<noscript>no</noscript>",
        "<svg><title>no</title><text>no</text></svg>",
        "<p hidden>no <b>no</b></p>",
        "<div HIDDEN=''>no<div>no</div></div>",
        '<span style="color: red; DISPLAY : none !important">no</span>',
        '<span style="visibility:/* */hidden">no</span>',
        '<img alt="no" title="no"><input value="no" placeholder="no">',
        "<!-- no --><![CDATA[no]]><?php no ?>",
        "<iframe>no</iframe><object>no</object><canvas>no</canvas>",
        '<a href="no" data-x="no"></a>',
    ],
)
def test_what_nobody_sees_is_left_out(hidden: str) -> None:
    assert text_of(f"<p>before</p>{hidden}<p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize(
    "shown",
    [
        '<p aria-hidden="true">yes</p>',
        '<p style="display: none; display: block">yes</p>',
        '<p style="x-display: none">yes</p>',
        "<details><summary>yes</summary></details>",
        "<textarea>yes</textarea>",
        "<my-element>yes</my-element>",
        "<math><mi>yes</mi><annotation>no</annotation></math>",
    ],
)
def test_what_is_seen_stays(shown: str) -> None:
    assert "yes" in text_of(f"<p>before</p>{shown}<p>after</p>").split()


def test_text_is_not_lost_in_a_head_that_was_never_closed() -> None:
    assert text_of("<html><head><title>T</title><x-app><p>text</x-app>") == "text"


def test_only_the_first_title_counts() -> None:
    page = b"<svg><title>icon</title></svg><title>One\n  line</title><title>Two</title><p>x"
    assert read_html(page, LIMITS).title == "One line"


# --- which characters it has --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("utf-8", "utf-8"), ("windows-1251", "cp1251"), ("Shift_JIS", "cp932"), ("gb2312", "gbk"), ("KOI8-R", "koi8-r")],
)
def test_a_page_says_its_charset(charset: str, codec: str) -> None:
    text = "Привет" if codec in ("utf-8", "cp1251", "koi8-r") else "日本"
    assert text_of(in_charset(charset, text.encode(codec))) == text


def test_latin1_means_what_browsers_make_of_it() -> None:
    assert text_of(in_charset("iso-8859-1", b"\x93caf\xe9\x94")) == "“café”"


def test_without_a_charset_it_is_utf8_or_refused() -> None:
    assert text_of("<p>café") == "café"
    with pytest.raises(UnreadableDocument, match="not utf-8"):
        text_of(b"<p>caf\xe9")


def test_a_byte_order_mark_wins_over_what_the_page_says() -> None:
    page = '<meta charset="windows-1251"><p>café'
    assert text_of(page.encode("utf-8-sig")) == "café"
    assert text_of(page.encode("utf-16")) == "café"


@pytest.mark.parametrize(
    "charset", ["utf-7", "UTF-32", "iso-2022-jp", "cp037", "hz", "rot13", "idna", "zlib", "\xff", "x" * 900]
)
def test_a_charset_in_which_a_page_is_another_one_is_refused(charset: str) -> None:
    with pytest.raises(UnreadableDocument, match="charset"):
        text_of(in_charset(charset, b"+ADw-script+AD4-"))


def test_a_charset_in_a_comment_or_far_below_says_nothing() -> None:
    assert text_of("<!-- <meta charset=utf-7> --><p>é") == "é"
    assert text_of(f"<p>é{' ' * 1024}<meta charset=utf-7>") == "é"


def test_wrong_bytes_in_a_charset_that_was_said_are_marked() -> None:
    assert text_of(in_charset("utf-8", b"1\xff2")) == "1\ufffd2"


def test_references_to_no_character_are_harmless() -> None:
    assert text_of("<p>1&#0;2&#xD800;3&#x110000;4&#x202e;5&ZeroWidthSpace;6&shy;7&#8;8") == "1\ufffd2\ufffd3\ufffd45678"


# --- hostile pages ------------------------------------------------------------------------------------


def test_a_hundred_thousand_nested_elements_are_read() -> None:
    assert text_of("<div>" * 100_000 + "deep" + "<b>" * 100_000 + "er") == "deeper"


def test_a_million_attributes_are_read() -> None:
    assert text_of("<p " + " ".join(f"a{n}=1" for n in range(1_000_000)) + ">x</p>") == "x"


def test_entities_do_not_expand() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><p>&b;&c;</p>'
    assert text_of(bomb).endswith("&b;&c;")


def test_long_pieces_are_read_whole() -> None:
    page = f"<!--{'c' * 11_000_000}--><p title='{'t' * 11_000_000}'>x</p><p>end</p>"
    assert text_of(page) == "x\n\nend"


def test_reading_stops_at_the_limit() -> None:
    with pytest.raises(DocumentTooLarge, match="1000 characters"):
        read_html(b"<p>" + b"word " * 1_000_000, SourcesPolicy(text_chars_max=1_000))
    with pytest.raises(DocumentTooLarge):
        read_html(b"<title>" + b"word " * 1_000_000, SourcesPolicy(text_chars_max=1_000))


def test_article_syntax_in_a_page_is_plain_text() -> None:
    text = "[x]{#c1} {{extract sha256:00@1-2}} ```evidence"
    assert text_of(f"<p>{text}</p>") == text


@given(
    st.text(),
    st.lists(st.sampled_from(["<p>", "</p>", "<td>", "<svg>", "</svg>", "<p hidden>", "<", "&#x", "\0", "<!--"])),
)
def test_any_page_has_a_normalised_text_or_is_refused(text: str, tags: list[str]) -> None:
    page = "".join(tag + text for tag in tags).encode("utf-8", "surrogatepass")
    try:
        found = text_of(page)
    except Refusal:
        return
    assert found == normalise(found)
