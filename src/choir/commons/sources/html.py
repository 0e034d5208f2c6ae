"""The whole visible text of an HTML page, in document order. Pure.

libxml2 only takes the page apart; there is no tree, so depth costs nothing. Blocks stand on lines of their own, cells
of a table are separated by ` | `, and what a browser does not show is left out as far as the page itself says so
(style sheets are not looked at). The characters are found as browsers find them, but only from the page: byte order
mark, then what it says of itself, then UTF-8.

Guarantee: all of the page is read, or it is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

from lxml import etree

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.model import ReadText, UnreadableDocument, too_long
from choir.commons.sources.text import BOMS, decode, line, normalise
from choir.commons.sources.text import VERSION as TEXT_VERSION

READER = f"html/1 libxml2/{'.'.join(map(str, etree.LIBXML_VERSION))} {TEXT_VERSION}"


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Not shown, or shown by other means than their text.
_UNSEEN = _words(
    """annotation annotation-xml applet audio canvas datalist embed iframe noembed noframes noscript object rp script
    style svg template title video"""
)
_PARAGRAPHS = _words(
    """address article aside blockquote details dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav
    ol p pre search section table ul"""
)
_LINES = _words(
    """body caption center dd dialog dir div dt figcaption html legend li menu optgroup option summary tbody textarea
    tfoot thead tr xmp"""
)
_CELLS = frozenset({"td", "th"})
_PREFORMATTED = frozenset({"listing", "pre", "textarea", "xmp"})
_CELL_BORDER = " | "

_BLANKS = re.compile("[ \t\n\f\r]+")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_HIDING = {"display": {"none"}, "visibility": {"hidden", "collapse"}}

_HEAD_BYTES = 1024  # in which a page says its charset (WHATWG HTML, section 13.2.3.2)
_COMMENT = re.compile(rb"<!--.*?(-->|\Z)", re.DOTALL)
_META = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)""", re.IGNORECASE)
_XML = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^\s"'>]+)""")
# Labels (WHATWG Encoding, section 4.2) whose codec has another name in Python, or another meaning there.
_CODECS = {
    "ascii": "cp1252", "us-ascii": "cp1252", "iso-8859-1": "cp1252", "latin1": "cp1252", "x-cp1252": "cp1252",
    "iso-8859-9": "cp1254", "latin5": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874", "windows-874": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "big5": "big5hkscs", "x-x-big5": "big5hkscs",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "windows-949": "cp949",
    "utf-16": "utf-8", "utf-16le": "utf-8", "utf-16be": "utf-8",  # what says so in ASCII is not in it
}  # fmt: skip
# Those in which ASCII bytes are ASCII: in UTF-7, ISO-2022 or EBCDIC a page is another one than it looks like.
_READABLE = re.compile(r"utf-8|cp(125[0-8]|866|874|932|949)|iso8859-\d+|koi8-[ru]|gb18030|big5hkscs|euc_jp")


def read_html(data: bytes, limits: SourcesPolicy) -> ReadText:
    """The text and title of a page."""
    page = _Page(limits.text_chars_max)
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    source = _decode(data).encode("utf-8", "replace")
    if source.strip():  # nothing at all is an error to libxml2
        etree.fromstring(source, parser)
    for error in parser.error_log.filter_from_fatals():  # what follows such a one was not read
        if error.type == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError
        raise UnreadableDocument(why=f"the HTML cannot be read beyond line {error.line}")
    return ReadText(normalise("".join(page.pieces)), READER, line("".join(page.title), limits.title_chars_max))


def _decode(data: bytes) -> str:
    """A page that says its charset may have wrong bytes, as in browsers; one that does not is UTF-8 or refused."""
    label = None if data.startswith(BOMS) else _charset(data[:_HEAD_BYTES])
    if label is None:
        return decode(data)
    try:
        codec = codecs.lookup(_CODECS.get(label, label)).name
    except (LookupError, ValueError):
        codec = ""
    if not _READABLE.fullmatch(codec):
        raise UnreadableDocument(why=f"its charset is '{line(label, 40)}'; save it as UTF-8")
    return data.decode(codec, "replace")


def _charset(head: bytes) -> str | None:
    head = _COMMENT.sub(b"", head)
    found = _META.search(head) or _XML.match(head)
    return found[1].decode("latin-1").lower() if found else None


class _Page:
    """What libxml2 calls with the parts of a page."""

    def __init__(self, chars_max: int) -> None:
        self.pieces: list[str] = []
        self.title: list[str] = []
        self._chars_left = self._chars_max = chars_max
        self._depth = 0
        self._hidden_from = 0  # depth of the element that hides all inside it; 0: nothing is hidden
        self._in_title = self._had_title = False
        self._preformatted = 0
        self._line_ends = 0  # that come before the next text
        self._new_cell = False  # whether a border does

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._hidden_from:
            return
        if tag in _UNSEEN or _is_hidden(attributes):
            self._hidden_from = self._depth
            self._in_title = tag == "title" and not self._had_title
            return
        self._preformatted += tag in _PREFORMATTED
        self._separate(tag)
        self._new_cell = self._new_cell or tag in _CELLS
        if tag == "br":
            self._line_ends += 1

    def end(self, tag: str) -> None:
        if not self._hidden_from:
            self._preformatted -= tag in _PREFORMATTED
            self._separate(tag)
        elif self._hidden_from == self._depth:
            self._hidden_from = 0
            self._had_title = self._had_title or self._in_title
            self._in_title = False
        self._depth -= 1

    def data(self, text: str) -> None:
        if self._hidden_from:
            if self._in_title:
                self._write(self.title, text)
            return
        text = text if self._preformatted else _BLANKS.sub(" ", text)
        if not text.isspace():
            self._write(self.pieces, self._separator())
        elif self._line_ends and not self._preformatted:
            return
        self._write(self.pieces, text)

    def close(self) -> None:
        """All was read."""

    def _separate(self, tag: str) -> None:
        """A block stands on lines of its own; several that begin or end at once do not add up."""
        if tag in _PARAGRAPHS or tag in _LINES:
            self._line_ends = max(self._line_ends, 2 if tag in _PARAGRAPHS else 1)
            self._new_cell = False

    def _separator(self) -> str:
        found = "\n" * min(self._line_ends, 2) or (_CELL_BORDER if self._new_cell else "")
        self._line_ends, self._new_cell = 0, False
        return found

    def _write(self, to: list[str], text: str) -> None:
        self._chars_left -= len(text)
        if self._chars_left < 0:
            raise too_long(self._chars_max)
        to.append(text)


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    if "hidden" in attributes:
        return True
    style = attributes.get("style")
    if not style:
        return False
    parts = (part.partition(":") for part in _CSS_COMMENT.sub("", style).lower().split(";"))
    says = {name.strip(): value.partition("!")[0].strip() for name, _, value in parts}  # the last one counts
    return any(says.get(name) in values for name, values in _HIDING.items())
