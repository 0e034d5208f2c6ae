"""An order with its inputs, brought to this machine.

The node is believed as to who ordered what for how much. It is not trusted with this machine: what it sends must be of
a type that is offered here, must hash to what the job names, and must fit the limits of this machine's policy.

Guarantees: an input is used only if all of it came and its hash is right; no more bytes are kept than the limit, and
fetching ends with the attempt's time.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.contracts import (
    CodeReviewRequest,
    PatchGenRequest,
    RepoIndexRequest,
    Request,
    SkillFolder,
    read_request,
)
from choir.bazaar.contracts.skills import BYTES_MOST
from choir.bazaar.jobs.model import PREVIOUS, JobType
from choir.bazaar.policy import BazaarPolicy, MarketPolicy, VerificationPolicy
from choir.bazaar.skills.model import SKILL
from choir.bazaar.workers.model import WorkOrder
from choir.doors.jobs.shapes import OrderOut
from choir.doors.provider.model import BadOrder
from choir.doors.sdk.client import Client
from choir.foundation.canonical import canonical_hash
from choir.foundation.errors import ChoirError
from choir.foundation.policy import Policy


@dataclass(frozen=True, slots=True)
class OrderFetcher:
    """Brings orders here."""

    client: Client
    types: Collection[JobType]
    policy: Policy

    def order(
        self, attempt: str, job: str, told: OrderOut | None, deadline: float, folder: Path, over: Callable[[], bool]
    ) -> WorkOrder:
        """The order of an attempt, as it was told when that began; `over` says when nobody wants it any more."""
        found = told or self._told(job)
        if found.type not in self.types:
            raise BadOrder(why="its type is not offered here")
        request = self._request(found)
        repository = diff = previous = None
        if isinstance(request, PatchGenRequest | CodeReviewRequest | RepoIndexRequest) and "repository" in found.inputs:
            repository = folder / "repository.bundle"
            self._input(
                job, found, "repository", repository, self.policy.of(BazaarPolicy).inputs_bytes_max, deadline, over
            )
        if isinstance(request, CodeReviewRequest) and "diff" in found.inputs:
            file = folder / "change.diff"
            self._input(
                job, found, "diff", file, self.policy.of(VerificationPolicy).review_diff_bytes_max, deadline, over
            )
            diff = file.read_bytes()
        if isinstance(request, RepoIndexRequest) and PREVIOUS in found.inputs:
            file = folder / "previous.index"
            self._input(job, found, PREVIOUS, file, self.policy.of(VerificationPolicy).index_bytes_max, deadline, over)
            previous = file.read_bytes()
        skill = self._skill(job, found, request, folder, deadline, over)
        return WorkOrder(job, found.type, request, repository, diff, previous, attempt, deadline, skill)

    def _skill(
        self, job: str, told: OrderOut, request: Request, folder: Path, deadline: float, over: Callable[[], bool]
    ) -> SkillFolder | None:
        """The folder of the skill that the order names; every path in it is checked before anything is written."""
        if not request.terms.skill:
            return None
        if SKILL not in told.inputs:
            raise BadOrder(why="its skill is missing")
        file = folder / "skill.json"
        self._input(job, told, SKILL, file, BYTES_MOST, deadline, over)
        found = SkillFolder.from_bytes(file.read_bytes(), self.policy.of(VerificationPolicy))
        if found.size > self.policy.of(MarketPolicy).skill_bytes_max:
            raise BadOrder(why="its skill is larger than this machine's policy allows")
        return found

    def _told(self, job: str) -> OrderOut:
        """The same from a node that does not tell it at the beginning."""
        found = self.client.jobs.get(job)
        if found.id != job:
            raise BadOrder(why="it is another one")
        request = self.client.jobs.request(job).request
        return OrderOut(type=found.type, hash=found.request, request=request, inputs=found.inputs)

    def _request(self, told: OrderOut) -> Request:
        try:
            matches = canonical_hash(told.request) == told.hash
        except ChoirError:
            matches = False
        if not matches:
            raise BadOrder(why="the request does not match the job's hash")
        return read_request(told.type, told.request, self.policy.of(VerificationPolicy))

    def _input(
        self,
        job: str,
        told: OrderOut,
        name: str,
        file: Path,
        bytes_max: int,
        deadline: float,
        over: Callable[[], bool],
    ) -> None:
        digest = hashlib.sha256()
        size = n = 0
        with file.open("xb") as target:
            while part := self.client.jobs.input_part(job, name, n):
                size += len(part)
                if size > bytes_max:
                    raise BadOrder(why=f"its {name} is larger than {bytes_max} bytes")
                if over() or time.monotonic() >= deadline:
                    raise BadOrder(why=f"its {name} did not arrive in time")
                digest.update(part)
                target.write(part)
                n += 1
        if f"sha256:{digest.hexdigest()}" != told.inputs[name]:
            raise BadOrder(why=f"its {name} does not match the job's hash")
