"""What every tier has: facts in, a command line out.

Guarantees: `Driver.build` is pure, so that a tier the machine lacks is still tested word by word; all that
touches the machine (descriptors, groups, user ids, folders) is made by the runner and comes in as a `Plan`.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from choir.sandbox.cgroups import NONE, Hierarchy
from choir.sandbox.model import WORKSPACE, EffectiveLimits, LimitName, Spec, Tier

if TYPE_CHECKING:
    from choir.sandbox.tiers.stage import Act

PROGRAMS = ("bwrap", "crun", "docker", "mount", "podman", "prlimit", "python3", "runsc", "setpriv", "sh", "unshare")
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PAYLOAD_UID = 1000  # what a payload sees itself as
PAYLOAD_PATH = "/usr/local/bin:/usr/bin:/bin"
EGRESS_SOCKET = "/run/choir/egress.sock"
PROXY_PORT = 3128
ETC_FROM_HOST = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs")  # public, and programs need them

_ETC = {
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_USR_NAMES = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
_BASE_ENVIRONMENT = {"PATH": PAYLOAD_PATH, "HOME": WORKSPACE, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "payload"}  # noqa: S108


@dataclass(frozen=True, slots=True)
class Machine:
    """What the builders need to know about this machine."""

    uid: int
    gid: int
    architecture: str
    cgroups: Hierarchy = NONE
    programs: Mapping[str, str] = field(default_factory=dict)
    hard_limits: Mapping[str, int] = field(default_factory=dict)  # rlimit -> ceiling of this process; absent: none
    landlock_abi: int = 0
    own_namespaces: bool = False  # whether an ordinary user can start something with processes of its own
    gvisor_platform: str = "ptrace"
    cgroup_mounts: str = "unknown"  # "v2", "hybrid" or "v1"
    usr_links: tuple[str, ...] = ()  # /bin and its like, where they are links into /usr
    usr_folders: tuple[str, ...] = ()  # the same, where they are folders

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    def lacks(self, *names: str) -> str:
        """A sentence about missing programs, or nothing."""
        missing = [name for name in names if name not in self.programs]
        return f"{' and '.join(missing)} not found" if missing else ""


@dataclass(frozen=True, slots=True)
class MountPoint:
    """A path of the host that the run is lent; the runner has looked at what it is."""

    number: int  # its place on the stage
    source: str
    target: str
    writable: bool = False
    is_folder: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """One run, ready to be turned into a command line."""

    run: str
    spec: Spec
    limits: EffectiveLimits
    scratch: Path  # the run's folder on the host
    uid: int | None = None  # the user id of its own, for nodes that run as root
    join: tuple[str, ...] = ()  # cgroup files to write 0 into
    etc_fds: tuple[tuple[str, int], ...] = ()  # the files of /etc that payloads see: name, descriptor
    seccomp_fd: int = -1
    seccomp_program: bytes = b""
    status_fd: int = -1
    args_fd: int = -1
    mounts: tuple[MountPoint, ...] = ()
    root_mounts: tuple[MountPoint, ...] = ()  # the top folders of an image
    root_links: tuple[tuple[str, str], ...] = ()  # its top links: name, target
    egress: MountPoint | None = None  # the proxy's socket
    egress_token: str = ""
    forwarder: str = ""  # source of the program that carries loopback to the socket
    wait: bool = False  # stop before the payload until the host has put files in

    @property
    def memory_is_counted(self) -> bool:
        return bool(self.join)

    @property
    def payload_uid(self) -> int:
        """Who owns the workspace on the host's side."""
        return self.uid if self.uid is not None else os.geteuid()


@dataclass(frozen=True, slots=True)
class BuiltCommand:
    """A command line, and what must be in the descriptor it reads its options from."""

    argv: list[str]
    options: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)  # to write below the scratch folder first
    inherit: tuple[int, ...] = ()  # the descriptors it is given; all others are closed
    after: tuple[str, ...] = ()  # a command that removes what the program may leave with a daemon
    acts: tuple[Act, ...] = ()  # what root arranges first, in a mount namespace of the run's own
    tells_end: bool = False  # whether the status descriptor tells how the run ended: a line "exit CODE"


class Driver(Protocol):
    """One tier."""

    tier: Tier
    tells_init: bool  # whether the status descriptor names the first process inside
    stop_signal: signal.Signals  # what makes the leader end with all that is its own
    marks_start: bool  # whether the first byte of stdout is our own, sent when the payload is about to start
    needs_scratch: bool  # whether a run needs a folder on the host

    def missing(self, machine: Machine, image: str | None = None) -> str:
        """Why this tier cannot even be tried, with an image by name or without, or nothing."""
        ...

    def engine(self, machine: Machine, image: str | None = None) -> str:
        """The program behind the tier and its version."""
        ...

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:
        """What enforces each limit here, with an image by name or without. What is absent is not enforced."""
        ...

    def own_ipc(self, machine: Machine) -> bool:
        """Whether System V memory and message queues are the run's own, and gone with it."""
        ...

    def members(self, processes: int) -> int:
        """How many processes and threads the group must have room for, the tier's own among them."""
        ...

    def notes(self, machine: Machine) -> tuple[str, ...]:
        """What works here but is weaker than it could be."""
        ...

    def native(self, machine: Machine) -> bool:
        """Whether the payload's system calls reach a kernel without a program in between."""
        ...

    def build(self, plan: Plan, machine: Machine) -> BuiltCommand:
        """The command line; pure."""
        ...

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:
        """The path by which the host reaches the workspace while the run is waiting."""
        ...

    def room(self, plan: Plan, leader: int, status: bytes) -> str:
        """The path by which the host reaches the second place to write to."""
        ...

    def init_process(self, status: bytes) -> int | None:
        """The first process inside, if the tier tells; when it is gone, so are all others in there."""
        ...

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:
        """Why the payload was never started; nothing if it was. `started` is about the marking byte."""
        ...


def look(cgroups: Hierarchy) -> Machine:
    """The facts of this machine and this process."""
    from choir.sandbox.landlock import abi

    programs = {name: found for name in PROGRAMS if (found := shutil.which(name, path=SEARCH_PATH))}
    return Machine(
        uid=os.geteuid(),
        gid=os.getegid(),
        architecture=platform.machine(),
        cgroups=cgroups,
        programs=programs,
        hard_limits=_hard_limits(),
        landlock_abi=abi(),
        own_namespaces=_has_own_namespaces(programs),
        gvisor_platform=_gvisor_platform(programs.get("runsc")),
        cgroup_mounts=_cgroup_mounts(),
        usr_links=tuple(name for name in _USR_NAMES if Path("/", name).is_symlink()),
        usr_folders=tuple(name for name in _USR_NAMES if _is_real_folder(Path("/", name))),
    )


def environment(plan: Plan) -> dict[str, str]:
    """What a payload finds in its environment: nothing of the host's."""
    result = _BASE_ENVIRONMENT | dict(plan.spec.environment)
    if plan.egress_token:
        proxy = f"http://job:{plan.egress_token}@127.0.0.1:{PROXY_PORT}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            result[name] = proxy
        result |= {"NO_PROXY": "", "no_proxy": ""}
    return result


def rlimits(plan: Plan, machine: Machine, *, processes: bool = True) -> list[str]:
    """Limits per process, as prlimit(1) takes them; never above what this process may set."""
    limits = plan.limits
    wanted = {
        "core": 0,
        "nofile": limits.open_files,
        "fsize": limits.disk_bytes,
        "cpu": limits.cpu_s + 1,  # per process; the sum is watched from outside
        "memlock": 65_536,
        "msgqueue": 65_536,
    }
    if processes:
        wanted["nproc"] = limits.processes
    if not plan.memory_is_counted:
        wanted["as"] = limits.memory_bytes
    capped = {name: min(number, machine.hard_limits.get(name, number)) for name, number in wanted.items()}
    return [f"--{name}={number}:{number}" for name, number in capped.items()]


def joined(plan: Plan, machine: Machine, command: list[str]) -> list[str]:
    """The command, started inside the run's control groups. A shell joins before it becomes the command."""
    if not plan.join:
        return command
    steps = "".join(f'echo 0 >"${place}" && ' for place in range(1, len(plan.join) + 1))
    return [machine.programs["sh"], "-c", f'{steps}shift {len(plan.join)} && exec "$@"', "sh", *plan.join, *command]


def etc_files(uid: int = PAYLOAD_UID) -> dict[str, bytes]:
    """The /etc that payloads see: the same for all but for who they are, with nothing of the host's in it."""
    return name_files(uid, WORKSPACE) | {name: text.encode() for name, text in _ETC.items()}


def name_files(uid: int, home: str) -> dict[str, bytes]:
    """The names of user ids: programs ask for their own."""
    users = f"root:x:0:0::/:/bin/sh\npayload:x:{uid}:{uid}::{home}:/bin/sh\n"
    return {"passwd": users.encode(), "group": f"root:x:0:\npayload:x:{uid}:\n".encode()}


def waiting(shell: str, command: list[str]) -> list[str]:
    """The command behind a handshake: a line on stdout says ready, a line on stdin says go."""
    return [shell, "-c", 'echo && read -r _ && exec "$@"', "sh", *command]


def marked(command: list[str]) -> list[str]:
    """The command, announced by one byte on stdout that the host takes away again."""
    return ["/bin/sh", "-c", 'echo && "$@"; exit $?', "sh", *command]


def own_namespaces(programs: Mapping[str, str], *more: str) -> list[str]:
    """A way to start a command with processes and IPC of its own, which are gone with it and with its starter."""
    deadly = [programs["setpriv"], "--pdeathsig", "KILL", "--"]
    private = [programs["unshare"], *more, "--mount", "--propagation", "private", "--cgroup"]
    return [*deadly, *private, "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]


def in_own_namespaces(programs: Mapping[str, str], command: list[str]) -> list[str]:
    """The command of an ordinary user, who needs a user namespace to have any other; its rights end there."""
    more = ("--user", "--map-current-user", "--keep-caps", "--uts")
    return [*own_namespaces(programs, *more), "--", *command]


def host_applied(machine: Machine) -> dict[str, str]:
    """What the host itself enforces, whatever the tier."""
    found = {LimitName.WALL.value: "host clock", LimitName.OUTPUT.value: "host"}
    if machine.cgroups.has("memory"):
        found[LimitName.MEMORY.value] = machine.cgroups.label
    if machine.cgroups.has("pids"):
        found[LimitName.PROCESSES.value] = machine.cgroups.label
    if machine.cgroups.has("cpu"):
        found[LimitName.CORES.value] = machine.cgroups.label
    if machine.cgroups.has("cpuacct"):
        found[LimitName.CPU.value] = f"{machine.cgroups.label}, watched by the host"
    return found


def version_of(program: str, *arguments: str) -> str:
    """The first line a program says about its version."""
    return _say(program, *arguments).strip().split("\n")[0][:80]


def _say(program: str, *arguments: str, seconds: float = 5) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, timeout=seconds, env={"PATH": SEARCH_PATH}, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown version ({type(error).__name__})"
    return (done.stdout or done.stderr).decode(errors="replace")


def nul_separated(options: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(option) + b"\0" for option in options)


def _gvisor_platform(program: str | None) -> str:
    """Newer versions have systrap, which needs no KVM and is faster than ptrace."""
    return "systrap" if program and "systrap" in _say(program, "flags") else "ptrace"


def _has_own_namespaces(programs: Mapping[str, str]) -> bool:
    """Found out by trying: kernels, distributions and containers all have switches of their own for it."""
    if os.geteuid() == 0 or not {"setpriv", "unshare", "sh"} <= set(programs):
        return False
    return _say(*in_own_namespaces(programs, [programs["sh"], "-c", "echo works"])).strip() == "works"


def _hard_limits() -> dict[str, int]:
    names = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC, "fsize": resource.RLIMIT_FSIZE}
    names |= {"cpu": resource.RLIMIT_CPU, "memlock": resource.RLIMIT_MEMLOCK, "as": resource.RLIMIT_AS}
    names |= {"msgqueue": resource.RLIMIT_MSGQUEUE}
    hard = {name: resource.getrlimit(number)[1] for name, number in names.items()}
    return {name: number for name, number in hard.items() if number != resource.RLIM_INFINITY}


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _cgroup_mounts() -> str:
    kinds = {fields[2] for fields in map(str.split, Path("/proc/self/mounts").read_text().splitlines())}
    if "cgroup" in kinds:
        return "hybrid" if "cgroup2" in kinds else "v1"
    return "v2" if "cgroup2" in kinds else "unknown"
