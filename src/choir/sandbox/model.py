"""What a sandboxed run is: what is asked for, what came back, what can be refused.

Guarantees: a `Spec` says everything about a run and nothing about the machine; a `Result` names the
tier that really ran and, for each limit, what enforced it. A limit that nothing enforced is listed
as missing, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.foundation.errors import Invalid, NotAllowed, Refusal, TooLarge, Unavailable

if TYPE_CHECKING:
    from choir.sandbox.egress.model import Egress, EgressRecord
    from choir.sandbox.layers.model import Capture, Captured

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def said(data: bytes, most: int) -> str:
    """What a stranger's program said, fit for a sentence of ours: short, and nothing that steers a terminal."""
    return _CONTROL.sub(" ", data.decode(errors="replace")).strip()[:most]


WORKSPACE = "/work"  # the one place a payload may write to and be read from


class Tier(IntEnum):
    """How strongly a run is contained; a larger number is stronger."""

    LOCAL = 1
    BUBBLEWRAP = 2
    CONTAINER = 3
    GVISOR = 4
    MICROVM = 5

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Tier:
        try:
            return cls[text.upper()]
        except KeyError:
            names = ", ".join(tier.label for tier in cls)
            raise Invalid(what=f"tier '{text[:40]}'", why=f"it must be one of {names}") from None


class Trust(StrEnum):
    """Whose code it is."""

    OWN = "own"
    STRANGER = "stranger"


class LimitName(StrEnum):
    """The limits that a run can have."""

    MEMORY = "memory"
    PROCESSES = "processes"
    CPU = "cpu"
    CORES = "cores"
    DISK = "disk"
    WALL = "wall"
    OUTPUT = "output"
    NETWORK = "network"


class EndReason(StrEnum):
    """Why a run was over."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    CPU = "cpu"
    OUTPUT = "output"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take. Nothing given means the policy's default."""

    memory_bytes: int | None = None
    processes: int | None = None
    cpu_s: int | None = None
    cores_milli: int | None = None
    disk_bytes: int | None = None
    wall_s: float | None = None
    output_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EffectiveLimits:
    """The limits of one run after defaults and ceilings."""

    memory_bytes: int
    processes: int
    cpu_s: int
    cores_milli: int
    disk_bytes: int
    wall_s: float
    output_bytes: int
    open_files: int
    inodes: int
    terminals: int
    flood_bytes: int  # a run that writes more than this is stopped


@dataclass(frozen=True, slots=True)
class InFile:
    """A file to put into the workspace before the run."""

    path: str  # relative to the workspace, with / between folders
    content: bytes = b""
    executable: bool = False
    source: Path | None = None  # read from here instead of `content`; links are not followed
    link: str | None = None  # a link that leads there instead of a file; it is followed inside the sandbox only


@dataclass(frozen=True, slots=True)
class OutFile:
    """A regular file taken out of the workspace after the run."""

    path: str
    content: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host that the payload sees. Writable ones have no disk limit."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """Everything about one run."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    tier: Tier | None = None  # None: for strangers the strongest that runs natively, else the weakest; never local
    tier_min: Tier = Tier.BUBBLEWRAP
    trust: Trust = Trust.STRANGER
    limits: Limits = field(default_factory=Limits)
    files: tuple[InFile, ...] = ()
    collect: tuple[str, ...] = ()  # files or folders below the workspace to bring back
    collect_into: Path | None = None  # write what is collected below this folder instead of into the result
    folder: Path | None = None  # a folder of the host whose contents are copied into the workspace first
    folder_at: str = ""  # where below the workspace they go; empty: to its top
    room: str = ""  # a second place to write to, by its path in the sandbox; within the same size where root makes it
    capture: Capture | None = None  # keep what the run leaves in the room and the workspace as a layer
    mounts: tuple[Mount, ...] = ()
    root: Path | None = None  # an unpacked image; None: the host's /usr, read-only
    image: str | None = None  # an image's name, for podman and docker
    egress: Egress | None = None
    owner: str = ""  # for the fair queue


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run really took."""

    wall_s: float
    cpu_s: float
    memory_peak_bytes: int
    memory_source: str  # "cgroup v1", "cgroup v2", or "largest process"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run."""

    run: str
    tier: Tier
    engine: str  # the program behind the tier, such as "bubblewrap 0.8.0"
    exit_code: int  # 128 + n after signal n, as a shell says it
    ended: EndReason
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    out_of_memory: bool | None  # None where the machine cannot tell
    usage: Usage
    limits: EffectiveLimits
    applied: Mapping[str, str]  # limit -> what enforced it
    missing: tuple[str, ...]  # limits that nothing enforced
    files: tuple[OutFile, ...] = ()
    files_refused: tuple[str, ...] = ()  # what was there but is not a plain file within limits, and why
    requests: tuple[EgressRecord, ...] = ()
    captured: Captured | None = None  # what was kept as a layer

    @property
    def ok(self) -> bool:
        return self.ended is EndReason.EXITED and self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        return self.ended in (EndReason.TIMEOUT, EndReason.CPU)

    def summary(self) -> dict[str, Any]:
        """The facts for a receipt: no output, no file contents."""
        return {
            "run": self.run,
            "tier": self.tier.label,
            "engine": self.engine,
            "exit_code": self.exit_code,
            "ended": self.ended.value,
            "timed_out": self.timed_out,
            "out_of_memory": self.out_of_memory,
            "stdout_truncated": self.stdout_truncated,
            "stderr_truncated": self.stderr_truncated,
            "wall_ms": round(self.usage.wall_s * 1000),
            "cpu_ms": round(self.usage.cpu_s * 1000),
            "memory_peak_bytes": self.usage.memory_peak_bytes,
            "memory_source": self.usage.memory_source,
            "applied": dict(self.applied),
            "missing": list(self.missing),
            "files": [{"path": item.path, "bytes": len(item.content)} for item in self.files],
            "files_refused": list(self.files_refused),
            "requests": [record.summary() for record in self.requests],
        }


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one tier can do on this machine."""

    tier: Tier
    works: bool
    engine: str
    why: str  # why it does not work, or what is weaker than it could be
    applied: Mapping[str, str]
    missing: tuple[str, ...]
    notes: tuple[str, ...] = ()
    native: bool = True  # whether the payload's system calls reach a kernel without a program in between


class TierMissing(Unavailable):
    """The machine lacks the tier that was asked for. There is no step down."""

    code = "sandbox.tier_missing"
    sentence = "The sandbox tier {tier} does not work on this machine: {why}"
    hint = "`choir sandbox doctor` shows which tiers work here and why others do not."


class TierTooWeak(NotAllowed):
    """The tier asked for by name is below what this code needs."""

    code = "sandbox.tier_too_weak"
    sentence = "The sandbox tier {tier} is too weak for this run, which needs at least {needed}."


class LimitMissing(NotAllowed):
    """A limit that strangers' code needs cannot be enforced here."""

    code = "sandbox.limit_missing"
    sentence = "This machine cannot enforce limits on {limits} in the tier {tier}, so untrusted code is refused."
    hint = (
        "If it is your own code, add --trust own. For untrusted code run as root or in a delegated cgroup;"
        " CHOIR_POLICY__SANDBOX__STRANGER_LIMITS_REQUIRED=0 disables this check."
    )


class SpecTooLarge(TooLarge):
    """A run that asks for more than the policy gives."""

    code = "sandbox.too_large"


class PoolFull(Refusal):
    """Too many runs are waiting; the caller should come back later."""

    code = "sandbox.pool_full"
    sentence = "The sandbox pool is full: {waiting} runs are waiting and the limit is {limit}."
    hint = "Retry later."


class PoolTooSmall(Refusal):
    """A run that could never fit into the pool."""

    code = "sandbox.pool_too_small"
    sentence = "This run needs {needed} bytes of memory; the whole pool has {limit}."


class PoolClosed(Unavailable):
    """The pool was closed while the run waited."""

    code = "sandbox.pool_closed"
    sentence = "The sandbox pool was closed before the run started."


class StartFailed(Unavailable):
    """The tier could not start the payload at all; nothing of it ran."""

    code = "sandbox.start_failed"
    sentence = "The sandbox could not be started: {why}"


class TooLittleMemory(StartFailed):
    """The tier itself needs more memory than the run was given."""

    code = "sandbox.too_little_memory"
    sentence = "The sandbox could not be started: {limit} bytes of memory are too little for the tier {tier}."
    hint = "Set more memory (--memory), or omit it for the policy's default."


class NotGone(Unavailable):
    """A killed run is still there, for example stuck in the kernel. The next `clean` tries again."""

    code = "sandbox.not_gone"
    sentence = "The run {run} was killed but has not ended after {seconds} seconds."


class UnsafeEntry(Invalid):
    """A file, archive member or repository entry that would reach outside its folder or is no plain file."""

    code = "sandbox.unsafe_entry"
    sentence = "'{path}' is refused: {why}."


class TooMuch(TooLarge):
    """More files or bytes than the limits allow; an archive bomb looks like this."""

    code = "sandbox.too_much"
