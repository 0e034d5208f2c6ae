"""`choir job verify`: every check again, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from choir.bazaar.reasons import in_words
from choir.doors.cli import output
from choir.doors.cli.jobs.buyer import as_buyer, sat
from choir.doors.cli.jobs.following import JobArgument
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption

if TYPE_CHECKING:
    from choir.doors.sdk.mesh_model import Check, Outcome
    from choir.doors.sdk.rechecking import Recheck


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir job verify job_01h…")(verify)


def verify(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Fetch all of a job, make every check again in a sandbox here, and compare with what the node found.

    Also checked: every hash, the provider's signature, the node's signature on the receipt, and that the receipt
    fits the job. Exit code 5 says that something differs.
    """
    from choir.doors.sdk import rechecking
    from choir.doors.sdk.mesh import MeshClient

    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        mesh = MeshClient(buyer.client)
        outcome = mesh.verified(buyer.client.jobs.get(job))
        with output.waiting("Checking in a sandbox", quiet=as_json):
            found = rechecking.recheck(buyer.client, outcome.job, outcome.attempt, outcome.data, outcome.verdict)
    if as_json:
        output.print_json(_json(outcome, found))
    else:
        _print(outcome, found)
    if found.differences:
        raise typer.Exit(output.EXIT_DIFFERENCE)


def _print(outcome: Outcome, found: Recheck) -> None:
    rows = [
        (plain(line.name), _word(line.theirs), _word(line.ours), "DIFFERS" if line.differs else "")
        for line in found.lines
    ]
    output.print_table(["check", "the node", "here", ""], rows)
    for line in found.lines:
        if line.ours is not None and (line.differs or line.ours.details):
            output.print_line(f"{plain(line.name)}: {plain(line.ours.details or in_words(line.ours.reason))}")
    output.print_line(f"artifact  {outcome.attempt.artifact}: {len(outcome.data)} bytes, as paid for")
    output.print_line(f"receipt   {outcome.receipt_hash}: {sat(outcome.price)} SAT, signed by the node, fits the job")
    if found.differences:
        output.print_line(f"The verdicts differ. Dispute it with: choir job dispute {outcome.job.id} --because …")
    else:
        where = "" if found.tier == "none" else f", in the sandbox tier {found.tier}"
        output.print_line(f"Verified here{where}: the node's verdict holds.")


def _word(check: Check | None) -> str:
    if check is None:
        return "not made"
    return "passed" if check.passed else f"failed: {plain(in_words(check.reason))}"


def _json(outcome: Outcome, found: Recheck) -> dict[str, Any]:
    return {
        "job": outcome.job.id,
        "attempt": outcome.attempt.id,
        "artifact": outcome.attempt.artifact,
        "receipt": outcome.receipt_hash,
        "sandbox": found.tier,
        "differences": list(found.differences),
        "checks": [
            {"name": line.name, "node": _word(line.theirs), "here": _word(line.ours), "differs": line.differs}
            for line in found.lines
        ],
    }
