"""The fix worker: PatchGen for what fixers can fix.

Unused imports and the like by `ruff check --fix` (safe fixes only), then the layout by `ruff format`, with the
project's own configuration. Tests, and files that the order does not allow, are left alone. The smallest change that
makes the buyer's tests pass is handed in; if none does, nothing is.
"""

from __future__ import annotations

import json
from pathlib import Path

from choir.bazaar.contracts import PatchGenRequest
from choir.bazaar.contracts.paths import fits_any
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.decision import is_test
from choir.bazaar.verification.trees import entries_of
from choir.bazaar.workers.inside import source
from choir.bazaar.workers.model import IsCancelled, NotDone, NotMine, WorkOrder, WorkProduct
from choir.bazaar.workers.patch_work import WORK, check_out_base, compute_diff, hand_over
from choir.bazaar.workers.shop import PYTHON, TOOLS, Workshop
from choir.sandbox.model import InFile, Limits, Spec

STEPS = (("lint",), ("format",), ("lint", "format"))  # each from the buyer's tree; the first that passes is taken
_PYTHON_FILES = (".py", ".pyi")


class FixWorker:
    """PatchGen by fixers."""

    name = "fix"
    types = frozenset({JobType.PATCH_GEN})

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    def problem(self) -> str:
        return self._shop.lacking()

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        request = order.request
        if not isinstance(request, PatchGenRequest):
            raise NotMine(worker=self.name, why="it only makes patches")
        trajectory.user(f"{request.title}\n{request.body}")
        with self._shop.scratch() as name:
            folder = Path(name)
            base = check_out_base(self._shop, order, request.base_commit, folder / "base", cancelled)
            paths = fixable(base, request)[: self._shop.policy.analysis_files_max]
            if not paths:
                raise NotDone(why="the order allows no Python file that is not a test")
            return self._try(order, base, paths, folder, trajectory, cancelled)

    def _try(
        self,
        order: WorkOrder,
        base: Path,
        paths: list[str],
        folder: Path,
        trajectory: TrajectoryWriter,
        cancelled: IsCancelled,
    ) -> WorkProduct:
        """The smallest step that is accepted."""
        why = "the fixers find nothing to fix"
        seen = {b""}
        for place, steps in enumerate(STEPS):
            diff = self._fix(order, base, paths, steps, folder / str(place), trajectory, cancelled)
            if diff in seen:
                continue
            seen.add(diff)
            try:
                return hand_over(self._shop, order, diff, trajectory, cancelled, check=True)
            except NotDone as refusal:
                if type(refusal) is not NotDone:  # out of time, or cancelled
                    raise
                why = str(refusal.fields["why"])
        raise NotDone(why=why)

    def _fix(
        self,
        order: WorkOrder,
        base: Path,
        paths: list[str],
        steps: tuple[str, ...],
        folder: Path,
        trajectory: TrajectoryWriter,
        cancelled: IsCancelled,
    ) -> bytes:
        shop, policy = self._shop, self._shop.policy
        left = folder / "left"
        left.mkdir(parents=True)
        spec = Spec(
            argv=(PYTHON, "-I", "-c", source("fix"), f"{TOOLS}/bin/ruff", *steps),
            limits=Limits(
                wall_s=shop.wall_s(order, policy.analysis_wall_s, "the fixers"),
                memory_bytes=policy.analysis_memory_bytes,
                disk_bytes=policy.command_disk_bytes,
            ),
            folder=base,
            folder_at=WORK,
            files=(InFile("paths.json", json.dumps(paths).encode()),),
            mounts=(shop.analysers(),),
            collect=(WORK,),
            collect_into=left,
            owner=order.job,
        )
        result = shop.run(spec, cancelled, "the fixers")
        said = result.stdout.decode(errors="replace").strip()
        trajectory.tool("Ruff", " and ".join(steps), f"exit {result.exit_code}: {said[-300:]}")
        return compute_diff(base, left / WORK, result.files_refused, folder, shop.sandbox)


def fixable(base: Path, request: PatchGenRequest) -> list[str]:
    """The Python files that a fixer may touch: allowed, and none that decides."""
    prefix = f"{request.subdir}/" if request.subdir else ""
    return [
        path
        for path, (place, _) in sorted(entries_of(base).items())
        if path.endswith(_PYTHON_FILES)
        and not place.is_symlink()
        and path.startswith(prefix)
        and fits_any(path, request.allowed_paths)
        and not fits_any(path, request.disallowed_paths, fold=True)
        and not is_test(path)
        and not fits_any(path, request.deciding_paths)
    ]
