"""Limits of a provider's machine: what a worker may take, how many work at once, how long a trajectory may be."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import value

_ENG = "engineering"


@dataclass(frozen=True, slots=True)
class WorkersPolicy:
    """The worker pool, agents as commands, analysers and fixers, and trajectories."""

    capacity: int = value(3, "jobs", 1, 1_000, "seeds: bazaar 1.4", "Jobs that a provider works on at once.")
    failures_in_a_row_max: int = value(
        3, "jobs", 1, 1_000, _ENG, "A worker that broke down this often in a row gets no job for a while."
    )
    rest_s: int = value(60, "seconds", 1, 86_400, _ENG, "How long such a worker rests before it is tried again.")
    stuck_s: int = value(
        30,
        "seconds",
        1,
        3_600,
        _ENG,
        "How long a worker has for stopping before its job is given up and its place lost.",
    )
    drain_s: int = value(300, "seconds", 0, 86_400, _ENG, "How long running jobs may go on when a provider stops.")
    hand_in_s: int = value(
        10, "seconds", 0, 600, _ENG, "Kept back from a job's time, for computing the diff and handing in."
    )

    command_memory_bytes: int = value(2_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of an agent's command.")
    command_disk_bytes: int = value(1_000_000_000, "bytes", 1_000_000, 10**12, _ENG, "Workspace of an agent's command.")
    command_processes: int = value(256, "processes", 4, 100_000, _ENG, "Processes and threads of an agent's command.")
    command_cpu_s: int = value(3_600, "seconds", 1, 10**6, _ENG, "CPU time of an agent's command.")
    command_output_bytes: int = value(
        8_000_000, "bytes", 1_000, 10**9, _ENG, "How much of an agent's output goes into the trajectory."
    )

    analysis_wall_s: int = value(120, "seconds", 1, 3_600, _ENG, "Longest run of analysers or fixers.")
    analysis_memory_bytes: int = value(1_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of such a run.")
    analysis_files_max: int = value(2_000, "files", 1, 100_000, _ENG, "Most files that analysers or fixers look at.")

    trajectory_lines_max: int = value(100_000, "lines", 10, 10**7, _ENG, "Most lines of a trajectory.")
    trajectory_line_bytes_max: int = value(65_536, "bytes", 1_000, 10**7, _ENG, "Longest line of a trajectory.")
    trajectory_text_chars: int = value(
        4_000, "characters", 100, 100_000, _ENG, "How much of one text our own workers write into a trajectory's line."
    )
    trajectory_skew_s: int = value(
        120,
        "seconds",
        0,
        86_400,
        _ENG,
        "How far a provider's clock may be off when a trajectory's times are checked.",
    )
