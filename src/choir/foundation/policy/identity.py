"""Numbers about people: gifts, handles, passkeys, recovery codes, sessions, rate limits, vouching."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import value

_SPEC = "spec: who is who"
_ENGINEERING = "engineering"
_DAY_S = 86_400


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
