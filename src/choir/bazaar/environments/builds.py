"""The build command of an order: run on a tree, over the layer, without network, before its tests.

Guarantees: a build adds files to the tree that it ran on, and to nothing else. It cannot change a file of the tree, nor
add one that decides how the tests run: those are the buyer's. What it added is there for this delivery alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from choir.bazaar.environments import rules
from choir.bazaar.environments.model import Layer
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.trees import entries_of, guarded, make_folder, size_of
from choir.sandbox.layers import view
from choir.sandbox.layers.model import TREE, TREE_PART, Capture
from choir.sandbox.model import Limits, Result, Spec

FAILED = ("build.failed", "The build command does not exit with code 0.")
TIMED_OUT = ("build.timed_out", "The build command exceeded the time limit.")
TOO_LARGE = ("build.too_large", "The build command writes more than the limit.")
_SCRIPT = 'mkdir -p "${HOME:-/work}" && cd "$1" && exec sh -c "$2"'
_OUTPUT_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Build:
    """How a build ended."""

    reason: str
    details: str
    result: Result
    added: int = 0

    @property
    def fault(self) -> tuple[str, str]:
        return self.reason, self.details


class Bench(Protocol):
    """What a build runs with: the verifier's own."""

    @property
    def layer(self) -> Layer | None: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def policy(self) -> VerificationPolicy: ...
    @property
    def cancelled(self) -> Callable[[], bool]: ...


def build_on(bench: Bench, tree: Path, subdir: str) -> Build:
    """Run the build on a tree of the node's own and add what it made to that tree."""
    layer = bench.layer
    assert layer is not None
    with tempfile.TemporaryDirectory(prefix="built-", dir=tree.parent) as name:
        into = Path(name)
        spec = layer.over(_spec(layer, tree, subdir, into, bench.policy), tree)
        result = guarded(bench.runs, spec, bench.cancelled)
        captured = result.captured
        if captured is None:
            return Build(*(TIMED_OUT if result.timed_out else FAILED), result)
        if captured.fault:
            return Build(*TOO_LARGE, result)
        return Build("", "", result, _add(into / TREE_PART, tree))


def _spec(layer: Layer, tree: Path, subdir: str, into: Path, limits: VerificationPolicy) -> Spec:
    policy, used = layer.policy, size_of(tree)
    disk = limits.test_disk_bytes + policy.built_bytes_max + used
    known = frozenset(entries_of(tree))
    return Spec(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", f"/work/{TREE}/{subdir}".rstrip("/"), layer.build),
        limits=Limits(
            memory_bytes=limits.test_memory_bytes + used + policy.built_bytes_max,
            disk_bytes=disk,
            processes=limits.test_processes,
            wall_s=policy.build_wall_s,
            cpu_s=2 * policy.build_wall_s,
            output_bytes=_OUTPUT_BYTES,
        ),
        folder=tree,
        folder_at=TREE,
        capture=Capture(into, known, policy.built_files_max, policy.built_bytes_max),
    )


def _add(made: Path, tree: Path) -> int:
    """Copy what is new into the tree, links as links; how many files and folders came in at the top."""
    found = view.below(made, tree, rules.is_usual)
    for path in found:
        source, target = made / path, tree / path
        make_folder(target.parent)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy(source, target)
    return len(found)
