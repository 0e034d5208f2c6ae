"""The files of the story: sources and articles of our own writing, a small repository, two workers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

STORY = Path(__file__).parent / "story"
_STORED_AS = ".txt"  # so that nobody takes the story's code and tests for the project's own
_EVIDENCE = re.compile(r'@([a-z-]+) "([^"\n]+)"')


def source(name: str) -> bytes:
    return (STORY / "sources" / f"{name}.txt").read_bytes()


def article(name: str) -> str:
    """An article whose evidence names a text and the words in it: `@tides "High water …"`."""
    return (STORY / "articles" / f"{name}.md").read_text(encoding="utf-8")


def title_of(text: str) -> str:
    return re.search(r"^title: (.+)$", text, re.MULTILINE)[1]  # type: ignore[index]


def quotes_of(text: str) -> list[tuple[str, str]]:
    """The texts that an article rests on, and the words."""
    return _EVIDENCE.findall(text)


def bound(text: str, pointers: Mapping[tuple[str, str], str]) -> str:
    """The article with pointers for the words they point to; a line without a pointer is left away."""
    lines = []
    for line in text.splitlines():
        found = _EVIDENCE.search(line)
        if found is None:
            lines.append(line)
        elif pointer := pointers.get((found[1], found[2])):
            lines.append(line.replace(found[0], pointer))
    return "\n".join(lines) + "\n"


def put_repository(folder: Path) -> Path:
    """The repository that a patch is ordered for."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((STORY / "repository").iterdir()):
        (folder / file.name.removesuffix(_STORED_AS)).write_bytes(file.read_bytes())
    return folder


def change() -> bytes:
    """The change that a review is ordered for."""
    return (STORY / "change.diff").read_bytes()


def worker(name: str) -> str:
    return str(STORY / "workers" / f"{name}.toml")
