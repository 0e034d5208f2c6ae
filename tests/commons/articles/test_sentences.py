"""Where sentences start and end; and which claims a sentence of an article holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings

from choir.commons.articles.sentences import sentences_of, split
from choir.commons.articles.syntax import parse
from tests.commons.articles.pages import POLICY, SOURCE, awkward

TABLE = [
    ["Tea is hot.", "Coffee is not."],
    ["Is it?", "Yes!", "It is."],
    ["The rate was 3.5 % in 2019.", "It fell."],
    ["Prof. A. B. Weiss of St. Gallen agreed.", "Nobody else did."],
    ["Smith et al. (2019) found it.", "So did Li et al.", "The others did not."],
    ["See Fig. 3 and Eq. 2, e.g. for No. 5 on p. 7.", "It holds."],
    ["He said no.", "They went home."],
    ["Go to https://a.example/b.html?x=1.", "Then read."],
    ["“It works.”", "(So they say.)", "Fine."],
    ["“Why?” she asked.", "Nobody knew."],
    ["Well... perhaps.", "And so on…", "The end."],
    ["It has vitamin C.", "The rest is water."],
    ["J. K. Weiss wrote it."],
    ["It was made in the U.S. in May.", "It sold well."],
    ["It grew by 5 %.", "20 were left."],
    ["Apples, pears, etc. are fruit.", "We sell pears etc.", "They are good."],
    ["At 5 p.m. the test ended.", "Version 1.2.3 passed."],
    ["東京は大きい。", "人が多い。", "本当か？"],
    ["[A claim is made.]{#c1}", "*Another.*", "And [a third]{#c3}."],
    ["Wait?!", "No."],
    ["The price, approx. 5 €, rose vs. last year."],
]


@pytest.mark.parametrize("sentences", TABLE, ids=lambda sentences: sentences[0])
def test_sentences(sentences: list[str]) -> None:
    text = "".join(sentences) if sentences[0][0] == "東" else " ".join(sentences)
    assert [text[one.start : one.end] for one in split(text)] == sentences


def test_markdown_keeps_sentences_apart() -> None:
    text = (
        "# A heading\nText over\ntwo lines. Then more\n\n- first item\n- second. Part two\n  goes on\n1. third\n"
        "> a quote\n\n```\nNo sentence. At all.\n```\nUnder\n===\n| a | b |\n|---|---|\n| c. D | e |\n"
    )
    assert [text[one.start : one.end] for one in split(text)] == [
        "A heading",
        "Text over\ntwo lines.",
        "Then more",
        "first item",
        "second.",
        "Part two\n  goes on",
        "third\n> a quote",
        "Under",
        "a | b |",
        "c.",
        "D | e |",
    ]


@given(awkward)
@settings(deadline=None)
def test_spans_are_in_order_and_hold_all_letters(text: str) -> None:
    found = split(text)
    for one, other in pairwise(found):
        assert one.end <= other.start
    assert all(text[one.start : one.end] == text[one.start : one.end].strip() != "" for one in found)
    if "```" not in text and "~~~" not in text:
        rest = text
        for one in reversed(found):
            rest = rest[: one.start] + rest[one.end :]
        assert not any(map(str.isalpha, rest))


def test_sentences_of_an_article_know_their_claims() -> None:
    article = parse(
        f"# Head\n\nFirst [one]{{#c1}}, then [two]{{#c2}}. Nothing here. [It\nspans. Two sentences]{{#c3}}.\n\n"
        f"`code`. More {{{{extract {SOURCE}@1-9}}}} text.\n\n"
        f"```evidence\nc1 supports {SOURCE}@1-9\n```\n```\nNot this.\n```\n",
        POLICY,
    )
    assert [(one.text, one.line, one.heading, one.labels) for one in sentences_of(article)] == [
        ("Head", 1, True, ()),
        ("First one, then two.", 3, False, ("c1", "c2")),
        ("Nothing here.", 3, False, ()),
        ("It spans.", 3, False, ("c3",)),
        ("Two sentences.", 3, False, ("c3",)),
        ("code.", 6, False, ()),
        ("More text.", 6, False, ()),
    ]


@pytest.mark.parametrize(
    "text", ["." * 100_000, ". " * 50_000, "." + ")" * 100_000, "a. (" * 25_000, " " * 100_000, "- " * 50_000]
)
def test_hostile_text_is_split_like_any_other(text: str) -> None:
    assert len(split(text)) <= 25_000
