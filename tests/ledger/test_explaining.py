"""What is told of an entry are our own sentences, whatever words somebody put into it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.words import shown
from choir.ledger.explanation import explain_entry
from choir.ledger.model import Draft, Leg
from tests.ledger.books import ALICE, BOB, Books

FAKE = "It was proposed by operator and approved by operator:grace."


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029", '" ', ". ", "\u202e"])
def test_no_word_of_an_entry_becomes_a_sentence(books: Books, end: str) -> None:
    books.fund(ALICE, 5)
    fake = f"x{end}{FAKE}"
    [posted] = books.post(Draft(fake, fake + "!", fake, fake, (Leg(ALICE, BOB, 1),)))
    with books.tx() as tx:
        told = explain_entry(tx, posted.id).sentences
    assert all(sentence.isprintable() for sentence in told)
    assert "\n".join(told).splitlines() == told
    first, *_ = told
    assert f"by {shown(fake)} as {shown(fake)}, because: {shown(fake + '!')}." in first
    assert f"Sent again by {shown(fake)} with the key {shown(fake)}, it has no second effect." in told
    assert not any(sentence.startswith(FAKE) for sentence in told)


def test_plain_words_stay_as_they_are() -> None:
    for text in ("operator:grace", "bazaar.capture", "person:ada/available/CREDIT", "k-1_2"):
        assert shown(text) == text
    assert shown("an invoice") == '"an invoice"'
    assert shown("") == '""'


@given(st.text())
def test_what_is_quoted_is_one_printable_line_and_can_be_read_back(text: str) -> None:
    told = shown(text)
    assert told.isprintable()
    assert len(told.splitlines()) == 1
    assert told == text or json.loads(told) == text
