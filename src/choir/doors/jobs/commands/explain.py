"""`choir job explain`: who was asked, why they, what came of it, and who is not asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from choir.bazaar.attempts.model import LIVE_ATTEMPT, NOT_ASKED_AGAIN
from choir.bazaar.jobs.reasons import in_words
from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands import no_provider
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.watch import JobArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from choir.doors.jobs.shapes import AttemptOut, JobOut, JobStepOut

_PERCENT = 100
_GIVEN_BACK = "bazaar.withdrawn"
_LAST = "It is selected again only if no other provider can take the job."
_OUTCOMES = {
    "assigned": "It has not started yet.",
    "running": "It is running.",
    "delivered": "It delivered, and awaits verification.",
    "verifying": "It delivered, and is being verified.",
    "passed": "It passed.",
    "lost": "It also passed, but was not first.",
    "failed": "It failed: {why}. A provider that failed a job is not selected for it again.",
    "withdrawn": "It withdrew: {why}. A provider that cannot do a job is not selected for it again.",
    "stopping": f"It withdrew because it was stopping. {_LAST}",
    "gone": f"It stopped answering. {_LAST}",
    "timed_out": f"It timed out. {_LAST}",
    "cancelled": "It ended without a verdict: {why}.",
}


def register(app: typer.Typer) -> None:
    app.command("explain", epilog="Example: choir job explain job_01h…")(explain)


def explain(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Explain which providers were selected, why, and what they did.

    Every score is shown with its weight and the total.
    """
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        job = ids.whole(buyer.client, "job", job)
        found = buyer.client.jobs.get(job)
        steps = buyer.client.jobs.steps(job).items
        now = no_provider.selection(buyer.client, found) if found.state == "open" else None
    asked = _asked(found, steps)
    if as_json:
        output.print_json([*asked, *([] if now is None else [{"now": now}])])
        return
    for one in asked:
        output.print_line(f"{one['at']}  selected {one['provider']}")
        _print_candidates(one["why"], one["provider"])
        output.print_line(f"  {outcome(one)}")
    if now is not None:
        begin = "It waits for a provider." if asked else "No provider has been selected yet."
        output.print_line(f"{begin} If it were offered now:")
        _print_candidates(now, "", no_provider.spent(found))


def _asked(found: JobOut, steps: Sequence[JobStepOut]) -> list[dict[str, Any]]:
    """Each try: when and why it was that provider, and what came of it."""
    said = {step.data.get("attempt"): step.data.get("said", "") for step in steps if step.what == "withdrawn"}
    attempts = {item.id: item for item in found.attempts}
    return [
        {"at": step.at, **step.data, **_ended(attempts[step.data["attempt"]], said)}
        for step in steps
        if step.what == "offered" and "why" in step.data and step.data.get("attempt") in attempts
    ]


def _ended(attempt: AttemptOut, said: dict[Any, str]) -> dict[str, Any]:
    over = attempt.state not in LIVE_ATTEMPT
    return {
        "provider": attempt.provider,
        "state": attempt.state,
        "reason": attempt.reason,
        "said": said.get(attempt.id, ""),
        "asked_again": attempt.state not in {*NOT_ASKED_AGAIN, "passed"} if over else None,
    }


def outcome(one: dict[str, Any]) -> str:
    """What came of a try, and whether its provider can be asked for the job again."""
    why = plain(one["said"] or in_words(one["reason"])).rstrip(".")
    state = "stopping" if (one["state"], one["reason"]) == ("gone", _GIVEN_BACK) else one["state"]
    return _OUTCOMES.get(state, state).replace("{why}", why)


def _print_candidates(why: dict[str, Any], chosen: str, spent: set[str] | frozenset[str] = frozenset()) -> None:
    if why.get("newcomers_turn"):
        output.print_line("  This job was drawn at random for a new provider.")
    if why.get("own_weights"):
        output.print_line("  Weights are the buyer's own.")
    candidates = why.get("candidates", [])
    if not candidates:
        output.print_line(f"  No provider can take it: {no_provider.nobody_because(why)}.")
    for one in candidates:
        mark = "*" if one["provider"] == chosen else " "
        note = "; not selected: it failed this job or withdrew from it" if one["provider"] in spent else ""
        if one.get("bid_bps"):
            note = f", bids {one['bid_bps'] / _PERCENT:g} % below its book{note}"
        output.print_line(
            f"  {mark} {one['provider']}  {one['total']} points, {sat(one['price'])} SAT, tier {one['tier']}{note}"
        )
        for part in one["components"]:
            weight = f"{part['weight_bps'] / _PERCENT:g} %"
            output.print_line(f"      {part['name']:<12} {part['score']:>7} × {weight:<6} = {part['points']}")
