"""Sandboxes: whatever runs a stranger's code runs here.

    with Sandboxes(state, policy.sandbox) as sandboxes:
        result = sandboxes.run(Spec(argv=("python3", "-c", "print(1)")))

One interface, several strengths. The tier, the limits that really applied and the measured use are in the
result; a tier that the machine lacks is an error and never a silent step down. Many at once: `Pool`. The one
way out: `Egress`. Strangers' archives and repositories: `archives`, `repositories`.
"""

from __future__ import annotations

from choir.sandbox.egress.model import Credential, Egress, EgressRecord, EgressRule
from choir.sandbox.model import InFile, Limits, Mount, OutFile, Result, Spec, Tier, Trust
from choir.sandbox.pool import Means, Pool
from choir.sandbox.service import Sandboxes

__all__ = [
    "Credential",
    "Egress",
    "EgressRecord",
    "EgressRule",
    "InFile",
    "Limits",
    "Means",
    "Mount",
    "OutFile",
    "Pool",
    "Result",
    "Sandboxes",
    "Spec",
    "Tier",
    "Trust",
]
