"""Trajectories: what a worker did, line by line, hashed and signed by its provider (`rlog/1`).

The format itself is in `trajectory_lines`. Here: reading one strictly from untrusted bytes, checking that it is of
this job, by this provider, whole and in order, and the signature over its hash (BIP-340).

Guarantees: `check` returns a trajectory of which all of that is true, or raises the one reason why not, each with a
code of its own; reading takes time and memory in proportion to the bytes, and no more bytes than the limit are read.
What a trajectory tells is its provider's word: nothing in it sets a price or proves that work was done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import coincurve

from choir.bazaar.contracts import CodeReviewRequest, PatchGenRequest, RepoIndexRequest, Request
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, WorkersPolicy
from choir.bazaar.trajectories.lines import (
    FORMAT,
    HEADER_FIELDS,
    NO_REPOSITORY,
    TYPE_NAMES,
    BadLine,
    End,
    Header,
    Line,
    Start,
    ToolUse,
    read_line,
    text_digest,
)
from choir.foundation.canonical import ObjectHash, bytes_hash, hash_digest
from choir.foundation.clock import MICROSECONDS, format_time, parse_time
from choir.foundation.errors import Invalid, TooLarge
from choir.foundation.signing import BadSignature, verify_bip340
from choir.identity.keys.nostr_keys import npub, public_of
from choir.identity.keys.secret_values import SecretKey

_COMMIT = re.compile(r"[0-9a-f]{6,64}")  # others shorten it
_WHOLE_SECOND = re.compile(r"(\d\d:\d\d)Z\Z")
_JOB = re.compile(r"[a-z0-9_]{1,100}")
_NPUB = re.compile(r"npub1[a-z0-9.]{1,58}")  # whether it is the provider's is seen when it is compared
BYTES_MAX = BazaarPolicy().trajectory_bytes_max
_HEAD_LINES = len(HEADER_FIELDS) + 3  # the two rules and the empty line


class TooLong(TooLarge):
    """More bytes, more lines, or a longer line than the limits allow."""

    code = "trajectory.too_large"


class NotText(Invalid):
    code = "trajectory.not_text"
    sentence = "The trajectory is not UTF-8 text."


class BadHeader(Invalid):
    code = "trajectory.bad_header"
    sentence = "The header of the trajectory is not valid: {why}."


class NoStart(Invalid):
    code = "trajectory.no_start"
    sentence = "The trajectory does not begin with the one @start line that its header announces."


class Truncated(Invalid):
    code = "trajectory.truncated"
    sentence = "The trajectory is cut off: it has no @end line."


class AfterEnd(Invalid):
    code = "trajectory.after_end"
    sentence = "The trajectory continues after its @end line."


class WrongCount(Invalid):
    code = "trajectory.wrong_count"
    sentence = "The trajectory has {found} lines and its @end line says {said}."


class TimeBackwards(Invalid):
    code = "trajectory.time_backwards"
    sentence = "Time does not move forward at line {line} of the trajectory."


class OutsideTime(Invalid):
    code = "trajectory.outside_time"
    sentence = "The trajectory has times at which its provider did not have the job."


class WrongResult(Invalid):
    code = "trajectory.wrong_result"
    sentence = "The tool result at line {line} of the trajectory does not match its hash."


class RepeatedId(Invalid):
    code = "trajectory.repeated_id"
    sentence = "The tool call at line {line} of the trajectory has the id of another call."


class WrongJob(Invalid):
    code = "trajectory.wrong_job"
    sentence = "The trajectory is for another job."


class WrongProvider(Invalid):
    code = "trajectory.wrong_provider"
    sentence = "The trajectory is for another provider."


class WrongType(Invalid):
    code = "trajectory.wrong_type"
    sentence = "The trajectory is for another job type."


class WrongBase(Invalid):
    code = "trajectory.wrong_base"
    sentence = "The trajectory is for another commit."


class WrongHash(Invalid):
    code = "trajectory.wrong_hash"
    sentence = "The trajectory does not match its claimed hash."


class Forged(Invalid):
    code = "trajectory.forged"
    sentence = "The signature over the trajectory's hash is not by its provider."


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A trajectory, read."""

    header: Header
    lines: tuple[Line, ...]
    hash: ObjectHash

    @property
    def end(self) -> End:
        last = self.lines[-1]
        assert isinstance(last, End)
        return last


@dataclass(frozen=True, slots=True)
class SignedTrajectory:
    """A trajectory's name and its provider's signature over it."""

    hash: ObjectHash
    signature: bytes


@dataclass(frozen=True, slots=True)
class ExpectedTrajectory:
    """What a trajectory must be of."""

    job: str  # as it is shown: job_…
    provider: bytes  # x-only public key
    type: JobType
    base_commit: str = ""  # `commit_of` the request; empty: a job without a repository
    assigned_us: int | None = None  # nothing in it is earlier, but for the clocks
    delivered_us: int | None = None  # nor later


def commit_of(request: Request) -> str:
    """The commit that a trajectory of this order names; empty for work without a repository."""
    if isinstance(request, PatchGenRequest | RepoIndexRequest):
        return request.base_commit
    return request.head_commit or request.base_commit if isinstance(request, CodeReviewRequest) else ""


def header(job: str, provider: bytes, kind: JobType, base_commit: str, started_us: int) -> Header:
    """The header of a trajectory that begins now."""
    return Header(job, base_commit or NO_REPOSITORY, npub(provider), TYPE_NAMES[kind], started_us)


def sign(data: bytes, key: SecretKey) -> SignedTrajectory:
    """Name and sign a whole trajectory."""
    name = bytes_hash(data)
    return SignedTrajectory(name, sign_hash(name, key))


def sign_hash(name: ObjectHash, key: SecretKey) -> bytes:
    """A provider's signature over the hash of a trajectory or a result."""
    return coincurve.PrivateKey(key.reveal()).sign_schnorr(hash_digest(name))


def parse(data: bytes, policy: WorkersPolicy, bytes_max: int = BYTES_MAX) -> Trajectory:
    """A trajectory from untrusted bytes: every line valid, from @start to @end, time forward, results as hashed."""
    if len(data) > bytes_max:
        raise TooLong(what="The trajectory", size=len(data), limit=bytes_max)
    rows = _rows(data, policy)
    head = _read_header(rows[:_HEAD_LINES])
    lines = tuple(read_line(row, place) for place, row in enumerate(rows[_HEAD_LINES:], _HEAD_LINES + 1))
    _check_frame(head, lines)
    _check_steps(lines)
    return Trajectory(head, lines, bytes_hash(data))


def check(
    data: bytes,
    expected: ExpectedTrajectory,
    signed: SignedTrajectory,
    policy: WorkersPolicy,
    bytes_max: int = BYTES_MAX,
) -> Trajectory:
    """A trajectory that is valid, of what is expected, and signed by its provider; or the reason why not."""
    found = check_content(data, expected, policy, bytes_max)
    if found.hash != signed.hash:
        raise WrongHash
    try:
        verify_bip340(expected.provider, hash_digest(found.hash), signed.signature)
    except BadSignature:
        raise Forged from None
    return found


def check_content(
    data: bytes, expected: ExpectedTrajectory, policy: WorkersPolicy, bytes_max: int = BYTES_MAX
) -> Trajectory:
    """The same without the signature, for whoever has looked at that already."""
    found = parse(data, policy, bytes_max)
    head = found.header
    if head.id != expected.job:
        raise WrongJob
    if head.provider_pubkey != npub(expected.provider):
        raise WrongProvider
    if head.job_type != TYPE_NAMES[expected.type]:
        raise WrongType
    if not (expected.base_commit or NO_REPOSITORY).startswith(head.repo_sha):
        raise WrongBase
    _check_times(found, expected, policy.trajectory_skew_s * MICROSECONDS)
    return found


def provider_of(key: SecretKey) -> bytes:
    """The public key that a provider's trajectories carry."""
    return public_of(key)


def _rows(data: bytes, policy: WorkersPolicy) -> list[str]:
    if data.count(b"\n") > policy.trajectory_lines_max + _HEAD_LINES:
        raise TooLong(what="The number of lines", size=data.count(b"\n"), limit=policy.trajectory_lines_max)
    pieces = data.split(b"\n")
    longest = max(len(piece) for piece in pieces)
    if longest > policy.trajectory_line_bytes_max:
        raise TooLong(what="A line of the trajectory", size=longest, limit=policy.trajectory_line_bytes_max)
    try:
        rows = [piece.decode("utf-8") for piece in pieces]
    except UnicodeDecodeError:
        raise NotText from None
    if rows.pop() != "":  # bytes that do not end with a line's end break off
        raise Truncated
    return rows


def _read_header(rows: list[str]) -> Header:
    if len(rows) < _HEAD_LINES or rows[0] != "---" or rows[-2:] != ["---", ""]:
        raise BadHeader(why="it must be between two lines --- and followed by an empty line")
    values = {}
    for name, row in zip(HEADER_FIELDS, rows[1:-2], strict=True):
        if not row.startswith(f"{name}: "):
            raise BadHeader(why=f"the field '{name}' is not where it must be")
        values[name] = row.removeprefix(f"{name}: ")
    try:
        values["started_at"] = _WHOLE_SECOND.sub(r"\1.000000Z", values["started_at"])
        started_us = parse_time(values["started_at"])
    except (Invalid, OverflowError):
        started_us = -1
    good = {
        "format": values["format"] == FORMAT,
        "id": _JOB.fullmatch(values["id"]),
        "repo_sha": values["repo_sha"] == NO_REPOSITORY or _COMMIT.fullmatch(values["repo_sha"]),
        "provider_pubkey": _NPUB.fullmatch(values["provider_pubkey"]),
        "job_type": values["job_type"] in Header.JOB_TYPES,
        "started_at": started_us >= 0 and format_time(started_us) == values["started_at"],
    }
    for name, is_good in good.items():
        if not is_good:
            raise BadHeader(why=f"the field '{name}' has an invalid value")
    return Header(values["id"], values["repo_sha"], values["provider_pubkey"], values["job_type"], started_us)


def _check_frame(head: Header, lines: tuple[Line, ...]) -> None:
    """One @start first, one @end last; where @end counts the lines, as many as it says, and nothing left out."""
    if not lines or lines[0] != Start(head.id, head.started_us) or any(isinstance(line, Start) for line in lines[1:]):
        raise NoStart
    ends = [place for place, line in enumerate(lines) if isinstance(line, End)]
    if not ends:
        raise Truncated
    if ends[0] != len(lines) - 1:
        raise AfterEnd
    last = lines[-1]
    assert isinstance(last, End)
    if last.lines is None:
        return
    if last.lines != len(lines):
        raise WrongCount(found=len(lines), said=last.lines)
    less = next((place for place, line in enumerate(lines, _HEAD_LINES + 1) if not line.is_full), None)
    if less is not None:
        raise BadLine(line=less, why="it omits a time or hash although @end says that it is complete")


def _check_steps(lines: tuple[Line, ...]) -> None:
    """Each line later than the one before; each call its own id; each result as hashed."""
    seen: set[str] = set()
    before_us = -1
    for number, line in enumerate(lines, _HEAD_LINES + 1):
        if line.at_us is not None:
            if line.at_us <= before_us:
                raise TimeBackwards(line=number)
            before_us = line.at_us
        if not isinstance(line, ToolUse):
            continue
        if line.id in seen:
            raise RepeatedId(line=number)
        seen.add(line.id)
        if line.sha256 is not None and line.sha256 != text_digest(line.result):
            raise WrongResult(line=number)


def _check_times(found: Trajectory, expected: ExpectedTrajectory, skew_us: int) -> None:
    told_us = [line.at_us for line in found.lines if line.at_us is not None]  # @start always tells it
    early = expected.assigned_us is not None and told_us[0] < expected.assigned_us - skew_us
    late = expected.delivered_us is not None and told_us[-1] > expected.delivered_us + skew_us
    if early or late:
        raise OutsideTime
