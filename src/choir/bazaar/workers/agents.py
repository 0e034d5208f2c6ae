"""The command worker: any agent, in a sandbox, with an order in and an artifact out.

For a patch the agent changes files, and the diff is ours (`patching`). For a review or a text it writes a file.

Guarantees: the agent sees the order, the buyer's files, its own program and the variables that its profile names; it
reaches the hosts that its profile names, through the proxy; when the worker returns or raises, nothing of the agent
is left running; its exit code, its commits and what it says about its work count for nothing; the provider's secrets
that the profile knows are neither in the trajectory nor in the artifact.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from choir.bazaar.contracts import (
    CodeReviewRequest,
    CodeReviewResult,
    PatchGenRequest,
    SandboxRunResult,
    StructuredReview,
    TextGenRequest,
    TextGenResult,
    TokenUsage,
)
from choir.bazaar.environments.model import Layer
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers import profiles
from choir.bazaar.workers.model import IsCancelled, NotDone, NotMine, SecretInside, WorkOrder, WorkProduct
from choir.bazaar.workers.patch_work import (
    WORK,
    check_out_base,
    compute_diff,
    hand_over,
    surroundings,
    take_layer_out,
    with_layer,
)
from choir.bazaar.workers.profiles import Call, CommandProfile
from choir.bazaar.workers.reports import REPORT_BYTES_MAX, REPORT_FILES, REPORTS
from choir.bazaar.workers.shop import PYTEST_PATH, Workshop
from choir.bazaar.workers.use import JobMeter, UseBook, total
from choir.foundation.errors import ChoirError
from choir.foundation.words import count
from choir.sandbox.egress.model import Egress
from choir.sandbox.model import EndReason, InFile, Limits, Mount, Result, Spec
from choir.sandbox.tiers.base import PAYLOAD_PATH

assert profiles.REPOSITORY == WORK
_SECRET_CHARS_MIN = 8

# Agents like to find a repository. This one is made inside, lives beside the tree, and is thrown away.
_START = """
cd /work/repository || exit 125
git init -q --separate-git-dir=/work/repository.git . || exit 125
if [ -f /work/paths ]; then set -f; git add -A -f --pathspec-from-file=/work/paths; else git add -A -f .; fi || exit 125
grep -s '^:(exclude' /work/paths | sed 's/^:(exclude,top)/\\//' >>/work/repository.git/info/exclude
git commit -q --allow-empty -m base || exit 125
exec "$@"
"""
_GIT = {
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
}


class CommandWorker:
    """An agent as a worker."""

    def __init__(
        self,
        shop: Workshop,
        profile: CommandProfile,
        own: Mapping[str, str] | None = None,
        book: UseBook | None = None,
    ) -> None:
        self._shop = shop
        self.profile = profile
        self._book = book or UseBook(None, shop.policy, shop.clock)
        given = os.environ if own is None else own
        self._own = {name: given[name] for name in profile.passed if name in given}
        passed = [value for value in self._own.values() if len(value) >= _SECRET_CHARS_MIN]
        self._secrets = tuple({*profile.secrets, *passed})

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def types(self) -> frozenset[JobType]:
        return self.profile.types

    def problem(self) -> str:
        """Whether its program can be found, as far as that can be told from outside."""
        lacking = [name for name in self.profile.passed if name not in self._own]
        if lacking:
            return f"the variable {lacking[0]} is not set"
        if spent := self._book.refusal():
            return spent
        program = self.profile.argv[0]
        alone = "/" not in program and not self.profile.mounts
        if alone and shutil.which(program, path=PAYLOAD_PATH) is None:
            return f"the program {program} is in none of {PAYLOAD_PATH}"
        return next((f"{mount.source} is not there" for mount in self.profile.mounts if not mount.source.exists()), "")

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        if order.type not in self.types:
            raise NotMine(worker=self.name, why=f"its profile does not name {order.type.word}")
        if self.profile.allowed(profiles.asked_tools(order.request)) is None:
            used = ", ".join(self.profile.tools)
            raise NotMine(worker=self.name, why=f"the order does not allow all tools that it uses ({used})")
        trajectory.withhold(self._secrets)
        trajectory.user(profiles.task(order.request))
        with self._shop.scratch() as name:
            if order.skill is not None:
                order.skill.write(_skill_of(Path(name)))
                trajectory.tool("Skill", order.request.terms.skill, order.skill.hash)
            produced = self._work(order, Path(name), trajectory, cancelled)
        if any(secret.encode() in produced.artifact for secret in self._secrets):
            raise SecretInside
        return produced

    def _work(
        self, order: WorkOrder, folder: Path, trajectory: TrajectoryWriter, cancelled: IsCancelled
    ) -> WorkProduct:
        request = order.request
        if isinstance(request, PatchGenRequest):
            return self._patch(order, folder, trajectory, cancelled)
        base: Path | None = None
        if order.repository is not None and order.base_commit:
            base = check_out_base(self._shop, order, order.base_commit, folder / "base", cancelled)
        result, usage = self._run(order, folder, base, None, trajectory, cancelled)
        return _counted(self._written(order, _output(result)), usage)

    def _patch(
        self, order: WorkOrder, folder: Path, trajectory: TrajectoryWriter, cancelled: IsCancelled
    ) -> WorkProduct:
        base = check_out_base(self._shop, order, order.base_commit, folder / "base", cancelled)
        left = folder / "left"
        left.mkdir()
        with surroundings(self._shop, order, base, trajectory, cancelled) as layer:
            result, usage = self._run(order, folder, base, left, trajectory, cancelled, layer)
            take_layer_out(left / WORK, layer, base)
        diff = compute_diff(base, left / WORK, self._refused(result), folder, self._shop.sandbox)
        if not diff.strip():
            raise NotDone(why=f"the agent ended with code {result.exit_code} and changed nothing")
        made = hand_over(self._shop, order, diff, trajectory, cancelled, check=self.profile.self_check)
        return _counted(made, usage)

    def _run(
        self,
        order: WorkOrder,
        folder: Path,
        base: Path | None,
        left: Path | None,
        trajectory: TrajectoryWriter,
        cancelled: IsCancelled,
        layer: Layer | None = None,
    ) -> tuple[Result, TokenUsage]:
        """The agent from start to end, its output told as it comes."""
        call = profiles.call(self.profile, order.job, order.request, self._own)
        meter = self._book.meter(order.job, profiles.context_tokens(order.request))
        report = REPORTS[self.profile.reports](trajectory)
        result: Result | None = None
        try:
            spec = with_layer(self._spec(order, folder, call, base, left, meter), layer, base)
            result = self._shop.run(spec, cancelled, "the agent", report)
        finally:
            report.close(None if result is None else self._report_file(result, left))
        asked = [f"{record.method} {record.host} {record.outcome}" for record in result.requests]
        trajectory.tool("Command", shlex.join(call.argv), f"exit {result.exit_code}, {result.ended.value}; {asked}")
        if result.ended is EndReason.OUTPUT:
            raise NotDone(why="the agent exceeded the output limit and was stopped")
        return result, meter.usage if report.usage == TokenUsage() else report.usage

    def _report_file(self, result: Result, left: Path | None) -> bytes | None:
        """What the agent wrote about its work, if it does so in a file."""
        name = REPORT_FILES.get(self.profile.reports)
        if name is None:
            return None
        if left is None:
            return next((item.content for item in result.files if item.path == name), None)
        try:
            with (left / name).open("rb") as file:
                return file.read(REPORT_BYTES_MAX)
        except OSError:
            return None

    def _refused(self, result: Result) -> tuple[str, ...]:
        """What did not come out of the sandbox; a report that is not there is nobody's loss."""
        name = REPORT_FILES.get(self.profile.reports)
        return tuple(item for item in result.files_refused if name is None or not item.startswith(f"{name!r}: "))

    def _spec(
        self, order: WorkOrder, folder: Path, call: Call, base: Path | None, left: Path | None, meter: JobMeter
    ) -> Spec:
        profile, policy = self.profile, self._shop.policy
        environment = {**_GIT, **call.environment}
        mounts: tuple[Mount, ...] = profile.mounts
        if order.skill is not None:
            mounts = (*mounts, Mount(_skill_of(folder), profiles.SKILL))
            environment["CHOIR_SKILL"] = profiles.SKILL
        if profile.with_pytest:
            mounts = (*mounts, self._shop.pytest())
            environment = {"PYTHONPATH": PYTEST_PATH, **environment}
        return Spec(
            argv=("/bin/sh", "-c", _START, "sh", *call.argv) if base is not None else call.argv,
            environment=environment,
            limits=Limits(
                wall_s=self._shop.wall_s(order, self._shop.sandbox.wall_s_max, "the agent"),
                cpu_s=policy.command_cpu_s,
                memory_bytes=policy.command_memory_bytes,
                disk_bytes=policy.command_disk_bytes,
                processes=policy.command_processes,
                output_bytes=policy.command_output_bytes,
            ),
            files=_files(order),
            folder=base,
            folder_at=WORK if base is not None else "",
            collect=(*((WORK,) if left is not None else (profiles.OUTPUT_FILE,)), *self._report_names()),
            collect_into=left,
            mounts=mounts,
            egress=Egress(tuple(replace(rule, meter=meter) for rule in profile.egress)) if profile.egress else None,
            owner=order.job,
        )

    def _report_names(self) -> tuple[str, ...]:
        name = REPORT_FILES.get(self.profile.reports)
        return () if name is None else (name,)

    def _written(self, order: WorkOrder, data: bytes) -> WorkProduct:
        """What an agent wrote instead of changing files."""
        policy = self._shop.verification
        if isinstance(order.request, CodeReviewRequest):
            try:
                review = StructuredReview.from_bytes(data, policy)
            except ChoirError as error:
                raise NotDone(why=f"the agent's review cannot be read: {error}".rstrip(".")) from None
            return WorkProduct(review.to_bytes(), CodeReviewResult(), count(len(review.issues), "issue"))
        assert isinstance(order.request, TextGenRequest)
        if not data.strip() or len(data) > policy.text_bytes_max:
            raise NotDone(why="the agent's text is empty or too long")
        return WorkProduct(data, TextGenResult(model=self.profile.model), f"{len(data)} bytes of text")


def _skill_of(folder: Path) -> Path:
    """Where the files of an order's skill are on this machine, while it is worked on."""
    return folder / "skill"


def _counted(made: WorkProduct, usage: TokenUsage) -> WorkProduct:
    """With the tokens that were used, as the agent reports them or the proxy saw them."""
    whole = total(usage)
    assert not isinstance(made.result, SandboxRunResult)
    return replace(
        made,
        result=replace(made.result, usage=usage),
        tokens_in=whole.input_tokens,
        tokens_out=whole.output_tokens,
    )


def _files(order: WorkOrder) -> tuple[InFile, ...]:
    files = [
        InFile(profiles.TASK_FILE, profiles.task(order.request).encode()),
        InFile(profiles.REQUEST_FILE, order.request.to_bytes()),
    ]
    if order.diff is not None:
        files.append(InFile(profiles.DIFF_FILE, order.diff))
    return tuple(files)


def _output(result: Result) -> bytes:
    found = next((item.content for item in result.files if item.path == profiles.OUTPUT_FILE), None)
    if found is None:
        raise NotDone(why=f"the agent ended with code {result.exit_code} and wrote no {profiles.OUTPUT_FILE} file")
    return found
