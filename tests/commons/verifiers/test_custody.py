"""L0 and L1: bytes, text and spans are what was recorded."""

from __future__ import annotations

import pytest

from choir.commons.verifiers.custody import Recorded, snapshot, span, text_hash
from choir.commons.verifiers.model import Level, Outcome
from choir.foundation.canonical import bytes_hash

DATA = "Água fervida.\n".encode()
TEXT = DATA.decode()
RECORDED = Recorded(bytes_hash(DATA), text_hash(TEXT), len(TEXT))


def test_the_recorded_source_passes() -> None:
    found = snapshot(RECORDED, DATA, TEXT)
    assert (found.level, found.outcome) == (Level.L0, Outcome.PASS)


@pytest.mark.parametrize(
    ("data", "text", "word"),
    [
        (DATA + b" ", TEXT, "bytes"),
        (DATA, TEXT + " ", "text"),
        (DATA, TEXT.replace("Á", "A\u0301"), "normal form"),
        (DATA, TEXT.replace("\n", "\r\n"), "normal form"),
        (DATA, TEXT[:-1], "characters"),
    ],
)
def test_another_source_fails_and_says_why(data: bytes, text: str, word: str) -> None:
    found = snapshot(RECORDED, data, text)
    assert found.outcome is Outcome.FAIL
    assert word in found.words


def test_the_recorded_span_passes() -> None:
    found = span(TEXT, 0, 4, text_hash("Água"))
    assert (found.level, found.outcome) == (Level.L1, Outcome.PASS)


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (4, 2), (0, len(TEXT) + 1), (100, 120)])
def test_a_span_outside_fails(start: int, end: int) -> None:
    found = span(TEXT, start, end, text_hash("Água"))
    assert found.outcome is Outcome.FAIL
    assert "outside" in found.words


def test_a_span_with_other_words_fails() -> None:
    assert span(TEXT, 1, 5, text_hash("Água")).outcome is Outcome.FAIL


def test_half_a_character_is_not_hashed_like_a_whole() -> None:
    assert text_hash("\ud83d") != text_hash("?")
