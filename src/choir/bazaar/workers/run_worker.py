"""The run worker: the buyer's command in a sandbox with the limits that were ordered."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import replace

from choir.bazaar.contracts import SandboxRunRequest, SandboxRunResult
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.runs import output_of, run_spec
from choir.bazaar.workers.model import IsCancelled, NotDone, NotMine, WorkOrder, WorkProduct
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.model import EndReason, Result


class RunWorker:
    """SandboxRun."""

    name = "run"
    types = frozenset({JobType.SANDBOX_RUN})

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    def problem(self) -> str:
        return ""

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        request = order.request
        if not isinstance(request, SandboxRunRequest):
            raise NotMine(worker=self.name, why="it only runs commands")
        spec = run_spec(request, self._shop.verification)
        assert spec.limits.wall_s is not None
        wall_s = self._shop.wall_s(order, spec.limits.wall_s, "the command")
        spec = replace(spec, limits=replace(spec.limits, wall_s=wall_s), owner=order.job)
        trajectory.user(f"Run: {shlex.join(request.argv)}")
        result = self._shop.run(spec, cancelled, "the command")
        trajectory.tool("Run", shlex.join(request.argv), told(result))
        whole = not (result.stdout_truncated or result.stderr_truncated) and result.ended is EndReason.EXITED
        if not whole:
            raise NotDone(why="the command wrote more than a delivery can hold")
        output = output_of(result)
        claims = SandboxRunResult(exit_code=output.exit_code, cpu_milli=round(result.usage.cpu_s * 1000))
        return WorkProduct(output.to_bytes(), claims, f"ended with code {output.exit_code}")


def told(result: Result) -> str:
    """What a trajectory says of a run: how it ended and which outputs, by hash."""
    hashes = [hashlib.sha256(output).hexdigest() for output in (result.stdout, result.stderr)]
    return (
        f"exit {result.exit_code}, {result.ended.value}, {result.tier.label},"
        f" stdout {len(result.stdout)} bytes sha256:{hashes[0]}, stderr {len(result.stderr)} bytes sha256:{hashes[1]}"
    )
