"""Identity clusters: which accounts are taken for one, and how independent two are.

Joined are: an agent and its person; owners whose keys come from one phrase; owners with a shared payout
target or payment instrument; an owner and whoever funded them above a share. The first two follow from
what is on record and are not stored again; the others are noted as links, each with its reason.
Every feature asks `independence`, so that nobody is independent in one room and not in another.

Guarantees: looking is bounded; where the bound is met, two owners count as not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.clock import Clock
from choir.foundation.errors import Invalid
from choir.foundation.policy import DelegationsPolicy
from choir.identity import cluster_store
from choir.identity.model import agent_owner, owner_id, person_owner
from choir.storage.database import Tx

INDEPENDENT_BPS = 10_000
_EVIDENCE_CHARS_MAX = 200


class Reason(StrEnum):
    """Why two owners are taken for one."""

    OWNER = "owner"  # an agent and its person
    KEY = "key"  # keys that come from one phrase
    PAYOUT = "payout"  # a shared payout target
    INSTRUMENT = "instrument"  # a shared payment instrument
    FUNDING = "funding"  # funded above a share


DERIVED = frozenset({Reason.OWNER, Reason.KEY})


@dataclass(frozen=True, slots=True, order=True)
class ClusterLink:
    """Two owners and why they are one; `a` sorts before `b`."""

    a: str
    b: str
    reason: Reason
    evidence: str  # an id or a hash, never personal data


@dataclass(frozen=True, slots=True)
class Cluster:
    """Owners that are taken for one."""

    members: frozenset[str]
    reasons: frozenset[ClusterLink]
    complete: bool  # False: there may be more members than were looked at


class Clusters:
    """Noting links and asking about them; all inside the caller's transaction."""

    def __init__(self, clock: Clock, policy: DelegationsPolicy) -> None:
        self._clock = clock
        self._policy = policy

    def join(self, tx: Tx, a: str, b: str, reason: Reason, evidence: str) -> None:
        """Note that two owners are one; noting it twice is noting it once."""
        if reason in DERIVED:
            raise Invalid(what=f"reason '{reason}'", why="it follows from what is on record and is not noted")
        if not 1 <= len(evidence) <= _EVIDENCE_CHARS_MAX:
            raise Invalid(what="evidence", why=f"it must have 1 to {_EVIDENCE_CHARS_MAX} characters")
        for owner in (a, b):
            owner_id(owner)
        if a != b:
            low, high = sorted((a, b))
            cluster_store.insert(tx, low, high, reason, evidence, self._clock.now_us())

    def part(self, tx: Tx, a: str, b: str, reason: Reason) -> bool:
        """Take a noted link back, when it was a mistake; says whether there was one."""
        low, high = sorted((a, b))
        return cluster_store.delete(tx, low, high, reason)

    def funded(self, tx: Tx, owner: str, funder: str, share_bps: int, evidence: str) -> bool:
        """Note who an owner's funds came from, if the share is as high as policy says; says whether it is."""
        if share_bps < self._policy.cluster_funding_bps:
            return False
        self.join(tx, owner, funder, Reason.FUNDING, evidence)
        return True

    def cluster_of(self, tx: Tx, owner: str) -> Cluster:
        """Everyone who is taken for the same as this owner."""
        return self._found(tx, owner, None)

    def independence(self, tx: Tx, a: str, b: str) -> int:
        """How independent two owners are, in basis points: 0 in one cluster, else 10000 less discounts.

        There are no discounts yet.
        """
        return between(a, self._found(tx, a, b), b, lambda: self._found(tx, b, a))

    def _found(self, tx: Tx, owner: str, wanted: str | None) -> Cluster:
        """Go outwards from an owner, one statement for each step, until nobody new or the wanted one is found."""
        owner_id(owner)
        limit = self._policy.cluster_members_max
        members, edge = {owner}, {owner}
        links: set[ClusterLink] = set()
        complete = True
        while edge and complete and wanted not in members:
            found = _links_of(tx, edge, limit)
            complete = len(found) < limit
            links |= found
            edge = {end for link in found for end in (link.a, link.b)} - members
            members |= edge
            complete = complete and len(members) <= limit
        return Cluster(frozenset(members), frozenset(links), complete)


def between(a: str, of_a: Cluster, b: str, of_b: Callable[[], Cluster]) -> int:
    """How independent two owners are, by the clusters that were found from each of them."""
    if b in of_a.members:
        return 0
    if of_a.complete:
        return INDEPENDENT_BPS
    found = of_b()
    return INDEPENDENT_BPS if found.complete and a not in found.members else 0


def _links_of(tx: Tx, owners: set[str], limit: int) -> set[ClusterLink]:
    """Links of these owners, noted and derived; as many as the limit says."""
    ids = [owner_id(owner) for owner in owners]
    people = [id_ for kind, id_ in ids if kind == "person"]
    agents = [id_ for kind, id_ in ids if kind == "agent"]
    rows = cluster_store.links_of(tx, sorted(owners), people, agents, limit)
    return {_link(*row) for row in rows}


def _link(a: str | None, b: str | None, person: UUID | None, agent: UUID | None, reason: str, why: str) -> ClusterLink:
    if person is not None and agent is not None:
        a, b, why = person_owner(person), agent_owner(agent), agent_owner(agent)
    assert a is not None
    assert b is not None
    low, high = sorted((a, b))
    return ClusterLink(low, high, Reason(reason), why)
