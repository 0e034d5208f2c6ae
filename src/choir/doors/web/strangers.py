"""Text that strangers wrote, made fit to be shown among ours.

Guarantees: nothing in it turns the text around, and nothing is in it that takes no place, except the joiners that some
writing needs; line feeds and tabs stay, so a text keeps its lines. Escaping is the templates' work.
"""

from __future__ import annotations

import re

from choir.commons.articles.words import HIDDEN

_JOINERS = "\u200c\u200d\ufe0f"  # Persian and Indic words, and emoji, are made with them
_ABOVE = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_ABOVE}{{4}}){_ABOVE}+")


def seen(text: str) -> str:
    """What a reader can see of a text; piles of marks that would reach into other lines are cut."""
    return _MARKS.sub(r"\1", HIDDEN.sub(lambda found: found[0] if found[0] in _JOINERS else "", text))


def excerpt(text: str, chars: int) -> str:
    """The beginning of a text in one line."""
    line = " ".join(seen(text).split())
    return line if len(line) <= chars else f"{line[: chars - 1].rstrip()}…"
