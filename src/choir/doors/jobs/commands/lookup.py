"""`choir job ls|show|cancel`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.bazaar.jobs.reasons import in_words
from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer, sat, tell_of_the_machine
from choir.doors.jobs.commands.watch import JobArgument
from choir.foundation.clock import SystemClock, format_time
from choir.foundation.errors import NotFound

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import AttemptOut, JobOut
    from choir.doors.mesh.model import Check
    from choir.doors.sdk.client import Client

_ROWS = 20
_NO_REASON = "to look at, no reason to refuse"


def register(app: typer.Typer) -> None:
    app.command("ls", epilog="Example: choir job ls")(ls)
    app.command("show", epilog="Example: choir job show job_01h…")(show)
    app.command("cancel", epilog="Example: choir job cancel job_01h…")(cancel)


def ls(
    limit: Annotated[int, typer.Option(help="Maximum number of jobs, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List your jobs."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        found = list(itertools.islice(buyer.client.jobs.mine(limit=min(limit, 100)), limit))
        if not (as_json or buyer.is_machine):
            tell_of_the_machine(buyer.client.url)
    if as_json:
        output.print_json([item.model_dump(mode="json", exclude={"attempts"}) for item in found])
        return
    if not found:
        output.say("None yet. Try: choir job submit run -- python3 -c 'print(6*7)'")
        return
    output.print_lines(lines_of(found, output.width()))


def show(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a job: its attempts, every check of their verdicts, and its money."""
    from choir.doors.mesh.model import checks_of

    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        job = ids.whole(buyer.client, "job", job)
        found = buyer.client.jobs.get(job)
        verdicts = {item.id: _verdict(buyer.client, item) for item in found.attempts}
        disputes = buyer.client.jobs.disputes(job).items
    if as_json:
        value = {"job": found.model_dump(mode="json"), "verdicts": verdicts}
        output.print_json(value | {"disputes": [item.model_dump(mode="json") for item in disputes]})
        return
    _print_job(found)
    for attempt in found.attempts:
        verdict = verdicts[attempt.id]
        _print_attempt(attempt, () if verdict is None else checks_of(verdict))
        if verdict is not None:
            _print_sureness(verdict)
    for item in disputes:
        won = f", won by the {item.winner}" if item.winner else ""
        output.print_line(f"dispute {item.id}  {_spoken(item.state)}  {_spoken(item.trigger)}{won}")


def cancel(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Cancel a job. Earlier deliveries are still verified, and paid a share if they pass."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        found = buyer.client.jobs.cancel(ids.whole(buyer.client, "job", job))
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        held = (
            ""
            if found.held in (None, "0")
            else f" {sat(found.held or 0)} SAT stay held until its deliveries are verified."
        )
        output.print_line(f"{found.id} is {found.state}.{held}")


# Words

_COLUMNS = ("job", "type", "state", "price SAT", "ordered", "what")
_PRICE, _WHAT = 3, 5
_WIDE = 120  # columns of a terminal in which what was ordered fits beside the rest; else it stands below


def lines_of(found: Sequence[JobOut], width: int) -> list[str]:
    """Jobs as lines of a list with a head, for a terminal of this width; no id is broken in 80 columns."""
    rows = [_COLUMNS, *(_row(item) for item in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(_WHAT)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if place == _PRICE else cell.ljust(size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=False))
        ]
        if width >= _WIDE:
            lines.append("  ".join([*cells, row[_WHAT]]).rstrip())
        else:
            lines += ["  ".join(cells).rstrip(), *([f"  {row[_WHAT]}"] if row is not _COLUMNS and row[_WHAT] else [])]
    return lines


def _row(item: JobOut) -> tuple[str, ...]:
    from choir.doors.provider.model import short_type

    ordered = output.day_and_time(item.created_at, format_time(SystemClock().now_us()))
    return item.id, short_type(item.type), item.state, _price(item), ordered, plain(item.summary or "")


def _price(item: JobOut) -> str:
    """What it cost; while that is open, what it may cost."""
    if item.price is not None:
        return sat(item.price)
    return "" if item.closed_at else f"≤ {sat(item.budget)}"


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _verdict(client: Client, attempt: AttemptOut) -> dict[str, Any] | None:
    if attempt.verdict is None:
        return None
    try:
        return client.attempts.verdict(attempt.id).verdict
    except NotFound:
        return None


def _print_job(found: JobOut) -> None:
    from choir.doors.mesh.model import cost_of

    output.print_line(f"{found.id}  {found.type.word}  {found.state}")
    if found.summary:
        output.print_line(f"  what        {plain(found.summary)}")
    output.print_line(f"  buyer       {found.buyer}")
    output.print_line(f"  ordered     {found.created_at}" + (f", closed {found.closed_at}" if found.closed_at else ""))
    output.print_line(f"  budget      {sat(found.budget)} SAT")
    if found.held is not None:
        output.print_line(f"  held        {sat(found.held)} SAT")
    output.print_line(f"  spent       {sat(cost_of(found))} SAT")
    output.print_line(f"  request     {found.request}")
    for name, hash_ in sorted(found.inputs.items()):
        output.print_line(f"  {name:<12}{hash_}")
    if found.receipt:
        output.print_line(f"  receipt     {found.receipt}")


def _print_attempt(attempt: AttemptOut, checks: tuple[Check, ...]) -> None:
    why = f": {in_words(attempt.reason)}" if attempt.reason else ""
    output.print_line(f"attempt {attempt.n}   {attempt.provider}  {attempt.state}{plain(why)}")
    output.print_line(
        f"  assigned    {attempt.assigned_at}" + (f", delivered {attempt.delivered_at}" if attempt.delivered_at else "")
    )
    output.print_line(
        f"  terms       {sat(attempt.base)} + {sat(attempt.per_unit)} per unit, at most {sat(attempt.cap)} SAT"
    )
    extras = f", and {sat(attempt.extras)} SAT for stronger checks" if int(attempt.extras) else ""
    output.print_line(f"  paid        {sat(attempt.paid)} SAT{extras}")
    if attempt.artifact:
        output.print_line(f"  artifact    {attempt.artifact}")
    for check in checks:
        output.print_line(f"  check       {shown_check(check)}")


def _print_sureness(verdict: dict[str, Any]) -> None:
    """How sure the verdict is, where it says so."""
    from choir.doors.mesh.proof import SIGNS, Sureness

    for name, told in Sureness.of(verdict).told():
        output.print_line(
            f"  {name:<11} {plain(told)}" if name != SIGNS else f"  signs       {plain(told)} ({_NO_REASON})"
        )


def shown_check(check: Check) -> str:
    """One check in one line."""
    from choir.doors.mesh.proof import is_left_out

    kind = " (hidden)" if check.hidden else ""
    said = check.details or in_words(check.reason)  # also of what passed: "Not run again" matters
    why = f": {plain(said)}" if said else ""
    word = "FAILED" if not check.passed else "skipped" if is_left_out(check) else "passed"
    return f"{word}  {plain(check.name)}{kind}{why}"
