"""Articles out of a folder of Markdown files, for drafts: this is all the input that articles read by themselves.

Guarantees: links are not followed, so nothing outside of the folder is read; a file that cannot be read as an article
is reported in its place and stops no other; the order is that of the paths, the same everywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from choir.commons.articles.markup import body_start
from choir.commons.articles.model import ArticleTooLarge, BadArticle, FolderTooLarge, ParsedArticle
from choir.commons.articles.syntax import FRONT, parse
from choir.commons.policy import CommonsPolicy
from choir.foundation.errors import ChoirError

_ENDINGS = (".md", ".markdown")
_CHAR_BYTES_MAX = 4  # of UTF-8


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file, and the article that it is or why it is none."""

    path: str  # from the folder on, with /
    article: ParsedArticle | None = None
    error: ChoirError | None = None
    ignored: tuple[str, ...] = ()  # fields of its front matter that mean nothing here


def read_folder(folder: Path, policy: CommonsPolicy) -> list[ImportedFile]:
    """All Markdown files of a folder and the folders in it; hidden ones are left out."""
    paths: list[Path] = []
    for path in _files(folder):
        if len(paths) == policy.import_files_max:
            raise FolderTooLarge(limit=policy.import_files_max)
        paths.append(path)
    return [_read(path, folder, policy) for path in sorted(paths, key=lambda path: path.relative_to(folder).parts)]


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if name.lower().endswith(_ENDINGS) and not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                yield path


def _read(path: Path, folder: Path, policy: CommonsPolicy) -> ImportedFile:
    name = path.relative_to(folder).as_posix()
    try:
        text, ignored = _without_unknown(_text(path, policy))
        return ImportedFile(name, article=parse(text, policy), ignored=ignored)
    except ChoirError as error:
        return ImportedFile(name, error=error)


def _without_unknown(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without the fields of front matter that other programs have put there, and what they are called."""
    text = text.replace("\r\n", "\n")
    start = body_start(text)
    kept: list[str] = []
    ignored: list[str] = []
    dropping = False
    for content in text[: max(start, 0)].splitlines(keepends=True):
        name = content.partition(":")[0].strip()
        if content[:1] in (" ", "\t", "-") and content.strip() != "---":
            if not dropping:
                kept.append(content)
            continue  # it belongs to the field above
        dropping = ":" in content and name not in FRONT and not content.startswith("#")
        (ignored if dropping else kept).append(name if dropping else content)
    return "".join(kept) + text[max(start, 0) :], tuple(dict.fromkeys(ignored))


def _text(path: Path, policy: CommonsPolicy) -> str:
    limit = policy.article_chars_max * _CHAR_BYTES_MAX
    try:
        # It may have been replaced by a link or a pipe since it was listed.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise BadArticle(why=f"the file cannot be opened: {error.strerror}", line=1) from None
    if len(data) > limit:
        raise ArticleTooLarge(what="its file", size=f"more than {limit} bytes", limit=limit, line=1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadArticle(why="it is not UTF-8", line=data.count(b"\n", 0, error.start) + 1) from None
