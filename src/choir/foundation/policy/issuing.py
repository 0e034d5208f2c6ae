"""Who may bring which asset into being, and how long a proposal waits."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import value

_DAY_S = 86_400


def _operators(default: int, doc: str) -> int:
    number: int = value(
        default, "operators", 0, 5, "spec: who may issue is policy", f"{doc} 0: nobody; from 1 on never fewer than two."
    )
    return number


@dataclass(frozen=True, slots=True)
class IssuingPolicy:
    """How many operators must agree to issue an asset, or to bring it in from outside without a rail."""

    credit_operators: int = _operators(2, "Operators that must agree to issue CREDIT.")
    aid_operators: int = _operators(2, "Operators that must agree to issue AID.")
    chip_operators: int = _operators(
        0, "Operators that must agree to issue CHIP, which else comes from its genesis and the emission budget alone."
    )
    usdc_operators: int = _operators(2, "Operators that must agree to bring in USDC that no rail has seen.")
    sat_operators: int = _operators(2, "Operators that must agree to bring in SAT that no rail has seen.")
    usd_operators: int = _operators(2, "Operators that must agree to bring in USD that no rail has seen.")
    proposal_s: int = value(
        7 * _DAY_S, "seconds", 60, 90 * _DAY_S, "engineering", "How long a proposal can be approved."
    )
    open_max: int = value(100, "issuances", 1, 1_000, "engineering", "Most proposals that wait for approval at once.")
