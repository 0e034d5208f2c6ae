"""What was bought, as people read it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.doors.cli import output
from choir.doors.cli.live_output import plain
from choir.doors.jobs.commands.buyer import sat
from choir.foundation.errors import ChoirError

if TYPE_CHECKING:
    from choir.bazaar.contracts import RepoIndex
    from choir.doors.mesh.model import Artifact, Outcome


def show(found: Outcome, out: Path | None, *, force: bool, as_json: bool) -> None:
    """What was bought, where and how it is wanted."""
    if out is not None:
        _write(found, out, force=force)
    if as_json:
        output.print_json(outcome_json(found))
    else:
        _print_outcome(found, out)


def _print_outcome(found: Outcome, out: Path | None) -> None:
    """The artifact on standard output unless it is in a file, and what is to be said about it on standard error."""
    from choir.bazaar.contracts import RepoIndex, RunOutput
    from choir.doors.mesh.proof import SIGNS, proof_of

    if out is not None:
        output.say(f"Written to {out}.")
    else:
        print_artifact(found.artifact, found.data)
    if isinstance(found.artifact, RunOutput):
        output.say(f"Exit code: {found.artifact.exit_code}.")
    if isinstance(found.artifact, RepoIndex):
        output.say(f"{index_line(found.artifact)} Search it with: choir index search WORD --index {found.job.id}")
    proof = proof_of(found.job.type, found.checks, found.verdict)
    output.say(f"{proof.word} and paid: {sat(found.price)} SAT of {sat(found.job.budget)} SAT; the rest was released.")
    output.say(f"Checked: {proof.checked}.")
    if proof.more:
        output.say(proof.more)
    if proof.signs:
        output.say(f"{SIGNS}: {plain('; '.join(proof.signs))}.")
    output.say(f"Receipt {found.receipt_hash}, signed by the node.")
    output.say(f"Details: choir job show {found.job.id}; re-check it here: choir job verify {found.job.id}")


def print_artifact(artifact: Artifact, data: bytes) -> None:
    """Into a file or a pipe byte by byte, into a terminal without what could steer it."""
    import sys

    from choir.bazaar.contracts import RepoIndex, RunOutput, StructuredReview

    if isinstance(artifact, RunOutput):
        _print(artifact.stdout, sys.stdout)
        _print(artifact.stderr, sys.stderr)
    elif isinstance(artifact, StructuredReview):
        for line in artifact.lines():
            output.print_line(plain(line))
    elif isinstance(artifact, RepoIndex) and sys.stdout.isatty():
        output.print_line(index_line(artifact))
    else:
        _print(data, sys.stdout)


def index_line(index: RepoIndex) -> str:
    """What an index is of, for a screen."""
    counts = f"{index.symbols} symbols and {index.references} references in {index.parsed} files"
    return f"An index of commit {index.commit[:12]}: {counts}."


def _print(data: bytes, stream: Any) -> None:
    if not data:
        return
    stream.flush()
    if stream.isatty():
        stream.write("\n".join(plain(line) for line in data.decode("utf-8", "replace").split("\n")))
        if not data.endswith(b"\n"):
            stream.write("\n")
    else:
        stream.buffer.write(data)
    stream.flush()


def outcome_json(found: Outcome) -> dict[str, Any]:
    """Everything about it as one value."""
    return {
        "job": found.job.model_dump(mode="json"),
        "artifact": artifact_json(found.artifact),
        "checks": found.verdict["checks"],
        "verdict": found.verdict,
        "price": str(found.price),
        "receipt": {"hash": found.receipt_hash, "value": found.receipt},
    }


def artifact_json(artifact: Artifact) -> Any:
    from choir.bazaar.contracts import RepoIndex, RunOutput, StructuredReview

    if isinstance(artifact, RepoIndex):
        return artifact.head()
    if isinstance(artifact, RunOutput):
        return {
            "exit_code": artifact.exit_code,
            "stdout": artifact.stdout.decode("utf-8", "replace"),
            "stderr": artifact.stderr.decode("utf-8", "replace"),
            "stdout_base64": base64.b64encode(artifact.stdout).decode(),
        }
    if isinstance(artifact, StructuredReview):
        return artifact.to_json()
    return artifact.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _write(found: Outcome, out: Path, *, force: bool) -> None:
    """What belongs into a file: a run's output, a diff, a text; a review as JSON."""
    from choir.bazaar.contracts import RunOutput

    data = found.artifact.stdout if isinstance(found.artifact, RunOutput) else found.data
    try:
        output.write_result(out, data, force=force)
    except (OSError, ChoirError):
        output.say(
            f"The artifact is paid and kept at the node. Get it with: choir job result {found.job.id} --out FILE"
        )
        raise
