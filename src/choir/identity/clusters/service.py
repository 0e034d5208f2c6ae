"""Identity clusters: which accounts are taken for one, and how independent two are.

Joined are: an agent and its person; owners whose keys come from one phrase; owners who act from one home; owners
with a shared payout target or payment instrument; an owner and whoever funded them above a share. The first three
follow from what is on record and are not stored again; the others are noted as links, each with its reason.
Every feature asks `independence`, so that nobody is independent in one room and not in another.

That somebody acts from a home is what their own client says: it is honest about it, and whoever wants to deceive
leaves it away. None of this is more than a hint, and nothing rests on it alone.

Guarantees: looking is bounded; where the bound is met, two owners count as not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.clock import Clock
from choir.foundation.errors import Invalid
from choir.identity.clusters import store as cluster_store
from choir.identity.model import TooMany, agent_owner, owner_id, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.ledger import queries
from choir.storage.database import Tx

INDEPENDENT_BPS = 10_000
_EVIDENCE_CHARS_MAX = 200


class Reason(StrEnum):
    """Why two owners are taken for one."""

    OWNER = "owner"  # an agent and its person
    KEY = "key"  # keys that come from one phrase
    HOME = "home"  # clients of one machine's home, by their own word
    PAYOUT = "payout"  # a shared payout target
    INSTRUMENT = "instrument"  # a shared payment instrument
    FUNDING = "funding"  # funded above a share


DERIVED = frozenset({Reason.OWNER, Reason.KEY, Reason.HOME})
_HOME_BYTES = 32
_FUNDERS_MAX = 100  # the largest; whoever is behind these gave less than a hundredth
_NO_LINK = ("", "")


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
            raise Invalid(what=f"reason '{reason}'", why="it is derived from records and cannot be set")
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

    def note_funding(self, tx: Tx, owner: str) -> None:
        """Join an owner with whoever enough of their satoshi came from."""
        for funder, share_bps in self._funders(tx, owner):
            self.funded(tx, owner, funder, share_bps, f"{share_bps} basis points of what came in")

    def review_funding(self, tx: Tx, after: tuple[str, str] | None, limit: int) -> tuple[str, str] | None:
        """Take back links by funding that hold no longer; says where to go on, None: that was all.

        Somebody may be given their first satoshi by whom they never heard of; what they pay in later parts them again.
        """
        found = cluster_store.page(tx, Reason.FUNDING, after or _NO_LINK, limit)
        for a, b in found:
            if not any(self._funded_by(tx, one, other) for one, other in ((a, b), (b, a))):
                self.part(tx, a, b, Reason.FUNDING)
        return found[-1] if len(found) == limit else None

    def _funded_by(self, tx: Tx, owner: str, funder: str) -> bool:
        return dict(self._funders(tx, owner)).get(funder, 0) >= self._policy.cluster_funding_bps

    def _funders(self, tx: Tx, owner: str) -> list[tuple[str, int]]:
        """People and agents who gave an owner enough to matter, with their share of all that came from outside."""
        owner_id(owner)
        got: dict[str, int] = {}
        for account, amount in queries.received(tx, f"{owner}/available/SAT", _FUNDERS_MAX):
            giver = account.partition("/")[0]
            got[giver] = got.get(giver, 0) + amount
        total = sum(got.values())
        return [
            (giver, amount * INDEPENDENT_BPS // total)
            for giver, amount in got.items()
            if giver.startswith(("person:", "agent:")) and amount >= self._policy.cluster_funding_msat_min
        ]

    def declare_home(self, tx: Tx, owner: str, home: bytes) -> None:
        """Note which home an owner acts from; saying it again changes nothing, and nobody has any number of them."""
        owner_id(owner)
        if len(home) != _HOME_BYTES:
            raise Invalid(what="The home", why=f"it must have {_HOME_BYTES} bytes")
        known = cluster_store.homes(tx, owner)
        if home in known:
            return
        if len(known) >= self._policy.homes_per_owner_max:
            raise TooMany(what=f"homes of {owner}", limit=self._policy.homes_per_owner_max)
        cluster_store.add_home(tx, owner, home, self._clock.now_us())

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
