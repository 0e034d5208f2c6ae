"""Small words that every part says the same way."""

from __future__ import annotations

import json
import re

_LINES, _COLUMNS = 24, 200  # what fits a screen: its rows in a plain terminal, and a long line folded twice
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


def on_screen(text: str | bytes) -> str:
    """A text of any size as it fits a screen: its first lines, and how much more there is. It steers no terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    lines = text.rstrip("\n").split("\n")
    shown_lines = [_cut("".join(letter if letter.isprintable() else " " for letter in line)) for line in lines[:_LINES]]
    more = len(lines) - len(shown_lines)
    return "\n".join([*shown_lines, f"… and {count(more, 'more line')}"] if more else shown_lines)


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[:_COLUMNS]}…"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1]
