"""An article's Markdown, read strictly: `docs/reference/article-syntax.md` has the syntax.

Guarantees: an article that is read has unique labels, evidence for existing claims only, and claims of visible text
without letters that pass for others; everything else is refused with its line. Reading the same text again gives the
same article. Offsets are code points of the Markdown in NFC with LF line ends, which is what the article keeps.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Sequence

from choir.commons.articles import markup
from choir.commons.articles.markup import Block, Mark, Said
from choir.commons.articles.model import (
    ArticleTooLarge,
    BadArticle,
    Disclosure,
    EvidenceLine,
    MarkedClaim,
    ParsedArticle,
    QuoteMark,
    Relation,
)
from choir.commons.articles.words import HIDDEN, count_words, has_lookalikes, marks_in_row_at
from choir.commons.policy import CommonsPolicy
from choir.commons.sources.model import BadPointer, Pointer, parse_pointer
from choir.commons.sources.text import normalise

_CONTROL = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]")
_CONFIDENCE = re.compile(r"confidence=([01]|[01]?\.\d{1,4})", re.ASCII)
_TOPIC = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_BOUND = "bound:"
FRONT = ("title", "topics")  # the fields of front matter


def parse(markdown: str, policy: CommonsPolicy) -> ParsedArticle:
    """The article that a Markdown text is; BadArticle or ArticleTooLarge with the line if it is none."""
    text = _normal(markdown, policy)
    title, topics = _front(text, policy)
    found = list(markup.blocks(text))
    said = [_said(block) for block in found]
    claims = _claims(found, said, policy)
    disclosures = _disclosures([block for block in found if block.kind == "hyperthesis"], policy)
    prose = "\n\n".join(part.text for part in said if part.text.strip())
    return ParsedArticle(
        markdown=text,
        title=title or _heading(found, said, policy),
        topics=topics,
        claims=claims,
        evidence=_evidence([block for block in found if block.kind == "evidence"], claims, policy),
        quotes=_quotes(found, said, policy),
        disclosures=disclosures,
        words=count_words(prose),
        prose=prose,
    )


# The text


def _normal(markdown: str, policy: CommonsPolicy) -> str:
    """The Markdown in NFC with LF line ends; nothing in it that is no text."""
    _must_fit(markdown, policy)
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    control = _CONTROL.search(text)
    if control is not None:
        raise _bad(text, control.start(), f"the character {_name(control[0])} is no text")
    row = marks_in_row_at(text)
    if row is not None:
        raise _bad(text, row, "a letter has too many marks")
    text = unicodedata.normalize("NFC", text)
    _must_fit(text, policy)
    return text


def _must_fit(text: str, policy: CommonsPolicy) -> None:
    chars, limit = len(text), policy.article_chars_max
    if chars > limit:
        line = text.count("\n", 0, limit) + 1
        raise ArticleTooLarge(what="its text", size=f"{chars} characters", limit=limit, line=line)
    lines = text.count("\n") + 1
    if lines > policy.article_lines_max:
        line = policy.article_lines_max + 1
        raise ArticleTooLarge(what="its text", size=f"{lines} lines", limit=policy.article_lines_max, line=line)


def _front(text: str, policy: CommonsPolicy) -> tuple[str, tuple[str, ...]]:
    """Title and topics of the front matter."""
    start = markup.body_start(text)
    if start < 0:
        raise BadArticle(why="the front matter that starts with --- has no --- that ends it", line=1)
    fields: dict[str, str] = {}
    for line, content in enumerate(text[:start].split("\n"), 1):
        name, colon, value = content.partition(":")
        if content.strip() in ("", "---") or content.startswith("#"):
            continue
        if not colon or name not in FRONT or name in fields:
            why = "the front matter has at most one title: and one topics:"
            raise BadArticle(why=why, line=line)
        fields[name] = _collapsed(_unquoted(value.strip()))
        _check_field(name, fields[name], line, policy)
    return fields.get("title", ""), _topics(fields.get("topics", ""))


def check_front(title: str, topics: Sequence[str], policy: CommonsPolicy) -> None:
    """Raise unless these can be the title and the topics of an article."""
    _check_title(title, 1, policy)
    _check_topics(topics, 1, policy)


def _check_field(name: str, value: str, line: int, policy: CommonsPolicy) -> None:
    if name == "title":
        _check_title(value, line, policy)
    else:
        _check_topics(_topics(value), line, policy)


def _check_title(title: str, line: int, policy: CommonsPolicy) -> None:
    _check_visible("the title", title, line)
    _check_length("the title", title, policy.title_chars_max, line)


def _check_topics(topics: Sequence[str], line: int, policy: CommonsPolicy) -> None:
    if len(topics) > policy.topics_max:
        raise ArticleTooLarge(what="the front matter", size=f"{len(topics)} topics", limit=policy.topics_max, line=line)
    for topic in topics:
        _check_length("a topic", topic, policy.topic_chars_max, line)
        if not _TOPIC.fullmatch(topic) or topics.count(topic) > 1:
            why = f"'{topic[:40]}' is not a topic of its own: small letters and digits, joined by -"
            raise BadArticle(why=why, line=line)


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].strip() if quoted else value


def _topics(value: str) -> tuple[str, ...]:
    return tuple(topic.strip() for topic in value.split(",")) if value else ()


def _heading(blocks: Sequence[Block], said: Sequence[Said], policy: CommonsPolicy) -> str:
    """The first heading, as the title of an article that states none."""
    for block, part in zip(blocks, said, strict=True):
        title = _collapsed(part.text)
        if block.kind == "heading" and title:
            _check_visible("the title", part.text, block.line)
            _check_length("the title", title, policy.title_chars_max, block.line)
            return title
    return ""


# Claims and quotes


def _said(block: Block) -> Said:
    """What a block says; refused if a mark in it is not what it should be."""
    if block.kind in ("text", "heading"):
        wrong = markup.misplaced(block)
        if wrong is not None:
            raise BadArticle(why=wrong[1], line=block.line_of(wrong[0]))
        said = markup.say(block.tokens)
        control = _CONTROL.search(said.text)
        if control is not None:  # written as an entity
            raise BadArticle(why=f"the character {_name(control[0])} is no text", line=block.line)
        return said
    return Said("" if block.kind == "evidence" else block.content.strip("\n"), (), ())


def _claims(blocks: Sequence[Block], said: Sequence[Said], policy: CommonsPolicy) -> tuple[MarkedClaim, ...]:
    found: dict[str, MarkedClaim] = {}
    for block, part in zip(blocks, said, strict=True):
        for start, end, mark in part.claims:
            line = block.line_of(mark.start)
            if mark.name in found:
                raise BadArticle(why=f"the label {mark.name} is there twice", line=line)
            if len(found) == policy.claims_max:
                raise ArticleTooLarge(what="it", size="more claims", limit=policy.claims_max, line=line)
            statement = _statement(mark.name, part.text[start:end], line, policy)
            found[mark.name] = MarkedClaim(mark.name, statement, *_span(block, mark, line))
    return tuple(found.values())


def _statement(label: str, said: str, line: int, policy: CommonsPolicy) -> str:
    """What a claim states: plain, visible, in one line."""
    what = f"the claim {label}"
    _check_visible(what, said, line)
    statement = _collapsed(said)
    _check_length(what, statement, policy.claim_chars_max, line)
    if not any(map(str.isalnum, statement)):
        raise BadArticle(why=f"{what} says nothing", line=line)
    return statement


def _quotes(blocks: Sequence[Block], said: Sequence[Said], policy: CommonsPolicy) -> tuple[QuoteMark, ...]:
    found: list[QuoteMark] = []
    for block, part in zip(blocks, said, strict=True):
        for mark in part.quotes:
            line = block.line_of(mark.start)
            if len(found) == policy.quotes_max:
                raise ArticleTooLarge(what="it", size="more quotes", limit=policy.quotes_max, line=line)
            found.append(QuoteMark(_pointer(mark.name, line), *_span(block, mark, line)))
    return tuple(found)


def _span(block: Block, mark: Mark, line: int) -> tuple[int, int]:
    if not block.places:
        raise BadArticle(why="a mark cannot stand in a table's cell that has \\| in it", line=line)
    return block.place(mark.start), block.place(mark.end - 1) + 1


def _pointer(written: str, line: int) -> Pointer:
    try:
        return parse_pointer(written)
    except BadPointer as error:
        raise BadArticle(why=str(error).rstrip("."), line=line) from None


# Fenced blocks of ours


def _evidence(
    blocks: Sequence[Block], claims: Sequence[MarkedClaim], policy: CommonsPolicy
) -> tuple[EvidenceLine, ...]:
    labels = {claim.label for claim in claims}
    found: dict[tuple[str, Pointer], EvidenceLine] = {}
    for block in blocks:
        for line, content in enumerate(block.content.split("\n"), block.line + 1):
            if not content.strip() or content.lstrip().startswith("#"):
                continue
            if len(found) == policy.bindings_max:
                raise ArticleTooLarge(what="it", size="more lines of evidence", limit=policy.bindings_max, line=line)
            one = _evidence_line(content, line, policy)
            if one.label not in labels:
                raise BadArticle(why=_no_claim(one.label, labels), line=line)
            if found.setdefault((one.label, one.pointer), one) is not one:
                raise BadArticle(why=f"the claim {one.label} has this evidence already", line=line)
    return tuple(found.values())


def _no_claim(label: str, labels: Collection[str]) -> str:
    near = difflib.get_close_matches(label[:40], sorted(labels), 1, 0)
    said = f"there is no claim {label[:40]}"
    return (
        f"{said}; did you mean {near[0]}?" if near else f"{said}, nor any other: mark one with [words]{{#{label[:40]}}}"
    )


def _evidence_line(content: str, line: int, policy: CommonsPolicy) -> EvidenceLine:
    words = content.split()
    if len(words) not in (3, 4):
        raise BadArticle(why="evidence is written: c1 supports sha256:…@120-188 confidence=0.9", line=line)
    label, relation, written = words[:3]
    if relation not in list(Relation):
        raise BadArticle(why=f"evidence supports, contradicts or qualifies; not '{relation[:40]}'", line=line)
    bps = _confidence_bps(words[3], line) if words[3:] else policy.confidence_default_bps
    return EvidenceLine(label, Relation(relation), _pointer(written, line), bps, line)


def _confidence_bps(written: str, line: int) -> int:
    match = _CONFIDENCE.fullmatch(written)
    whole, _, rest = match[1].partition(".") if match else ("", "", "")
    bps = int(whole or 0) * 10_000 + int(rest.ljust(4, "0"))
    if not 0 < bps <= 10_000:
        raise BadArticle(why="confidence is above 0 and at most 1, with at most 4 decimals", line=line)
    return bps


def _disclosures(blocks: Sequence[Block], policy: CommonsPolicy) -> tuple[Disclosure, ...]:
    if len(blocks) > policy.disclosures_max:
        line = blocks[policy.disclosures_max].line
        raise ArticleTooLarge(what="it", size=f"{len(blocks)} disclosures", limit=policy.disclosures_max, line=line)
    return tuple(_disclosure(block, policy) for block in blocks)


def _disclosure(block: Block, policy: CommonsPolicy) -> Disclosure:
    statement, _, last = block.content.strip().rpartition("\n")
    bound = last.strip().removeprefix(_BOUND).strip()
    if not statement.strip() or not last.strip().startswith(_BOUND) or not bound:
        raise BadArticle(
            why="a hyperthesis is a text whose last line is bound: and how far it reaches", line=block.line
        )
    _check_length("the hyperthesis", block.content, policy.statement_chars_max, block.line)
    found = Disclosure(normalise(statement), normalise(bound))
    if not found.statement or not found.bound:
        raise BadArticle(why="a hyperthesis says nothing that can be seen", line=block.line)
    return found


# What is refused


def _check_visible(what: str, said: str, line: int) -> None:
    """Nothing may be said that cannot be seen, or that passes for something else."""
    hidden = HIDDEN.search(said)
    if hidden is not None:
        why = f"{what} has the invisible character {_name(hidden[0])}"
        raise BadArticle(why=why, line=line)
    word = has_lookalikes(said) if marks_in_row_at(said) is None else None
    if word is not None:
        why = f"{what} has the word '{word[:40]}', which mixes Latin letters with others that look the same"
        raise BadArticle(why=why, line=line)
    if normalise(_collapsed(said)) != _collapsed(said):  # such as a code point that is no character
        raise BadArticle(why=f"{what} has a sign that stands for no letter", line=line)


def _check_length(what: str, said: str, limit: int, line: int) -> None:
    if len(said) > limit:
        raise ArticleTooLarge(what=what, size=f"{len(said)} characters", limit=limit, line=line)


def _collapsed(said: str) -> str:
    return unicodedata.normalize("NFC", " ".join(said.split()))


def _bad(text: str, at: int, why: str) -> BadArticle:
    return BadArticle(why=why, line=text.count("\n", 0, at) + 1)


def _name(sign: str) -> str:
    return f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".rstrip()
