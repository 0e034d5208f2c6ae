"""Limits of the node: what one request, one process and one start may take."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_SPEC = "spec: node limits"


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """Limits of the HTTP door, the scheduler and the database."""

    body_bytes_max: int = value(
        32_000_000, "bytes", 1_000, 1_000_000_000, _SPEC, "Maximum size of a request body, except blobs."
    )
    stranger_body_bytes_max: int = value(
        256_000, "bytes", 1_000, 1_000_000_000, "engineering", "Maximum size of an unauthenticated request body."
    )
    request_s_max: int = value(30, "seconds", 1, 600, _SPEC, "Maximum duration of a request.")
    head_s_max: int = value(10, "seconds", 1, 600, "engineering", "Time limit for receiving a request's head.")
    body_s_trusted: int = value(
        1,
        "seconds",
        0,
        600,
        "engineering",
        "A request whose body takes longer to arrive has its credential checked again.",
    )
    hsts_s: int = value(
        31_536_000,
        "seconds",
        0,
        126_144_000,
        "RFC 6797; a year, as preload lists require",
        "HSTS lifetime for a node whose public URL is https; 0 clears it.",
    )
    head_bytes_max: int = value(65_536, "bytes", 1_024, 1_000_000, "engineering", "Maximum size of a request's head.")
    unread_s_max: int = value(
        20,
        "seconds",
        1,
        600,
        "engineering",
        "How long a client may leave its response unread before it is disconnected.",
    )
    connections_max: int = value(
        4_000, "connections", 10, 100_000, "engineering", "Maximum connections of one server process."
    )
    connections_per_address_max: int = value(
        500,
        "connections",
        1,
        100_000,
        "engineering",
        "Maximum connections from one address to one server process, except trusted proxies.",
    )
    connections_refused_max: int = value(
        1_000,
        "connections",
        0,
        100_000,
        "engineering",
        "Maximum connections beyond the limits that are still read and answered with 503; any further are closed.",
    )
    connections_waiting_max: int = value(
        2_048,
        "connections",
        16,
        65_535,
        "engineering",
        "Maximum connections that wait to be accepted; the system's net.core.somaxconn may be lower.",
    )
    refusal_s_max: int = value(
        5, "seconds", 1, 600, "engineering", "How long a refused connection is read before it is closed."
    )
    requests_max: int = value(
        256,
        "requests",
        8,
        100_000,
        "choir bench pages: so many visitors at once are served within two seconds",
        "Maximum requests one server process answers at a time, without streams; any further get 503.",
    )
    busy_retry_s: int = value(
        2, "seconds", 1, 600, "engineering", "When a client that was refused for lack of room is told to retry."
    )
    database_wait_s_max: int = value(
        10, "seconds", 1, 120, "engineering", "How long a caller waits for the database before it is told to retry."
    )
    disk_free_bytes_min: int = value(
        256_000_000,
        "bytes",
        16_000_000,
        100_000_000_000,
        "engineering",
        "Minimum free disk space; below it, writes are refused.",
    )
    task_attempts_max: int = value(
        20, "attempts", 1, 1000, "engineering", "Maximum attempts of a background task before it is parked."
    )
    task_backoff_s: int = value(
        2, "seconds", 1, 3600, "engineering", "Wait after a task's first failure; it doubles each time."
    )
    task_backoff_s_max: int = value(3600, "seconds", 1, 86_400, "engineering", "Maximum wait between two attempts.")
    task_lease_s: int = value(60, "seconds", 5, 86_400, "engineering", "Lifetime of a task's lease without renewal.")
    outbox_keep_s: int = value(
        7 * 86_400, "seconds", 3600, 365 * 86_400, "engineering", "Retention of published events."
    )
    outbox_forget_every_s: int = value(
        3_600, "seconds", 1, 86_400, "engineering", "Interval of checks for expired events."
    )
    hand_out_every_s: int = value(
        1,
        "seconds",
        1,
        3_600,
        "engineering",
        "Interval of polling for events without a notification.",
    )
    streams_max: int = value(
        512, "streams", 1, 100_000, "engineering", "Maximum open event streams of one server process."
    )
    streams_per_principal_max: int = value(
        16, "streams", 1, 100_000, "engineering", "Maximum event streams of one principal in one server process."
    )
    stream_waiting_max: int = value(
        256, "events", 1, 100_000, "engineering", "Maximum events queued for a slow reader before it is disconnected."
    )
    stream_heartbeat_s: int = value(
        15,
        "seconds",
        1,
        300,
        "WHATWG HTML, server-sent events: a comment about every 15 seconds",
        "Interval of keep-alives on a silent stream.",
    )
    stream_check_s: int = value(3, "seconds", 1, 300, "engineering", "Interval of credential checks on open streams.")
    stream_retry_ms: int = value(
        1_000, "milliseconds", 10, 600_000, "engineering", "Time that clients wait before they reconnect."
    )
    stream_signed_s_max: int = value(
        600, "seconds", 10, 86_400, "engineering", "Maximum lifetime of a stream opened by a signed request."
    )


SECTIONS = {"node": NodePolicy}
