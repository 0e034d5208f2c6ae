"""Numbers of agents, delegations, tokens, account keys, signed requests and identity clusters."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import PAGE_ROWS_MOST, value

_YEAR_S = 366 * 86_400
_SCOPE_BITS = "read 1, buy 128, sell 256; the other bits are for what is not there yet"  # all: identity.model.Scope


@dataclass(frozen=True, slots=True)
class DelegationsPolicy:
    """How far authority can be handed on, and what a signature alone is good for."""

    agents_per_person_max: int = value(
        100, "agents", 1, 100_000, "engineering", "Most agents of one person, retired ones apart."
    )
    name_chars_max: int = value(
        100, "characters", 1, 1_000, "engineering", "Longest name of an agent, a delegation or a token."
    )
    per_person_max: int = value(
        1_000, "delegations", 1, 100_000, "engineering", "Most live delegations of one person, narrowed ones included."
    )
    depth_max: int = value(
        4, "steps", 0, 16, "engineering", "How often a delegation can be narrowed and passed on, one after another."
    )
    delegation_s_max: int = value(_YEAR_S, "seconds", 60, 10 * _YEAR_S, "engineering", "Longest life of a delegation.")
    tokens_per_owner_max: int = value(
        100, "tokens", 1, 10_000, "engineering", "Most live tokens of one person or one agent."
    )
    token_s_max: int = value(_YEAR_S, "seconds", 60, 10 * _YEAR_S, "engineering", "Longest life of a token.")
    token_seen_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "The last use of a token is written down at most this often."
    )
    page_rows_max: int = value(200, "rows", 1, PAGE_ROWS_MOST, "engineering", "Most rows on one page of a listing.")
    keys_per_owner_max: int = value(
        20, "keys", 1, 1_000, "engineering", "Most account keys of one owner, retired ones apart."
    )
    rewrap_keys_max: int = value(
        500, "keys", 1, 100_000, "engineering", "Most account keys encrypted anew in one transaction."
    )
    signed_request_s: int = value(
        60, "seconds", 5, 600, "NIP-98", "How far the time of a signed request may be from ours, either way."
    )
    signed_request_chars_max: int = value(
        16_384, "characters", 512, 1_000_000, "engineering", "Longest authorisation header with a signed request."
    )
    lone_agent_scopes: int = value(
        511,
        "sum of scopes",
        0,
        1023,
        "engineering",
        f"What an agent that stands on its own key may do by signature: the sum of {_SCOPE_BITS}.",
    )
    person_key_scopes: int = value(
        29,
        "sum of scopes",
        0,
        1023,
        "engineering",
        "What the account key of a person may do by signature, without a passkey and without spending:"
        f" the sum of {_SCOPE_BITS}.",
    )
    login_s: int = value(
        600, "seconds", 60, 3600, "RFC 8628, as its examples", "How long a program's login waits to be approved."
    )
    login_interval_s: int = value(
        2, "seconds", 1, 60, "engineering", "How long a program waits between two tries to fetch its token."
    )
    login_window_s: int = value(600, "seconds", 60, 86_400, "engineering", "The window in which logins are counted.")
    logins_per_place: int = value(
        30, "logins", 1, 10**6, "engineering", "Most logins begun from one place in a window."
    )
    logins_global: int = value(10_000, "logins", 160, 10**9, "engineering", "Most logins begun on this node in one.")
    login_tries_max: int = value(
        600, "tries", 10, 100_000, "engineering", "Most tries to fetch the token of one login in a window."
    )
    login_days_max: int = value(366, "days", 1, 3660, "engineering", "Longest life of a token from a login.")
    stand_window_s: int = value(
        3600, "seconds", 60, 30 * 86_400, "engineering", "The window in which agents that stand up are counted."
    )
    stands_per_place: int = value(
        20, "agents", 1, 10**6, "engineering", "Most agents that stand up on a key from one place in a window."
    )
    stands_global: int = value(
        5_000, "agents", 160, 10**9, "engineering", "Most agents that stand up on a key on this node in a window."
    )
    repeat_s: int = value(
        86_400,
        "seconds",
        60,
        365 * 86_400,
        "engineering",
        "How long an idempotency key of agents, delegations, tokens and keys is remembered; the ledger's are for ever.",
    )
    cluster_members_max: int = value(
        1_000, "owners", 2, 100_000, "engineering", "Most owners looked at to find one identity cluster."
    )
    cluster_funding_after_s: int = value(
        60, "seconds", 0, 86_400, "engineering", "How long after a transfer it is looked at who funds its receiver."
    )
    cluster_funding_msat_min: int = value(
        1_000_000,
        "milli-satoshi",
        1,
        10**12,
        "engineering",
        "What an owner must have sent to another at least to be in one cluster with them for it: dust joins nobody.",
    )
    homes_per_owner_max: int = value(
        50, "homes", 1, 10_000, "engineering", "Most machines' homes that one owner can say they act from."
    )
    cluster_funding_bps: int = value(
        5_000,
        "basis points",
        1,
        10_000,
        "engineering",
        "An owner who got at least this share of their funds from one other owner is in one cluster with them.",
    )
