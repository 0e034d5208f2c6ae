"""The one form of a text, its passages, and quotes that are found in it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from choir.commons.sources.model import UnreadableDocument
from choir.commons.sources.text import decode, find_span, line, normalise, passages
from tests.depth import times

ODD = "".join(
    "a1é\u0301\u0316\u0344\u0958 \t\n\r\v\f\x85\u2028\u2029\xa0\u3000\u2000\u200b\u202e\u2066\xad\ufeff\ufe0f\0\x1f|"
    "\ue000\ud800\udc00\U0010ffff\uac00\u1100\u1161\u1160\u034f-–’”"
)
texts = st.text() | st.text(st.sampled_from(ODD)) | st.text(st.characters(exclude_categories=[]))
SEEN_FORMATS = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def by_category(*wanted: str) -> list[str]:
    return [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in wanted]


# --- normalise ----------------------------------------------------------------------------------------


@given(texts)
@example("\u0958" + "\u0316" * 40)  # comes apart into a letter and one more mark
@example("a" + "\u0301" * 29 + "\u0344" * 9)
@example("\r\u200b\n")
@example(" \u200b \n\xad\n \n")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(texts)
def test_a_normalised_text_has_one_kind_of_blank_and_line_end(text: str) -> None:
    found = normalise(text)
    assert found == found.strip()
    assert "  " not in found
    assert " \n" not in found
    assert "\n " not in found
    assert "\n\n\n" not in found
    assert all(sign in " \n" or unicodedata.category(sign)[0] not in "ZC" or is_seen(sign) for sign in found)
    found.encode()


def is_seen(sign: str) -> bool:
    return ord(sign) in SEEN_FORMATS or unicodedata.category(sign) == "Cn"  # what is not assigned yet may be a letter


def test_no_control_format_or_private_character_stays() -> None:
    left = {
        sign
        for sign in by_category("Cc", "Cf", "Cs", "Co")
        if set(normalise(f"a{sign}b")) - set("ab \n\N{REPLACEMENT CHARACTER}")
    }
    assert {ord(sign) for sign in left} <= SEEN_FORMATS


def test_every_blank_is_a_space_and_every_separator_a_line_end() -> None:
    assert {normalise(f"a{sign}b") for sign in by_category("Zs")} == {"a b"}
    assert {normalise(f"a{sign}b") for sign in by_category("Zl", "Zp")} == {"a\nb"}


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a\r\nb\rc\x85d\u2028e\x0cf", "a\nb\nc\nd\ne\nf"),
        ("a \t\xa0\u3000 b", "a b"),
        ("  a  \n  b  \n\n\n \n c \n\n", "a\nb\n\nc"),
        ("e\u0301", "é"),
        ("pass\u200bword ze\u200dro so\xadft \ufeffmark", "password zero soft mark"),
        ("safe \u202eevil\u202c \u2066x\u2069", "safe evil x"),
        ("\u2764\ufe0f", "\u2764"),
        ("1\ue0002", "1\ufffd2"),
        ("half \ud83d one", "half \ufffd one"),
        ("a\0b\x07c", "abc"),
        ("\u3164\uffa0\u115f\u2800", ""),
        ("", ""),
    ],
)
def test_what_becomes_of_odd_characters(text: str, normal: str) -> None:
    assert normalise(text) == normal


def test_marks_on_one_letter_are_bounded() -> None:
    assert normalise("z" + "\u0336" * 100_000 + "!") == "z" + "\u0336" * 30 + "!"


def test_article_syntax_in_a_source_is_plain_text() -> None:
    text = "[x]{#c1} {{extract sha256:00@1-2}}\n\n```evidence\nc1 supports sha256:00@1-2 confidence=1\n```"
    assert normalise(text) == text


def test_a_line_is_one_and_not_longer_than_asked() -> None:
    assert line("  a\n\nb  c\u202e", 300) == "a b c"
    assert line("abc def", 4) == "abc"


# --- decode -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_utf8_and_marked_utf16_are_read(codec: str, text: str) -> None:
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize(
    "data",
    [
        b"caf\xe9",  # Latin-1
        b"\xc0\xafetc",  # a slash, written too long
        b"\xed\xa0\x80",  # half a character
        b"\xf4\x90\x80\x80",  # beyond Unicode
        b"\xff\xfea\x00\x00\xd8",  # UTF-16 with half a character
        b"\xff\xfea\x00b",  # and with half a unit
        "a".encode("utf-32"),
        b"a\0b",
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument):
        decode(data)


def test_utf7_stays_what_it_looks_like() -> None:
    assert decode(b"+ADw-script+AD4-") == "+ADw-script+AD4-"


# --- passages -----------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("ab. \n!\u0301。")) | st.text(), st.integers(1, 40))
def test_passages_cover_the_text_without_overlap(text: str, chars: int) -> None:
    found = passages(text, chars)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= chars for start, end in found)


def test_passages_end_where_a_reader_would_pause() -> None:
    text = "First one. Second one.\n\nThird paragraph here. Its second sentence is a longer one."
    assert [text[start:end] for start, end in passages(text, 40)] == [
        "First one. Second one.\n\n",
        "Third paragraph here. ",
        "Its second sentence is a longer one.",
    ]
    assert passages("one two three", 6) == [(0, 4), (4, 8), (8, 13)]
    assert passages("a" * 8 + "\u0301" + "b", 8) == [(0, 7), (7, 10)]


# --- quotes -------------------------------------------------------------------------------------------

TEXT = normalise(
    """It’s a “long” story — of 12–15 years.

Rates fell to 5.25 % in 2020,
and the well-
known inter-
est grew. 5 % is less.

Year | Rate
2021 | 7"""
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ('It\'s a "long" story - of 12-15 years.', "It’s a “long” story — of 12–15 years."),
        ("in 2020, and\tthe", "in 2020,\nand the"),
        ("years. Rates   fell", "years.\n\nRates fell"),
        ("the well-known interest grew", "the well-\nknown inter-\nest grew"),
        ("5 %", "5 %"),
        ("Year\tRate 2021\t7", "Year | Rate\n2021 | 7"),
        ("| 2021 | 7 |", "2021 | 7"),
        (TEXT, TEXT),
    ],
)
def test_a_quote_is_found_although_it_was_typed_otherwise(quote: str, found: str) -> None:
    span = find_span(TEXT, quote)
    assert span is not None
    assert TEXT[slice(*span)] == found


@pytest.mark.parametrize(
    "quote", ["", " \n ", "25 %", "202", "fell to 5", "It's a short story", "rates fell", "\u200b"]
)
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert find_span(TEXT, quote) is None


def test_whole_words_are_preferred_and_numbers_never_cut() -> None:
    text = "concatenate the cat: 15 % and 5 % of 1.5 %"
    assert find_span(text, "cat") == (16, 19)
    assert find_span(text, "5 %") == (30, 33)
    assert find_span("漢字仮名交じり文", "仮名") == (2, 4)


@given(st.text(st.characters(exclude_categories=["Nd", "Cs", "Cc"]) | st.sampled_from("ab \n")), st.data())
def test_every_span_of_words_is_found_again(text: str, data: st.DataObject) -> None:
    text = normalise(text.replace("|", "").replace("-", ""))
    words = text.split()
    start = data.draw(st.integers(0, len(words)))
    quote = " ".join(words[start : start + data.draw(st.integers(1, 5))])
    span = find_span(text, quote)
    assert " ".join(text[slice(*span)].split() if span else ()) == quote


@pytest.mark.scaled
@pytest.mark.parametrize("piece", ["a ", "a-\n", "é", "漢", "\u0301", "\u200b", " \n", '."', "| "])
def test_much_of_anything_is_read(piece: str) -> None:
    check_whole(normalise(piece * times(1_000_000, 20_000_000)), piece * 900 + "b")


def test_fifty_megabytes_of_one_line_are_read() -> None:
    check_whole(normalise("a" * 50_000_000), "a" * 900 + "b")


def check_whole(text: str, missing: str) -> None:
    assert sum(end - start for start, end in passages(text, 1_200)) == len(text)
    assert find_span(text, missing) is None
