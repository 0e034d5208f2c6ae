"""Where sentences start and end, by plain rules: in Markdown as it is written, and in what an article says.

Guarantees: spans do not overlap, come in order and hold every letter of the text outside of fenced blocks; linear time.
A splitter by rules errs towards longer sentences: a doubtful full stop after an initial or a title does not end one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from choir.commons.articles import markup
from choir.commons.articles.model import ParsedArticle


@dataclass(frozen=True, slots=True)
class Sentence:
    """Where a sentence stands in a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ArticleSentence:
    """A sentence of an article as it is read, and the claims that it holds some of."""

    text: str
    line: int  # of the Markdown: where its paragraph starts
    heading: bool
    labels: tuple[str, ...]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEVER_LAST = _set(
    "approx bzw ca cf ch d.h dr e.g ed eds eq eqs fig figs gen hr i.e mr mrs ms mt nr pp prof ref refs resp rev sec sen"
    " st tab u.a viz vol vols vs z.b"
)
_LAST_BEFORE_CAPITAL = _set("a.m al co corp dept etc inc jr ltd p.m ph.d sr u.k u.s usw")
_BEFORE_NUMBER = _set("art no nos p para")
_STARTERS = _set(
    "A After All Although An And As At But By For From He Her His How However If In It Its No On One She Since So Some"
    " That The Their There These They This Those Thus To Under We What When While With You"
)
_CLOSERS = r"(?:[\"'”’»›)\]*_`]|\{#[A-Za-z0-9_-]{1,32}\})*+"
_END = re.compile(rf"(?<![.!?…])(?P<stop>[.!?…]++){_CLOSERS}(?=\s|\Z)|[。！？]++[」』”’）]*+")
_LAST_WORD = re.compile(r"[\w.]*\Z")
_NEXT = re.compile(r"\s*(?P<openers>[\"'“„‘«‹(\[*_`]*)(?P<word>\w*)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_MARKER = re.compile(r"\s*(?:>\s?)*(?:#{1,6}\s+|[-+*]\s+|\d{1,9}[.)]\s+|\|)")
_BAR = re.compile(r"=+|[|:\s*_-]+")
_WORD_CHARS = 40  # no abbreviation is longer


def split(text: str) -> list[Sentence]:
    """The sentences of a text, which may be Markdown: headings, list items and table rows are apart."""
    return [sentence for start, end in _paragraphs(text) for sentence in _sentences(text, start, end)]


def sentences_of(article: ParsedArticle) -> list[ArticleSentence]:
    """What an article says, sentence by sentence; code and its own fenced blocks are none."""
    found: list[ArticleSentence] = []
    for block in markup.blocks(article.markdown):
        if block.kind not in ("text", "heading"):
            continue
        said = markup.say(block.tokens)
        claims = iter(said.claims)
        claim = next(claims, None)
        for one in _sentences(said.text, 0, len(said.text)):
            labels: list[str] = []
            while claim is not None and claim[0] < one.end:
                labels.append(claim[2].name)
                if claim[1] > one.end:
                    break  # it goes on in the next sentence
                claim = next(claims, None)
            text = " ".join(said.text[one.start : one.end].split())
            found.append(ArticleSentence(text, block.line, block.kind == "heading", tuple(labels)))
    return found


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Spans that no sentence crosses; fenced blocks are left out."""
    start = end = -1
    for line_start, line_end, fresh in _lines(text):
        if fresh and start >= 0:
            yield start, end
        start, end = (line_start if fresh or start < 0 else start), line_end
    if start >= 0:
        yield start, end


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """The lines that hold sentences, without their list or heading sign, and whether something new starts there."""
    at = 0
    fence = ""
    fresh = True
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        fenced = _FENCE.match(line)
        inside, fence = fence, _fence_after(fence, fenced, bare)
        if inside or fenced or not bare or _BAR.fullmatch(bare):
            fresh = True
        else:
            marker = _MARKER.match(line)
            yield at + (marker.end() if marker else 0), at + len(line), fresh or marker is not None
            fresh = bare.startswith(("#", "|"))
        at += len(line)


def _fence_after(fence: str, fenced: re.Match[str] | None, bare: str) -> str:
    """The fence that is open after a line."""
    if not fence:
        return fenced[1] if fenced else ""
    closes = fenced is not None and bare == bare[0] * len(bare) and fenced[1].startswith(fence)
    return "" if closes else fence


def _sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    """The sentences of one paragraph."""
    for stop in _END.finditer(text, start, end):
        if _ends(text, stop, start, end):
            yield from _trimmed(text, start, stop.end())
            start = stop.end()
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Sentence]:
    part = text[start:end]
    bare = part.strip()
    if any(map(str.isalnum, bare)):
        start += len(part) - len(part.lstrip())
        yield Sentence(start, start + len(bare))


def _ends(text: str, stop: re.Match[str], start: int, end: int) -> bool:
    """Whether a sentence ends with this stop."""
    following = _NEXT.match(text, stop.end(), end)
    assert following is not None
    after = following["word"][:_WORD_CHARS]
    if stop["stop"] is None or stop.end() == end:
        return True  # full stops of scripts that have no other use for them, and the last one
    if after[:1].islower():
        return False
    if stop["stop"] != ".":
        return stop["stop"][-1] in "!?" or not after[:1].isdigit()
    before = _LAST_WORD.search(text, max(start, stop.start() - _WORD_CHARS), stop.start())
    word = before[0] if before else ""
    return _ends_after(word, after)


def _ends_after(word: str, after: str) -> bool:
    """Whether a full stop between two words ends a sentence."""
    lower = word.lower().lstrip(".")
    if len(word) == 1 and word.isupper():  # an initial, or "vitamin C."
        return after in _STARTERS
    if lower in _NEVER_LAST:
        return False
    if lower in _LAST_BEFORE_CAPITAL:
        return after[:1].isupper()
    return not (lower in _BEFORE_NUMBER and after[:1].isdigit())
