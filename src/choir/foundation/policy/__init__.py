"""The policy: every price, window, cap and weight of the system, in one typed tree.

Guarantees: each value has a default, a unit, bounds, a source and a sentence that explains it; an
override outside its bounds is refused at start; the effective policy is an object with a hash, and
entries and receipts that used it carry that hash. Durations are seconds, ratios are basis points.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from choir.foundation.policy.bazaar import BazaarPolicy
from choir.foundation.policy.delegations import DelegationsPolicy
from choir.foundation.policy.identity import PeoplePolicy
from choir.foundation.policy.issuing import IssuingPolicy
from choir.foundation.policy.ledger import LedgerPolicy
from choir.foundation.policy.node import NodePolicy
from choir.foundation.policy.objects import ObjectsPolicy
from choir.foundation.policy.providers import ProvidersPolicy
from choir.foundation.policy.sandbox import SandboxPolicy
from choir.foundation.policy.values import (
    PAGE_ROWS_MOST,
    PolicyValue,
    UnknownPolicy,
    describe,
    effective_hash,
    load,
    tree,
)
from choir.foundation.policy.verification import VerificationPolicy
from choir.foundation.policy.workers import WorkersPolicy

__all__ = [
    "PAGE_ROWS_MOST",
    "BazaarPolicy",
    "DelegationsPolicy",
    "IssuingPolicy",
    "LedgerPolicy",
    "NodePolicy",
    "ObjectsPolicy",
    "PeoplePolicy",
    "Policy",
    "PolicyValue",
    "ProvidersPolicy",
    "SandboxPolicy",
    "UnknownPolicy",
    "VerificationPolicy",
    "WorkersPolicy",
    "describe",
    "effective_hash",
    "load",
    "tree",
]


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole policy, a record per feature."""

    node: NodePolicy = field(default_factory=NodePolicy)
    ledger: LedgerPolicy = field(default_factory=LedgerPolicy)
    issuing: IssuingPolicy = field(default_factory=IssuingPolicy)
    objects: ObjectsPolicy = field(default_factory=ObjectsPolicy)
    sandbox: SandboxPolicy = field(default_factory=SandboxPolicy)
    people: PeoplePolicy = field(default_factory=PeoplePolicy)
    delegations: DelegationsPolicy = field(default_factory=DelegationsPolicy)
    bazaar: BazaarPolicy = field(default_factory=BazaarPolicy)
    providers: ProvidersPolicy = field(default_factory=ProvidersPolicy)
    verification: VerificationPolicy = field(default_factory=VerificationPolicy)
    workers: WorkersPolicy = field(default_factory=WorkersPolicy)
