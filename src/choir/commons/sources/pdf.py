"""The text of a PDF, page by page, as pypdf finds it. Pure.

Guarantees: a text is whole or refused: a page that cannot be read refuses the document, and so does what pypdf leaves
out because it is nested too deeply or used too often. Reading stops at the first character beyond the limit.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdf

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.model import DocumentTooLarge, ReadText, UnreadableDocument, too_long
from choir.commons.sources.text import VERSION as TEXT_VERSION
from choir.commons.sources.text import line, normalise
from choir.foundation.errors import Refusal

READER = f"pdf/1 pypdf/{pypdf.__version__} {TEXT_VERSION}"

_PAGE_END = "\n\n"
# What is drawn is seen: letters that a font has as one, and the hyphen at which a word was divided.
_DRAWN = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\N{SOFT HYPHEN}": "-"}
)
_USE = b"Do"  # the operator that draws a part, which may use further parts
_DEPTH_MAX = 50
_WHY_CHARS_MAX = 120


class _Stop(BaseException):
    """Enough was read. Not an `Exception`, of which pypdf catches any."""


class _Watch:
    """Looks on while pypdf reads pages, and ends it where a text is too long or its parts are nested too deeply.

    Running out of stack would end the reading of some part only, which nobody would see.
    """

    def __init__(self, chars_max: int) -> None:
        self.chars_left = chars_max
        self.depth = 0

    def hear(self, text: str, *_: Any) -> None:
        self.chars_left -= len(text)
        if self.chars_left < 0:
            raise _Stop

    def enter(self, operator: bytes, *_: Any) -> None:
        self.depth += operator == _USE
        if self.depth > _DEPTH_MAX:
            raise _Stop

    def leave(self, operator: bytes, *_: Any) -> None:
        self.depth -= operator == _USE


class _Lost(logging.Handler):
    """Hears whether pypdf left something out because there was too much of it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = False

    def emit(self, record: logging.LogRecord) -> None:
        self.heard = self.heard or "exceeded" in record.getMessage().lower()


def read_pdf(data: bytes, limits: SourcesPolicy) -> ReadText:
    """The text and title of a PDF."""
    with _listening() as lost, _explained():
        document = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if document.is_encrypted:
            raise UnreadableDocument(why="the PDF is encrypted; save it without a password")
        pages = len(document.pages)
        if pages > limits.pdf_pages_max:
            raise DocumentTooLarge(what="the PDF", size=f"{pages} pages", limit=limits.pdf_pages_max)
        text = _PAGE_END.join(_pages(document, limits.text_chars_max))
        if lost.heard:
            raise UnreadableDocument(why="a page of the PDF uses too many parts")
        return ReadText(normalise(text.translate(_DRAWN)), READER, _title(document, limits.title_chars_max))


def _pages(document: pypdf.PdfReader, chars_max: int) -> Iterator[str]:
    watch = _Watch(chars_max)
    for page in document.pages:
        try:
            yield page.extract_text(
                visitor_text=watch.hear, visitor_operand_before=watch.enter, visitor_operand_after=watch.leave
            )
        except _Stop:
            if watch.chars_left < 0:
                raise too_long(chars_max) from None
            raise UnreadableDocument(why="the parts of the PDF are nested too deeply") from None


def _title(document: pypdf.PdfReader, chars_max: int) -> str:
    try:
        title = document.metadata.title if document.metadata else None
    except MemoryError:
        raise
    except Exception:  # a document may have a text without having a title
        return ""
    return line(str(title or ""), chars_max)


@contextmanager
def _explained() -> Iterator[None]:
    """What pypdf raises is of any kind: its parts trust what they read."""
    try:
        yield
    except (Refusal, MemoryError):
        raise
    except Exception as error:
        why = line(str(error), _WHY_CHARS_MAX) or type(error).__name__
        raise UnreadableDocument(why=f"the PDF is damaged ({why.rstrip('.')})") from None


@contextmanager
def _listening() -> Iterator[_Lost]:
    handler, logger = _Lost(), logging.getLogger("pypdf")
    propagated, logger.propagate = logger.propagate, False  # a document shall not write our log
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
