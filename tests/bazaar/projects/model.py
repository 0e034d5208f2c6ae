"""A project of the table: where it comes from, the bug that is put into it, and what verifies that it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from choir.bazaar.contracts import Environment, HiddenCheck, HiddenChecks, HiddenFile
from tests.bazaar.projects.sources import Archive
from tests.bazaar.verification.making import SALT


@dataclass(frozen=True)
class Project:
    """One line of code is changed from `right` to `bug`; both stand once in `file`."""

    name: str
    source: Archive | Mapping[str, str]  # of a registry, or a small one of our own
    file: str
    right: str
    bug: str
    wrong: str  # another mutation of the same place
    visible_only: str  # right for what the visible tests ask and for nothing else
    liar: str  # what a lie is made of: a function of the module in Python, else what stands in the place
    command: str
    test: str  # the file of a visible test
    hidden_command: str
    hidden_file: str
    hidden_text: str
    environment: Environment
    shadow: Mapping[str, str] = field(default_factory=dict)  # files that stand before a dependency of the layer
    hosts: tuple[str, ...] = ()
    program: str = ""  # what must be on this machine

    @property
    def hidden(self) -> HiddenChecks:
        files = (HiddenFile(self.hidden_file, self.hidden_text.encode()),)
        return HiddenChecks(SALT, (HiddenCheck(self.hidden_command),), files)

    @property
    def language(self) -> str:
        return {"py": "python", "go": "go"}.get(self.file.rpartition(".")[2], "javascript")

    def files(self) -> dict[str, bytes]:
        """The buyer's tree, with the bug."""
        if isinstance(self.source, Archive):
            found = self.source.files()
        else:
            found = {name: text.encode() for name, text in self.source.items()}
        return found | {self.file: _swapped(found[self.file], self.right, self.bug)}

    def with_in_place(self, files: Mapping[str, bytes], text: str) -> dict[str, str | bytes | None]:
        """The edit that puts something else where the bug is."""
        return {self.file: _swapped(files[self.file], self.bug, text)}


def _swapped(content: bytes, old: str, new: str) -> bytes:
    text = content.decode()
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new).encode()
