"""The form that orders a run, a review, a patch or an index.

Guarantee: it only offers; what is ordered is sent to `/v1` by the visitor's browser, and judged there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.contracts.reviews import ReviewDepth, ReviewFocus
from choir.bazaar.jobs.model import JobType, Level
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy, VerificationPolicy
from choir.doors.http.access import NodeDep
from choir.doors.mesh.budgets import default_budget
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep
from choir.foundation.money import Asset
from choir.foundation.policy import describe
from choir.node import Node
from choir.sandbox.model import Tier

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_MILLI = 1_000
_CPU_S = 60
_MEGA = 1_000_000
_HIDDEN_BYTES_MAX = 1_000_000  # of what the node reads, less the base64
_LEVELS = {
    Level.V1: "whatever it reaches",
    Level.V2: "a report of exactly your tests",
    Level.V3: "hidden tests",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of work in a line, and what it costs if nothing unusual is asked."""

    type: JobType
    word: str
    about: str
    budget: int
    covers: str


def kinds(node: Node) -> list[Kind]:
    """What can be ordered here, with a budget from the node's own price table."""
    values = {item.name: item.value for item in describe(node.policy)}
    policy = node.policy.of(VerificationPolicy)
    providers = node.policy.of(ProvidersPolicy)
    cpu_s = min(_CPU_S, policy.run_cpu_s_max)

    def kind(type_: JobType, about: str, units: int, covers: str) -> Kind:
        return Kind(type_, type_.word, about, default_budget(type_, units * _MILLI, values), covers)

    files = f"{policy.units_files} files"
    return [
        kind(
            JobType.PATCH_GEN,
            "A change to your repository that makes your tests pass. This node runs them before it pays.",
            policy.units_files,
            files,
        ),
        kind(
            JobType.CODE_REVIEW,
            "Findings about a diff that point at lines which are really there.",
            policy.units_files,
            files,
        ),
        kind(
            JobType.REPO_INDEX,
            "A searchable index of what your repository defines and where it is used.",
            providers.repo_index_typical,
            f"{providers.repo_index_typical} thousand tokens of source",
        ),
        kind(
            JobType.SANDBOX_RUN,
            "A command run in a provider's sandbox, with all that it wrote.",
            cpu_s,
            f"{cpu_s} seconds of CPU time",
        ),
    ]


@router.get("/hall/order")
def order(
    request: Request,
    node: NodeDep,
    visitor: SignedInVisitorDep,
    wanted: Annotated[str, Query(alias="type", max_length=20)] = "patch",
) -> Response:
    """Order work."""
    found = kinds(node)
    chosen = next((kind for kind in found if kind.word == wanted), found[0])
    policy, verification = node.policy.of(BazaarPolicy), node.policy.of(VerificationPolicy)
    context = {
        "visitor": visitor,
        "kinds": found,
        "chosen": chosen,
        "decimals": Asset.SAT.decimals,
        "criteria": json.dumps(_criteria(node) if chosen.type is JobType.PATCH_GEN else {}),
        "archive_mb": policy.archive_bytes_max // _MEGA,
        "bundle_bytes_max": policy.inputs_bytes_max,
        "diff_bytes_max": min(verification.review_diff_bytes_max, policy.inputs_bytes_max),
        "time_limit_s": verification.time_limit_s,
        "time_limit_s_max": verification.time_limit_s_max,
        "focuses": list(ReviewFocus),
        "depths": list(ReviewDepth),
        "levels": _levels(policy),
        "mutation_price": policy.extra_mutation_msat,
        "hidden_bytes_max": _HIDDEN_BYTES_MAX,
    }
    return page(request, "order.html", context)


def _levels(policy: BazaarPolicy) -> list[tuple[str, str, int]]:
    """Each level that the form can order, in a few words, with what it costs on top."""
    prices = {Level.V3: policy.level_v3_msat}
    return [(level.value, told, prices.get(level, 0)) for level, told in _LEVELS.items()]


def _criteria(node: Node) -> dict[str, str | int]:
    """What an order of a patch asks of providers if its buyer says nothing, by the node's policy."""
    policy = node.policy.of(ProvidersPolicy)
    least = policy.patch_success_bps_min
    isolation = {"min_isolation": Tier(policy.isolation_expected).label}
    return {**isolation, **({"min_success_bps": least} if least else {})}
