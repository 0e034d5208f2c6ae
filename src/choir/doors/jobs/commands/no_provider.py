"""When nobody can take a job: why that is, how long it waits, how to call it off, and what would help.

Guarantees: it is said at once where nobody is there for it, and after a moment where somebody is only busy; nothing is
advised that would not help with the type at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from choir.bazaar.attempts.model import NOT_ASKED_AGAIN
from choir.bazaar.jobs.model import JobType
from choir.doors.cli import output
from choir.doors.jobs.commands.buyer import sat
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.errors import NotAllowed
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import JobOut
    from choir.doors.sdk.client import Client

_MINUTE_S = 60
_HOUR_S = 3_600
_OWN_AGENT = "docs/how-to/sell-work-with-your-own-agent.md says how."

# What keeps a provider from a job: of one of them, and of several.
_KEPT = {
    "not_qualified": ("has not passed its qualification job", "have not passed their qualification job"),
    "not_taking": ("is not taking work", "are not taking work"),
    "silent": ("does not answer", "do not answer"),
    "full": ("is busy", "are busy"),
    "isolation": ("has weaker isolation than you require", "have weaker isolation than you require"),
    "success": ("has a lower success rate than you require", "have a lower success rate than you require"),
    "excluded": ("is excluded", "are excluded"),
}
_PASSES = ("full", "not_qualified")  # by itself, and soon
_WISHES = ("isolation", "success", "excluded")
_HELPS = {
    JobType.SANDBOX_RUN: "To do it on this machine: choir provider serve --worker run",
    JobType.REPO_INDEX: "To do it on this machine: choir provider serve --worker index",
    JobType.CODE_REVIEW: "To do it on this machine: choir provider serve --worker review",
    JobType.PATCH_GEN: "To do it on this machine, use a coding agent: choir provider serve --worker claude-code\n"
    f"{_OWN_AGENT} The built-in worker only makes fixes that a linter can make.",
    JobType.TEXT_GEN: "No built-in worker writes texts. To do it on this machine, use your own:\n"
    f"choir provider serve --worker FILE.toml; {_OWN_AGENT}",
}
_ASK_LESS = "Relax the requirements: raise --budget, or drop --region, --isolation or --min-success."
_PINNED = "Only the provider that --pin names can be selected."


def selection(client: Client, job: JobOut) -> dict[str, Any] | None:
    """Who would be asked for a job now, and if nobody, why; None for who may only read."""
    criteria = {**job.criteria, "providers": [job.strategy["provider"]]} if _is_pinned(job) else job.criteria
    try:
        return client.jobs.select(job.type, int(job.budget) - int(job.extras), criteria).explanation
    except NotAllowed:
        return None


def _is_pinned(job: JobOut) -> bool:
    return bool(job.strategy.get("kind") == "pinned")


def spent(job: JobOut) -> set[str]:
    """Providers that are not asked for this job again."""
    return {item.provider for item in job.attempts if item.state in NOT_ASKED_AGAIN}


def tell(client: Client, job: JobOut, *, at_once: bool = False, waiting: bool = True) -> bool:
    """Say what there is to say if nobody can take it; whether it did. `at_once`, who is only busy is given a moment."""
    why = selection(client, job)
    if why is None:
        return False
    candidates = {one["provider"] for one in why.get("candidates", [])}
    tally = dict(why.get("nobody_because", {}))
    if candidates - spent(job) or (at_once and tally.get("full")):
        return False
    because = _because(job, why) if not candidates else "every provider that could has failed it or withdrawn"
    output.say(f"No provider can take it now: {because}.")
    output.say(f"The order stands, and {sat(job.budget)} SAT are held: it waits for a provider {_until(client, job)}.")
    ctrl_c = "Ctrl-C only stops waiting. " if waiting else ""
    output.say(f"{ctrl_c}Cancel the order with: choir job cancel {job.id}")
    if not candidates and (advice := help_with(job, tally)):
        output.say(advice)
    return True


def _because(job: JobOut, why: dict[str, Any]) -> str:
    return f"{job.strategy['provider']} cannot take it" if _is_pinned(job) else nobody_because(why)


def nobody_because(why: dict[str, Any]) -> str:
    """What keeps all providers of a type from a job."""
    tally = dict(why.get("nobody_because", {}))
    known = tally.get("known", 0)
    if not known:
        return "no provider here sells this type of work"
    kept = {name: tally[name] for name in _KEPT if tally.get(name)}
    if not kept:
        return "no provider of this type meets the budget and your other criteria"
    if known == 1:
        return f"the only provider of this type {' and '.join(_KEPT[name][0] for name in kept)}"
    told = (f"{number} {_KEPT[name][number > 1]}" for name, number in kept.items())
    return f"of {known} providers of this type, {', '.join(told)}"


def help_with(job: JobOut, tally: dict[str, int]) -> str:
    """What would bring somebody; empty: only time."""
    if _is_pinned(job):
        return _PINNED
    if tally.get("not_qualified"):
        return "A new provider first does a qualification job; `choir provider status` there shows how that goes."
    if any(tally.get(name) for name in _PASSES):
        return ""
    kept = any(tally.get(name) for name in _KEPT)
    if tally.get("known") and (not kept or any(tally.get(name) for name in _WISHES)):
        return _ASK_LESS
    return _HELPS[JobType(job.type)]


def _until(client: Client, job: JobOut) -> str:
    """Until when a job waits, and how long that is by the node's clock."""
    left_s = max(0, parse_time(job.expires_at) - parse_time(client.node().now)) // MICROSECONDS
    return f"until {job.expires_at[11:16]} UTC, for {duration(left_s)}"


def duration(seconds: int) -> str:
    """A time as people say it: "1 hour 45 minutes"."""
    if seconds < _MINUTE_S:
        return count(seconds, "second")
    hours, minutes = divmod(seconds // _MINUTE_S, _HOUR_S // _MINUTE_S)
    parts = [count(hours, "hour")] * bool(hours) + [count(minutes, "minute")] * bool(minutes)
    return " ".join(parts)
