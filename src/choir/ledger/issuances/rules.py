"""Who may bring money into being.

Money enters through accounts that may go below zero (issuance, external). On a development node an
operator may use them; on a production node one operator alone may not, by whatever kind of entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from choir.foundation.canonical import ObjectHash
from choir.ledger.issuances.model import Issuance, IssuanceNeedsTwo, NotAnIssuance, NotIssued, issuance_id
from choir.ledger.model import Draft, Leg, account_name
from choir.ledger.policy import IssuingPolicy

SOURCE = "system:issuing"
KIND = "issue"
_FEWEST = 2

Since = Callable[[str], int | None]  # when somebody became an operator; None: they are none now


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


def agreed(issuance: Issuance, since: Since) -> tuple[str, ...]:
    """Who agrees and is an operator now.

    Whoever was removed has no voice any more, also where somebody else, or they themselves, were added under their
    name later: only what was said since then is theirs.
    """
    found: dict[str, None] = {}
    for approval in issuance.approvals:
        added_us = since(approval.operator)
        if added_us is not None and added_us <= approval.at_us:
            found[approval.operator] = None
    return tuple(found)


def entry_of(issuance: Issuance, agreed: Sequence[str], policy: ObjectHash | None) -> Draft:
    """What is posted once enough operators agree; it names them and the policy that says how many are enough.

    Its key makes it happen once.
    """
    shown = issuance_id(issuance.id)
    others = [name for name in agreed if name != issuance.proposer]
    refs = (shown, f"proposed_by:{issuance.proposer}", *[f"approved_by:{name}" for name in others])
    return Draft(KIND, issuance.reason, SOURCE, shown, issuance.legs, refs=refs, policy=policy)
