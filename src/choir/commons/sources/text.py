"""What the text of a source is, where its passages end, and where a quote stands in it. Pure.

Guarantees: `normalise` of its own result changes nothing. Its result is NFC with LF line ends and holds no character
that cannot be seen: no controls, no zero-width or bidirectional signs, no lone surrogates, no blank but the space.
What a reader could not have seen anyway is left out; what stands for something unknown (private use, half
characters) becomes U+FFFD, so that a number does not change by what is missing in it. Everything here takes time
in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from choir.commons.sources.model import UnreadableDocument

VERSION = f"text/1 unicode/{unicodedata.unidata_version}"  # NFC depends on what is assigned

_MARKS_MAX = 30  # Unicode's "stream-safe" text (UAX 15, section 13); to order them takes time in the square of it
_SWAPS_MAX = 40  # from so many different ones on, a table is faster than one replacement after the other
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

# Controls without blanks and line ends; Unicode's Default_Ignorable_Code_Point; annotation and hieroglyph formats.
# What is of the same category Cf but can be seen, such as the Arabic number sign, stays.
_UNSEEN = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_END = re.compile("[\r\v\f\x85\u2028\u2029]")
_BLANK = re.compile("[\t\x1c-\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
_NO_CHARACTER = re.compile(
    "[\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xF0000, 0x10000))
    + "]"
)

_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # looked for first: the little one begins like UTF-16's
_CODECS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
BOMS = (*_UTF32, *_CODECS)

_SENTENCE_END = re.compile("[.!?…。！？][\"'”’»)\\]]*[ \n]|[。！？]")

_ALIKE = {"'": "‘’‚‛′`´", '"': "“”„‟″«»", "-": "‐‑‒–—―−"}  # what people type for each other
# What is dropped to compare: a paragraph's end is one blank, and so is a border between cells.
_LOOSE = re.compile("\n(?=\n)|[|](?<=[ \n][|])[ \n]")
# And words that are divided, at the end of a line or by a hyphen.
_LOOSER = re.compile(_LOOSE.pattern + r"|[‐‑-](?<=[^\W\d_][‐‑-])\n?(?=[^\W\d_])")
_TRIES_MAX = 1_000  # matches that are looked at before the first is taken, though it begins inside a word


def normalise(text: str) -> str:
    """The one form that a text has here."""
    signs = set(text)  # looking at each that occurs is much faster than looking at each place
    text = _swap(text, [sign for sign in signs if _UNSEEN.match(sign)], "").replace("\r\n", "\n")
    for kind, instead in ((_LINE_END, "\n"), (_BLANK, " "), (_NO_CHARACTER, _UNKNOWN)):
        text = _swap(text, [sign for sign in signs if kind.match(sign)], instead)
    if not text.isascii():
        text = _compose(_bound_marks(text, signs))
    text = _shrink(text, "  ", " ").replace(" \n", "\n").replace("\n ", "\n")
    return _shrink(text, "\n\n\n", "\n\n").strip(" \n")


def line(text: str, chars: int) -> str:
    """Text for one line, such as a title, cut to so many characters."""
    return normalise(normalise(text).replace("\n", " ")[:chars])


def _swap(text: str, signs: list[str], instead: str) -> str:
    if len(signs) > _SWAPS_MAX:
        return text.translate(dict.fromkeys(map(ord, signs), instead))
    for sign in signs:
        text = text.replace(sign, instead)
    return text


def _shrink(text: str, run: str, shorter: str) -> str:
    """Replace until there is nothing left to replace; a run loses a third or more each time."""
    while run in text:
        text = text.replace(run, shorter)
    return text


def _compose(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    return text if composed == text else _bound_marks(composed, set(composed))  # some letters came apart into marks


def _bound_marks(text: str, signs: set[str]) -> str:
    marks = "".join(sign for sign in signs if unicodedata.combining(sign))
    return re.sub(f"([{marks}]{{{_MARKS_MAX}}})[{marks}]+", r"\1", text) if marks else text


def decode(data: bytes) -> str:
    """The characters of a plain text: UTF-8, or UTF-16 that says so."""
    if data.startswith(_UTF32):
        raise UnreadableDocument(why="it is in UTF-32; save it as UTF-8")
    bom = next((bom for bom in _CODECS if data.startswith(bom)), b"")
    codec = _CODECS.get(bom, "utf-8")
    try:
        text = data[len(bom) :].decode(codec)
    except UnicodeDecodeError as error:
        raise UnreadableDocument(why=f"byte {error.start + len(bom)} is not {codec}; save it as UTF-8") from None
    if "\0" in text:
        raise UnreadableDocument(why="it holds NUL characters, so it is no text")
    return text


# --- passages -----------------------------------------------------------------------------------------


def passages(text: str, chars: int) -> list[tuple[int, int]]:
    """Spans of at most so many characters that cover the text one after the other."""
    found = []
    start = 0
    while start < len(text):
        end = _passage_end(text, start, start + chars)
        found.append((start, end))
        start = end
    return found


def _passage_end(text: str, start: int, most: int) -> int:
    """The last good place to cut in the second half; anywhere, if there is none."""
    if most >= len(text):
        return len(text)
    least = (start + most) // 2
    paragraph = text.rfind("\n\n", least, most)
    if paragraph >= 0:
        return paragraph + 2
    sentence = max((match.end() for match in _SENTENCE_END.finditer(text, least, most)), default=-1)
    blank = max(text.rfind("\n", least, most), text.rfind(" ", least, most)) + 1
    return sentence if sentence > 0 else blank or _between_letters(text, start, most)


def _between_letters(text: str, start: int, most: int) -> int:
    """Where no mark is cut off its letter; there are at most so many in a row."""
    places = range(most, max(most - _MARKS_MAX, start + 1) - 1, -1)
    return next((place for place in places if not unicodedata.combining(text[place])), most)


# --- quotes -------------------------------------------------------------------------------------------


def find_span(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote stands in a normalised text; blanks, line ends, quotation marks and dashes may differ.

    Words that were divided at the end of a line are found too, if the quote is not there otherwise. A match that would
    cut a number in two is none; one that cuts words is taken only where no other is, as in scripts without blanks.
    """
    wanted = normalise(quote)
    return _find(text, wanted, _LOOSE) or _find(text, wanted, _LOOSER)


def _find(text: str, wanted: str, dropped: re.Pattern[str]) -> tuple[int, int] | None:
    """Both are folded: some characters are dropped, the others stay one for one."""
    haystack, needle = _fold(text, dropped), _fold(wanted, dropped).strip(" |")
    start = _match(haystack, needle) if needle else None
    if start is None:
        return None
    first, last = _unfolded(text, dropped, start), _unfolded(text, dropped, start + len(needle) - 1)
    return first, last + 1


def _fold(text: str, dropped: re.Pattern[str]) -> str:
    text = dropped.sub("", text).replace("\n", " ")
    for plain, others in _ALIKE.items():
        for other in others:
            text = text.replace(other, plain)
    return text


def _unfolded(text: str, dropped: re.Pattern[str], place: int) -> int:
    """Where a character of the folded text stands in the text."""
    for match in dropped.finditer(text):
        if match.start() > place:
            break
        place += match.end() - match.start()
    return place


def _match(text: str, quote: str) -> int | None:
    start, inside = text.find(quote), None
    for _ in range(_TRIES_MAX):
        if start < 0:
            break
        end = start + len(quote)
        if not _cuts_number(text, start) and not _cuts_number(text, end):
            if not _cuts_word(text, start) and not _cuts_word(text, end):
                return start
            inside = start if inside is None else inside
        start = text.find(quote, start + 1)
    return inside


def _cuts_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _cuts_number(text: str, place: int) -> bool:
    """Whether digits stand on both sides, also with the sign for decimals or thousands between them."""
    return re.search(r"\d[.,]?\0[.,]?\d", f"{text[max(place - 2, 0) : place]}\0{text[place : place + 2]}") is not None
