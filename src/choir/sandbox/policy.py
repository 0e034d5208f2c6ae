"""Limits of the sandbox: what one run may take, and what a machine gives to all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_ENG = "engineering"


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Defaults and ceilings of a run; the pool; the proxy; files and archives."""

    memory_bytes: int = value(512_000_000, "bytes", 4_000_000, 10**12, _ENG, "Default memory of a run.")
    memory_bytes_max: int = value(4_000_000_000, "bytes", 4_000_000, 10**12, _ENG, "Maximum memory of a run.")
    processes: int = value(64, "processes", 1, 100_000, _ENG, "Default processes and threads of a run.")
    processes_max: int = value(1_024, "processes", 1, 100_000, _ENG, "Maximum processes of a run.")
    cpu_s: int = value(60, "seconds", 1, 86_400, _ENG, "Default CPU time of a run, over all its processes.")
    cpu_s_max: int = value(14_400, "seconds", 1, 10**6, _ENG, "Maximum CPU time of a run.")
    cores_milli: int = value(1_000, "thousandths of a core", 10, 1_000_000, _ENG, "Default CPU cores of a run.")
    disk_bytes: int = value(256_000_000, "bytes", 65_536, 10**12, _ENG, "Workspace, /tmp and /dev/shm together.")
    disk_bytes_max: int = value(4_000_000_000, "bytes", 65_536, 10**12, _ENG, "Maximum workspace of a run.")
    inodes: int = value(
        200_000, "files", 16, 10**9, _ENG, "Maximum files and folders of a run, in all writable places."
    )
    terminals: int = value(16, "terminals", 1, 1_024, _ENG, "Maximum pseudo-terminals of a run.")
    wall_s: int = value(120, "seconds", 1, 86_400, _ENG, "Default wall time of a run.")
    wall_s_max: int = value(
        3_600, "seconds", 1, 86_400, "spec: runtimes end after an hour", "Maximum wall time of a run."
    )
    output_bytes: int = value(1_000_000, "bytes", 0, 10**9, _ENG, "Default output kept, each of stdout and stderr.")
    output_bytes_max: int = value(64_000_000, "bytes", 0, 10**9, _ENG, "Maximum output kept.")
    output_flood_factor: int = value(
        64, "times", 1, 10_000, _ENG, "A run that writes this many times the kept output is stopped as a flood."
    )
    output_flood_bytes_min: int = value(16_000_000, "bytes", 0, 10**10, _ENG, "Output below this is never a flood.")
    stdin_bytes_max: int = value(64_000_000, "bytes", 0, 10**9, _ENG, "Maximum size of standard input.")
    open_files: int = value(1_024, "descriptors", 16, 1_000_000, _ENG, "Maximum open descriptors of one process.")
    environment_bytes_max: int = value(
        100_000, "bytes", 0, 1_000_000, _ENG, "Maximum size of arguments and environment together."
    )
    kill_s_max: int = value(10, "seconds", 1, 600, _ENG, "Time for a killed run to end.")
    probe_s_max: int = value(10, "seconds", 1, 120, _ENG, "Time limit of a tier's probe.")

    files_max: int = value(10_000, "files", 0, 10_000_000, _ENG, "Maximum files copied into or out of a run.")
    file_bytes_max: int = value(256_000_000, "bytes", 0, 10**12, _ENG, "Maximum size of a file copied in or out.")
    files_bytes_max: int = value(
        1_000_000_000, "bytes", 0, 10**12, _ENG, "Maximum total size of files copied in or out."
    )
    result_bytes_max: int = value(
        64_000_000,
        "bytes",
        0,
        10**10,
        _ENG,
        "Maximum total size of files copied out to memory instead of a folder.",
    )
    depth_max: int = value(64, "folders", 1, 1_000, _ENG, "Maximum nesting of folders.")
    archive_ratio_max: int = value(
        200, "times", 1, 100_000, _ENG, "Maximum compression ratio; an archive beyond it is refused as a bomb."
    )
    archive_ratio_bytes_min: int = value(
        10_000_000, "bytes", 0, 10**10, _ENG, "Below this unpacked size the ratio is not checked."
    )
    repository_s_max: int = value(300, "seconds", 1, 3_600, _ENG, "Time limit for preparing a repository.")
    fetch_bytes_max: int = value(
        200_000_000, "bytes", 1_000, 10**11, _ENG, "Maximum download of a repository that is fetched by its address."
    )
    fetch_private: int = value(
        0, "yes or no", 0, 1, _ENG, "Whether repositories may be fetched from loopback and private addresses."
    )

    pool_memory_percent: int = value(60, "percent", 1, 90, _ENG, "Share of the machine's memory that runs may use.")
    pool_runs_per_core: int = value(4, "runs", 1, 1_000, _ENG, "Maximum active runs per core.")
    pool_waiting_max: int = value(1_000, "runs", 0, 1_000_000, _ENG, "Maximum waiting runs; the next is refused.")
    pool_waiting_per_owner_max: int = value(250, "runs", 1, 1_000_000, _ENG, "Maximum waiting runs of one owner.")
    uid_first: int = value(
        1_880_000_000,
        "uid",
        100_000,
        2_147_000_000,
        "above systemd's range for containers, below the node's own user ids for databases",
        "First user id for sandboxes started by root, one each.",
    )
    uid_count: int = value(4_096, "uids", 16, 65_536, _ENG, "Number of user ids for sandboxes.")

    stranger_tier_min: int = value(
        2,
        "tier",
        1,
        5,
        _ENG,
        "Minimum tier for untrusted code: 1 local, 2 bubblewrap, 3 container, 4 gvisor, 5 microvm.",
    )
    stranger_limits_required: int = value(
        1,
        "yes or no",
        0,
        1,
        _ENG,
        "Whether untrusted code is refused where limits on memory, processes or disk cannot be enforced.",
    )

    egress_request_bytes_max: int = value(
        10_000_000, "bytes", 0, 10**12, _ENG, "Maximum bytes sent through one proxy request."
    )
    egress_response_bytes_max: int = value(
        100_000_000, "bytes", 0, 10**12, _ENG, "Maximum bytes received through one proxy request."
    )
    egress_total_bytes_max: int = value(
        4_000_000_000, "bytes", 0, 10**12, _ENG, "Maximum bytes received by a run whose answers are counted together."
    )
    egress_requests_max: int = value(1_000, "requests", 0, 1_000_000, _ENG, "Maximum proxy requests of one run.")
    egress_connections_max: int = value(
        32, "connections", 1, 10_000, _ENG, "Maximum concurrent proxy connections of one run."
    )
    egress_head_bytes_max: int = value(
        65_536, "bytes", 1_024, 1_000_000, _ENG, "Maximum size of a request's or response's head."
    )
    egress_connect_s_max: int = value(10, "seconds", 1, 120, _ENG, "Time limit for an outbound connection.")
    egress_idle_s_max: int = value(60, "seconds", 1, 3_600, _ENG, "Idle timeout of a proxied connection.")


SECTIONS = {"sandbox": SandboxPolicy}
