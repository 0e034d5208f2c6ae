"""The gvisor tier: the same bundle through runsc, whose own kernel in user space answers the payload's calls.

Guarantees: as in the bundle, and the host's kernel is reached only through gVisor's. The payload's network is
a loopback inside gVisor; its one way out is the proxy's socket, which runsc may open.
"""

from __future__ import annotations

import signal

from choir.sandbox.model import LimitName, Tier
from choir.sandbox.tiers import oci
from choir.sandbox.tiers.base import BuiltCommand, Machine, Plan, host_applied, joined, version_of
from choir.sandbox.tiers.container import with_forwarder
from choir.sandbox.tiers.stage import ONE_ROOM, STAGED_ROOM, STAGED_STATE, STAGED_WORK, with_own_processes


class Gvisor:
    """runsc."""

    tier = Tier.GVISOR
    tells_init = False
    marks_start = True
    stop_signal = signal.SIGKILL
    needs_scratch = True

    def missing(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        if not machine.is_root:
            return "it needs root here"
        return machine.lacks("runsc", "setpriv", "sh", "unshare")

    def engine(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        return version_of(machine.programs["runsc"], "--version")

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:  # noqa: ARG002
        found = host_applied(machine)
        found.pop(LimitName.PROCESSES.value, None)
        if machine.cgroups.has("memory"):
            found[LimitName.PROCESSES.value] = f"rlimit inside gVisor; their cost by {machine.cgroups.label}"
        found[LimitName.DISK.value] = ONE_ROOM
        found[LimitName.NETWORK.value] = "gVisor has no network but its loopback"
        return found

    def own_ipc(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def members(self, processes: int) -> int:
        return 4 * processes + 256  # gVisor's kernel is threads of the host, and some for each process inside

    def native(self, machine: Machine) -> bool:
        """By ptrace and systrap every call of the payload is taken up by another program; by KVM it would not be."""
        return machine.gvisor_platform == "kvm"

    def notes(self, machine: Machine) -> tuple[str, ...]:
        if machine.cgroups.version:
            return ()
        return (f"Limits on memory, processes and CPU cannot be enforced: {machine.cgroups.why}.",)

    def build(self, plan: Plan, machine: Machine) -> BuiltCommand:
        runtime = [machine.programs["runsc"], "--root", str(STAGED_STATE), "--ignore-cgroups", "--network=none"]
        runtime += [f"--platform={machine.gvisor_platform}"]
        if plan.egress:
            runtime.append("--host-uds=open")
        command = [*runtime, "run", "--bundle", str(plan.scratch), plan.run]
        document = oci.config(plan, machine, with_forwarder(plan), namespaces=("pid", "network", "ipc", "uts", "mount"))
        command = joined(plan, machine, with_own_processes(plan, machine, command))
        inherit = (plan.status_fd,)
        acts = oci.stage(plan, machine)
        return BuiltCommand(command, files={"config.json": document}, inherit=inherit, acts=acts, tells_end=True)

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{leader}/root{STAGED_WORK}"

    def room(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{leader}/root{STAGED_ROOM}"

    def init_process(self, status: bytes) -> int | None:  # noqa: ARG002
        return None

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:  # noqa: ARG002
        if started:
            return ""
        return stderr.decode(errors="replace").strip() or f"runsc ended with code {exit_code}"
