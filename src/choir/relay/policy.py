"""Limits of the relay: what one message, one connection, one key and one address may take, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_ENGINEERING = "engineering"
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class RelayPolicy:
    """How much strangers may put on the relay, and ask of it."""

    message_bytes_max: int = value(
        200_000, "bytes", 1_000, 16_000_000, _ENGINEERING, "Maximum size of a message to the relay."
    )
    event_bytes_max: int = value(
        131_072,
        "bytes",
        1_000,
        16_000_000,
        "NIP-44: a private text has up to 87472 characters",
        "Maximum size of an event.",
    )
    tags_max: int = value(1_000, "tags", 1, 100_000, _ENGINEERING, "Maximum tags of an event.")
    tag_items_max: int = value(64, "items", 2, 10_000, _ENGINEERING, "Maximum items of one tag of an event.")
    tag_bytes_max: int = value(
        100_000, "bytes", 64, 16_000_000, _ENGINEERING, "Maximum size of one item of a tag of an event."
    )
    indexed_tags_max: int = value(
        200, "tags", 1, 10_000, _ENGINEERING, "Maximum tags of one letter of an event, which filters ask for."
    )
    future_s_max: int = value(900, "seconds", 0, _DAY_S, _ENGINEERING, "How far ahead an event's time may be.")
    auth_s_max: int = value(600, "seconds", 10, _DAY_S, "NIP-42", "How old an event that proves a key may be.")
    keys_per_connection_max: int = value(16, "keys", 1, 1_000, _ENGINEERING, "Maximum keys that one connection proves.")
    connections_max: int = value(
        1_000, "connections", 1, 100_000, _ENGINEERING, "Maximum connections to the relay of one server process."
    )
    connections_per_address_max: int = value(
        100, "connections", 1, 100_000, _ENGINEERING, "Maximum connections to the relay from one address."
    )
    subscriptions_max: int = value(
        50, "subscriptions", 1, 10_000, _ENGINEERING, "Maximum open subscriptions of one connection."
    )
    subscription_chars_max: int = value(
        64, "characters", 1, 64, "NIP-01", "Maximum length of the name of a subscription."
    )
    filters_max: int = value(20, "filters", 1, 1_000, _ENGINEERING, "Maximum filters of one subscription.")
    filter_values_max: int = value(
        2_000, "values", 1, 100_000, _ENGINEERING, "Maximum values in all lists of one filter."
    )
    filter_events_max: int = value(
        500, "events", 1, 100_000, _ENGINEERING, "Maximum stored events that one filter is answered with."
    )
    count_max: int = value(
        100_000, "events", 1, 10**8, _ENGINEERING, "Up to how many events are counted; more are said to be as many."
    )
    events_per_minute_max: int = value(
        1_200, "events", 1, 10**7, _ENGINEERING, "Maximum events in a minute from one connection, or of one key."
    )
    address_events_per_minute_max: int = value(
        3_000, "events", 1, 10**7, _ENGINEERING, "Maximum events in a minute from one address, whatever their keys."
    )
    queries_per_minute_max: int = value(
        600, "queries", 1, 10**7, _ENGINEERING, "Maximum subscriptions and counts in a minute from one address."
    )
    refusals_max: int = value(
        100,
        "refusals",
        1,
        100_000,
        _ENGINEERING,
        "Maximum refused messages in a minute from one connection before it is closed.",
    )
    waiting_events_max: int = value(
        2_000, "messages", 10, 1_000_000, _ENGINEERING, "Maximum messages queued for a slow reader before it is cut."
    )
    waiting_bytes_max: int = value(
        4_000_000,
        "bytes",
        100_000,
        1_000_000_000,
        _ENGINEERING,
        "Maximum bytes queued for a slow reader before it is cut.",
    )
    intake_events_max: int = value(
        1_000,
        "events",
        1,
        100_000,
        _ENGINEERING,
        "Maximum events of one server process that wait to be stored; connections with more wait.",
    )
    batch_events_max: int = value(
        200, "events", 1, 10_000, _ENGINEERING, "Maximum events that are stored in one transaction."
    )
    queries_at_once_max: int = value(
        4, "queries", 1, 1_000, _ENGINEERING, "Maximum queries of strangers that one server process has under way."
    )
    query_s_max: int = value(5, "seconds", 1, 60, _ENGINEERING, "Maximum duration of one query of a stranger.")
    key_events_max: int = value(50_000, "events", 1, 10**9, _ENGINEERING, "Maximum stored events of one key.")
    store_bytes_max: int = value(
        10_000_000_000,
        "bytes",
        1_000_000,
        10**15,
        _ENGINEERING,
        "Size of the relay's table beyond which keys without a stored event are refused.",
    )
    keep_s: int = value(
        90 * _DAY_S,
        "seconds",
        60,
        3_660 * _DAY_S,
        _ENGINEERING,
        "Retention of events that nothing replaces, and of deletions.",
    )
    forget_every_s: int = value(30, "seconds", 1, 86_400, _ENGINEERING, "Interval of looks for expired events.")
    forget_rows_max: int = value(
        1_000, "events", 1, 100_000, _ENGINEERING, "Maximum events that are forgotten in one transaction."
    )


SECTIONS = {"relay": RelayPolicy}
