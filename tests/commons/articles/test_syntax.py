"""The article syntax: what is read, what is refused and on which line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.commons.articles.model import (
    ArticleTooLarge,
    BadArticle,
    Disclosure,
    EvidenceLine,
    ParsedArticle,
    Relation,
)
from choir.commons.articles.syntax import parse
from choir.foundation.errors import ChoirError
from tests.commons.articles.pages import POLICY, SOURCE, awkward, pointer

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "article-syntax.md"
P = f"{SOURCE}@120-188"


def read(markdown: str) -> ParsedArticle:
    return parse(markdown, POLICY)


def claims(markdown: str) -> dict[str, str]:
    return {claim.label: claim.text for claim in read(markdown).claims}


def evidence(lines: str) -> tuple[EvidenceLine, ...]:
    return read(f"[a]{{#c1}} [b]{{#c2}}\n\n```evidence\n{lines}\n```\n").evidence


def refusal(markdown: str) -> tuple[str, int]:
    with pytest.raises((BadArticle, ArticleTooLarge)) as caught:
        read(markdown)
    return str(caught.value), caught.value.fields["line"]


# The documented example


def test_the_documented_example_is_an_article() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    article = read(text.split("~~~markdown\n")[1].split("~~~\n")[0])
    assert (article.title, article.topics) == ("Tea and iron", ("nutrition", "iron"))
    assert [claim.label for claim in article.claims] == ["c1", "c2", "advice"]
    assert [(line.label, line.relation, line.confidence_bps) for line in article.evidence] == [
        ("c1", Relation.SUPPORTS, 9_000),
        ("c1", Relation.QUALIFIES, POLICY.confidence_default_bps),
        ("c2", Relation.SUPPORTS, 7_500),
    ]
    assert [quote.pointer.start for quote in article.quotes] == [1204]
    assert article.disclosures == (
        Disclosure("The trial had women of one country only.", "men and children were not studied"),
    )


def test_the_documented_text_is_no_claim() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert claims(text.split("```markdown\n")[1].split("```\n")[0]) == {}


# Claims


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("[Tea is hot]{#c1}.", "Tea is hot"),
        ("[Tea *is* **hot**]{#c1}", "Tea is hot"),
        ("[Tea\nis   hot]{#c1}", "Tea is hot"),
        ("[Tea  \nis hot]{#c1}", "Tea is hot"),
        ("> [Tea\n> is hot]{#c1}", "Tea is hot"),
        ("1. - [Tea\n     is hot]{#c1}", "Tea is hot"),
        ("# [Tea is hot]{#c1} #", "Tea is hot"),
        ("[Tea is hot]{#c1}\n===", "Tea is hot"),
        ("| a |\n|---|\n| [Tea is hot]{#c1} |", "Tea is hot"),
        ("[Tea [is](https://a.example 'x') hot]{#c1}", "Tea is hot"),
        ("[Tea <https://a.example> hot]{#c1}", "Tea https://a.example hot"),
        ("[Tea `is` hot]{#c1}", "Tea is hot"),
        ("[Tea `]{#c2}` hot]{#c1}", "Tea ]{#c2} hot"),
        ("[Tea [1] is hot]{#c1}", "Tea [1] is hot"),
        ("[Tea \\] is hot]{#c1}", "Tea ] is hot"),
        ("[Tea &amp; milk]{#c1}", "Tea & milk"),
        ("[Tea ![cup](https://a.example/b.png)]{#c1}", "Tea cup"),
        ("[Te\u0301a]{#c1}", "Téa"),
        ("![x] [Tea is hot]{#c1}", "Tea is hot"),
        ("*[Tea is hot]{#c1}*", "Tea is hot"),
        ("a * [Tea* is hot]{#c1} *", "Tea* is hot"),
        ("[ [ [Tea is hot]{#c1}", "Tea is hot"),
        ("[ΔT is 5 µm and 3 kΩ with TNFα and pH 7]{#c1}", "ΔT is 5 µm and 3 kΩ with TNFα and pH 7"),
        ("[東京は大きい NHKです]{#c1}", "東京は大きい NHKです"),
        ("[Москва больше COVID19]{#c1}", "Москва больше COVID19"),
    ],
)
def test_a_claim_is_its_plain_text(markdown: str, text: str) -> None:
    assert claims(markdown) == {"c1": text}


@pytest.mark.parametrize(
    "markdown",
    [
        "`[a]{#c1}`",
        "``[a]{#c1} ` ``",
        "```\n[a]{#c1}\n```",
        "    [a]{#c1}",
        "\\[a\\]{#c1}",
        "[a] {#c1}",
        "[a]{c1}",
        "# Heading {#c1}",
        "[a](https://b.example){#c1}",
    ],
)
def test_what_looks_like_a_claim_and_is_text(markdown: str) -> None:
    assert claims(markdown) == {}


def test_offsets_are_of_the_whole_mark() -> None:
    article = read(f"---\ntitle: x\n---\r\n> - é [Tea\r\n>   is]{{#c1}} and {{{{extract {P}}}}} then [b]{{#c2}}\r\n")
    spans = [*((one.start, one.end) for one in article.claims), *((one.start, one.end) for one in article.quotes)]
    shown = [article.markdown[start:end] for start, end in spans]
    assert shown == ["[Tea\n>   is]{#c1}", "[b]{#c2}", f"{{{{extract {P}}}}}"]


def test_the_same_quote_in_two_cells_has_two_places() -> None:
    quote = f"{{{{extract {P}}}}}"
    article = read(f"| a | b |\n|---|---|\n| x \\| y | z |\n| {quote} | {quote} |")
    first, second = article.quotes
    assert first.end < second.start
    assert article.markdown[second.start : second.end] == quote


@pytest.mark.parametrize(
    ("markdown", "says", "line"),
    [
        ("ok\n\n[a]{#c1} [b]{#c1}", "label c1 is there twice", 3),
        ("[a]{#c1}\n\n`x`\n[b]{#c1}", "twice", 4),
        ("x\n[a [b]{#c1} c]{#c2}", "another claim inside", 2),
        ("a]{#c1}", "nothing opens", 1),
        ("[a]{#c 1}", "1 to 32 letters", 1),
        (f"[a]{{#{'c' * 33}}}", "1 to 32 letters", 1),
        ("[a]{#}", "1 to 32 letters", 1),
        ("[]{#c1}", "says nothing", 1),
        ("[*…*]{#c1}", "says nothing", 1),
        ("[x [a]{#c1}](https://b.example)", "inside a link", 1),
        ("![x [a]{#c1}](https://b.example)", "or an image", 1),
        ("[x](<https://b.example/[a]{#c1}>)", "link's address", 1),
        (f"[a {{{{extract {P}}}}}]{{#c1}}", "quote cannot stand inside a claim", 1),
        (f"\n\n[a {{{{extract {P}}}}}](https://b.example)", "quote cannot stand inside a link", 3),
        ("{{extract sha256:12@1-2}}", "not a pointer", 1),
        ("a\n\n{{extract }}", "a quote is written", 3),
        (f"{{{{extract {SOURCE}@9-9}}}}", "not a pointer", 1),
        ("| a |\n|---|\n| x \\| [a]{#c1} |", "table's cell", 3),
        (f"[{'long ' * 200}]{{#c1}}", "the claim c1 has 999 characters", 1),
    ],
)
def test_a_wrong_mark_is_refused_with_its_line(markdown: str, says: str, line: int) -> None:
    said, where = refusal(markdown)
    assert says in said
    assert where == line


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u200d",
        "\u00ad",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\u2060",
        "\u3164",
        "\ufe0f",
        "\U000e0041",
        "\U0001d159",
    ],
)
@pytest.mark.parametrize("written", ["[Te{}a is hot]{{#c1}}", "---\ntitle: Te{}a\n---\n", "# Te{}a"])
def test_what_cannot_be_seen_is_refused(written: str, hidden: str) -> None:
    said, _ = refusal(written.format(hidden))
    assert f"invisible character U+{ord(hidden):04X}" in said


def test_an_invisible_character_cannot_be_written_as_an_entity_either() -> None:
    assert "U+200B ZERO WIDTH SPACE" in refusal("[Te&#8203;a]{#c1}")[0]
    assert "U+202E" in refusal("[Te&#x202E;a]{#c1}")[0]


@pytest.mark.parametrize("word", ["Pаris", "РАRIS", "Ηeat", "gοod", "Mосква", "ᎪPPLE", "hօt", "ԝhy", "&#1040;pple"])
def test_a_word_of_letters_that_pass_for_others_is_refused(word: str) -> None:
    assert "look the same" in refusal(f"[{word} is it]{{#c1}}")[0]


def test_prose_outside_of_claims_may_have_joiners() -> None:
    assert read("نمی\u200cخواهم [claim]{#c1}").claims[0].text == "claim"


# Evidence and disclosures


def test_evidence_may_have_comments_and_blanks() -> None:
    found = evidence(f"# why\n\n  c2 contradicts {P}  \n   # more\nc1 supports {P} confidence=.25")
    assert [(one.label, one.relation, one.confidence_bps, one.line) for one in found] == [
        ("c2", Relation.CONTRADICTS, POLICY.confidence_default_bps, 6),
        ("c1", Relation.SUPPORTS, 2_500, 8),
    ]
    assert found[0].pointer == pointer()


@pytest.mark.parametrize(
    ("written", "bps"),
    [("1", 10_000), ("1.0", 10_000), ("0.9", 9_000), ("0.0001", 1), (".5", 5_000), ("0.1234", 1_234)],
)
def test_confidence_becomes_basis_points(written: str, bps: int) -> None:
    assert evidence(f"c1 supports {P} confidence={written}")[0].confidence_bps == bps


@pytest.mark.parametrize("written", ["0", "0.0", "1.1", "1.0001", "2", "-1", "0.12345", "1e-1", "", "٠.٥", ".", "0,5"])
def test_other_confidence_is_refused(written: str) -> None:
    with pytest.raises(BadArticle):
        evidence(f"c1 supports {P} confidence={written}")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"c3 supports {P}", "no claim c3; did you mean c2"),
        (f"c1 proves {P}", "supports, contradicts or qualifies"),
        ("c1 supports", "evidence is written"),
        (f"c1 supports {P} confidence=0.5 more", "evidence is written"),
        (f"c1 supports {SOURCE}@0-0", "not a pointer"),
        (f"c1 supports {SOURCE}@188-120", r"the start, 188, is after the end, 120 \(line 4\)"),
        (f"c1 supports {SOURCE}", "there is no @ with the span"),
        (f"c1 supports {SOURCE.upper()}@0-1", "not a pointer"),
        (f"c1 supports {P}\nc1 qualifies {P}", "has this evidence already"),
    ],
)
def test_wrong_evidence_is_refused(line: str, says: str) -> None:
    with pytest.raises(BadArticle, match=says) as caught:
        evidence(line)
    assert caught.value.fields["line"] == 3 + len(line.split("\n"))


def test_evidence_in_a_list_or_quote_is_evidence() -> None:
    assert len(read(f"[a]{{#c1}}\n\n> ~~~ Evidence\n> c1 supports {P}\n> ~~~\n").evidence) == 1


def test_a_claim_needs_no_evidence() -> None:
    assert read("[a]{#c1}").evidence == ()


@pytest.mark.parametrize("block", ["", "text", "bound: x", "text\nbound:", "text\nbound: x\nmore"])
def test_a_disclosure_has_a_text_and_a_bound(block: str) -> None:
    said, line = refusal(f"a\n\n```hyperthesis\n{block}\n```")
    assert "hyperthesis" in said
    assert line == 3


def test_a_disclosure_may_have_many_lines() -> None:
    [found] = read("```hyperthesis\none\n\ntwo\nbound: all of it\n\n```").disclosures
    assert found == Disclosure("one\n\ntwo", "all of it")


# Front matter, title, prose


@pytest.mark.parametrize(
    ("markdown", "title", "topics"),
    [
        ("---\ntitle: A: b\ntopics: x, y-2\n---\n# C", "A: b", ("x", "y-2")),
        ("---\n# a note\n\ntopics: x\n---\n\n## *C* `d`\n# E", "C d", ("x",)),
        ('---\ntitle: "A b"\n---', "A b", ()),
        ("---\n---\nC\n=", "C", ()),
        ("# [A claim]{#c1}", "A claim", ()),
        ("text\n\n---\n\ntext", "", ()),
        ("", "", ()),
    ],
)
def test_title_and_topics(markdown: str, title: str, topics: tuple[str, ...]) -> None:
    article = read(markdown)
    assert (article.title, article.topics) == (title, topics)


@pytest.mark.parametrize(
    ("markdown", "line"),
    [
        ("---\ntitle: x\n", 1),
        ("---", 1),
        ("---\ntitle: x\ntopic: y\n---\n", 3),
        ("---\ntitle: x\ntitle: y\n---\n", 3),
        ("---\nwords\n---\n", 2),
        ("---\ntopics: A b\n---\n", 2),
        ("---\ntopics: a,,b\n---\n", 2),
        ("---\ntopics: a, a\n---\n", 2),
        ("---\ntopics: a--b\n---\n", 2),
        (f"---\ntopics: {'a' * 41}\n---\n", 2),
        (f"---\ntopics: {', '.join('abcdefghi')}\n---\n", 2),
        (f"---\ntitle: {'a' * 301}\n---\n", 2),
        (f"\n\n# {'a' * 301}", 3),
    ],
)
def test_wrong_front_matter_is_refused(markdown: str, line: int) -> None:
    assert refusal(markdown)[1] == line


def test_prose_is_what_is_read() -> None:
    article = read(
        f"---\ntitle: not this\n---\n# One *two*\n\n[three]{{#c1}} [four](https://not.example 'nor this')"
        f" ![five](https://a.example)\n- six {{{{extract {P}}}}}\n\n| seven |\n|---|\n| eight |\n\n"
        f"```evidence\nc1 supports {P}\n```\n```python\nnine = ten\n```\n"
        "```hyperthesis\neleven\nbound: twelve\n```\n<b>x</b>"
    )
    assert article.prose.split("\n\n") == [
        "One two",
        "three four five",
        "six ",
        "seven",
        "eight",
        "nine = ten",
        "eleven\nbound: twelve",
        "<b>x</b>",
    ]
    assert article.words == 14


def test_scripts_without_blanks_have_words_too() -> None:
    assert read("東京は big city.").words == 5
    assert read("don't — stop … 3.5").words == 3


# Limits


@pytest.mark.parametrize(
    ("markdown", "limits", "line"),
    [
        ("x\n" * 600, {"article_chars_max": 1_000}, 501),
        ("\n" * 100, {"article_lines_max": 100}, 101),
        ("[a]{#c1}\n[a]{#c2}\n[a]{#c3}", {"claims_max": 2}, 3),
        (f"{{{{extract {P}}}}}\n\n{{{{extract {P}}}}}", {"quotes_max": 1}, 3),
        (f"[a]{{#c1}}\n```evidence\nc1 supports {P}\nc1 supports {SOURCE}@1-2\n```", {"bindings_max": 1}, 4),
        ("```hyperthesis\na\nbound: b\n```\n" * 2, {"disclosures_max": 1}, 5),
        (f"```hyperthesis\n{'a' * 30}\nbound: b\n```\n" * 2, {"statement_chars_max": 20}, 1),
    ],
)
def test_too_much_is_refused_with_the_line(markdown: str, limits: dict[str, int], line: int) -> None:
    with pytest.raises(ArticleTooLarge) as caught:
        parse(markdown, replace(POLICY, **limits))
    assert caught.value.fields["line"] == line


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x85", "\u2028", "\ud800", "&#12;", "&#x2029;"])
def test_what_is_no_text_is_refused(sign: str) -> None:
    said, line = refusal(f"a\n\nb{sign}c")
    assert "is no text" in said
    assert line == 3


def test_marks_without_end_on_one_letter_are_refused() -> None:
    assert "too many marks" in refusal("x" + "\u0301\u0323" * 90_000)[0]


HOSTILE = [
    "[" * 100_000,
    "![" * 50_000,
    "[" * 50_000 + "]" * 50_000,
    "[" * 50_000 + "[a]{#c1}" + "]" * 50_000,
    "`" * 150_000,
    "".join("`" * row + " " for row in range(500)),
    "[a `" * 20_000,
    "*a_" * 30_000,
    ">" * 100_000,
    "- " * 50_000,
    "<" * 100_000,
    "&" * 100_000,
    "[a](" * 25_000,
    "![a" * 2_000 + "](https://b.example)" * 2_000,
    "![](https://b.example)" * 5_000,
    "| a\\|b " * 10_000 + "|\n" + "|---" * 10_000 + "|\n",
]


@pytest.mark.parametrize("markdown", HOSTILE, ids=lambda markdown: markdown[:12])
def test_hostile_nesting_is_read_like_any_text(markdown: str) -> None:
    assert read(markdown).evidence == ()


def test_a_megabyte_of_backticks_is_too_large() -> None:
    with pytest.raises(ArticleTooLarge):
        read("`" * 1_000_000)


# Properties


def read_or_refusal(markdown: str) -> ParsedArticle | ChoirError:
    try:
        return read(markdown)
    except (BadArticle, ArticleTooLarge) as error:
        return error


@given(awkward)
@settings(deadline=None, max_examples=400)
def test_any_text_is_an_article_or_refused(markdown: str) -> None:
    article = read_or_refusal(markdown)
    if isinstance(article, ChoirError):
        assert 1 <= article.fields["line"] <= markdown.count("\n") + markdown.count("\r") + 1
        return
    assert read(article.markdown) == article
    for claim in article.claims:
        mark = article.markdown[claim.start : claim.end]
        assert mark.startswith("[")
        assert mark.endswith(f"]{{#{claim.label}}}")
    for quote in article.quotes:
        assert str(quote.pointer) in article.markdown[quote.start : quote.end]


@given(st.text())
@settings(deadline=None)
def test_any_unicode_is_an_article_or_refused(markdown: str) -> None:
    assert isinstance(read_or_refusal(markdown), ParsedArticle | ChoirError)
