"""The machine's side: a sandbox of one tier, the workers that were named, and the pool that they work in.

Guarantees: everything that workers run, runs in the tier that the provider claims and in no other; what an earlier
process left of its sandboxes is removed first; when it is closed, nothing of it runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import EnvironmentsPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.workers.catalogue import ModelChoice, workers
from choir.bazaar.workers.fulfilment import Fulfilment
from choir.bazaar.workers.model import Worker
from choir.bazaar.workers.pool import PooledRunner, WorkerPool
from choir.bazaar.workers.shop import Workshop
from choir.bazaar.workers.use import UseBook
from choir.commons.passages.static import StaticEmbedder
from choir.doors.provider.home import ProviderHome
from choir.doors.provider.model import IsolationMissing, NobodyWell, NoSuchWork, ServeOptions, short_type
from choir.foundation.clock import Clock
from choir.foundation.policy import Policy, load
from choir.foundation.settings import Settings
from choir.identity.keys.secret_values import SecretKey
from choir.policies import default_policy
from choir.sandbox.model import Tier
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.pool import Pool
from choir.sandbox.readiness import sandbox_policy
from choir.sandbox.rules import stranger_refusal
from choir.sandbox.service import Sandboxes

_RIGHTS = "More may work as root or in a delegated cgroup. "


@dataclass(frozen=True, slots=True)
class Machine:
    """What does the work here."""

    pool: WorkerPool
    types: tuple[JobType, ...]  # what is offered
    folder: Path  # for the inputs of jobs
    model: str
    loose: str = ""  # what untrusted code has no firm limit of here


@contextmanager
def started(
    home: ProviderHome, wanted: ServeOptions, key: SecretKey, clock: Clock, policy: Policy
) -> Iterator[Machine]:
    """The machine, ready for work; at the end it is cleared."""
    folder = home.folder / "work"
    shutil.rmtree(folder, ignore_errors=True)  # an earlier process's, which was killed
    folder.mkdir(mode=0o700, parents=True)
    with Sandboxes(home.folder / "sandbox", policy.of(SandboxPolicy)) as sandboxes:
        check_isolation(sandboxes, wanted.isolation, policy.of(SandboxPolicy))
        with (
            Pool(sandboxes, policy.of(SandboxPolicy)) as runs,
            Workshop(
                PooledRunner(runs, wanted.isolation),
                folder,
                policy.of(WorkersPolicy),
                policy.of(VerificationPolicy),
                policy.of(SandboxPolicy),
                embedder=StaticEmbedder(),
                environments=home.folder,
                layers=policy.of(EnvironmentsPolicy),
            ) as shop,
        ):
            book = UseBook(home.folder, policy.of(WorkersPolicy), clock)
            found = workers(wanted.workers, shop, os.environ, choice_of(wanted), book)
            types = offered(found, wanted.types)
            fulfils = Fulfilment(key, clock, policy.of(WorkersPolicy))
            with WorkerPool(found, fulfils, policy.of(WorkersPolicy), wanted.capacity) as pool:
                yield Machine(pool, types, shop.folder, model_of(found, wanted), sandboxes.unlimited())
    shutil.rmtree(folder, ignore_errors=True)


def choice_of(wanted: ServeOptions) -> ModelChoice:
    """Which model the workers use, as the owner asked."""
    return ModelChoice(wanted.model, wanted.api, wanted.endpoint, wanted.key_variable, wanted.agent_folder)


def policy_here(settings: Settings, *, play: bool) -> Policy:
    """As the settings say; for one's own play, unless they say otherwise, no firm limits where the machine has none."""
    policy = load(default_policy(), settings.policy_overrides)
    return policy.replaced(sandbox_policy(settings, policy, production=not play))


def check_isolation(sandboxes: Sandboxes, tier: Tier, policy: SandboxPolicy) -> None:
    """Raise unless untrusted code can be contained in this tier here."""
    why = _why_not(sandboxes, tier, policy)
    if why:
        works = [each.label for each in Tier if each is not tier and not _why_not(sandboxes, each, policy)]
        # Rights help where a tier works and is not firm enough, not where it is not installed.
        more = _RIGHTS if sandboxes.capabilities(tier).works else ""
        raise IsolationMissing(tier=tier.label, why=why, works=", ".join(works) or "nothing", more=more)


def _why_not(sandboxes: Sandboxes, tier: Tier, policy: SandboxPolicy) -> str:
    if tier is Tier.LOCAL:  # no order of a stranger runs there, whatever policy says
        return "it isolates nothing, so untrusted code never runs in it."
    found = sandboxes.capabilities(tier)
    return stranger_refusal(found, policy) if found.works else found.why or "it does not work."


def offered(found: Sequence[Worker], asked: Sequence[JobType]) -> tuple[JobType, ...]:
    """The types that are offered: those asked for, if somebody does them; else all that somebody can do now."""
    able = {kind for worker in found for kind in worker.types}
    for kind in asked:
        if kind not in able:
            raise NoSuchWork(type=short_type(kind), able=", ".join(short_type(each) for each in sorted(able)))
    problems = {worker.name: worker.problem() for worker in found}
    now = {kind for worker in found if not problems[worker.name] for kind in worker.types}
    if not now:
        raise NobodyWell(why="; ".join(f"{name}: {problem}" for name, problem in problems.items()))
    return tuple(sorted(asked or now))


def model_of(found: Sequence[Worker], wanted: ServeOptions) -> str:
    """Which model the workers use, as the provider claims it; empty where there is none."""
    if wanted.model:
        return wanted.model
    profiles = (getattr(worker, "profile", None) for worker in found)
    return next((profile.model for profile in profiles if profile is not None and profile.model), "")
