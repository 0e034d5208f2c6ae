"""Building environments and keeping what set-ups left.

Guarantees: a set-up runs in a sandbox, on the buyer's base commit alone, with the hosts of its order in reach and
nothing else; what it left is kept under the hash of all that it could see, whole or not at all; it is bounded in bytes,
files and time; it is opened by nobody but the sandboxes that it is mounted into.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.environments import MACHINE, Environment
from choir.bazaar.environments import rules
from choir.bazaar.environments.mirrors import FILE, read_mirrors
from choir.bazaar.environments.model import (
    Layer,
    NoImage,
    NoSuchFile,
    SetupFailed,
    SetupHostRefused,
    SetupTimedOut,
    SetupTooLarge,
)
from choir.bazaar.policy import EnvironmentsPolicy
from choir.bazaar.verification.model import Cancelled, Runs
from choir.bazaar.verification.trees import entries_of, guarded
from choir.foundation.clock import Clock, SystemClock
from choir.sandbox.layers.model import ROOM, TREE, Capture
from choir.sandbox.layers.shelf import KeptLayer, LayerShelf, WaitCancelled
from choir.sandbox.model import EndReason, Limits, Result, Spec, said

FOLDER = "environments"  # below the home folder
_IMAGES = "images"
_SAID_LETTERS = 600
_PIECE = 1 << 20
_OUTPUT_BYTES = 200_000
_ROOM_FACTOR = 2  # a set-up has caches besides what it leaves


def _never() -> bool:
    return False


class Environments:
    """The environments of one home folder; safe to use from many threads and processes."""

    def __init__(
        self, runs: Runs, home: Path, policy: EnvironmentsPolicy | None = None, clock: Clock | None = None
    ) -> None:
        self.policy = policy or EnvironmentsPolicy()
        self.home = home / FOLDER
        self._runs = runs
        self._mirrors = home / FILE
        self._clock = clock or SystemClock()
        self.shelf = LayerShelf(self.home)

    @contextmanager
    def use(self, environment: Environment, tree: Path, cancelled: Callable[[], bool] = _never) -> Iterator[Layer]:
        """The environment of an order on its base tree, set up if it is not there yet, for as long as it is needed."""
        root, image = self._base(environment.base)
        ready = Layer(None, root, image, environment.build.strip(), policy=self.policy)
        if not environment.setup.strip():
            yield ready
            return
        name, paths = self.name_of(environment, tree)
        try:
            with self.shelf.use(
                name, lambda into: self._build(environment, tree, paths, into, cancelled), cancelled
            ) as kept:
                yield replace(ready, kept=kept, python_path=_sites(kept), variables=rules.run_variables())
        except WaitCancelled:
            raise Cancelled from None

    def name_of(self, environment: Environment, tree: Path) -> tuple[str, list[str]]:
        """The name that the layer has or will have, and the files of the tree that the set-up sees."""
        entries = entries_of(tree)
        paths = rules.chosen(environment, entries)
        for pattern in environment.setup_files:
            if not rules.chosen(replace(environment, setup_files=(pattern,)), paths):
                raise NoSuchFile(pattern=pattern)
        base = environment.base if environment.base != MACHINE else machine()
        return rules.name(environment, base, {path: _content(entries[path][0]) for path in paths}), paths

    def all(self) -> list[KeptLayer]:
        return self.shelf.all()

    def collect(self) -> list[str]:
        """Remove what killed builders left, and layers beyond the policy's limits."""
        return collect(self.shelf, self.policy)

    # --- the set-up ---

    def _build(
        self, environment: Environment, tree: Path, paths: list[str], into: Path, cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="tree.", dir=into) as folder:
            seen = _lay_out(tree, paths, Path(folder)) if environment.setup_files else tree
            spec = self._spec(environment, seen, Capture(into, frozenset(paths), *self._bounds()))
            result = guarded(self._runs, spec, cancelled)
        _judge(result)
        assert result.captured is not None
        return {
            "content": result.captured.content,
            "files": result.captured.files,
            "bytes": result.captured.bytes,
            "left_out": list(result.captured.left_out),
            "base": environment.base,
            "machine": machine(),
            "setup": environment.setup,
            "setup_files": list(environment.setup_files),
            "hosts": list(environment.hosts),
            "builder": rules.BUILDER,
            "built_at_us": self._clock.now_us(),
            "tier": result.tier.label,
            "wall_ms": round(result.usage.wall_s * 1000),
            "cpu_ms": round(result.usage.cpu_s * 1000),
            "downloaded_bytes": sum(record.received_bytes for record in result.requests),
            "refused": sorted({record.host for record in result.requests if record.outcome == "refused"})[:20],
        }

    def _bounds(self) -> tuple[int, int]:
        return self.policy.layer_files_max, self.policy.layer_bytes_max

    def _spec(self, environment: Environment, tree: Path, capture: Capture) -> Spec:
        policy, mirrors = self.policy, read_mirrors(self._mirrors)
        root, image = self._base(environment.base)
        disk = _ROOM_FACTOR * policy.layer_bytes_max
        return Spec(
            argv=("/bin/sh", "-c", rules.SCRIPT, "sh", environment.setup, _yes(rules.wants_python(environment.setup))),
            environment=rules.setup_variables() | mirrors.variables(environment.hosts),
            limits=Limits(
                memory_bytes=policy.setup_memory_bytes + disk,  # what it writes is in memory
                disk_bytes=disk,
                processes=policy.setup_processes,
                cpu_s=policy.setup_cpu_s,
                cores_milli=policy.setup_cores_milli,
                wall_s=policy.setup_wall_s,
                output_bytes=_OUTPUT_BYTES,
            ),
            folder=tree,
            folder_at=TREE,
            room=ROOM,
            capture=capture,
            root=root,
            image=image,
            egress=mirrors.way_out(environment.hosts, policy.setup_download_bytes_max, policy.setup_requests_max),
        )

    def _base(self, base: str) -> tuple[Path | None, str | None]:
        """The image of an order: unpacked below the home folder by the operator, or one that podman has."""
        if base == MACHINE:
            return None, None
        name, _, digest = base.rpartition("@")
        root = self.home / _IMAGES / digest.replace(":", "-")
        if root.is_dir():
            return root, None
        if name and shutil.which("podman"):
            return None, base
        raise NoImage(image=base)


def collect(shelf: LayerShelf, policy: EnvironmentsPolicy) -> list[str]:
    """Remove what killed builders left, and the layers beyond the limits that were unused for longest."""
    shelf.clean()
    return shelf.collect(policy.layers_bytes_max, policy.layers_max)


def _judge(result: Result) -> None:
    """Raise the reason why a set-up left nothing."""
    last = said(result.stderr[-_SAID_LETTERS:] or result.stdout[-_SAID_LETTERS:], _SAID_LETTERS)
    if result.ended is EndReason.TIMEOUT:
        raise SetupTimedOut(limit=f"{result.limits.wall_s:g} seconds")
    if result.ended is EndReason.CPU:
        raise SetupTimedOut(limit=f"{result.limits.cpu_s} seconds of CPU time")
    if result.ended is EndReason.OUTPUT:
        raise SetupTooLarge(why="it writes more output than is read")
    if result.captured is not None:
        if result.captured.fault:
            raise SetupTooLarge(why=result.captured.fault.rstrip("."))
        return
    for record in result.requests:
        if record.outcome == "cut" and "too large" in record.why:
            raise SetupTooLarge(why=f"it downloads too much from {record.host}")
    if b"No space left on device" in result.stderr or b"ENOSPC" in result.stderr:
        raise SetupTooLarge(why=f"it writes more than {result.limits.disk_bytes} bytes or too many files")
    if result.out_of_memory:
        raise SetupTooLarge(why=f"it takes more than {result.limits.memory_bytes} bytes of memory")
    refused = next((record for record in result.requests if record.outcome == "refused" and record.host), None)
    if refused is not None:
        why = refused.why.removeprefix("The request is not allowed: ").rstrip(".")
        raise SetupHostRefused(exit_code=result.exit_code, host=refused.host, why=why)
    raise SetupFailed(exit_code=result.exit_code, said=last or "it said nothing")


def _lay_out(tree: Path, paths: list[str], folder: Path) -> Path:
    """Only the files that decide."""
    for path in paths:
        source, target = tree / path, folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            shutil.copy(source, target)
    return folder


def _content(path: Path) -> str:
    """A file's content, kind and executable bit, in a word."""
    if path.is_symlink():
        return f"link {hashlib.sha256(str(path.readlink()).encode(errors='surrogateescape')).hexdigest()}"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return f"{'program' if path.stat().st_mode & 0o100 else 'file'} {digest.hexdigest()}"


def _sites(kept: KeptLayer) -> tuple[str, ...]:
    """Where the packages of its Python environment are; by name alone."""
    library = kept.room / "venv" / "lib"
    if any(place.is_symlink() for place in (library, library.parent)) or not library.is_dir():
        return ()
    names = sorted(item.name for item in library.iterdir() if item.name.startswith("python3"))
    return tuple(f"{rules.VENV}/lib/{name}/site-packages" for name in names[:1])


@cache
def machine() -> str:
    """This machine's tools, as far as layers depend on them."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        system = {}
    python = Path("/usr/bin/python3")
    return rules.machine_name(system, platform.machine(), python.resolve().name if python.exists() else "none")


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"
