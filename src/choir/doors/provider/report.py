"""What happens here, told: a line for people, a JSON object for machines.

Guarantees: one line per event; what others wrote cannot steer a terminal; amounts are shown in SAT with all decimals.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from choir.bazaar.jobs.reasons import in_words
from choir.doors.provider.model import ProviderReport, short_type
from choir.foundation.clock import Clock, SystemClock, format_time
from choir.foundation.money import Asset
from choir.foundation.words import count

Sink = Callable[[ProviderReport], None]


class Journal:
    """Tells everything to everybody who listens. Safe to call from many threads."""

    def __init__(self, sinks: Sequence[Sink], clock: Clock | None = None) -> None:
        self._sinks = tuple(sinks)
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def __call__(self, what: str, **facts: Any) -> None:
        told = ProviderReport(format_time(self._clock.now_us()), what, facts)
        with self._lock:
            for sink in self._sinks:
                with suppress(OSError, ValueError):  # nobody reads any more; the work goes on
                    sink(told)


class Lines:
    """For people, and logs that people read."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, told: ProviderReport) -> None:
        self._out.write(f"{told.at[11:19]}  {sentence(told)}\n")
        self._out.flush()


class JsonLines:
    """For machines."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, told: ProviderReport) -> None:
        self._out.write(json.dumps({"at": told.at, "event": told.what, **told.facts}, default=str) + "\n")
        self._out.flush()


def sat(msat: int | str) -> str:
    """An amount as people read it."""
    return f"{Asset.SAT.format(int(msat))} SAT"


def printable(text: object) -> str:
    """A text of somebody else's that is safe to show."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def sentence(told: ProviderReport) -> str:
    """An event in words."""
    facts = {name: printable(_shown(value)) for name, value in told.facts.items() if value is not None}
    kind = _kind(facts.get("type", ""))
    job = facts.get("job", "")
    make = _SENTENCES.get(told.what)
    if make is not None:
        return printable(make(facts, kind, job))
    rest = " ".join(f"{name}={value}" for name, value in facts.items())
    return f"{told.what.replace('_', ' ')} {rest}".strip()


def _shown(value: object) -> object:
    """Several types as people call them; all else as it is."""
    return ", ".join(_kind(str(item)) for item in value) if isinstance(value, list) else value


def _kind(value: str) -> str:
    try:
        return short_type(value)
    except ValueError:
        return value


def _why(facts: dict[str, str]) -> str:
    return f": {facts['why']}" if facts.get("why") else ""


def _outcome(facts: dict[str, str], kind: str, job: str) -> str:
    words = {"passed": "passed", "lost": "passed, but another provider was first", "failed": "failed"}
    came = words.get(facts["state"], facts["state"].replace("_", " "))
    money = ""
    why = f": {in_words(facts['reason'])}" if facts.get("reason") else ""
    if facts.get("earned", "0") != "0":
        money = f", earned {sat(facts['earned'])}"
    elif facts.get("paid", "0") != "0":
        money = f", the buyer paid {sat(facts['paid'])}"
    return f"{job} ({kind}) {came}{money}{why}"


def _stopped(facts: dict[str, str]) -> str:
    back, unjudged = int(facts["given_back"]), int(facts["unjudged"])
    returned = f" {count(back, 'job')} withdrawn." if back else ""
    waiting = f", {unjudged} awaiting a verdict" if unjudged else ""
    return f"Stopped.{returned} {facts['passed']} passed, {facts['failed']} failed{waiting}"


_SENTENCES: dict[str, Callable[[dict[str, str], str, str], str]] = {
    "seller": lambda f, _k, _j: f"Selling as {f['who']} ({f['owner']}) at {f['node']}.",
    "remark": lambda f, _k, _j: f["text"],
    "keys": lambda f, _k, _j: f"Results are signed by {f['result_key']}, whose key is in {f['file']}.",
    "serving": lambda f, _k, _j: (
        f"{f['provider']} serves {f['types']} with {f['workers']}, capacity {f['capacity']}, in {f['isolation']}."
    ),
    "unwell": lambda f, _k, _j: f"The worker {f['worker']} cannot run now{_why(f)}",
    "qualification": lambda f, k, _j: (
        f"Qualification for {k}: {f['state']}" + (f", retry at {f['retry_at']}" if f.get("retry_at") else "")
    ),
    "taken": lambda f, _k, j: (
        f"{j} {'resumed' if f['again'] == 'True' else 'taken'}, {f['left_s']} seconds to do it"
        + (", to qualify" if f["trial"] == "True" else "")
    ),
    "started": lambda _f, k, j: f"{j} ({k}) is running",
    "handed_in": lambda f, k, j: f"{j} ({k}) delivered after {f['took_s']} seconds",
    "given_back": lambda f, _k, j: f"{j} withdrawn: {f['reason']}" + (f" ({f['why']})" if f.get("why") else ""),
    "not_given_back": lambda f, _k, j: f"{j} could not be withdrawn{_why(f)}",
    "cancelled": lambda f, _k, j: f"{j} cancelled{_why(f)}",
    "over": lambda f, _k, j: f"{j} is closed{_why(f)}",
    "late": lambda f, _k, j: f"{j} was delivered too late{_why(f)}",
    "fault": lambda f, _k, j: f"{j}: internal error of the provider{_why(f)}",
    "outcome": _outcome,
    "away": lambda f, _k, _j: f"The node is unreachable, work continues{_why(f)}",
    "back": lambda f, _k, _j: f"The node is reachable again after {f['away_s']} seconds",
    "refused": lambda f, _k, _j: f"The node refuses this provider{_why(f)}",
    "skew": lambda f, _k, _j: f"The node's clock is {f['ahead_s']} seconds ahead of this machine's; its time is used",
    "deaf": lambda f, _k, _j: f"The node sends no events, so it is polled for work every other second{_why(f)}",
    "draining": lambda f, _k, _j: (
        f"Stopping: {f['at_work']} running may continue for {float(f['drain_s']):g} seconds; Ctrl-C again withdraws"
    ),
    "stopped": lambda f, _k, _j: _stopped(f),
}
