"""Whether an agent does a task itself or buys it: pure, in milli-satoshi.

Guarantees: nothing is bought where delegation is off, where the type is not allowed, or where nothing may be spent;
what may be spent is never above the ceiling nor above the task's own budget, and half of the budget, rounded down,
where a task is bought only because the agent is busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from choir.bazaar.jobs.model import JobType

_CEILING_MSAT = 20_000_000  # the highest price of a patch by the default price table


class Complexity(IntEnum):
    """How hard a task is, as the agent sees it."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class DelegationPolicy:
    """When to buy."""

    enabled: bool = True
    ceiling_msat: int = _CEILING_MSAT  # most for one delegation
    allowed_types: frozenset[JobType] = frozenset(JobType)
    threshold: Complexity = Complexity.HIGH  # from here on a task is bought, busy or not


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be done."""

    type: JobType
    complexity: Complexity
    budget_msat: int


@dataclass(frozen=True, slots=True)
class HandleLocally:
    """Do it yourself."""

    why: str


@dataclass(frozen=True, slots=True)
class DelegateToMesh:
    """Buy it, for at most so much."""

    max_cost_msat: int


def should_delegate(task: Task, policy: DelegationPolicy, *, busy: bool = False) -> HandleLocally | DelegateToMesh:
    """What to do with a task. A task of medium complexity is worth half its budget to an agent that is busy."""
    if not policy.enabled:
        return HandleLocally("delegation is disabled")
    if task.type not in policy.allowed_types:
        return HandleLocally("this type of work is excluded")
    if task.complexity >= policy.threshold:
        most = task.budget_msat
    elif busy and task.complexity >= Complexity.MEDIUM:
        most = task.budget_msat // 2
    else:
        return HandleLocally("it is easy enough")
    most = min(most, policy.ceiling_msat)
    return DelegateToMesh(most) if most > 0 else HandleLocally("its budget is zero")
