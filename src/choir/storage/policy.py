"""Limits of the node: what one request, one process and one start may take."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_SPEC = "spec: node limits"


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """Limits of the HTTP door, the scheduler and the database."""

    body_bytes_max: int = value(32_000_000, "bytes", 1_000, 1_000_000_000, _SPEC, "Largest request body, blobs apart.")
    stranger_body_bytes_max: int = value(
        256_000, "bytes", 1_000, 1_000_000_000, "engineering", "Largest body of whoever has not shown who they are yet."
    )
    request_s_max: int = value(30, "seconds", 1, 600, _SPEC, "Longest time a request may take.")
    head_s_max: int = value(10, "seconds", 1, 600, "engineering", "How long the head of a request may take to arrive.")
    body_s_trusted: int = value(
        1, "seconds", 0, 600, "engineering", "A body that takes longer to arrive has its credential looked at again."
    )
    hsts_s: int = value(
        31_536_000,
        "seconds",
        0,
        126_144_000,
        "RFC 6797; a year, as lists of such sites ask for",
        "How long browsers reach a node whose public address is https by nothing else; 0 makes them forget it.",
    )
    head_bytes_max: int = value(65_536, "bytes", 1_024, 1_000_000, "engineering", "Largest head of a request.")
    unread_s_max: int = value(
        20, "seconds", 1, 600, "engineering", "How long a client may leave its answer unread before it is cut off."
    )
    connections_max: int = value(
        4_000, "connections", 10, 100_000, "engineering", "Most connections of one server process."
    )
    connections_per_address_max: int = value(
        500,
        "connections",
        1,
        100_000,
        "engineering",
        "Most connections from one address to one server process, trusted proxies apart.",
    )
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
    outbox_forget_every_s: int = value(
        3_600, "seconds", 1, 86_400, "engineering", "How often events that are too old are looked for."
    )
    hand_out_every_s: int = value(
        1,
        "seconds",
        1,
        3_600,
        "engineering",
        "How often events are handed out to features, where nothing rang for them.",
    )
    streams_max: int = value(
        512, "streams", 1, 100_000, "engineering", "Most event streams that one server process keeps open."
    )
    streams_per_principal_max: int = value(
        16, "streams", 1, 100_000, "engineering", "Most event streams of one principal in one server process."
    )
    stream_waiting_max: int = value(
        256, "events", 1, 100_000, "engineering", "How many events may wait for a slow reader before it is let go."
    )
    stream_heartbeat_s: int = value(
        15,
        "seconds",
        1,
        300,
        "WHATWG HTML, server-sent events: a comment about every 15 seconds",
        "How long a stream may be silent before it shows that it lives.",
    )
    stream_check_s: int = value(
        3, "seconds", 1, 300, "engineering", "How often the credentials of open streams are looked at again."
    )
    stream_retry_ms: int = value(
        1_000, "milliseconds", 10, 600_000, "engineering", "How long clients wait before they come back."
    )
    stream_signed_s_max: int = value(
        600, "seconds", 10, 86_400, "engineering", "How long a stream lasts that was opened by a signed request."
    )


SECTIONS = {"node": NodePolicy}
