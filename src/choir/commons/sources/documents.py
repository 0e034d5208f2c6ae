"""From bytes to text: what a document is, and the reader for it. Pure.

Guarantee: the same bytes, media type and reader give the same text on every machine, whatever else is known of the
document; what cannot be read is refused with words on what to do instead.
"""

from __future__ import annotations

import codecs
import re
from pathlib import PurePosixPath

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.html import read_html
from choir.commons.sources.model import DocumentTooLarge, MediaType, ReadText, UnreadableDocument, too_long
from choir.commons.sources.pdf import read_pdf
from choir.commons.sources.text import VERSION as TEXT_VERSION
from choir.commons.sources.text import decode, normalise

_DECLARED = {
    "application/pdf": MediaType.PDF,
    "application/x-pdf": MediaType.PDF,
    "application/xhtml+xml": MediaType.HTML,
    "text/html": MediaType.HTML,
    "text/markdown": MediaType.MARKDOWN,
    "text/x-markdown": MediaType.MARKDOWN,
}
_UNSAID = {"", "application/octet-stream", "binary/octet-stream", "application/force-download"}
_SUFFIXES = {
    ".pdf": MediaType.PDF,
    ".htm": MediaType.HTML,
    ".html": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
}
_HEAD_BYTES = 4096
_PDF_WITHIN = 1024  # readers accept other bytes before it (ISO 32000-1, appendix H, note 13)
_BEFORE_HTML = re.compile(r"(?:\s|<!--.*?-->|<\?xml.*?\?>)*", re.DOTALL)
_HTML = re.compile(r"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_IMAGE = "an image; if it shows a text, save that as PDF with a text layer"
_REFUSED = {
    b"PK\x03\x04": "a ZIP archive or an Office document; save it as PDF",
    b"\xd0\xcf\x11\xe0": "an old Office document; save it as PDF",
    b"{\\rtf": "an RTF document; save it as PDF",
    b"%!PS": "PostScript; save it as PDF",
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"GIF8": _IMAGE,
    b"RIFF": "an image, a sound or a film",
    b"\x1f\x8b": "compressed; unpack it first",
    b"BZh": "compressed; unpack it first",
    b"\xfd7zXZ": "compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed; unpack it first",
    b"7z\xbc\xaf": "an archive; unpack it first",
    b"Rar!": "an archive; unpack it first",
    b"\x7fELF": "a program",
}


def read_document(data: bytes, media_type: MediaType, limits: SourcesPolicy) -> ReadText:
    """The normalised text of a document."""
    check_size(data, limits)
    if media_type is MediaType.PDF:
        found = read_pdf(data, limits)
    elif media_type is MediaType.HTML:
        found = read_html(data, limits)
    else:
        found = ReadText(normalise(decode(data)), f"{_PLAIN[media_type]} {TEXT_VERSION}")
    if len(found.text) > limits.text_chars_max:
        raise too_long(limits.text_chars_max)
    if not found.text:
        raise UnreadableDocument(why="there is no text in it; scanned pages need a text layer first")
    return found


_PLAIN = {MediaType.TEXT: "plain/1", MediaType.MARKDOWN: "markdown/1"}  # the text of Markdown is its source


def check_size(data: bytes, limits: SourcesPolicy) -> None:
    if len(data) > limits.document_bytes_max:
        raise DocumentTooLarge(what="the file", size=f"{len(data)} bytes", limit=limits.document_bytes_max)


def sniff(data: bytes, declared: str | None, filename: str | None) -> MediaType:
    """What a document is: by its first bytes, else as it is declared, else by its name, else plain text."""
    return _by_magic(data) or _by_words(data, declared, filename)


def is_readable(declared: str | None) -> bool:
    """Whether something declared like this may be a document that can be read."""
    kind = essence(declared)
    return kind in _DECLARED or kind in _UNSAID or kind.startswith("text/")


def essence(declared: str | None) -> str:
    """A media type without its parameters."""
    return (declared or "").partition(";")[0].strip().lower()


def _by_magic(data: bytes) -> MediaType | None:
    for magic, what in _REFUSED.items():
        if data.startswith(magic):
            raise UnreadableDocument(why=f"it is {what}")
    if data[:_PDF_WITHIN].lstrip().startswith(b"%PDF-"):
        return MediaType.PDF
    head = _head(data)
    return MediaType.HTML if _HTML.match(head, _BEFORE_HTML.match(head).end()) else None  # type: ignore[union-attr]


def _head(data: bytes) -> str:
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data[:_HEAD_BYTES].decode("utf-16" if is_wide else "utf-8-sig", "replace")


def _by_words(data: bytes, declared: str | None, filename: str | None) -> MediaType:
    kind = essence(declared)
    if not is_readable(declared):
        raise UnreadableDocument(why=f"{kind[:80]} cannot be read")
    suffix = PurePosixPath(filename or "").suffix.lower() if kind in _UNSAID else ""
    found = _DECLARED.get(kind) or _SUFFIXES.get(suffix, MediaType.TEXT)
    if found is MediaType.PDF and b"%PDF-" not in data[:_PDF_WITHIN]:
        raise UnreadableDocument(why="it is called a PDF, but does not begin like one")
    if found is not MediaType.PDF and b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableDocument(why="it is binary, not text")
    return found
