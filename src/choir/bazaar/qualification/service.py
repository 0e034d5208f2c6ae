"""Qualification jobs: orders of the node's own, by which a newcomer shows what it can do before it gets real ones.

Guarantees: such a job costs nothing and pays nothing, and counts for no tier, no reputation and no volume; it goes to
one provider, whose slot it takes; job, slot and the state of the qualification are one transaction; however it ends,
the qualification ends with it. It is worked on, handed in and verified like any other, with every check run.
"""

from __future__ import annotations

from uuid import UUID

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.contracts import Terms
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import HIDDEN, SOURCE, Job, JobState, JobType, job_id
from choir.bazaar.jobs.summaries import summary_of
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers.fallback import PinnedProvider, strategy_json
from choir.bazaar.providers.model import NotQualifying, provider_id
from choir.bazaar.providers.service import Providers
from choir.bazaar.qualification import trials
from choir.bazaar.qualification.trials import Chance, Trial
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS
from choir.objects.service import Objects
from choir.storage.database import Tx


class QualificationJobs:
    """Gives out qualification jobs; inside the caller's transaction."""

    def __init__(
        self, lifecycle: JobLifecycle, providers: Providers, objects: Objects, policy: ProvidersPolicy
    ) -> None:
        self._lifecycle = lifecycle
        self._providers = providers
        self._objects = objects
        self._policy = policy

    def begin(self, tx: Tx, provider: UUID, type_: JobType) -> Job:
        """Give a provider its qualification job for a type; refused if it cannot take one now."""
        lifecycle = self._lifecycle
        now_us = lifecycle.clock.now_us()
        id_ = lifecycle.new_id()
        terms = Terms(0, self._policy.qualification_limit_s, job_id(id_))
        trial = trials.make(type_, Chance(lifecycle.entropy), terms)
        job = self._job(tx, id_, provider, type_, trial, now_us)
        self._lifecycle.enter(tx, job, summary_of(type_, trial.request))
        if not self._providers.reserve(tx, provider, job.id):
            why = "it has no free slot"
            raise NotQualifying(provider=provider_id(provider), type=type_.value, work=type_.word, why=why)
        self._providers.begin_qualification(tx, provider, type_, job.id)
        attempt = self._attempt(job, provider, self._providers.get(tx, provider).owner)
        self._lifecycle.add_attempt(tx, attempt)
        lifecycle.note(tx, job, "opened", SOURCE, type=type_.value, budget="0", qualification=True)
        lifecycle.note(tx, job, "offered", SOURCE, attempt=attempt, qualification=True)
        lifecycle.note(tx, job, job.state.value, SOURCE)
        return job

    def _job(self, tx: Tx, id_: UUID, provider: UUID, type_: JobType, trial: Trial, now_us: int) -> Job:
        request = self._objects.put_atom(tx, trial.request, None).hash
        inputs = self._keep(tx, id_, request, trial)
        limit_s = self._policy.qualification_limit_s
        return Job(
            id=id_,
            buyer=SOURCE,
            actor=SOURCE,
            delegation=None,
            key=f"qualification:{id_}",
            type=type_,
            state=JobState.ASSIGNED,
            request=request,
            inputs=inputs,
            hidden=trial.commitment,
            budget=0,
            hold=id_,
            strategy=strategy_json(PinnedProvider(provider, 1, 0)),
            criteria={},
            time_limit_s=limit_s,
            created_us=now_us,
            expires_us=now_us + limit_s * MICROSECONDS,
            offer_us=now_us,
            ready_us=now_us,
            qualifies=provider,
        )

    def _keep(self, tx: Tx, id_: UUID, request: ObjectHash, trial: Trial) -> dict[str, ObjectHash]:
        """Keep the inputs; the job points to them as any job does."""
        contents = dict(trial.shown) | ({} if trial.hidden is None else {HIDDEN: trial.hidden})
        inputs = {name: self._objects.put_blob(tx, [data], None).hash for name, data in contents.items()}
        for name in sorted({request, *inputs.values()}):
            self._objects.refer(tx, f"bazaar:{job_id(id_)}", name)
        return inputs

    def _attempt(self, job: Job, provider: UUID, owner: str) -> Attempt:
        return Attempt(
            id=self._lifecycle.new_id(),
            job=job.id,
            n=1,
            provider=provider,
            owner=owner,
            state=AttemptState.ASSIGNED,
            base=0,
            per_unit=0,
            cap=0,
            ceiling=0,
            assigned_us=job.created_us,
            deadline_us=job.expires_us,
        )
