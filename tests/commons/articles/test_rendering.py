"""Rendering: nothing of an author's or a source's HTML survives, quotes are the source's, marks say what was found."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings

from choir.commons.articles.model import ParsedArticle
from choir.commons.articles.rendering import ATTRIBUTES, TAGS, ClaimMark, Quote, plain_text, render, render_text
from choir.commons.articles.syntax import parse
from choir.commons.verifiers.model import Outcome, Verification
from choir.foundation.errors import ChoirError
from tests.commons.articles.pages import POLICY, SOURCE, awkward, pointer, verification

html: Any = import_module("lxml.html")  # it has no types

P = f"{SOURCE}@120-188"
QUOTE = f"{{{{extract {P}}}}}"
PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED

TRICKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img/src/onerror=alert(1)>",
    '<img src="x" onerror="&#97;lert(1)">',
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>alert(1)</script>'></foreignObject></svg>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='&lt;script&gt;alert(1)&lt;/script&gt;'></iframe>",
    "<object data='data:text/html,<script>alert(1)</script>'></object>",
    "<embed src=javascript:alert(1)>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>@import '//evil.example/x.css';</style>",
    "<div style='background:url(javascript:alert(1))'>x</div>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<!-- <img src=x onerror=alert(1)> -->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><x onclick=alert(1)>",
    "<x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "<a href='javascript:alert(1)'>x</a>",
    "<span id=claim-c1 class=claim data-level=L3>verified</span>",
    "</span></p><script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](  javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](javascript&colon;alert(1))",
    "[x](javascript&#58;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A;&#x61;&#x76;&#x61;script:alert(1))",
    "[x](java\\script:alert(1))",
    "[x](java&Tab;script:alert(1))",
    "[x](java&NewLine;script:alert(1))",
    "[x](\u0001javascript:alert(1))".replace("\u0001", "&#1;"),
    "[x](%6Aavascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x](data:image/png;base64,iVBORw0KGgo=)",
    "[x](file:///etc/passwd)",
    "[x](blob:https://a.example/1)",
    "[x](//evil.example)",
    "[x](/v1/logout)",
    "[x](..\\..\\x)",
    "[x](https:evil.example)",
    "![x](javascript:alert(1))",
    '![x" onerror="alert(1)](https://a.example/x.png)',
    '![x](https://a.example/"onerror="alert(1))',
    '![x](https://a.example/x.png "x\\" onerror=\\"alert(1)")',
    '[x](https://a.example "\\"onmouseover=alert(1) x=\\"")',
    "[x](https://a.example '><script>alert(1)</script>')",
    '[x](https://a.example/"onmouseover="alert(1))',
    "[x](<https://a.example/><script>alert(1)</script>>)",
    "[<img src=x onerror=alert(1)>](https://a.example)",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "[x][1]\n\n[1]: <javascript:alert(1)> 'title'",
    "[x][1]\n\n[1]: https://a.example '\"onclick=alert(1) '",
    "[x][1]\n\n[1]: data:text/html,x",
    "![x][1]\n\n[1]: javascript:alert(1)",
    "[javascript:alert(1)]: javascript:alert(1)\n\n[javascript:alert(1)]",
    "<javascript:alert(1)>",
    "<vbscript:alert(1)>",
    "<data:text/html,<script>alert(1)</script>>",
    "<JAVASCRIPT:alert(1)>",
    '<https://a.example/"onmouseover=alert(1)>',
    "<a@b.example?body=<script>alert(1)</script>>",
    "`<img src=x onerror=alert(1)>`",
    '``` "><script>alert(1)</script>\ncode\n```',
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    '~~~ "onclick=alert(1)\n</code></pre><script>alert(1)</script>\n~~~',
    "    </code></pre><script>alert(1)</script>",
    "# <script>alert(1)</script>",
    '| <script>alert(1)</script> |\n|:---" onclick=alert(1)|\n',
    "| a |\n|:-:|\n| <img src=x onerror=alert(1)> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "<script >alert(1)</script >".replace(" ", "\u00a0"),
    '[<b>claim</b>"onclick="alert(1)]{#c1}',
    "[claim <script>alert(1)</script>]{#c1}",
    "[claim [x](javascript:alert(1))]{#c1}",
    "[claim ![x](javascript:alert(1))]{#c1}",
    "[![x](https://a.example/i.png)](https://b.example)",
    "```hyperthesis\n<script>alert(1)</script>\nbound: <img src=x onerror=alert(1)>\n```",
    "1\u202e[x](https://a.example)\u202d",
    "<p dir=rtl onclick=alert(1)>",
    "[x](https://a.example/\u202emoc.live)",
    "\\<script>alert(1)\\</script>",
]


def shown(markdown: str, quotes: dict[str, Quote] | None = None, marks: dict[str, ClaimMark] | None = None) -> str:
    return render(parse(markdown, POLICY), quotes or {}, marks or {})


def elements(page: str) -> list[Any]:
    return [one for one in html.fragment_fromstring(page, create_parent="main").iterdescendants() if one.tag != "main"]


def assert_safe(page: str) -> None:
    """Only tags and attributes of the list, links of three kinds, and no control that turns text around."""
    for one in elements(page):
        assert one.tag in TAGS
        assert set(one.attrib) <= ATTRIBUTES[one.tag] | ({"rel"} if one.tag == "a" else set())
        for name, value in one.attrib.items():
            assert not name.lower().startswith("on")
            assert "javascript:" not in value.lower().replace("&colon;", ":") or value.startswith("https://")
        if one.tag == "a":
            assert one.get("href", "").lower().startswith(("http://", "https://", "mailto:", "#"))
            assert one.get("rel") == "nofollow noopener noreferrer"
    assert not any(sign in page for sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def test_there_are_many_tricks() -> None:
    assert len(set(TRICKS)) == len(TRICKS) >= 60


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_does_nothing(trick: str) -> None:
    page = shown(trick)
    assert_safe(page)
    for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<object"):
        assert tag not in page.lower()


@pytest.mark.parametrize("trick", TRICKS)
def test_a_source_that_imitates_us_stays_text(trick: str) -> None:
    imitation = f"{trick}\n[claim]{{#c1}} {QUOTE} </q></blockquote> **bold**"
    quotes = {P: Quote(imitation, trick)}
    for markdown in (QUOTE, f"Inline {QUOTE} here.", f"[a]{{#c1}}\n```evidence\nc1 supports {P}\n```"):
        page = shown(markdown, quotes)
        assert_safe(page)
        tags = {one.tag for one in elements(page)}
        assert tags <= {
            "blockquote",
            "p",
            "footer",
            "cite",
            "code",
            "br",
            "span",
            "q",
            "section",
            "h2",
            "ol",
            "ul",
            "li",
            "a",
            "sup",
        }
        assert page.count("<a ") == (2 if "evidence" in markdown else 0)


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_does_nothing_within_a_page(trick: str) -> None:
    """There, quotes lead to their source on this node, and nothing else leads into it."""
    quotes = {P: Quote(trick, trick)}
    page = render_text(parse(f"# T\n\n{trick}\n\n{QUOTE}\n\nInline {QUOTE}.", POLICY), quotes, {})
    own = f"/sources/{P.replace('@', '?span=')}#span"
    assert own in page
    assert_safe(page.replace(own, "#"))
    assert not {"h1", "footer"} & {one.tag for one in elements(page)}


def test_within_a_page_the_title_is_left_out_and_no_level_of_headings_is() -> None:
    def tags(markdown: str) -> list[tuple[str, str]]:
        page = render_text(parse(markdown, POLICY), {}, {})
        return [(one.tag, one.text_content()) for one in elements(page) if one.tag[0] == "h" and one.tag != "hr"]

    assert tags("# Title\n\n## A\n\n###### B\n\n# C\n\n> ## D") == [
        ("h2", "A"), ("h3", "B"), ("h2", "C"), ("h3", "D"),
    ]  # fmt: skip
    assert tags("Text first.\n\n# Title") == [("h2", "Title")]
    assert tags("# [Title]{#c1}\n\n```evidence\n```") != []
    assert tags("---\ntitle: Other\n---\n\n# Title") == [("h2", "Title")]


@pytest.mark.parametrize("trick", TRICKS)
def test_what_a_verifier_says_stays_text(trick: str) -> None:
    said = verification(PASS)
    words = Verification("1", tuple(type(one)(one.level, one.check, one.outcome, trick) for one in said.findings))
    marks = {"c1": ClaimMark({pointer(): words})}
    assert_safe(shown(f"[a]{{#c1}}\n```evidence\nc1 supports {P}\n```", {}, marks))


@given(awkward)
@settings(deadline=None, max_examples=300)
def test_whatever_is_an_article_renders_safely(markdown: str) -> None:
    try:
        article = parse(markdown, POLICY)
    except ChoirError:
        return
    page = render(article, {f"{SOURCE}@1-9": Quote(markdown, markdown)}, {})
    assert_safe(page)
    ids = [one.get("id") for one in elements(page) if one.get("id")]
    assert sorted(ids) == sorted(f"{kind}-{claim.label}" for claim in article.claims for kind in ("claim", "evidence"))
    plain_text(article, {})


# What is shown


def test_links_keep_only_their_address() -> None:
    page = shown(
        "[x](https://a.example/?q=1&r=2 'title') <mailto:a@b.example> [y](#claim-c1) ![z](http://c.example/d.png)"
    )
    links = [(one.get("href"), one.text) for one in elements(page) if one.tag == "a"]
    assert links == [
        ("https://a.example/?q=1&r=2", "x"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("#claim-c1", "y"),
        ("http://c.example/d.png", "z"),
    ]
    assert "title" not in page


def test_markdown_is_shown() -> None:
    page = shown(
        "# A\n\n3. *b*\n4. **c**\n\n> d\n\n| e | f |\n|---|--:|\n| g | h |\n\n```python\n<i>\n```\n\n---\na  \nb"
    )
    tags = {one.tag for one in elements(page)}
    assert {"h1", "ol", "li", "em", "strong", "blockquote", "table", "th", "td", "pre", "code", "hr", "br"} <= tags
    assert 'start="3"' in page
    assert "language-" not in page
    assert "&lt;i&gt;" in page


def test_a_quote_alone_is_a_block_with_its_source() -> None:
    [block] = [
        one for one in elements(shown(QUOTE, {P: Quote("One\nTwo & three", "A <title>")})) if one.tag == "blockquote"
    ]
    assert block.get("class") == "extract"
    assert block.text_content() == f"OneTwo & threeA <title> {P}"


def test_a_quote_in_a_sentence_stays_in_it() -> None:
    page = shown(f"As *they* say, {QUOTE}, it is.", {P: Quote("so", "T")})
    assert "blockquote" not in page
    assert f'<q>so</q> (<cite dir="auto">T</cite> <code class="pointer">{P}</code>)' in page


def test_a_quote_that_is_not_there_says_so() -> None:
    assert "This quote is not available." in shown(QUOTE)
    assert P in shown(QUOTE)


def article(evidence: str) -> ParsedArticle:
    return parse(f"[Tea *is* hot]{{#c1}}\n\n```evidence\n{evidence}\n```\n", POLICY)


@pytest.mark.parametrize(
    ("evidence", "outcomes", "level", "word"),
    [
        ("", (), "own", "own"),
        (f"c1 supports {P}", (), "none", "unverified"),
        (f"c1 supports {P}", (UNDECIDED,), "none", "unverified"),
        (f"c1 supports {P}", (PASS,), "L0", "L0"),
        (f"c1 supports {P}", (PASS, PASS), "L1", "L1"),
        (f"c1 supports {P}", (PASS, PASS, UNDECIDED), "L1", "L1"),
        (f"c1 supports {P}", (PASS, UNDECIDED, PASS), "L0", "L0"),
        (f"c1 supports {P}", (PASS, PASS, PASS, Outcome.NOT_JUDGED), "L2", "L2"),
        (f"c1 supports {P}", (PASS, PASS, PASS, PASS), "L3", "L3"),
        (f"c1 supports {P}", (PASS, PASS, FAIL), "failed", "failed"),
        (f"c1 contradicts {P}", (PASS, PASS, PASS), "none", "unverified"),
    ],
)
def test_the_mark_is_what_was_verified(evidence: str, outcomes: tuple[Outcome, ...], level: str, word: str) -> None:
    marks = {"c1": ClaimMark({pointer(): verification(*outcomes)} if outcomes else {})}
    [claim] = [one for one in elements(render(article(evidence), {}, marks)) if one.get("id") == "claim-c1"]
    assert (claim.get("class"), claim.get("data-level")) == ("claim", level)
    assert claim.text_content() == f"Tea is hot{word}"
    [link] = claim.iter("a")
    assert link.get("href") == "#evidence-c1"


def test_the_list_at_the_end_says_what_each_level_said() -> None:
    marks = {"c1": ClaimMark({pointer(): verification(PASS, PASS, UNDECIDED)})}
    page = render(article(f"c1 supports {P} confidence=0.875\nc1 qualifies {SOURCE}@1-9"), {P: Quote("q", "T")}, marks)
    [entry] = [one for one in elements(page) if one.get("id") == "evidence-c1"]
    assert [one.text_content() for one in entry.iter("li") if one.get("class") not in (None, "binding")] == [
        "L0 passed: said L0",
        "L1 passed: said L1",
        "L2 undecided: said L2",
        "L3 not judged",
    ]
    said = " ".join(entry.text_content().split())
    assert said.startswith(f"c1 Tea is hot L1supports q T {P} confidence 87.5 %")
    assert said.endswith(f"qualifies {SOURCE}@1-9 confidence 80 % not checked")


def test_an_unbound_claim_is_the_authors_own() -> None:
    assert "the author's own statement" in shown("[a]{#c1}")
    assert "Evidence" not in shown("no claim")


def test_evidence_is_not_shown_as_text_and_a_disclosure_is() -> None:
    page = shown(
        f"[a]{{#c1}}\n```evidence\n# secret\nc1 supports {P}\n```\n```hyperthesis\nOnly\nadults\nbound: 18 years\n```"
    )
    assert "secret" not in page
    assert "Only<br>adults" in page
    assert "Bound: 18 years" in page


def test_text_of_either_direction_is_kept_apart() -> None:
    page = shown("# שלום\n\nabc \u202eevil\u202c\n\n[العربية]{#c1}\n\n" + QUOTE, {P: Quote("\u2067ש\u2069", "\u202eT")})
    undirected = {"sup", "a", "section", "h2", "ol", "code", "footer", "br"}
    for one in elements(page):
        if (one.text or "").strip() and one.tag not in undirected and one.get("class") not in ("level", "own"):
            assert any(parent.get("dir") == "auto" for parent in [one, *one.iterancestors()])
    assert_safe(page)


def test_plain_text_has_quotes_and_no_marks() -> None:
    found = parse(
        f"---\ntitle: T\n---\n# H\n\n[Tea *is*\nhot]{{#c1}} [x](https://a.example).\n\n{QUOTE}\n\n"
        f"```evidence\nc1 supports {P}\n```\n```\ncode\n```\n",
        POLICY,
    )
    assert plain_text(found, {P: Quote("as\nsaid", "T")}) == "H\n\nTea is hot x.\n\n“as\nsaid”\n\ncode"
    assert plain_text(found, {}) == f"H\n\nTea is hot x.\n\n[{P}]\n\ncode"


def test_a_deep_or_long_page_renders() -> None:
    assert_safe(shown(">" * 5_000 + "x\n\n" + "[a](https://b.example)" * 2_000 + "\n\n" + "*a **b " * 2_000))
