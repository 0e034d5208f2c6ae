"""What a bond is: money of a provider's owner that only a security dispute takes, on an account of its own.

From tier 1 on a provider takes more jobs at once and may ask more; the bond is what buyers can hold it to for a week
after it was paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.errors import Invalid, Refusal
from choir.ledger.model import account_name

_ROLE = "stake.bond"


@dataclass(frozen=True, slots=True)
class Bond:
    """A provider's bond. Amounts are milli-satoshi."""

    provider: UUID
    amount: int
    changed_us: int
    release_asked_us: int | None
    acts: int  # how often it was moved

    @property
    def counted(self) -> int:
        """What counts for a tier: nothing once it is asked back."""
        return 0 if self.release_asked_us is not None else self.amount


def bond_account(available: str) -> str:
    """The account of the bond of whoever has this account."""
    name = account_name(available)
    return f"{name.owner_kind}:{name.owner_id}/{_ROLE}/{name.asset.name}"


class NoBond(Refusal):
    code = "bazaar.no_bond"
    sentence = "The provider {provider} has no bond."
    hint = "Put one up with `choir provider bond add`."


class BadBond(Invalid):
    code = "bazaar.bad_bond"
    sentence = "A bond must be from 0.001 to {high} SAT together; {amount} SAT is not."


class BondLeaving(Refusal):
    code = "bazaar.bond_leaving"
    sentence = "The bond of {provider} was asked back and is not returned yet."
    hint = "Keep it with `choir provider bond keep`, then add to it."
