"""Limits of the sandbox: what one run may take, and what a machine gives to all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_ENG = "engineering"


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Defaults and ceilings of a run; the pool; the proxy; files and archives."""

    memory_bytes: int = value(512_000_000, "bytes", 4_000_000, 10**12, _ENG, "Memory of a run that names none.")
    memory_bytes_max: int = value(4_000_000_000, "bytes", 4_000_000, 10**12, _ENG, "Most memory a run may ask for.")
    processes: int = value(64, "processes", 1, 100_000, _ENG, "Processes and threads of a run that names none.")
    processes_max: int = value(1_024, "processes", 1, 100_000, _ENG, "Most processes a run may ask for.")
    cpu_s: int = value(60, "seconds", 1, 86_400, _ENG, "CPU time of a run that names none, over all its processes.")
    cpu_s_max: int = value(14_400, "seconds", 1, 10**6, _ENG, "Most CPU time a run may ask for.")
    cores_milli: int = value(1_000, "thousandths of a core", 10, 1_000_000, _ENG, "Share of the cores at any moment.")
    disk_bytes: int = value(256_000_000, "bytes", 65_536, 10**12, _ENG, "Workspace, /tmp and /dev/shm together.")
    disk_bytes_max: int = value(4_000_000_000, "bytes", 65_536, 10**12, _ENG, "Largest workspace a run may ask for.")
    inodes: int = value(
        200_000, "files", 16, 10**9, _ENG, "Files and folders of a run at once, in all places that it may write to."
    )
    terminals: int = value(16, "terminals", 1, 1_024, _ENG, "Pseudo-terminals of a run at once.")
    wall_s: int = value(120, "seconds", 1, 86_400, _ENG, "Wall time of a run that names none.")
    wall_s_max: int = value(3_600, "seconds", 1, 86_400, "spec: runtimes end after an hour", "Longest run.")
    output_bytes: int = value(1_000_000, "bytes", 0, 10**9, _ENG, "How much of stdout, and of stderr, is kept.")
    output_bytes_max: int = value(64_000_000, "bytes", 0, 10**9, _ENG, "Most output a run may ask to keep.")
    output_flood_factor: int = value(
        64, "times", 1, 10_000, _ENG, "A run that writes this many times what is kept is stopped as a flood."
    )
    output_flood_bytes_min: int = value(
        16_000_000, "bytes", 0, 10**10, _ENG, "Output below this is never called a flood, however little is kept."
    )
    stdin_bytes_max: int = value(64_000_000, "bytes", 0, 10**9, _ENG, "Largest standard input.")
    open_files: int = value(1_024, "descriptors", 16, 1_000_000, _ENG, "Open descriptors of one process.")
    environment_bytes_max: int = value(100_000, "bytes", 0, 1_000_000, _ENG, "Arguments and environment together.")
    kill_s_max: int = value(10, "seconds", 1, 600, _ENG, "How long a killed run may take to be gone.")
    probe_s_max: int = value(10, "seconds", 1, 120, _ENG, "How long a tier may take to prove that it works.")

    files_max: int = value(10_000, "files", 0, 10_000_000, _ENG, "Most files put into or taken out of a run.")
    file_bytes_max: int = value(256_000_000, "bytes", 0, 10**12, _ENG, "Largest file put in or taken out.")
    files_bytes_max: int = value(1_000_000_000, "bytes", 0, 10**12, _ENG, "All files put in or taken out together.")
    result_bytes_max: int = value(
        64_000_000,
        "bytes",
        0,
        10**10,
        _ENG,
        "All files of one run that are brought back in memory and not into a folder.",
    )
    depth_max: int = value(64, "folders", 1, 1_000, _ENG, "Deepest nesting of folders that is read or unpacked.")
    archive_ratio_max: int = value(
        200, "times", 1, 100_000, _ENG, "An archive that grows more than this when unpacked is refused as a bomb."
    )
    archive_ratio_bytes_min: int = value(
        10_000_000, "bytes", 0, 10**10, _ENG, "Below this unpacked size the ratio is not looked at."
    )
    repository_s_max: int = value(300, "seconds", 1, 3_600, _ENG, "Longest time for preparing a repository.")

    pool_memory_percent: int = value(60, "percent", 1, 90, _ENG, "Share of the machine's memory that runs may use.")
    pool_runs_per_core: int = value(4, "runs", 1, 1_000, _ENG, "How many runs are active at once for each core.")
    pool_waiting_max: int = value(1_000, "runs", 0, 1_000_000, _ENG, "How many runs may wait; the next is refused.")
    pool_waiting_per_owner_max: int = value(250, "runs", 1, 1_000_000, _ENG, "How many runs of one owner may wait.")
    uid_first: int = value(
        1_880_000_000,
        "uid",
        100_000,
        2_147_000_000,
        "above systemd's range for containers, below the node's own user ids for databases",
        "First of the user ids that sandboxes started by root run as, one each.",
    )
    uid_count: int = value(4_096, "uids", 16, 65_536, _ENG, "How many user ids sandboxes take turns with.")

    stranger_tier_min: int = value(
        2,
        "tier",
        1,
        5,
        _ENG,
        "Weakest tier for strangers' code: 1 local, 2 bubblewrap, 3 container, 4 gvisor, 5 microvm.",
    )
    stranger_limits_required: int = value(
        1,
        "yes or no",
        0,
        1,
        _ENG,
        "Whether strangers' code is refused where memory, processes or disk have no firm limit.",
    )

    egress_request_bytes_max: int = value(10_000_000, "bytes", 0, 10**12, _ENG, "Most sent through one proxy request.")
    egress_response_bytes_max: int = value(
        100_000_000, "bytes", 0, 10**12, _ENG, "Most received through one proxy request."
    )
    egress_requests_max: int = value(1_000, "requests", 0, 1_000_000, _ENG, "Most proxy requests of one run.")
    egress_connections_max: int = value(32, "connections", 1, 10_000, _ENG, "Proxy connections of one run at once.")
    egress_head_bytes_max: int = value(65_536, "bytes", 1_024, 1_000_000, _ENG, "Largest head of a request or answer.")
    egress_connect_s_max: int = value(10, "seconds", 1, 120, _ENG, "Longest wait for a connection to the outside.")
    egress_idle_s_max: int = value(60, "seconds", 1, 3_600, _ENG, "A proxied connection silent for so long is closed.")


SECTIONS = {"sandbox": SandboxPolicy}
