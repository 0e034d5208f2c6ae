"""A repository from what a browser can send: a git bundle as it is, or an archive, which becomes one.

Guarantees: an archive is unpacked as any stranger's is (`choir.sandbox.archives`), within `bazaar.archive_bytes_max`,
in a folder that is gone afterwards; no program is run on it, git included: the bundle is written from the files alone;
what git reserves and what looks like a secret is left out, and told. The same files give the same bundle.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.qualification.bundles import EXECUTABLE, LINK, PLAIN, bundle_of
from choir.bazaar.uploads.secrets import looks_secret
from choir.foundation.errors import Invalid
from choir.sandbox.archives import unpack
from choir.sandbox.files import stays_inside
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.repositories import is_plain

_BUNDLE = b"# v2 git bundle\n"
_HEADER_BYTES_MAX = 1_000_000
_REF = re.compile(r"([0-9a-f]{40}) (\S+)")
_BRANCHES = ("HEAD", "refs/heads/main", "refs/heads/master")
_ARCHIVES = (b"PK\3\4", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_LEFT_OUT_SHOWN = 100


class NoRepository(Invalid):
    code = "bazaar.no_repository"
    sentence = "The file is no repository: {why}."
    hint = "Send an archive of its files (.zip, .tar.gz), or what `git bundle create repo.bundle HEAD` writes."


@dataclass(frozen=True, slots=True)
class SentRepository:
    """A git bundle, and what an order says of it."""

    data: bytes
    commit: str
    files: int | None = None  # None: it came as a bundle, which only a sandbox opens
    left_out: tuple[tuple[str, str], ...] = ()  # paths, and why they were not taken


def repository_of(data: bytes, policy: BazaarPolicy, sandbox: SandboxPolicy) -> SentRepository:
    """What was sent, as a repository."""
    if data.startswith(_BUNDLE):
        return SentRepository(data, _head(data))
    if not data.startswith(_ARCHIVES) and data[257:262] != b"ustar":
        raise NoRepository(why="it is neither a zip or tar archive nor a git bundle")
    most = policy.archive_bytes_max
    bounds = replace(
        sandbox, files_bytes_max=min(most, sandbox.files_bytes_max), file_bytes_max=min(most, sandbox.file_bytes_max)
    )
    with tempfile.TemporaryDirectory(prefix="choir-archive-") as name:
        archive, folder = Path(name, "archive"), Path(name, "files")
        archive.write_bytes(data)
        folder.mkdir()
        unpack(archive, folder, bounds)
        return _packed(_top(folder))


def _head(data: bytes) -> str:
    """The commit that a bundle is of, from its header alone."""
    header = data[len(_BUNDLE) : _HEADER_BYTES_MAX].partition(b"\n\n")[0].decode(errors="replace")
    refs: dict[str, str] = {name: commit for commit, name in _REF.findall(header)}
    if any(line.startswith("-") for line in header.splitlines()):
        raise NoRepository(why="the bundle needs commits that are not in it")
    found = next((refs[name] for name in _BRANCHES if name in refs), None)
    if found is None and len(set(refs.values())) == 1:
        found = next(iter(refs.values()))
    if found is None:
        raise NoRepository(why="the bundle has no HEAD, and not exactly one commit")
    return found


def _top(folder: Path) -> Path:
    """Archives of a repository often have one folder around everything."""
    inside = list(folder.iterdir())
    only = inside[0] if len(inside) == 1 else None
    return only if only is not None and only.is_dir() and not only.is_symlink() and is_plain(only.name) else folder


def _packed(top: Path) -> SentRepository:
    files: dict[str, bytes] = {}
    modes: dict[str, str] = {}
    out: list[tuple[str, str]] = []
    for folder, folders, names in os.walk(top):
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        for file in (Path(folder, name) for name in [*names, *linked]):
            path = file.relative_to(top).as_posix()
            if why := _why_not(file, path):
                out.append((os.fsencode(path).decode(errors="replace"), why))  # names may be in any encoding
            elif file.is_symlink():
                files[path], modes[path] = os.fsencode(file.readlink()), LINK
            else:
                files[path] = file.read_bytes()
                modes[path] = EXECUTABLE if file.stat().st_mode & stat.S_IXUSR else PLAIN
    if not files:
        raise NoRepository(why="it has no files, or none that may be sent")
    made = bundle_of(files, modes)
    return SentRepository(made.data, made.commit, len(files), tuple(sorted(out)[:_LEFT_OUT_SHOWN]))


def _why_not(file: Path, path: str) -> str:
    if not is_plain(path):
        return "git reserves that name"
    if looks_secret(path):
        return "it looks like a secret"
    if file.is_symlink() and not stays_inside(path, os.fspath(file.readlink())):
        return "it is a link that points outside"
    return ""
