"""What a source is: a document with a text that everyone gets from its bytes, and pointers into that text.

Offsets count Unicode code points of the normalised text (NFC, LF line ends).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from choir.commons.passages.model import EmbeddedPassage
from choir.foundation.canonical import ObjectHash, parse_object_hash
from choir.foundation.errors import Invalid, NotFound, Refusal, TooLarge, Unavailable


class MediaType(StrEnum):
    """What can be read."""

    PDF = "application/pdf"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class ReadText:
    """The normalised text of a document, and by which reader it was made."""

    text: str
    reader: str  # name and version; the same bytes and reader give the same text everywhere
    title: str = ""  # as the document says it; may be empty


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """What a URL led to."""

    data: bytes
    declared: str | None  # its media type, as the server says
    url: str  # after redirects, in plain form, without a fragment
    filename: str  # may be empty


@dataclass(frozen=True, slots=True)
class Pointer:
    """A span of a source's text, as an article writes it: `sha256:…@120-188`."""

    source: ObjectHash
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.source}@{self.start}-{self.end}"


_POINTER = re.compile(r"(sha256:[0-9a-f]{64})@(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})", re.ASCII)


def parse_pointer(text: str) -> Pointer:
    """A pointer as it is written."""
    match = _POINTER.fullmatch(text)
    if match is None:
        raise BadPointer(pointer=text[:120], why=_why_no_pointer(text))
    if int(match[2]) >= int(match[3]):
        why = "is at" if int(match[2]) == int(match[3]) else "is after"
        raise BadPointer(pointer=text[:120], why=f"the start, {match[2]}, {why} the end, {match[3]}")
    return Pointer(parse_object_hash(match[1]), int(match[2]), int(match[3]))


def _why_no_pointer(text: str) -> str:
    """What is wrong first, from left to right."""
    source, at, span = text.partition("@")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", source, re.ASCII):
        return "it does not begin with sha256: and 64 hex digits"
    if not at:
        return "behind the source there is no @ with the span"
    return f"the span '{span[:40]}' is not two numbers with a hyphen between them"


class BadPointer(Invalid):
    code = "commons.bad_pointer"
    sentence = "'{pointer}' is not a pointer to an extract: {why}."
    hint = "Write sha256:<64 hex digits>@<start>-<end>; `choir source find` prints it."


class SpanOutside(Invalid):
    code = "commons.span_outside"
    sentence = "The span {start}-{end} is outside of the source {source}, which has {chars} characters."


class UnknownSource(NotFound):
    code = "commons.source_unknown"
    sentence = "There is no source {source}, or you may not read it."


class UnreadableDocument(Invalid):
    code = "commons.unreadable"
    sentence = "The document cannot be read: {why}."
    hint = "PDF, HTML, Markdown and plain text (UTF-8) can be read."


class DocumentTooLarge(TooLarge):
    code = "commons.document_too_large"
    sentence = "The document is too large: {what} is {size}, and the limit is {limit}."


def too_long(chars_max: int) -> DocumentTooLarge:
    """A text beyond its limit; nobody counts how far beyond, because reading stops there."""
    return DocumentTooLarge(what="its text", size=f"more than {chars_max} characters", limit=chars_max)


class ReadingTooLong(Refusal):
    code = "commons.reading_too_long"
    sentence = "Reading the document took more than its limit of {what}."
    hint = "Documents that need that much are refused; try its text alone."


class ReadersBusy(Unavailable):
    code = "commons.readers_busy"
    sentence = "All {readers} readers of documents are busy."
    hint = "Try again in a moment; or an operator raises commons_sources.readers_max."


class ReadersStopped(Unavailable):
    code = "commons.readers_stopped"
    sentence = "Documents cannot be read now: the process that reads them does not run."
    hint = "If the node is not stopping, its log says why."


class FetchOff(Refusal):
    code = "commons.fetch_off"
    sentence = "This node does not fetch URLs."
    hint = "Download the document and add the file; or an operator sets commons_sources.fetch_urls to 1."


class FetchRefused(Refusal):
    code = "commons.fetch_refused"
    sentence = "The URL cannot be fetched: {why}."


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source as the node lists it."""

    hash: ObjectHash
    atom: int
    state: str
    owner: str | None
    media_type: str
    bytes: ObjectHash
    text: ObjectHash
    size: int
    chars: int
    reader: str
    origin: str
    url: str | None
    title: str
    added_us: int


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that was read, before anything is kept of it."""

    data: bytes
    media_type: MediaType
    read: ReadText
    passages: tuple[EmbeddedPassage, ...] = ()  # none: of an article, whose own words are embedded by themselves


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """Where something was found: the pointer to it, and its words."""

    pointer: Pointer
    title: str
    text: str
