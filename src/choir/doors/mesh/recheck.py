"""Making every check again, here: the node's verdict is compared with one of our own.

Guarantees: everything that goes in is fetched from the node and checked by hash; the provider's signatures over its
result and trajectory are checked; the checks run in a sandbox of this machine, with the same verifier as the node's,
and a deterministic command is run again for certain. Where the two verdicts differ, it is said check by check. A
machine without a working sandbox gets an error that says what is missing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from choir.bazaar.contracts import HiddenChecks, PatchGenRequest, Request, read_request, read_result
from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.model import JobType, Level, Verdict
from choir.bazaar.policy import BazaarPolicy, EnvironmentsPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.sampling import planted
from choir.bazaar.trajectories.reader import ExpectedTrajectory, check_content, commit_of
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.verification.service import Verifier
from choir.doors.jobs.shapes import AttemptOut, JobOut, SignedOut
from choir.doors.mesh.model import Check, Outcome, WrongAnswer, checks_of
from choir.doors.mesh.proof import Sureness
from choir.doors.sdk import blobs
from choir.doors.sdk.policies import policy_of
from choir.foundation.canonical import ObjectHash, canonical_hash, hash_digest
from choir.foundation.clock import parse_time
from choir.foundation.errors import Broken, ChoirError, Invalid, NotAllowed
from choir.foundation.settings import load_settings
from choir.foundation.signing import BadSignature, verify_bip340
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import for_play
from choir.sandbox.service import Sandboxes

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_SCHEME = "bip340"


class Differs(Broken):
    """Our own verdict is another than the node's."""

    code = "sdk.verdict_differs"
    sentence = "The checks of {job} give different results here: {differences}."
    hint = "`choir job verify {job}` shows both; `choir job dispute {job}` opens a dispute."


@dataclass(frozen=True, slots=True)
class Line:
    """A check as the node made it and as it came out here; None: it was not made."""

    name: str
    theirs: Check | None
    ours: Check | None
    closed: bool = False  # it is hidden from who looks, so it cannot be made again

    @property
    def differs(self) -> bool:
        """Whether the two disagree. One that was only made here counts if it failed."""
        if self.ours is None:
            return not self.closed
        if self.theirs is None:
            return not self.ours.passed
        return (self.theirs.passed, self.theirs.reason) != (self.ours.passed, self.ours.reason)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a verdict says about itself, as the node and as this machine has it."""

    name: str
    theirs: str
    ours: str

    @property
    def differs(self) -> bool:
        return self.theirs != self.ours


@dataclass(frozen=True, slots=True)
class Recheck:
    """Both verdicts side by side."""

    lines: tuple[Line, ...]
    theirs_passed: bool
    ours_passed: bool
    tier: str  # of the sandbox here
    facts: tuple[Fact, ...] = ()  # level, strengths, lines; none of verdicts from before they had them

    @property
    def differences(self) -> tuple[str, ...]:
        found = [line.name for line in self.lines if line.differs] + [fact.name for fact in self.facts if fact.differs]
        unseen = any(line.closed for line in self.lines)
        return tuple(found or ([] if unseen or self.theirs_passed == self.ours_passed else ["the verdict as a whole"]))


def must_agree(client: Client, outcome: Outcome) -> None:
    """Raise unless every check comes out here as the node says."""
    found = recheck(client, outcome.job, outcome.attempt, outcome.data, outcome.verdict)
    if found.differences:
        raise Differs(job=outcome.job.id, differences=", ".join(found.differences))


def recheck(client: Client, job: JobOut, attempt: AttemptOut, artifact: bytes, verdict: dict[str, object]) -> Recheck:
    """Make every check of an attempt again. The artifact and the verdict were checked by their hashes before."""
    theirs = checks_of(verdict)
    policy = policy_of(client)
    with tempfile.TemporaryDirectory(prefix="choir-recheck-") as name:
        folder = Path(name)
        has_hidden = "hidden" in job.inputs or any(check.hidden for check in theirs)
        hidden = _hidden(client, job, attempt) if has_hidden else None
        order = gather_order(client, job, folder, hidden)
        delivery, provider = _delivery(client, job, attempt, artifact)
        with (
            Sandboxes(folder / "sandbox", for_play(SandboxPolicy())) as sandboxes,
            Verifier(
                sandboxes,
                policy.of(VerificationPolicy),
                folder,
                environments=Environments(sandboxes, load_settings({}).home, policy.of(EnvironmentsPolicy)),
            ) as verifier,
        ):
            ours = verifier.verify(order, delivery, rerun=True)
            ours = _with_planted(ours, job, artifact, hidden, policy.of(VerificationPolicy))
    trajectory = _trajectory_check(job, attempt, delivery, provider, order.request, policy.of(WorkersPolicy))
    found = _side_by_side(theirs, verdict.get("passed") is True, ours, trajectory, seen=hidden is not None)
    return replace(found, facts=facts(verdict, ours, whole=hidden is not None or not has_hidden))


def facts(theirs: dict[str, object], ours: Verdict, *, whole: bool) -> tuple[Fact, ...]:
    """How sure both verdicts are. Who may not see the hidden checks can compare less; `whole`: all can be compared."""
    if "level" not in theirs:
        return ()
    sure, mine = Sureness.of(theirs), Sureness.of(ours.sureness())
    sides = ("visible", "hidden") if whole else ("visible",)
    found = [Fact("level", sure.level, mine.level)] if whole else []
    found += [Fact(f"strength of {side} tests", sure.tests(side), mine.tests(side)) for side in sides]
    found.append(Fact("lines", *(f"+{one.lines[0]} -{one.lines[1]}" if one.lines else "" for one in (sure, mine))))
    return tuple(fact for fact in found if fact.theirs or fact.ours)


def _hidden(client: Client, job: JobOut, attempt: AttemptOut) -> bytes | None:
    """The hidden checks, or where defects were planted; None for whom they are hidden from.

    What was ordered is bound by the request's commitment; what was planted is the node's own word.
    """
    part = partial(client.attempts.hidden_part, attempt.id)
    name = job.inputs.get("hidden")
    most = policy_of(client).of(BazaarPolicy).inputs_bytes_max
    try:
        return part(0) if name is None else blobs.whole(part, name, "The hidden checks", most)
    except NotAllowed:
        return None


def _with_planted(
    ours: Verdict, job: JobOut, artifact: bytes, hidden: bytes | None, policy: VerificationPolicy
) -> Verdict:
    """A review that the node ordered itself has defects, of which one must have been found."""
    if job.type is not JobType.CODE_REVIEW or hidden is None or not ours.passed:
        return ours
    check = planted.check(artifact, planted.read(hidden), policy)
    return replace(ours, passed=check.passed, checks=(*ours.checks, check))


def gather_order(client: Client, job: JobOut, folder: Path, hidden: bytes | None) -> Order:
    """What was ordered, with its inputs, each checked by its hash; without hidden checks that are not to be seen."""
    asked = client.jobs.request(job.id)
    if canonical_hash(asked.request) != job.request:
        raise WrongAnswer(job=job.id, why="the request does not match the job's hash")
    policy = policy_of(client)
    request = read_request(job.type, asked.request, policy.of(VerificationPolicy))
    most = policy.of(BazaarPolicy).inputs_bytes_max
    files = {
        name: blobs.whole_file(
            partial(client.jobs.input_part, job.id, name), hash_, f"The input '{name}'", most, folder / name
        )
        for name, hash_ in job.inputs.items()
        if name != "hidden"
    }
    diff = files.get("diff")
    is_patch = isinstance(request, PatchGenRequest)
    if isinstance(request, PatchGenRequest) and hidden is None:
        request = replace(request, hidden=None, level=min(request.level, Level.V2))  # no higher one without them
    return Order(
        type=job.type,
        request=request,
        repository=files.get("repository"),
        diff=None if diff is None else diff.read_bytes(),
        hidden=HiddenChecks.from_bytes(hidden, policy.of(VerificationPolicy))
        if is_patch and hidden is not None
        else None,
    )


def _delivery(client: Client, job: JobOut, attempt: AttemptOut, artifact: bytes) -> tuple[Delivery, bytes]:
    """What was handed in, and the key that signed it."""
    if attempt.artifact is None or attempt.trajectory is None:
        raise Invalid(what=f"The attempt {attempt.id}", why="it has no delivery")
    result = client.attempts.result(attempt.id)
    if not canonical_hash(result.value) == result.hash == attempt.result:
        raise WrongAnswer(job=job.id, why="the result does not match the attempt's hash")
    part = partial(client.attempts.trajectory_part, attempt.id)
    policy = policy_of(client)
    trajectory = blobs.whole(part, attempt.trajectory, "The trajectory", policy.of(BazaarPolicy).trajectory_bytes_max)
    delivery = Delivery(
        artifact=artifact,
        claimed_hash=ObjectHash(attempt.artifact),
        result=read_result(job.type, result.value, policy.of(VerificationPolicy)),
        trajectory=trajectory,
    )
    return delivery, _signer(job.id, result)


def _signer(job: str, signed: SignedOut) -> bytes:
    """The provider's key, by its signature over the result."""
    for item in signed.signatures:
        if item.scheme == _SCHEME:
            try:
                public = bytes.fromhex(item.public)
                verify_bip340(public, hash_digest(ObjectHash(signed.hash)), bytes.fromhex(item.signature))
            except (BadSignature, ValueError):
                raise WrongAnswer(job=job, why="the provider's signature over its result is not valid") from None
            return public
    raise WrongAnswer(job=job, why="no provider has signed the result")


def _trajectory_check(
    job: JobOut,
    attempt: AttemptOut,
    delivery: Delivery,
    provider: bytes,
    request: Request,
    policy: WorkersPolicy,
) -> Check:
    assert delivery.trajectory is not None
    if delivery.result.trajectory_id not in ("", attempt.trajectory):  # the result is signed, so it binds this too
        told = "The provider's signed result names another trajectory."
        return Check("trajectory", passed=False, reason="trajectory.wrong_hash", details=told)
    expected = ExpectedTrajectory(
        job=job.id,
        provider=provider,
        type=job.type,
        base_commit=commit_of(request),
        assigned_us=parse_time(attempt.assigned_at),
        delivered_us=None if attempt.delivered_at is None else parse_time(attempt.delivered_at),
    )
    try:
        check_content(delivery.trajectory, expected, policy)
    except ChoirError as error:
        return Check("trajectory", passed=False, reason=error.code, details=str(error))
    return Check("trajectory", passed=True)


def _side_by_side(
    theirs: tuple[Check, ...], passed: bool, ours: Verdict, trajectory: Check, *, seen: bool = True
) -> Recheck:
    own = [Check(item.name, item.passed, item.reason, item.details, evidence=item.evidence) for item in ours.checks]
    own.append(trajectory)
    left = list(own)
    lines = []
    for check in theirs:
        mine = next((item for item in left if item.name == check.name), None)
        if mine is not None:
            left.remove(mine)
        lines.append(Line(check.name, check, mine, closed=check.hidden and mine is None and not seen))
    lines += [Line(item.name, None, item) for item in left]
    return Recheck(tuple(lines), passed, ours.passed and trajectory.passed, ours.tier)
