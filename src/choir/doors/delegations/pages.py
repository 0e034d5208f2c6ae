"""Delegations as pages show them, and what the form for one offers.

Guarantee: every function is given whose page it is and returns what is that person's and nothing else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.doors.web.listings import all_of
from choir.foundation.money import Asset
from choir.identity.delegations.model import Delegation, DelegationEnded, Period, delegation_id
from choir.identity.delegations.rules import CapState
from choir.identity.model import OFFERED_SCOPES, Scope
from choir.identity.policy import DelegationsPolicy
from choir.node import Node
from choir.storage.database import Tx

CAP_ASSETS = (Asset.SAT, Asset.CHIP, Asset.USDC)  # what can be spent on something here; the others wait for their parts


@dataclass(frozen=True, slots=True)
class DelegationLine:
    id: str
    delegation: Delegation
    scopes: list[Scope]
    usage: list[CapState]
    ended: str | None


def delegations(node: Node, tx: Tx, person: UUID) -> list[DelegationLine]:
    """What a person delegated, newest first, with what was spent under each; ended ones at the end."""
    found = all_of(lambda after: node.delegations.of_person(tx, person, after=after))
    lines = [line_of(node, tx, each) for each in reversed(found)]
    return sorted(lines, key=lambda line: line.ended is not None)


def grant_form(node: Node) -> dict[str, Any]:
    """What the form for a delegation offers."""
    return {"scopes_offered": OFFERED_SCOPES, "periods": list(Period), "assets": CAP_ASSETS, "days": days(node)}


def days(node: Node) -> list[int]:
    """The lives that a form offers, as far as policy allows them."""
    most = (
        min(node.policy.of(DelegationsPolicy).delegation_s_max, node.policy.of(DelegationsPolicy).token_s_max) // 86_400
    )
    return [count for count in (1, 7, 30, 90, 365) if count <= most]


def sorted_scopes(scopes: frozenset[Scope]) -> list[Scope]:
    """In the order in which they are always shown."""
    return [scope for scope in Scope if scope in scopes]


def line_of(node: Node, tx: Tx, each: Delegation) -> DelegationLine:
    """A delegation, with what was spent under it in the current windows, and why it ended if it did."""
    ended = None
    try:
        node.delegations.principal_of(tx, each.id)
    except DelegationEnded as error:
        ended = str(error.fields["why"])
    usage = node.delegations.usage(tx, each.id)
    return DelegationLine(delegation_id(each.id), each, sorted_scopes(each.scopes), usage, ended)
