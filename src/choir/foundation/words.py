"""Small words that every part says the same way."""

from __future__ import annotations

import json
import re

_PLAIN = re.compile(r"[A-Za-z0-9_.:/-]+", re.ASCII)


def count(number: int, one: str, many: str = "") -> str:
    """A number of things, in words: "1 entry", "2 entries". Most words have an s for more than one."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def clock(seconds: float) -> str:
    """A time that has passed, as a stopwatch shows it: "0:42", "1:02:03"."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shown(text: str) -> str:
    """A text that a stranger may have chosen, within a sentence of ours: a plain word as it is, all else quoted.

    Within the quotes nothing ends the line, the quotation or the order of letters, so it can fake no sentence.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in _quoted(text))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1]
