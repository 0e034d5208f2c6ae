"""`choir job verify`: every check again, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from choir.bazaar.jobs.reasons import in_words
from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.watch import JobArgument

if TYPE_CHECKING:
    from choir.doors.mesh.model import Check, JudgedDelivery
    from choir.doors.mesh.recheck import Fact, Line, Recheck
    from choir.doors.sdk.client import Client


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir job verify job_01h…")(verify)


def verify(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Re-run every check of a job in a local sandbox and compare with the node's verdict.

    Also checked: every hash, the provider's signature, the node's signature on the receipt, and that the receipt
    matches the job. Exit code 5 means that something differs. Providers use `choir provider verify`; operators,
    while a dispute is undecided, `choir --operator job verify`.
    """
    from choir.doors.mesh.client import MeshClient
    from choir.doors.mesh.deliveries import judged

    output.want_json(as_json)
    if output.operator_wanted():
        with output.client_of(node) as client:
            found = client.jobs.get(ids.whole(client, "job", job))
            check_again(client, judged(client, found), as_json=as_json)
        return
    with as_buyer(node, quiet=True) as buyer:
        mesh = MeshClient(buyer.client)
        found = buyer.client.jobs.get(ids.whole(buyer.client, "job", job))
        check_again(buyer.client, mesh.verified(found), as_json=as_json)


def check_again(client: Client, outcome: JudgedDelivery, *, as_json: bool) -> None:
    """Make every check of an attempt again, and say what comes of it."""
    from choir.doors.mesh import recheck

    with output.waiting("Checking in a sandbox", quiet=as_json):
        found = recheck.recheck(client, outcome.job, outcome.attempt, outcome.data, outcome.verdict)
    if as_json:
        output.print_json(_json(outcome, found))
    else:
        _print(outcome, found)
    if found.differences:
        raise typer.Exit(output.EXIT_DIFFERENCE)


def _print(outcome: JudgedDelivery, found: Recheck) -> None:
    rows = [
        (plain(line.name), _word(line.theirs), "hidden" if line.closed else _word(line.ours), _differs(line))
        for line in found.lines
    ]
    rows += [(fact.name, plain(fact.theirs), plain(fact.ours), _differs(fact)) for fact in found.facts]
    output.print_table(["check", "the node", "here", ""], rows)
    for line in found.lines:
        if line.ours is not None and (line.differs or line.ours.details):
            output.print_line(f"{plain(line.name)}: {plain(line.ours.details or in_words(line.ours.reason))}")
    output.print_line(f"artifact  {outcome.attempt.artifact}: {len(outcome.data)} bytes, as delivered")
    output.print_line(
        f"receipt   {outcome.receipt_hash}: {sat(outcome.price)} SAT, signed by the node, matches the job"
    )
    if found.differences:
        output.print_line(f"The verdicts differ. Dispute it with: choir job dispute {outcome.job.id} --reason …")
    else:
        where = "" if found.tier == "none" else f", in the sandbox tier {found.tier}"
        output.print_line(f"Verified here{where}: the node's verdict is confirmed.")


def _differs(line: Line | Fact) -> str:
    return "DIFFERS" if line.differs else ""


def _word(check: Check | None) -> str:
    if check is None:
        return "not run"
    from choir.doors.mesh.proof import is_left_out

    if is_left_out(check):
        return "skipped"
    return "passed" if check.passed else f"failed: {plain(in_words(check.reason))}"


def _code(check: Check | None) -> str:
    """The same for machines."""
    if check is None:
        return "not run"
    return "passed" if check.passed else f"failed ({check.reason})"


def _json(outcome: JudgedDelivery, found: Recheck) -> dict[str, Any]:
    return {
        "job": outcome.job.id,
        "attempt": outcome.attempt.id,
        "artifact": outcome.attempt.artifact,
        "receipt": outcome.receipt_hash,
        "sandbox": found.tier,
        "differences": list(found.differences),
        "checks": [
            {"name": line.name, "node": _code(line.theirs), "here": _code(line.ours), "differs": line.differs}
            for line in found.lines
        ],
        "facts": [
            {"name": fact.name, "node": fact.theirs, "here": fact.ours, "differs": fact.differs} for fact in found.facts
        ],
    }
