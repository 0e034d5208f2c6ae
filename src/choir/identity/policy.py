"""Numbers of people, agents and what they may do: windows, caps, rates and limits."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_SPEC = "spec: who is who"
_ENGINEERING = "engineering"
_DAY_S = 86_400
_YEAR_S = 366 * 86_400
# All of them: identity.model.Scope
_SCOPE_BITS = "read 1, research 2, publish 4, challenge 64, buy 128, sell 256; the rest is not used yet"


@dataclass(frozen=True, slots=True)
class PeoplePolicy:
    """What a new person gets, how people show who they are, and how often anything may be tried."""

    gift_credit: int = value(50_000, "units of CREDIT", 1, 10**9, _SPEC, "Given once to each new person (500 CREDIT).")
    gift_chip: int = value(
        50_000_000, "units of CHIP", 1, 10**12, _SPEC, "Given once to each new person, for stakes only (50 CHIP)."
    )

    gift_play_sat: int = value(
        100_000_000,
        "units of SAT",
        0,
        10**12,
        _ENGINEERING,
        "Play money, given once to each new person on a development node (100000 SAT); never on a production node.",
    )

    referral_s: int = value(
        _YEAR_S,
        "seconds",
        0,
        10 * _YEAR_S,
        "spec: bazaar, market",
        "Time after a sign-up in which the referrer has a part in what the new person pays for work (12 months).",
    )

    handle_chars_min: int = value(3, "characters", 1, 30, _ENGINEERING, "Minimum length of a handle.")
    handle_chars_max: int = value(30, "characters", 3, 64, _ENGINEERING, "Maximum length of a handle.")

    place_bits_v4: int = value(
        24, "bits", 8, 32, _ENGINEERING, "IPv4 prefix length that counts as one source for rate limits."
    )
    place_bits_v6: int = value(
        48, "bits", 16, 128, _ENGINEERING, "IPv6 prefix length that counts as one source for rate limits."
    )
    sign_up_window_s: int = value(
        _DAY_S, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "The window in which sign-ups are counted."
    )
    sign_ups_per_place: int = value(
        10, "people", 1, 100_000, _ENGINEERING, "Maximum sign-ups from one source in a window."
    )
    sign_ups_global: int = value(5_000, "people", 1, 10**9, _ENGINEERING, "Maximum sign-ups on this node in a window.")

    challenge_s: int = value(
        300, "seconds", 30, 3600, "WebAuthn level 3, recommended timeouts", "Time limit of a passkey ceremony."
    )
    ceremony_window_s: int = value(
        600, "seconds", 60, _DAY_S, _ENGINEERING, "The window in which ceremonies are counted."
    )
    ceremonies_per_place: int = value(
        60, "ceremonies", 1, 10**6, _ENGINEERING, "Maximum ceremonies begun from one source in a window."
    )
    ceremonies_per_person: int = value(
        30, "ceremonies", 1, 10**6, _ENGINEERING, "Maximum ceremonies begun by one logged-in person in a window."
    )
    ceremonies_global: int = value(
        40_000,
        "ceremonies",
        160,
        10**9,
        _ENGINEERING,
        "Maximum ceremonies begun by anonymous callers on this node in a window.",
    )
    response_chars_max: int = value(
        20_000, "characters", 2_000, 1_000_000, _ENGINEERING, "Maximum length of a field in a passkey's answer."
    )
    passkeys_max: int = value(20, "passkeys", 1, 1000, _ENGINEERING, "Maximum passkeys of one person.")
    name_chars_max: int = value(60, "characters", 1, 500, _ENGINEERING, "Maximum length of a passkey's name.")

    recovery_codes: int = value(10, "codes", 1, 100, _ENGINEERING, "Number of recovery codes created at a time.")
    recovery_window_s: int = value(
        3600, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "The window in which recovery attempts are counted."
    )
    recovery_tries_per_place: int = value(
        10, "tries", 1, 10_000, _ENGINEERING, "Maximum recovery attempts from one source in a window."
    )

    session_idle_s: int = value(
        7_200, "seconds", 60, 30 * _DAY_S, _ENGINEERING, "A session ends after this long unused."
    )
    session_s_max: int = value(
        _DAY_S, "seconds", 60, 90 * _DAY_S, _ENGINEERING, "A session ends after this long, used or not."
    )
    session_extend_s: int = value(
        60, "seconds", 0, 3600, _ENGINEERING, "Idle time before a session's use is recorded again."
    )
    fresh_s: int = value(
        300, "seconds", 10, 3600, _ENGINEERING, "How long a fresh passkey check allows sensitive actions."
    )

    sybil_sign_weight: int = value(
        15, "points", 0, 1000, _ENGINEERING, "Added to the Sybil score for each other sign-up from the same source."
    )
    sybil_vouch_weight: int = value(
        25, "points", 0, 1000, _ENGINEERING, "Subtracted from the Sybil score by each vouch."
    )
    sybil_score_max: int = value(100, "points", 1, 10_000, _ENGINEERING, "Maximum Sybil score.")
    vouch_score_max: int = value(
        20, "points", 0, 10_000, _ENGINEERING, "A person with a higher Sybil score cannot vouch for others."
    )
    vouch_age_s: int = value(7 * _DAY_S, "seconds", 0, 365 * _DAY_S, _ENGINEERING, "Minimum account age for vouching.")
    vouch_window_s: int = value(
        30 * _DAY_S, "seconds", 60, 365 * _DAY_S, _ENGINEERING, "The window in which vouches are counted."
    )
    vouches_per_window: int = value(3, "vouches", 1, 1000, _ENGINEERING, "Maximum vouches of one person in a window.")

    forget_rows_max: int = value(
        1_000, "rows", 1, 100_000, _ENGINEERING, "Maximum expired rows deleted per table and round."
    )
    forget_every_s: int = value(
        60,
        "seconds",
        1,
        86_400,
        _ENGINEERING,
        "Interval of checks for expired sessions, challenges and logins.",
    )
    rewrap_every_s: int = value(
        300, "seconds", 1, 86_400, _ENGINEERING, "Interval of checks for keys encrypted under a former node key."
    )


@dataclass(frozen=True, slots=True)
class DelegationsPolicy:
    """How far authority can be handed on, and what a signature alone is good for."""

    agents_per_person_max: int = value(
        100, "agents", 1, 100_000, "engineering", "Maximum agents of one person, not counting retired ones."
    )
    name_chars_max: int = value(
        100, "characters", 1, 1_000, "engineering", "Maximum length of the name of an agent, a delegation or a token."
    )
    per_person_max: int = value(
        1_000,
        "delegations",
        1,
        100_000,
        "engineering",
        "Maximum live delegations of one person, including narrowed ones.",
    )
    depth_max: int = value(4, "steps", 0, 16, "engineering", "Maximum depth of narrowing a delegation.")
    delegation_s_max: int = value(
        _YEAR_S, "seconds", 60, 10 * _YEAR_S, "engineering", "Maximum lifetime of a delegation."
    )
    tokens_per_owner_max: int = value(
        100, "tokens", 1, 10_000, "engineering", "Maximum live tokens of one person or one agent."
    )
    token_s_max: int = value(_YEAR_S, "seconds", 60, 10 * _YEAR_S, "engineering", "Maximum lifetime of a token.")
    token_seen_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "Minimum interval between records of a token's last use."
    )
    page_rows_max: int = value(200, "rows", 1, PAGE_ROWS_MOST, "engineering", "Maximum rows per page.")
    keys_per_owner_max: int = value(
        20, "keys", 1, 1_000, "engineering", "Maximum account keys of one owner, not counting retired ones."
    )
    rewrap_keys_max: int = value(
        500, "keys", 1, 100_000, "engineering", "Maximum account keys re-encrypted in one transaction."
    )
    signed_request_s: int = value(60, "seconds", 5, 600, "NIP-98", "Clock tolerance of a signed request, either way.")
    signed_request_chars_max: int = value(
        16_384,
        "characters",
        512,
        1_000_000,
        "engineering",
        "Maximum length of a signed request's authorisation header.",
    )
    lone_agent_scopes: int = value(
        511,
        "sum of scopes",
        0,
        1023,
        "engineering",
        f"What a self-keyed agent may do by signature: the sum of {_SCOPE_BITS}.",
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
        600, "seconds", 60, 3600, "RFC 8628, as its examples", "Time for a program's login to be approved."
    )
    login_interval_s: int = value(
        2, "seconds", 1, 60, "engineering", "Interval between a program's attempts to fetch its token."
    )
    login_window_s: int = value(600, "seconds", 60, 86_400, "engineering", "The window in which logins are counted.")
    logins_per_place: int = value(
        30, "logins", 1, 10**6, "engineering", "Maximum logins begun from one source in a window."
    )
    logins_global: int = value(
        10_000, "logins", 160, 10**9, "engineering", "Maximum logins begun on this node in a window."
    )
    login_tries_max: int = value(
        600, "tries", 10, 100_000, "engineering", "Maximum attempts to fetch the token of one login in a window."
    )
    login_days_max: int = value(366, "days", 1, 3660, "engineering", "Maximum lifetime of a token from a login.")
    stand_window_s: int = value(
        3600, "seconds", 60, 30 * 86_400, "engineering", "The window in which new self-keyed agents are counted."
    )
    stands_per_place: int = value(
        20, "agents", 1, 10**6, "engineering", "Maximum new self-keyed agents from one source in a window."
    )
    stands_global: int = value(
        5_000, "agents", 160, 10**9, "engineering", "Maximum new self-keyed agents on this node in a window."
    )
    repeat_s: int = value(
        86_400,
        "seconds",
        60,
        365 * 86_400,
        "engineering",
        "How long idempotency keys for agents, delegations, tokens and keys are kept; the ledger's are permanent.",
    )
    cluster_members_max: int = value(
        1_000, "owners", 2, 100_000, "engineering", "Maximum owners examined to find one identity cluster."
    )
    cluster_funding_after_s: int = value(
        60, "seconds", 0, 86_400, "engineering", "Delay after a transfer before its receiver's funding is examined."
    )
    cluster_funding_msat_min: int = value(
        1_000_000,
        "milli-satoshi",
        1,
        10**12,
        "engineering",
        "Minimum total sent to another owner to be clustered with them for it; dust does not count.",
    )
    homes_per_owner_max: int = value(
        50, "homes", 1, 10_000, "engineering", "Maximum machine homes that one owner can declare."
    )
    cluster_funding_bps: int = value(
        5_000,
        "basis points",
        1,
        10_000,
        "engineering",
        "An owner who got at least this share of their funds from one other owner is clustered with them.",
    )


@dataclass(frozen=True, slots=True)
class OperatorsPolicy:
    """How operators get into the browser, and for how long."""

    code_s: int = value(120, "seconds", 10, 3600, _ENGINEERING, "Time to use a one-time code of an operator.")
    session_s: int = value(
        8 * 3600, "seconds", 60, 7 * _DAY_S, _ENGINEERING, "Lifetime of an operator's browser session; not prolonged."
    )
    enter_window_s: int = value(600, "seconds", 60, _DAY_S, _ENGINEERING, "The window of tried codes of operators.")
    enters_per_place: int = value(
        20, "tries", 1, 10**6, _ENGINEERING, "Maximum codes of operators tried from one source in a window."
    )
    enters_global: int = value(
        320, "tries", 16, 10**9, _ENGINEERING, "Maximum codes of operators tried on this node in a window."
    )


SECTIONS = {"people": PeoplePolicy, "delegations": DelegationsPolicy, "operators": OperatorsPolicy}
