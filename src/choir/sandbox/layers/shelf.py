"""Where layers are kept: a folder that all processes of a node share.

    layers/HEX/            a layer: `env`, `tree`, and `layer.json`, which says what it is
    building/HEX.xxxxxx/   one that is being made, or was when its builder was killed
    locks/HEX              whoever builds or removes a layer holds it alone, whoever uses it shares it

Guarantees: a layer appears at once and whole, by a rename, and never changes after that; the kernel lets go of a lock
when its process dies, however it dies, so that the next one finds either a whole layer or none; a layer in use is not
removed; what a killed process left is cleared by the next that builds, collects or starts. Two processes that want the
same layer build it once.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.sandbox.layers.model import ROOM_PART, TREE_PART, LayerInUse
from choir.sandbox.removal import remove_tree

_NAME = re.compile(r"sha256:([0-9a-f]{64})\Z")
_FACTS = "layer.json"
_WAIT_S = 0.05
_FACTS_BYTES_MAX = 1_000_000

IsCancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class KeptLayer:
    """A layer on disk."""

    name: str  # sha256:… of what went in
    folder: Path
    facts: dict[str, Any]
    used_at_s: float  # when it was last asked for

    @property
    def bytes(self) -> int:
        return int(self.facts.get("bytes", 0))

    @property
    def files(self) -> int:
        return int(self.facts.get("files", 0))

    @property
    def content(self) -> str:
        return str(self.facts.get("content", ""))

    @property
    def room(self) -> Path:
        return self.folder / ROOM_PART

    @property
    def tree(self) -> Path:
        return self.folder / TREE_PART


class WaitCancelled(Exception):
    """The one who waited for a layer was told to stop."""


class LayerShelf:
    """The layers of one home folder. Safe to use from many threads and processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for name in ("", "layers", "building", "locks"):
            (home / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def use(
        self, name: str, build: Callable[[Path], dict[str, Any]], cancelled: IsCancelled = lambda: False
    ) -> Iterator[KeptLayer]:
        """A layer for as long as it is needed. If there is none, `build` fills an empty folder and says the facts."""
        key = _key(name)
        while True:
            with self._locked(key, fcntl.LOCK_SH, cancelled):
                found = self._read(key)
                if found is not None:
                    self._touch(key)
                    yield found
                    return
            with self._locked(key, fcntl.LOCK_EX, cancelled):
                if self._read(key) is None:
                    self._build(key, name, build)

    def find(self, name: str) -> KeptLayer | None:
        return self._read(_key(name))

    def all(self) -> list[KeptLayer]:
        """Every layer, the one that was used last first."""
        found = [self._read(path.name) for path in (self.home / "layers").iterdir()]
        return sorted((item for item in found if item), key=lambda item: -item.used_at_s)

    def remove(self, name: str) -> bool:
        """Remove a layer that nobody uses; False if there is none."""
        key = _key(name)
        fd = self._try_lock(key)
        if fd is None:
            raise LayerInUse(name=name)
        try:
            return self._drop(key)
        finally:
            os.close(fd)

    def collect(self, bytes_max: int, layers_max: int) -> list[str]:
        """Remove those that were not used for longest until the rest fits; what is in use stays. The names removed."""
        kept = self.all()
        left_bytes, left = sum(item.bytes for item in kept), len(kept)
        removed = []
        for item in reversed(kept):
            if left_bytes <= bytes_max and left <= layers_max:
                break
            with suppress(LayerInUse):
                if self.remove(item.name):
                    removed.append(item.name)
                    left_bytes, left = left_bytes - item.bytes, left - 1
        return removed

    def clean(self) -> int:
        """Clear what killed processes left in the middle of building or removing; how many that were."""
        count = 0
        for path in (self.home / "building").iterdir():
            fd = self._try_lock(path.name.partition(".")[0])
            if fd is not None:
                count += remove_tree(path)
                os.close(fd)
        return count

    # --- inside ---

    def _build(self, key: str, name: str, build: Callable[[Path], dict[str, Any]]) -> None:
        """With the lock held alone: what lies in `building` under this name is a dead builder's."""
        for left in (self.home / "building").glob(f"{key}.*"):
            remove_tree(left)
        folder = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=self.home / "building"))
        try:
            facts = build(folder)
            folder.chmod(0o755)
            (folder / _FACTS).write_text(json.dumps(facts | {"name": name}, indent=1, sort_keys=True))
            self._touch(key)
            folder.rename(self.home / "layers" / key)
        finally:
            remove_tree(folder)

    def _drop(self, key: str) -> bool:
        """Out of sight first, by a rename, so that half a layer is never taken for a whole one."""
        gone = self.home / "building" / f"{key}.gone-{os.getpid()}-{time.monotonic_ns()}"
        try:
            (self.home / "layers" / key).rename(gone)
        except FileNotFoundError:
            return False
        remove_tree(gone)
        return True

    def _read(self, key: str) -> KeptLayer | None:
        folder = self.home / "layers" / key
        try:
            with (folder / _FACTS).open("rb") as file:
                facts = json.loads(file.read(_FACTS_BYTES_MAX))
            used = (self.home / "locks" / key).stat().st_mtime
        except (OSError, ValueError):
            return None
        return KeptLayer(f"sha256:{key}", folder, facts, used)

    def _touch(self, key: str) -> None:
        os.utime(self.home / "locks" / key)

    @contextmanager
    def _locked(self, key: str, how: int, cancelled: IsCancelled) -> Iterator[None]:
        fd = self._open_lock(key)
        try:
            while True:
                try:
                    fcntl.flock(fd, how | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if cancelled():
                        raise WaitCancelled from None
                    time.sleep(_WAIT_S)
            yield
        finally:
            os.close(fd)

    def _try_lock(self, key: str) -> int | None:
        fd = self._open_lock(key)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return fd

    def _open_lock(self, key: str) -> int:
        """Lock files stay: they are empty, and removing one that somebody waits for would let two in."""
        return os.open(self.home / "locks" / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _key(name: str) -> str:
    found = _NAME.match(name)
    assert found, "a layer is named by a hash"
    return found[1]
