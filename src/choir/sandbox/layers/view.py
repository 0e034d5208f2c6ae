"""A tree over a layer: what a run sees of both.

The room is mounted read-only where the set-up wrote it. What the set-up added to the tree is put where it was: a folder
that the tree does not have is mounted there read-only; a single file or link is copied. Where both have a path, the
tree's stays. Nothing of a run is ever written into a layer, because all that is mounted of it is read-only.

The layer is looked at by names and kinds alone, without following a link; nothing in it is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from choir.foundation.errors import Invalid
from choir.sandbox.layers.model import ROOM, TREE
from choir.sandbox.layers.shelf import KeptLayer
from choir.sandbox.model import WORKSPACE, InFile, Mount, Spec

_MOUNTS_MAX = 256  # each costs the start of a run time


class TooScattered(Invalid):
    """A set-up that added folders in too many places of the tree."""

    code = "order.setup_scattered"
    sentence = "The set-up adds folders in more than {most} places of the tree."
    hint = "Let it write below /opt/env, or into one folder of the tree."


def _everything(_: str) -> bool:
    return True


def over(
    spec: Spec, layer: KeptLayer, tree: Path | None, at: str = TREE, keep: Callable[[str], bool] = _everything
) -> Spec:
    """The run with the layer below its tree. The tree is a folder of the node's own, as it is put in at `at`; of what
    the layer adds to it, only the paths that `keep` says yes to."""
    mounts = [Mount(layer.room, ROOM)]
    files: list[InFile] = []
    if tree is not None:
        _add(layer.tree, tree, "", Added(at, keep, mounts, files))
    if at != TREE and tree is not None:  # a set-up wrote down paths of its own tree
        files.append(InFile(TREE, link=at))
    if len(mounts) > _MOUNTS_MAX:
        raise TooScattered(most=_MOUNTS_MAX)
    return replace(spec, mounts=(*spec.mounts, *mounts), files=(*spec.files, *files))


def below(part: Path, tree: Path, keep: Callable[[str], bool] = _everything) -> list[str]:
    """The topmost paths of a layer's part that the tree does not have."""
    mounts: list[Mount] = []
    files: list[InFile] = []
    _add(part, tree, "", Added(TREE, keep, mounts, files))
    found = [item.target.removeprefix(f"{WORKSPACE}/") for item in mounts] + [item.path for item in files]
    return sorted(item.removeprefix(f"{TREE}/") for item in found)


@dataclass(frozen=True, slots=True)
class Added:
    """What comes from the layer, as it is found."""

    at: str
    keep: Callable[[str], bool]
    mounts: list[Mount]
    files: list[InFile]

    def whole(self, entry: os.DirEntry[str], path: str) -> None:
        place, source = f"{self.at}/{path}", Path(entry.path)
        if entry.is_symlink():
            self.files.append(InFile(place, link=str(source.readlink())))
        elif entry.is_dir(follow_symlinks=False):
            self.mounts.append(Mount(source, f"{WORKSPACE}/{place}"))
        else:
            executable = bool(entry.stat(follow_symlinks=False).st_mode & 0o100)
            self.files.append(InFile(place, source=source, executable=executable))


def _add(layer: Path, tree: Path, prefix: str, into: Added) -> None:
    with os.scandir(layer) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = prefix + entry.name
        kind = _kind(tree / entry.name)
        if not into.keep(path):
            continue
        if kind is None:
            into.whole(entry, path)
        elif stat.S_ISDIR(kind) and entry.is_dir(follow_symlinks=False):
            _add(layer / entry.name, tree / entry.name, f"{path}/", into)


def _kind(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None
