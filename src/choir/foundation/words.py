"""Small words that every part says the same way."""

from __future__ import annotations


def count(number: int, one: str, many: str = "") -> str:
    """A number of things, in words: "1 entry", "2 entries". Most words have an s for more than one."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
