"""When an agent buys what it could do itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.doors.mesh.budgets import default_budget
from choir.foundation.policy import describe
from choir.policies import default_policy
from choir.sdk import Complexity, DelegateToMesh, DelegationPolicy, HandleLocally, Task, should_delegate

PATCH = JobType.PATCH_GEN
LOW, MEDIUM, HIGH = Complexity


@pytest.mark.parametrize(
    ("complexity", "threshold", "busy", "most"),
    [
        (HIGH, HIGH, False, 1001),
        (HIGH, HIGH, True, 1001),
        (MEDIUM, HIGH, False, None),
        (MEDIUM, HIGH, True, 500),
        (MEDIUM, MEDIUM, True, 1001),
        (LOW, HIGH, True, None),
        (LOW, LOW, False, 1001),
    ],
)
def test_hard_tasks_are_bought_and_middling_ones_when_busy(
    complexity: Complexity, threshold: Complexity, busy: bool, most: int | None
) -> None:
    found = should_delegate(Task(PATCH, complexity, 1001), DelegationPolicy(threshold=threshold), busy=busy)
    assert (found.max_cost_msat if isinstance(found, DelegateToMesh) else None) == most


def test_the_ceiling_the_types_and_the_switch_are_kept() -> None:
    hard = Task(PATCH, HIGH, 10_000)
    assert should_delegate(hard, DelegationPolicy(ceiling_msat=700)) == DelegateToMesh(700)
    assert should_delegate(Task(PATCH, MEDIUM, 10_000), DelegationPolicy(ceiling_msat=700), busy=True) == (
        DelegateToMesh(700)
    )
    for policy in (DelegationPolicy(enabled=False), DelegationPolicy(allowed_types=frozenset({JobType.TEXT_GEN}))):
        assert isinstance(should_delegate(hard, policy), HandleLocally)


tasks = st.builds(Task, st.sampled_from(JobType), st.sampled_from(Complexity), st.integers(0, 10**18))
policies = st.builds(
    DelegationPolicy,
    st.booleans(),
    st.integers(0, 10**18),
    st.frozensets(st.sampled_from(JobType)),
    st.sampled_from(Complexity),
)


@given(tasks, policies, st.booleans())
def test_no_more_is_ever_spent_than_allowed(task: Task, policy: DelegationPolicy, busy: bool) -> None:
    found = should_delegate(task, policy, busy=busy)
    if isinstance(found, HandleLocally):
        assert found.why
        return
    assert type(found.max_cost_msat) is int
    assert policy.enabled
    assert task.type in policy.allowed_types
    assert 0 < found.max_cost_msat <= min(policy.ceiling_msat, task.budget_msat)
    if task.complexity < policy.threshold:
        assert busy
        assert found.max_cost_msat <= task.budget_msat // 2
    else:
        assert found.max_cost_msat == min(policy.ceiling_msat, task.budget_msat)


def test_a_budget_that_nobody_named_pays_even_the_best_provider() -> None:
    values = {item.name: item.value for item in describe(default_policy())}
    assert default_budget(JobType.SANDBOX_RUN, 60_000, values) == 276_000  # (200 + 60 × 0.5) × 1.2 SAT
    assert default_budget(PATCH, 10_000, values) == 4_800_000
    assert default_budget(JobType.TEXT_GEN, 1, values) == values["bazaar.budget_msat_min"]
    assert default_budget(PATCH, 10**9, values) == 24_000_000
    assert default_budget(PATCH, 10_000, values, racing=3) == 6_721_000  # each loser may get up to a fifth
