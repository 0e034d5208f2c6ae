"""Numbers of the notes."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value


@dataclass(frozen=True, slots=True)
class NotesPolicy:
    """How long a note is kept."""

    keep_s: int = value(60, "seconds", 1, 3_600, "this test", "How long a note is kept.")


SECTIONS = {"notes": NotesPolicy}
