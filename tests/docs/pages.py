"""Documentation as something that can be run: the commands of a page and what it says they print.

In a fenced `console` block a line that starts with `$ ` is a command and the lines below it are its
output; a backslash at the end of a line continues it. A `json` block with a file name behind the word
is that file. Blocks of any other kind are only read.

Output is compared line by line. `…` stands for anything, alone on a line for any lines. Times and
hashes match every time and hash. Ids and keys differ from run to run, so the first time a page shows
one, the real one is learned; from then on it must be that one, in outputs and in commands. So it is with
the hash of an object (`sha256:…`) that a command or a file of the page names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):8420")  # what pages say; a test's node has a port of its own

_FENCE = re.compile(r"^```(?P<kind>\S*)(?: (?P<name>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_KINDS = "entry|hold|node|agent|delegation|token|login|article|revision|challenge"
_NAME = rf"(?:{_KINDS})_[0-9a-z]{{26}}|(?:person|agent):[0-9a-z]{{26}}"
_TOKEN = r"choir_pat_[0-9A-Za-z]{49}"
_KEY = r"\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OBJECT = r"sha256:[0-9a-f]{64}"
_LEARNED = (_NAME, _TOKEN, _KEY, _UUID, _OBJECT)
_ANY = {
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "hash": r"\b[0-9a-f]{64}\b",
    "gap": "…",
}
_SPECIAL = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in {**_ANY, "learned": "|".join(_LEARNED)}.items())
)


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    text: str
    output: list[str]
    line: int


@dataclass(frozen=True)
class File:
    """A file that a page tells its reader to save."""

    name: str
    text: str


def markdown_files() -> list[Path]:
    """Every page of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def steps(page: Path) -> list[Command | File]:
    """What a reader does, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Command | File] = []
    for match in _FENCE.finditer(text):
        if match["kind"] == "console":
            found += _commands(match["text"], text.count("\n", 0, match.start()) + 2)
        elif match["name"]:
            found.append(File(match["name"], match["text"]))
    return found


def _commands(block: str, first_line: int) -> list[Command]:
    found: list[Command] = []
    lines = block.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"a console block starts with a command, not with {lines[at]!r}"
        line = first_line + at
        text = lines[at].removeprefix("$ ")
        while text.endswith("\\"):
            at += 1
            text += "\n" + lines[at]
        at += 1
        output = []
        while at < len(lines) and not lines[at].startswith("$ "):
            output.append(lines[at].rstrip())
            at += 1
        found.append(Command(text, output, line))
    return found


def used_objects(todo: Sequence[Command | File]) -> frozenset[str]:
    """The hashes of objects that a reader has to put in."""
    return frozenset(name for step in todo for name in re.findall(_OBJECT, step.text))


@dataclass
class Names:
    """What a page calls something, and what it is really called."""

    port: int
    used: frozenset[str] = frozenset()  # hashes of objects that the page names in commands and files
    known: dict[str, str] = field(default_factory=dict)

    def real(self, text: str) -> str:
        """A command with the real names in it."""
        for shown, real in self.known.items():
            text = text.replace(shown, real)
        return self._here(text)

    def _here(self, text: str) -> str:
        """A text with the port of the test's node."""
        return _ADDRESS.sub(rf"\1:{self.port}", text)

    def compare(self, shown: list[str], found: list[str]) -> str | None:
        """What differs first, or nothing."""
        if not shown:
            return f"there is more: {found[0]!r}" if found else None
        if shown[0] == "…":
            rests = (self.compare(shown[1:], found[skip:]) for skip in range(len(found) + 1))
            return None if any(rest is None for rest in rests) else f"{shown[1]!r} does not come"
        if not found:
            return f"there is no {shown[0]!r}"
        if not self._same(shown[0], found[0]):
            return f"{found[0]!r} is not {shown[0]!r}"
        return self.compare(shown[1:], found[1:])

    def _same(self, shown: str, found: str) -> bool:
        shown = self._here(shown)
        pattern, at = "", 0
        new: list[str] = []
        for match in _SPECIAL.finditer(shown):
            pattern += re.escape(shown[at : match.start()])
            at = match.end()
            if match.lastgroup != "learned":
                pattern += ".*?" if match.lastgroup == "gap" else _ANY[match.lastgroup or ""]
            elif re.fullmatch(_OBJECT, match[0]) and match[0] not in self.used:
                pattern += _OBJECT
            elif match[0] in self.known:
                pattern += re.escape(self.known[match[0]])
            elif match[0] in new:
                pattern += f"(?P=n{new.index(match[0])})"
            else:
                kind = next(kind for kind in _LEARNED if re.fullmatch(kind, match[0]))
                pattern += f"(?P<n{len(new)}>{kind})"
                new.append(match[0])
        matched = re.fullmatch(pattern + re.escape(shown[at:]), found)
        if matched is not None:
            self.known |= {name: matched[f"n{index}"] for index, name in enumerate(new)}
        return matched is not None
