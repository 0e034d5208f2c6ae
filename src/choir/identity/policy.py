"""Numbers of people, agents and what they may do: windows, caps, rates and limits."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_SPEC = "spec: who is who"
_ENGINEERING = "engineering"
_DAY_S = 86_400
_YEAR_S = 366 * 86_400
_SCOPE_BITS = "read 1, buy 128, sell 256; the other bits are for what is not there yet"  # all: identity.model.Scope


@dataclass(frozen=True, slots=True)
class PeoplePolicy:
    """What a new person gets, how people show who they are, and how often anything may be tried."""

    gift_credit: int = value(50_000, "units of CREDIT", 1, 10**9, _SPEC, "Given once to each new person (500 CREDIT).")
    gift_chip: int = value(
        50_000_000, "units of CHIP", 1, 10**12, _SPEC, "Given once to each new person, to be staked only (50 CHIP)."
    )

    gift_play_sat: int = value(
        100_000_000,
        "units of SAT",
        0,
        10**12,
        _ENGINEERING,
        "Play money, given once to each new person on a development node to order work with (100000 SAT);"
        " never on a production node.",
    )

    handle_chars_min: int = value(3, "characters", 1, 30, _ENGINEERING, "Shortest handle.")
    handle_chars_max: int = value(30, "characters", 3, 64, _ENGINEERING, "Longest handle.")

    place_bits_v4: int = value(
        24, "bits", 8, 32, _ENGINEERING, "How much of an IPv4 address makes one place for rate limits."
    )
    place_bits_v6: int = value(
        48, "bits", 16, 128, _ENGINEERING, "How much of an IPv6 address makes one place for rate limits."
    )
    sign_up_window_s: int = value(
        _DAY_S, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "The window in which sign-ups are counted."
    )
    sign_ups_per_place: int = value(10, "people", 1, 100_000, _ENGINEERING, "Most sign-ups from one place in a window.")
    sign_ups_global: int = value(5_000, "people", 1, 10**9, _ENGINEERING, "Most sign-ups on this node in a window.")

    challenge_s: int = value(
        300, "seconds", 30, 3600, "WebAuthn level 3, recommended timeouts", "How long a passkey ceremony may take."
    )
    ceremony_window_s: int = value(
        600, "seconds", 60, _DAY_S, _ENGINEERING, "The window in which ceremonies are counted."
    )
    ceremonies_per_place: int = value(
        60, "ceremonies", 1, 10**6, _ENGINEERING, "Most ceremonies begun from one place in a window."
    )
    ceremonies_per_person: int = value(
        30, "ceremonies", 1, 10**6, _ENGINEERING, "Most ceremonies begun by one signed-in person in a window."
    )
    ceremonies_global: int = value(
        40_000, "ceremonies", 160, 10**9, _ENGINEERING, "Most ceremonies begun by strangers in a window, on this node."
    )
    response_chars_max: int = value(
        20_000, "characters", 2_000, 1_000_000, _ENGINEERING, "Longest field of a passkey's answer that is looked at."
    )
    passkeys_max: int = value(20, "passkeys", 1, 1000, _ENGINEERING, "Most passkeys of one person.")
    name_chars_max: int = value(60, "characters", 1, 500, _ENGINEERING, "Longest name of a passkey.")

    recovery_codes: int = value(10, "codes", 1, 100, _ENGINEERING, "How many recovery codes are made at a time.")
    recovery_window_s: int = value(
        3600, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "The window in which tries of recovery codes are counted."
    )
    recovery_tries_per_place: int = value(
        10, "tries", 1, 10_000, _ENGINEERING, "Most tries of recovery codes from one place in a window."
    )

    session_idle_s: int = value(
        7_200, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "A session ends after this long unused."
    )
    session_s_max: int = value(
        _DAY_S, "seconds", 60, 90 * _DAY_S, _ENGINEERING, "A session ends after this long, used or not."
    )
    session_extend_s: int = value(
        60, "seconds", 0, 3600, _ENGINEERING, "How much of the idle time must have gone before a use is written down."
    )
    fresh_s: int = value(
        300, "seconds", 10, 3600, _ENGINEERING, "How long a shown passkey allows withdrawals and changes of keys."
    )

    sybil_sign_weight: int = value(
        15, "points", 0, 1000, _ENGINEERING, "Added to the Sybil score for each other sign-up from the same place."
    )
    sybil_vouch_weight: int = value(25, "points", 0, 1000, _ENGINEERING, "Taken off the Sybil score by each vouch.")
    sybil_score_max: int = value(100, "points", 1, 10_000, _ENGINEERING, "The highest Sybil score.")
    vouch_score_max: int = value(
        20, "points", 0, 10_000, _ENGINEERING, "A person with a higher Sybil score cannot vouch for others."
    )
    vouch_age_s: int = value(
        7 * _DAY_S, "seconds", 0, 365 * _DAY_S, _ENGINEERING, "How long ago a voucher must have signed up."
    )
    vouch_window_s: int = value(
        30 * _DAY_S, "seconds", 60, 365 * _DAY_S, _ENGINEERING, "The window in which vouches are counted."
    )
    vouches_per_window: int = value(3, "vouches", 1, 1000, _ENGINEERING, "Most vouches of one person in a window.")

    forget_rows_max: int = value(
        1_000, "rows", 1, 100_000, _ENGINEERING, "Most rows of each table that one round of forgetting removes."
    )
    forget_every_s: int = value(
        60,
        "seconds",
        1,
        86_400,
        _ENGINEERING,
        "How often sessions, challenges and logins are looked for that are over.",
    )
    rewrap_every_s: int = value(
        300, "seconds", 1, 86_400, _ENGINEERING, "How often keys are looked for that a former node key sealed."
    )


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


SECTIONS = {"people": PeoplePolicy, "delegations": DelegationsPolicy}
