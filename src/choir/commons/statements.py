"""What people state in plain words: reasons, summaries, objections. Pure.

Guarantee: what is kept can be seen as it is: normalised, without invisible and direction-changing characters.
"""

from __future__ import annotations

from choir.commons.sources.text import line, normalise
from choir.foundation.errors import Invalid


def statement(what: str, text: str, chars_max: int) -> str:
    """A text of some paragraphs."""
    return _checked(what, normalise(text), chars_max)


def in_a_line(what: str, text: str, chars_max: int) -> str:
    """A text for one line."""
    return _checked(what, line(text, len(text)), chars_max)


def _checked(what: str, text: str, chars_max: int) -> str:
    if not 0 < len(text) <= chars_max:
        raise Invalid(what=what, why=f"it must have 1 to {chars_max} characters that can be seen")
    return text
