"""A patch, computed by us from what a worker left behind.

Guarantees: the diff is between the buyer's tree and the files as they are after the work, made by our own git with our
own configuration in a repository that the worker never saw; nothing that the worker did to a repository inside its
sandbox (hooks, configuration, commits, a .git of its own) has a say. Litter (caches, environments, logs of agents)
that the buyer's tree does not have, and new files that its ignore rules leave out, are not part of it. What cannot be
brought out faithfully is a refusal, never a deletion.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from choir.bazaar.contracts import PatchGenRequest, PatchGenResult
from choir.bazaar.environments import claims
from choir.bazaar.environments.model import Layer
from choir.bazaar.jobs.model import Level
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.verification.trees import check_out, entries_of
from choir.bazaar.workers.model import IsCancelled, NotDone, NotMine, WorkOrder, WorkProduct
from choir.bazaar.workers.shop import Workshop
from choir.foundation.canonical import bytes_hash
from choir.foundation.words import count
from choir.sandbox.files import Allowance, Target, put_folder
from choir.sandbox.model import InFile, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.repositories import WorkTree, is_plain

WORK = "repository"  # the name of the tree in a worker's sandbox
PATHS_FILE = "paths"  # what of the tree is the buyer's, as git takes it; there where a layer adds to it
_LITTER = {
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".venv",
    "venv",
    "node_modules",
    ".cache",
    ".npm",
    ".coverage",
    ".DS_Store",
    ".claude",
    ".openhands",
}
_LITTER_ENDS = (".pyc", ".pyo", ".orig", ".rej", ".swp", "~")
_LITTER_BEGINS = (".aider",)
_HARMLESS = ("it is a link that points outside", "it is not a regular file")
_REFUSED_MAX = 100  # as many reasons as the sandbox gives; then there may be more


def check_out_base(shop: Workshop, order: WorkOrder, commit: str, folder: Path, cancelled: IsCancelled) -> Path:
    """The buyer's tree, harmless."""
    if order.repository is None:
        raise NotMine(worker="this one", why="the order comes without a repository")
    return check_out(shop.runner, order.repository, commit, folder, cancelled)


@contextmanager
def surroundings(
    shop: Workshop, order: WorkOrder, base: Path, trajectory: TrajectoryWriter, cancelled: IsCancelled
) -> Iterator[Layer | None]:
    """The order's environment for the worker's own runs, named in the trajectory; nothing if the order has none."""
    request = order.request
    if not isinstance(request, PatchGenRequest) or request.environment is None:
        yield None
        return
    with shop.environments.use(request.environment, base, cancelled) as layer:
        trajectory.tool(claims.TOOL, request.environment.setup, claims.told(layer.evidence()))
        yield layer


def with_layer(spec: Spec, layer: Layer | None, base: Path | None) -> Spec:
    """A worker's run over the order's environment. What comes from the layer is no part of the agent's repository."""
    if layer is None or base is None:
        return spec
    left_out = "".join(f":(exclude,top){path}\n" for path in layer.added(base))
    found = layer.over(spec, base, WORK)
    return replace(found, files=(*found.files, InFile(PATHS_FILE, f".\n{left_out}".encode())))


def take_layer_out(left: Path, layer: Layer | None, base: Path) -> None:
    """What the layer added to the tree and the worker left as it was is no part of the patch."""
    if layer is None or layer.kept is None:
        return
    for path in layer.added(base):
        ours, theirs = layer.kept.tree / path, left / path
        if ours.is_symlink() and theirs.is_symlink():
            same = ours.readlink() == theirs.readlink()
        else:
            plain = not (ours.is_symlink() or theirs.is_symlink()) and ours.is_file() and theirs.is_file()
            same = plain and filecmp.cmp(ours, theirs, shallow=False)
        if same:
            theirs.unlink()


def is_litter(path: str) -> bool:
    """Whether a new file is what tools leave behind."""
    for part in PurePosixPath(path).parts:
        begins = part.startswith(_LITTER_BEGINS)
        if part in _LITTER or begins or part.endswith((*_LITTER_ENDS, ".egg-info")):
            return True
    return False


def compute_diff(base: Path, left: Path, refused: tuple[str, ...], folder: Path, policy: SandboxPolicy) -> bytes:
    """What changed from the buyer's tree to what was left; `refused` is what the sandbox would not bring out."""
    before = set(entries_of(base))
    check_refused(refused, before)
    repository = folder / "ours.git"
    start = WorkTree(base, repository, policy).begin()
    clean = folder / "clean"
    clean.mkdir()
    _copy(left, clean, before, policy)
    tree = WorkTree(clean, repository, policy)
    for path in tree.ignored():
        (clean / path).unlink()
    diff = tree.changes(start)
    shutil.rmtree(clean, ignore_errors=True)
    return diff


def check_refused(refused: tuple[str, ...], before: Collection[str]) -> None:
    """What did not come out must not look deleted, nor be forgotten; litter, and new links and pipes, may be."""
    if len(refused) >= _REFUSED_MAX or any(item.startswith(f"{WORK!r}: ") for item in refused):
        raise NotDone(why="the work tree is missing, too large, or contains too many special files")
    shown = {_shown(path) for path in before}
    for item in refused:
        path, _, why = item.partition("': ")
        if any(item.startswith(begin) for begin in shown):
            raise NotDone(why=f"a file of the repository is no longer a regular file: {item[:200]}")
        if why not in _HARMLESS and not is_litter(path):
            raise NotDone(why=f"a new file cannot be copied out: {item[:200]}".rstrip("."))


def _shown(path: str) -> str:
    """A path as the sandbox names it in a refusal."""
    return f"{f'{WORK}/{path}'[:200]!r}: "


def _copy(source: Path, target: Path, before: Collection[str], policy: SandboxPolicy) -> None:

    root = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        put_folder(
            Target(root),
            source,
            Allowance.of(policy),
            keep=lambda path: is_plain(path) and (path in before or not is_litter(path)),
            links_inside=True,
        )
    finally:
        os.close(root)


def hand_over(
    shop: Workshop, order: WorkOrder, diff: bytes, trajectory: TrajectoryWriter, cancelled: IsCancelled, check: bool
) -> WorkProduct:
    """The patch, if it is one, and if it would pass what we can see."""
    request = order.request
    assert isinstance(request, PatchGenRequest)
    files = read_diff(diff).files
    if not diff.strip():
        raise NotDone(why="nothing in the repository was changed")
    if len(diff) > shop.verification.patch_bytes_max:
        raise NotDone(why=f"the diff has more than {shop.verification.patch_bytes_max} bytes")
    trajectory.tool("Diff", request.base_commit, f"{count(len(files), 'file')}, {len(diff)} bytes, {bytes_hash(diff)}")
    result = PatchGenResult(base_commit=request.base_commit)
    if check:
        self_check(shop, order, diff, result, trajectory, cancelled)
    names = ", ".join(item.path for item in files[:5])
    return WorkProduct(diff, result, f"changed {count(len(files), 'file')}: {names}")


def self_check(
    shop: Workshop,
    order: WorkOrder,
    diff: bytes,
    result: PatchGenResult,
    trajectory: TrajectoryWriter,
    cancelled: IsCancelled,
) -> None:
    """Verify as the node will, but for the hidden checks. What would fail is not handed in."""

    request = order.request
    assert isinstance(request, PatchGenRequest)
    if request.hidden is not None:  # what needs the hidden tests cannot be tried without them
        level = min(request.level, Level.V2)
        request = replace(request, hidden=None, level=level, mutation=False, mutation_floor_bps=0)
    seen = Order(order.type, request, order.repository)
    verdict = shop.verifier.verify(seen, Delivery(diff, bytes_hash(diff), result), cancelled)
    trajectory.tool("Verify", request.test_command, "passed" if verdict.passed else verdict.reason)
    if (layer := claims.evidence_of(verdict.evidence)) is not None:
        trajectory.tool(claims.TOOL, "self-check", claims.told(layer))
    if not verdict.passed:
        failed = next(check for check in verdict.checks if not check.passed)
        raise NotDone(why=f"the patch would be refused: {failed.details or failed.reason}".rstrip("."))
