"""Limits of the node: what one request, one process and one start may take."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import value

_SPEC = "spec: node limits"


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """Limits of the HTTP door, the scheduler and the database."""

    body_bytes_max: int = value(32_000_000, "bytes", 1_000, 1_000_000_000, _SPEC, "Largest request body, blobs apart.")
    request_s_max: int = value(30, "seconds", 1, 600, _SPEC, "Longest time a request may take.")
    database_wait_s_max: int = value(
        10, "seconds", 1, 120, "engineering", "How long a caller waits for the database before it is told to come back."
    )
    disk_free_bytes_min: int = value(
        256_000_000,
        "bytes",
        16_000_000,
        100_000_000_000,
        "engineering",
        "Below this much free disk, writes are refused, so that the database never meets a full disk.",
    )
    task_attempts_max: int = value(
        20, "attempts", 1, 1000, "engineering", "How often a background task is tried before it is set aside."
    )
    task_backoff_s: int = value(
        2, "seconds", 1, 3600, "engineering", "Wait after a task's first failure; it doubles each time."
    )
    task_backoff_s_max: int = value(3600, "seconds", 1, 86_400, "engineering", "Longest wait between two attempts.")
    task_lease_s: int = value(
        60, "seconds", 5, 86_400, "engineering", "How long slow work keeps its lease without renewing it."
    )
    outbox_keep_s: int = value(
        7 * 86_400, "seconds", 3600, 365 * 86_400, "engineering", "How long published events can be read again."
    )
