"""One run from start to finish, the same for all tiers.

Guarantees: whatever happens in between, when `run` returns or raises the processes are dead and all that
the run held is given back; only if the kernel will not let a process die does the run file stay, for the
reaper, and the caller is told.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from choir.sandbox import files, rules
from choir.sandbox.holdings import Holdings, Host
from choir.sandbox.model import (
    Capabilities,
    EndReason,
    NotGone,
    Result,
    Spec,
    StartFailed,
    TooLittleMemory,
    Usage,
    said,
)
from choir.sandbox.pump import OnOutput, Pump, Stream
from choir.sandbox.runs import descendants, start_time
from choir.sandbox.staging import Stage
from choir.sandbox.syscalls import adopts_orphans
from choir.sandbox.tiers.base import BuiltCommand, Driver, Plan

if TYPE_CHECKING:
    from choir.sandbox.layers.model import Captured

_STATUS_BYTES_MAX = 4_096
_WHY_LETTERS = 400
_FIRST_WAS_KILLED = b"unshare: sigprocmask unblock failed: Invalid argument\n"  # what unshare makes of a SIGKILL
_END = re.compile(rb"^exit \d+$", re.MULTILINE)  # how the tier's own program tells the end, where it does
_COLLECT_S = 0.5
_GENTLE_S = 2.0  # for a leader that takes its descendants along


def run(
    host: Host,
    driver: Driver,
    known: Capabilities,
    spec: Spec,
    name: str,
    on_output: OnOutput | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Run the spec in this tier. The choice of tier was made before."""
    held = Holdings(host, driver, spec, name)
    held.take()
    child: Child | None = None
    try:
        child = Child(held)
        child.start()
        return child.finish(known, on_output, cancelled)
    finally:
        try:
            if child is not None:
                child.destroy()
        finally:
            held.give_back()


class Child:
    """The first process of a run and what is known of it."""

    def __init__(self, held: Holdings) -> None:
        self.held = held
        self.began = time.monotonic()
        self.deadline = self.began + held.plan.limits.wall_s
        self.process: subprocess.Popen[bytes] | None = None
        self.pidfd = -1
        self.workspace = -1
        self.room = -1
        self.status: Stream | None = None
        self.built = BuiltCommand([])
        self.rusage_cpu_s = 0.0
        self.rusage_rss_bytes = 0
        self.inside: set[int] = set()  # processes that may become ours to collect when their parent is killed

    # --- start ---

    def start(self) -> None:
        """Start the tier's command, and put the files in while it waits."""
        held = self.held
        status_read, status_write = os.pipe2(os.O_CLOEXEC)
        held.stack.callback(os.close, status_read)
        self.status = Stream("status", status_read, _STATUS_BYTES_MAX, told=False)
        held.plan = plan = replace(held.plan, status_fd=status_write)
        try:
            self.built = built = held.driver.build(plan, held.host.machine)
            _write_files(plan, built)
            os.pwrite(plan.args_fd, built.options, 0)
            self.process = self._start_on_stage(built) if built.acts else _spawn(built)
        finally:
            os.close(status_write)
        self.pidfd = os.pidfd_open(self.process.pid)
        held.stack.callback(os.close, self.pidfd)
        if held.file is not None and held.group is None:  # a group is proof enough of what is ours
            held.file.note({"leader": self.process.pid, "leader_started": start_time(self.process.pid)})
        if plan.wait:
            self._put_files_in()

    def _start_on_stage(self, built: BuiltCommand) -> subprocess.Popen[bytes]:
        stage = Stage(built.acts)
        self.held.stack.callback(stage.close)
        return stage.start(lambda: _spawn(built))

    def _put_files_in(self) -> None:
        held, plan, process = self.held, self.held.plan, self.process
        assert process is not None
        assert process.stdout is not None
        assert process.stdin is not None
        assert self.status is not None
        if not self._is_ready(process.stdout.fileno()):
            return  # the pump will find out why
        while held.driver.tells_init and held.driver.init_process(bytes(self.status.kept)) is None:
            if self.status.take() is None:
                return
        path = held.driver.workspace(plan, process.pid, bytes(self.status.kept))
        self.workspace = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        held.stack.callback(os.close, self.workspace)
        self._check_workspace()
        if plan.spec.room:
            room = held.driver.room(plan, process.pid, bytes(self.status.kept))
            self.room = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.stack.callback(os.close, self.room)
        allowance = files.Allowance.of(held.host.policy)
        target = files.Target(self.workspace, plan.uid)
        if plan.spec.folder is not None:
            files.put_folder(target, plan.spec.folder, allowance, at=plan.spec.folder_at)
        for item in plan.spec.files:
            files.put_file(target, item, allowance)
        with suppress(BrokenPipeError):
            os.write(process.stdin.fileno(), b"\n")

    def _check_workspace(self) -> None:
        """That the folder is the run's own, and not one of a process that took the id of a dead one."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        owner = os.fstat(self.workspace).st_uid
        if owner != self.held.plan.payload_uid or poll.poll(0):
            raise StartFailed(why="the sandbox ended before its files were put in")

    def _is_ready(self, stdout: int) -> bool:
        """Wait for the line that says the workspace is there; False if the child died or took too long."""
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        left_ms = max(0, int((self.deadline - time.monotonic()) * 1000))
        return bool(poll.poll(left_ms)) and os.read(stdout, 1) == b"\n"

    # --- run ---

    def finish(self, known: Capabilities, on_output: OnOutput | None, cancelled: Callable[[], bool]) -> Result:
        """Pump until the end, then look at what is left."""
        process, plan = self.process, self.held.plan
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert self.status is not None
        keep = plan.limits.output_bytes
        mark = 1 if self.held.driver.marks_start else 0
        out = Stream("stdout", process.stdout.fileno(), keep, skip_bytes=mark)
        err = Stream("stderr", process.stderr.fileno(), keep)
        stdin = os.dup(process.stdin.fileno())
        process.stdin.close()
        pump = Pump(self.pidfd, stdin, [out, err, self.status], plan.spec.stdin, plan.limits.flood_bytes, on_output)
        try:
            ended = pump.run(self.deadline, lambda: self._over(cancelled))
            self._stop(pump, ended)
        finally:
            pump.close()
        wall_s = time.monotonic() - self.began
        exit_code = self._reap(ended)
        if ended is EndReason.EXITED and self.built.tells_end and not _END.search(self.status.kept):
            exit_code = 128 + signal.SIGKILL  # whoever was to tell the end was killed
            if err.kept.endswith(_FIRST_WAS_KILLED):
                err.forget(len(_FIRST_WAS_KILLED))
        if ended is EndReason.EXITED:
            self._check_start(exit_code, out.skip_bytes == 0, err)
        return self._result(known, ended, exit_code, wall_s, out, err)

    def _check_start(self, exit_code: int, marked: bool, err: Stream) -> None:
        """That the payload was started. A run out of memory may take the tier's own program along with the payload."""
        assert self.status is not None
        held, status = self.held, bytes(self.status.kept)
        why = held.driver.start_failure(exit_code, marked, status, bytes(err.kept))
        if not why:
            return
        if held.group is None or not held.group.out_of_memory():
            raise StartFailed(why=said(why.encode(errors="replace"), _WHY_LETTERS))
        if not (held.driver.tells_init and held.driver.init_process(status) is not None):
            raise TooLittleMemory(limit=held.plan.limits.memory_bytes, tier=held.driver.tier.label)

    def _over(self, cancelled: Callable[[], bool]) -> EndReason | None:
        if cancelled():
            return EndReason.CANCELLED
        group = self.held.group
        used = group.cpu_s() if group else None
        return EndReason.CPU if used is not None and used > self.held.plan.limits.cpu_s else None

    def _stop(self, pump: Pump, ended: EndReason) -> None:
        """Make sure that all of the run is dead, then read what its pipes still hold."""
        gentle = self.held.driver.stop_signal
        if ended is not EndReason.EXITED or self.held.group is None:
            self.kill(gentle)
        if gentle is not signal.SIGKILL and not pump.wait_for_end(_GENTLE_S):
            self.kill(signal.SIGKILL)
        if not pump.wait_for_end(self.held.host.policy.kill_s_max):
            raise NotGone(run=self.held.plan.run, seconds=self.held.host.policy.kill_s_max)
        if self.held.group is None:
            self._wait_for_init()
        elif not self.held.group.wait_until_empty(self.held.host.policy.kill_s_max):
            raise NotGone(run=self.held.plan.run, seconds=self.held.host.policy.kill_s_max)
        pump.read_leftovers()

    def kill(self, number: signal.Signals) -> None:
        """Stop the leader's session and kill all members of the groups."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        self.inside.update(descendants(process.pid))
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        if self.held.group is not None:
            self.held.group.kill()

    def _wait_for_init(self) -> None:
        """The sandbox's own first process: when the kernel lets it go, all others in there are gone."""
        assert self.status is not None
        pid = self.held.driver.init_process(bytes(self.status.kept))
        if pid is None:
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.poll(self.held.host.policy.kill_s_max * 1000)
        finally:
            os.close(fd)

    def _reap(self, ended: EndReason) -> int:
        """The exit code as a shell would say it."""
        process = self.process
        assert process is not None
        _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        self.rusage_cpu_s = usage.ru_utime + usage.ru_stime
        self.rusage_rss_bytes = usage.ru_maxrss * 1024
        if ended is not EndReason.EXITED:
            return 128 + signal.SIGKILL
        return code if code >= 0 else 128 - code

    def _result(
        self, known: Capabilities, ended: EndReason, exit_code: int, wall_s: float, out: Stream, err: Stream
    ) -> Result:
        held, plan = self.held, self.held.plan
        collected = self._collect()
        by_image = held.driver.applied(held.host.machine, plan.spec.image) if plan.spec.image else known.applied
        applied = rules.applied_limits(plan.spec, by_image)
        return Result(
            run=plan.run,
            tier=known.tier,
            engine=known.engine,
            exit_code=exit_code,
            ended=ended,
            stdout=bytes(out.kept),
            stderr=bytes(err.kept),
            stdout_truncated=out.truncated,
            stderr_truncated=err.truncated,
            out_of_memory=held.group.out_of_memory() if held.group else None,
            usage=self._usage(wall_s),
            limits=plan.limits,
            applied=applied,
            missing=rules.missing_limits(applied),
            files=tuple(collected.files),
            files_refused=tuple(collected.refused),
            requests=held.endpoint.finish() if held.endpoint else (),
            captured=self._capture(ended, exit_code),
        )

    def _collect(self) -> files.CollectedFiles:
        """What was asked for. A sparse file is larger than the workspace it is in, so that is a limit too."""
        held, plan = self.held, self.held.plan
        if self.workspace < 0 or not plan.spec.collect:
            return files.CollectedFiles()
        policy = held.host.policy
        into = self._open_into(plan.spec.collect_into)
        most = min(policy.files_bytes_max if into else policy.result_bytes_max, plan.limits.disk_bytes)
        allowance = replace(files.Allowance.of(policy), bytes=most)
        return files.collect(self.workspace, plan.spec.collect, allowance, into)

    def _capture(self, ended: EndReason, exit_code: int) -> Captured | None:
        """What the run left, as a layer; only of a run that ended well."""
        wanted = self.held.plan.spec.capture
        if wanted is None or self.workspace < 0 or ended is not EndReason.EXITED or exit_code != 0:
            return None
        from choir.sandbox.layers.capture import take

        return take(wanted, self.workspace, self.room)

    def _open_into(self, folder: Path | None) -> files.Target | None:
        if folder is None:
            return None
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.held.stack.callback(os.close, fd)
        return files.Target(fd)

    def _usage(self, wall_s: float) -> Usage:
        group = self.held.group
        cpu_s = group.cpu_s() if group else None
        peak = group.memory_peak_bytes() if group else None
        if group is not None and peak is not None:
            return Usage(wall_s, self.rusage_cpu_s if cpu_s is None else cpu_s, peak, group.hierarchy.label)
        return Usage(wall_s, self.rusage_cpu_s, self.rusage_rss_bytes, "largest process")

    # --- end ---

    def destroy(self) -> None:
        """Kill and reap whatever is left after an error; nothing to do after a clean end."""
        process = self.process
        if process is None:
            return
        if process.returncode is None:
            self.kill(self.held.driver.stop_signal)
            try:
                process.wait(_GENTLE_S)
            except subprocess.TimeoutExpired:
                self.kill(signal.SIGKILL)
                with suppress(subprocess.TimeoutExpired):  # then its groups are not empty, and that is reported
                    process.wait(self.held.host.policy.kill_s_max)
        self._collect_dead()
        if self.built.after:
            with suppress(subprocess.TimeoutExpired, OSError):
                limit = self.held.host.policy.kill_s_max
                subprocess.run(self.built.after, env={}, capture_output=True, timeout=limit, check=False)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def _collect_dead(self) -> None:
        """What died after its parent waits for whoever adopts it. Usually that is the machine's init; if it is this
        process, as the first one of a container is, nobody else will collect it."""
        if not adopts_orphans():
            return
        if self.status is not None and (init := self.held.driver.init_process(bytes(self.status.kept))):
            self.inside.add(init)
        for pid in self.inside:
            with suppress(ChildProcessError):
                deadline = time.monotonic() + _COLLECT_S
                while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
                    time.sleep(0.002)


def _write_files(plan: Plan, built: BuiltCommand) -> None:
    """What the tier's program reads: a name that ends with / is a folder. Others may read all of it."""
    for name, content in built.files.items():
        path = plan.scratch / name
        for folder in [path, *path.parents] if name.endswith("/") else path.parents:
            if folder.is_relative_to(plan.scratch) and folder != plan.scratch:
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o755)
        if not name.endswith("/"):
            path.write_bytes(content)
            path.chmod(0o644)


def _spawn(built: BuiltCommand) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            built.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=built.inherit,
            env={},  # the first process of a sandbox can be read by its payload
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise StartFailed(why=error.strerror or str(error)) from None
