"""What a takedown says to readers, and what its note may be."""

from __future__ import annotations

from choir.commons.articles.model import article_id
from choir.commons.takedowns.model import BadTakedown, Takedown, TakenDown
from choir.foundation.clock import to_datetime

WORDS = {
    "legal": "a legal order",
    "copyright": "a claim of copyright",
    "privacy": "somebody's private data",
    "abuse": "abuse",
    "malware": "harmful code",
}


def tombstone(found: Takedown) -> TakenDown:
    """What readers are told instead of the content."""
    what = "The source" if found.article is None else f"The article {article_id(found.article)}"
    return TakenDown(what=what, day=f"{to_datetime(found.at_us):%Y-%m-%d}", category=WORDS[found.category.value])


def checked_note(note: str, chars_max: int) -> str:
    """An operator's reason."""
    note = note.strip()
    if not 1 <= len(note) <= chars_max or "\0" in note:
        raise BadTakedown(why=f"its reason must have 1 to {chars_max} characters")
    return note
