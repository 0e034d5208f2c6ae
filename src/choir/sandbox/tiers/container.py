"""The container tier: an OCI runtime with hardening flags, by what is there.

crun runs the host's own /usr or an unpacked image; podman and docker run an image by its name. Guarantees
(crun): as in the bundle; nothing of crun's own state outlives the run, because it is kept on the run's
private stage; the whole container dies with the process that started it.
"""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace

from choir.sandbox.model import WORKSPACE, LimitName, StartFailed, Tier
from choir.sandbox.tiers import oci
from choir.sandbox.tiers.base import (
    EGRESS_SOCKET,
    BuiltCommand,
    Machine,
    Plan,
    environment,
    host_applied,
    joined,
    marked,
    rlimits,
    version_of,
)
from choir.sandbox.tiers.stage import (
    ONE_ROOM,
    STAGED_OWN,
    STAGED_ROOM,
    STAGED_SHM,
    STAGED_STATE,
    STAGED_TMP,
    STAGED_WORK,
    Act,
    FolderAct,
    MountAct,
    own,
    rooms,
    shown,
    with_own_processes,
)

_PODMAN_IMAGES = "/var/lib/containers/storage"  # where root's podman keeps them (containers-storage.conf(5))
_NEEDS_ROOT = "it needs root here"


def with_forwarder(plan: Plan) -> list[str]:
    """The payload, behind the forwarder if there is egress."""
    command = list(plan.spec.argv)
    if plan.forwarder:
        command = ["/usr/bin/python3", "-I", "-S", "-c", plan.forwarder, EGRESS_SOCKET, *command]
    return marked(command)


class Container:
    """crun, podman or docker."""

    tier = Tier.CONTAINER
    tells_init = False
    marks_start = True
    stop_signal = signal.SIGKILL
    needs_scratch = True

    def missing(self, machine: Machine, image: str | None = None) -> str:
        if not machine.is_root:
            return _NEEDS_ROOT
        engines = [name for name in ("podman", "docker") if name in machine.programs]
        if image is not None and not engines:
            return "an image by its name needs podman or docker"
        if image is None and "crun" not in machine.programs:
            return f"crun not found{f' ({engines[0]} runs images by their name without it)' if engines else ''}"
        return machine.lacks("setpriv", "sh", "unshare")

    def engine(self, machine: Machine, image: str | None = None) -> str:
        return version_of(machine.programs[_engine(machine, image)], "--version")

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:
        if _engine(machine, image) == "docker":
            return _docker_applied()
        found = host_applied(machine)
        found.setdefault(LimitName.PROCESSES.value, "rlimit of a user id of its own")
        found[LimitName.DISK.value] = ONE_ROOM
        found[LimitName.NETWORK.value] = "network namespace and seccomp"
        return found

    def own_ipc(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def members(self, processes: int) -> int:
        return processes + 7  # unshare, crun and its helpers, the shells that announce the payload and tell its end

    def native(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def notes(self, machine: Machine) -> tuple[str, ...]:
        if machine.cgroups.version:
            return ()
        return (f"Memory and CPU are limited per process only: {machine.cgroups.why}.",)

    def build(self, plan: Plan, machine: Machine) -> BuiltCommand:
        engine = _engine(machine, plan.spec.image)
        if engine == "crun":
            return self._crun(plan, machine)
        return podman(plan, machine) if engine == "podman" else docker(plan, machine)

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{leader}/root{STAGED_WORK}"

    def room(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{leader}/root{STAGED_ROOM}"

    def init_process(self, status: bytes) -> int | None:  # noqa: ARG002
        return None

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:  # noqa: ARG002
        if started:
            return ""
        return stderr.decode(errors="replace").strip() or f"the runtime ended with code {exit_code}"

    def _crun(self, plan: Plan, machine: Machine) -> BuiltCommand:
        acts = oci.stage(plan, machine)
        if machine.cgroup_mounts != "v2":
            plan, more = _plain_groups(plan)
            acts += more
        runtime = [machine.programs["crun"], "--root", str(STAGED_STATE), "--cgroup-manager=disabled"]
        command = [*runtime, "run", "--bundle", str(plan.scratch), plan.run]
        document = oci.config(plan, machine, with_forwarder(plan))
        command = joined(plan, machine, with_own_processes(plan, machine, command))
        inherit = (plan.status_fd,)
        return BuiltCommand(command, files={"config.json": document}, inherit=inherit, acts=acts, tells_end=True)


def _plain_groups(plan: Plan) -> tuple[Plan, tuple[Act, ...]]:
    """crun refuses to look at hybrid hosts; on the stage it sees a plain one, and the groups are joined elsewhere."""
    places = tuple(str(STAGED_OWN / f"join{number}") for number, _ in enumerate(plan.join))
    kept = [act for path, shown_at in zip(plan.join, places, strict=True) for act in shown(path, shown_at)]
    return replace(plan, join=places), (*kept, MountAct("cgroup2", "/sys/fs/cgroup"))


def podman(plan: Plan, machine: Machine) -> BuiltCommand:
    """An image by name, without a daemon: it runs on the stage like crun, and keeps nothing but in there.

    The images are the machine's own, which podman only reads here.
    """
    options = [machine.programs["podman"], "--root", str(STAGED_STATE / "root"), "--runroot", str(STAGED_STATE / "run")]
    options += ["--tmpdir", str(STAGED_STATE / "tmp"), "--storage-driver=overlay"]
    options += ["--storage-opt", f"additionalimagestore={_PODMAN_IMAGES}"]
    options += ["--cgroup-manager=cgroupfs", "run", "--cgroups=disabled", *_hardened(plan, machine)]
    options += ["--read-only-tmpfs=false", "--mount", f"type=devpts,destination=/dev/pts,max={plan.limits.terminals}"]
    for source, target in ((STAGED_WORK, WORKSPACE), (STAGED_TMP, "/tmp"), (STAGED_SHM, "/dev/shm")):  # noqa: S108
        options += ["--volume", f"{source}:{target}:rw,nosuid,nodev"]
    if plan.spec.room:
        options += ["--volume", f"{STAGED_ROOM}:{plan.spec.room}:rw,nosuid,nodev"]
    options += _image(plan)
    acts: tuple[Act, ...] = (*rooms(plan), *own(), FolderAct(str(STAGED_STATE), 0o700))
    plan, more = _plain_groups(plan) if machine.cgroup_mounts != "v2" else (plan, ())
    command = joined(plan, machine, with_own_processes(plan, machine, options))
    acts += more
    return BuiltCommand(command, files=_files(plan), inherit=(plan.status_fd,), acts=acts, tells_end=True)


def docker(plan: Plan, machine: Machine) -> BuiltCommand:
    """An image by name, through the daemon, which sets the limits itself.

    The daemon would let a container outlive a killed node, so that the payload has a time limit of its own inside.
    """
    if plan.wait:
        raise StartFailed(why="with docker no files go in or out; use podman or an unpacked image")
    limits = plan.limits
    options = [machine.programs["docker"], "run", *_hardened(plan, machine)]
    options += ["--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes)]
    options += ["--pids-limit", str(limits.processes), "--cpus", f"{limits.cores_milli / 1000:.3f}"]
    sized = f"rw,nosuid,nodev,size={limits.disk_bytes},nr_inodes={limits.inodes}"
    options += ["--init", "--tmpfs", f"{WORKSPACE}:{sized},mode=0777", "--tmpfs", f"/tmp:{sized}"]  # noqa: S108
    options.append(f"--shm-size={limits.disk_bytes}")
    limited = replace(plan.spec, argv=("timeout", "-s", "KILL", str(math.ceil(limits.wall_s)), *plan.spec.argv))
    command = [*options, *_image(replace(plan, spec=limited))]
    return BuiltCommand(command, files=_files(plan), after=(machine.programs["docker"], "rm", "--force", plan.run))


def _docker_applied() -> dict[str, str]:
    names = (LimitName.MEMORY, LimitName.PROCESSES, LimitName.CORES, LimitName.NETWORK)
    found = {name.value: "docker's daemon" for name in names}
    return (
        found
        | {
            LimitName.DISK.value: "tmpfs of fixed size, for each place",
            LimitName.WALL.value: "host clock and timeout inside",
        }
        | {LimitName.OUTPUT.value: "host"}
    )


def _hardened(plan: Plan, machine: Machine) -> list[str]:
    """The flags that podman and docker share."""
    user = plan.payload_uid
    options = ["--rm", "--interactive", "--pull=never", "--name", plan.run, "--network=none", "--read-only"]
    options += ["--cap-drop=ALL", "--security-opt=no-new-privileges", f"--user={user}:{user}"]
    options += [f"--security-opt=seccomp={plan.scratch / 'seccomp.json'}", "--ipc=private", "--hostname=sandbox"]
    options.append(f"--workdir={WORKSPACE}")
    for word in rlimits(plan, machine):
        options += ["--ulimit", word.removeprefix("--")]
    options += ["--env-file", str(plan.scratch / "environment")]  # everyone on the machine can read a command line
    for mount in plan.mounts:
        options += ["--volume", f"{mount.source}:{mount.target}:{'rw' if mount.writable else 'ro'}"]
    if plan.egress:
        options += ["--volume", f"{plan.egress.source}:{EGRESS_SOCKET}:rw"]
    return options


def _image(plan: Plan) -> list[str]:
    assert plan.spec.image is not None
    return ["--", plan.spec.image, *with_forwarder(plan)]


def _files(plan: Plan) -> dict[str, bytes]:
    values = environment(plan)
    if any("\n" in value for value in values.values()):
        raise StartFailed(why="podman and docker take no environment with line breaks")
    lines = "".join(f"{name}={value}\n" for name, value in values.items())
    rules = json.dumps(oci.seccomp_rules(plan.memory_is_counted))
    return {"seccomp.json": rules.encode(), "environment": os.fsencode(lines)}


def _engine(machine: Machine, image: str | None) -> str:
    if image is None:
        return "crun"
    found = next((name for name in ("podman", "docker") if name in machine.programs), None)
    if found is None:
        raise StartFailed(why="an image by name needs podman or docker")
    return found
