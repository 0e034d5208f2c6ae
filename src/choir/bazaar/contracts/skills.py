"""A skill: a folder with `SKILL.md` and files that tell a worker how to do something.

It travels as one document and is named by the hash of its bytes. Guarantees: paths are relative, in plain form, each
once, and none is a folder of another; there are only regular files, so there is no link to follow; the files are in
the order of their paths, so the same folder always has the same hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from choir.bazaar.contracts.base import BadField, Base64, Document, ExactText, Record, Records, Rule, Text, Wrong, Yes
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.errors import Invalid
from choir.sandbox.files import safe_path

if TYPE_CHECKING:
    from pydantic import ValidationInfo

MAIN = "SKILL.md"
BYTES_MOST = 28_000_000  # of the document, whatever policy says of the files
_FILES_MOST = 10_000
_PATH = Text(500, 1)
_FOLDER_MODE, _FILE_MODE, _PROGRAM_MODE = 0o755, 0o644, 0o755


class SkillPath(Rule):
    """A path below the top of the folder, in plain form."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = _PATH.read(value, info)
        try:
            plain = safe_path(text)
        except Invalid as error:
            raise Wrong(str(error)) from None
        if plain != text or not text.isprintable() or ".git" in PurePosixPath(text).parts:
            raise Wrong("it must be a relative path in plain form, printable, and outside of .git")
        return plain


@dataclass(frozen=True, slots=True)
class SkillFile(Record):
    """A file of the folder."""

    path: Annotated[str, SkillPath()]
    content: Annotated[bytes, Base64(ExactText(BYTES_MOST))]
    executable: Annotated[bool, Yes()] = False


@dataclass(frozen=True, slots=True)
class SkillFolder(Document):
    """All of it."""

    what: ClassVar[str] = "The skill"

    files: Annotated[tuple[SkillFile, ...], Records(_FILES_MOST, least=1)]

    def check(self) -> None:
        paths = [file.path for file in self.files]
        if paths != sorted(set(paths)):
            raise Wrong(BadField(field="files", why="each path must be there once, in the order of their names"))
        folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
        if MAIN not in paths or folders & set(paths):
            raise Wrong(BadField(field="files", why=f"there must be a {MAIN}, and no file where a folder is"))
        if len({path.casefold() for path in paths}) < len(paths):
            raise Wrong(BadField(field="files", why="two paths differ only by case"))

    @property
    def hash(self) -> ObjectHash:
        return bytes_hash(self.to_bytes())

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(len(file.content) for file in self.files)

    @classmethod
    def bytes_max(cls, policy: VerificationPolicy) -> int:  # noqa: ARG003
        return BYTES_MOST

    def write(self, folder: Path) -> None:
        """Put the files into an empty folder of this machine, readable by everybody and writable by none but us."""
        folder.mkdir(mode=_FOLDER_MODE)
        for file in self.files:
            place = folder / file.path
            place.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            place.write_bytes(file.content)
            place.chmod(_PROGRAM_MODE if file.executable else _FILE_MODE)
        for made in (folder, *(item for item in folder.rglob("*") if item.is_dir())):
            made.chmod(_FOLDER_MODE)
