"""`choir job dispute`: doubt what was decided, answer a doubt, rule on one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.settlement import pricing
from choir.doors.cli import groups, ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.watch import JobArgument
from choir.foundation.errors import Invalid, Refusal

if TYPE_CHECKING:
    from choir.doors.disputes.shapes import DisputeOut
    from choir.doors.sdk.client import Client

_TRIGGERS = ", ".join(Trigger)
_BPS = 10_000


class Group(groups.Group):
    """`choir job dispute JOB` is short for `choir job dispute open JOB`."""

    default = "open"


app = typer.Typer(
    help="Dispute the outcome of a job: choir job dispute JOB --reason … --statement …",
    no_args_is_help=True,
    cls=Group,
)

DisputeArgument = Annotated[str, typer.Argument(help="Such as dispute_01h…, or its beginning.", metavar="DISPUTE")]
StatementOption = Annotated[str, typer.Option("--statement", help="Your statement, in plain text.", metavar="TEXT")]


class NotConfirmed(Refusal):
    """Nobody said yes."""

    code = "cli.not_confirmed"
    sentence = "Not confirmed; nothing was done."
    hint = "Add --yes to confirm without a prompt."


@app.command(
    "open",
    epilog="Example: choir job dispute open job_01h… --reason tests_fail_after_patch --statement 'test_mean fails'",
)
def open_(
    job: JobArgument,
    reason: Annotated[str, typer.Option("--reason", help=f"One of: {_TRIGGERS}.", metavar="REASON")],
    statement: StatementOption,
    attempt: Annotated[
        str | None,
        typer.Option(
            "--attempt", help="Dispute this attempt; default: the last one with a verdict.", metavar="ATTEMPT"
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation of the deposit.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Open a dispute. It takes a deposit, which you lose if you are wrong."""
    output.want_json(as_json)
    with output.reading_options():
        _must_be("--reason", reason, Trigger)
    with as_buyer(node, quiet=as_json) as buyer:
        job = ids.whole(buyer.client, "job", job)
        if attempt is not None:
            attempt = ids.attempt_of(buyer.client.jobs.get(job), attempt)
        deposit = _deposit(buyer.client, job, attempt)
        if not yes:
            _confirm(deposit)
        buyer.cover(deposit)
        found = buyer.client.jobs.dispute(job, reason, statement, attempt=attempt)
    _show(found, as_json=as_json)
    if found.winner is None and not as_json:
        output.say(f"Disputes that a machine can decide take seconds. See: choir job dispute show {found.id}")


@app.command("show", epilog="Example: choir job dispute show dispute_01h…")
def show(dispute: DisputeArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a dispute: both statements, rulings and outcome."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        found = buyer.client.disputes.get(ids.whole(buyer.client, "dispute", dispute))
    _show(found, as_json=as_json)


@app.command("answer", epilog="Example: choir job dispute answer dispute_01h… --statement 'The order asks for this.'")
def answer(
    dispute: DisputeArgument, statement: StatementOption, node: NodeOption = None, as_json: AsJson = False
) -> None:
    """Answer a dispute that the other side opened; the first answer stands."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        found = buyer.client.disputes.respond(ids.whole(buyer.client, "dispute", dispute), statement)
    _show(found, as_json=as_json)


@app.command("rule", epilog="Example: choir job dispute rule dispute_01h… --for buyer --reason 'It does not.'")
def rule(
    dispute: DisputeArgument,
    winner: Annotated[str, typer.Option("--for", help="buyer, provider or split.", metavar="SIDE")],
    reason: Annotated[str, typer.Option("--reason", help="Why, in plain text.", metavar="TEXT")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """For operators: rule on a dispute."""
    output.want_json(as_json)
    with output.reading_options():
        _must_be("--for", winner, Winner)
    with output.client_of(node) as client:
        found = client.disputes.rule(ids.whole(client, "dispute", dispute), winner, reason)
    _show(found, as_json=as_json)


def _must_be(option: str, given: str, known: Iterable[str]) -> None:
    if given not in set(known):
        raise Invalid(what=f"{option} {given[:40]}", why=f"there are {', '.join(known)}")


def _deposit(client: Client, job: str, attempt: str | None) -> int:
    """What the node will hold: a part of the price that the work has, and a least amount."""
    found = client.jobs.get(job)
    judged = [item for item in found.attempts if item.verdict is not None and attempt in (None, item.id)]
    values = {item.name: item.value for item in client.policy().values}
    price = 0
    if judged:
        last = max(judged, key=lambda item: item.ended_at or "")
        units = int(client.attempts.verdict(last.id).verdict.get("units_milli", 0))
        terms = pricing.Terms(int(last.base), int(last.per_unit), int(last.cap))
        price = pricing.price(terms, units, int(last.ceiling))
    return max(price * values["bazaar.deposit_bps"] // _BPS, values["bazaar.deposit_msat_min"])


def _confirm(deposit: int) -> None:
    import sys

    output.say(f"A deposit of {sat(deposit)} SAT is taken. You get it back if you are right, else you lose it.")
    if not sys.stdin.isatty() or not typer.confirm("Open the dispute?", err=True):
        raise NotConfirmed


def _show(found: DisputeOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.id}  {found.state}")
    output.print_line(f"  job       {found.job}, {found.attempt}")
    output.print_line(f"  {found.side:<9} {found.trigger}: {plain(found.statement)}")
    output.print_line(f"  deposit   {sat(found.deposit)} SAT")
    if found.response is not None:
        output.print_line(f"  answer    {plain(found.response)}")
    elif found.winner is None:
        output.print_line(f"  answer    until {found.respond_by}")
    for item in found.rulings:
        output.print_line(f"  ruling    for the {item.winner}: {plain(item.reasoning)}")
    if found.winner is not None:
        output.print_line(f"  outcome   for the {found.winner}: {plain(found.reasoning or '')}")
        output.print_line(
            f"  refund    {sat(found.refund)} SAT" + (f", {sat(found.owed)} SAT still owed" if int(found.owed) else "")
        )
