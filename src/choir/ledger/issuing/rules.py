"""Who may bring money into being.

Money enters through accounts that may go below zero (issuance, external). On a development node an
operator may use them; on a production node one operator alone may not, by whatever kind of entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from choir.foundation.policy import IssuingPolicy
from choir.ledger.issuing.model import Issuance, IssuanceNeedsTwo, NotAnIssuance, NotIssued, issuance_id
from choir.ledger.model import Draft, Leg, account_name

SOURCE = "system:issuing"
KIND = "issue"
_FEWEST = 2


def refuse_issuing_alone(payers: Iterable[str], *, production: bool) -> None:
    """Raise if one operator alone would bring money into being on a production node."""
    if not production:
        return
    for payer in payers:
        name = account_name(payer)
        if name.may_overdraw:
            raise IssuanceNeedsTwo(asset=name.asset.name)


def operators_needed(legs: Sequence[Leg], policy: IssuingPolicy) -> int:
    """How many operators must agree to these legs; raises where no number of them may."""
    needed = _FEWEST
    for leg in legs:
        payer = account_name(leg.from_)
        if not payer.may_overdraw or account_name(leg.to).may_overdraw:
            raise NotAnIssuance(account=leg.to if payer.may_overdraw else leg.from_)
        field = f"{payer.asset.name.lower()}_operators"
        wanted: int = getattr(policy, field)
        if wanted == 0:
            raise NotIssued(asset=payer.asset.name, policy=f"issuing.{field}")
        needed = max(needed, wanted)
    return needed


def agreed(issuance: Issuance, is_operator: Callable[[str], bool]) -> int:
    """How many agree who are operators now: whoever was removed has no voice any more."""
    return sum(is_operator(approval.operator) for approval in issuance.approvals)


def entry_of(issuance: Issuance) -> Draft:
    """What is posted once enough operators agree; it names all of them, and its key makes it happen once."""
    shown = issuance_id(issuance.id)
    others = [approval.operator for approval in issuance.approvals if approval.operator != issuance.proposer]
    refs = (shown, f"proposed_by:{issuance.proposer}", *[f"approved_by:{name}" for name in others])
    return Draft(KIND, issuance.reason, SOURCE, shown, issuance.legs, refs=refs)
