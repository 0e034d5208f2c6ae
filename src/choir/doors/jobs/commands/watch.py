"""`choir job watch`, and the live view while something is waited for."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from choir.bazaar.jobs.reasons import in_words
from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import NodeOption
from choir.doors.jobs.commands import no_provider
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.foundation.errors import ChoirError
from choir.foundation.words import clock

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import JobOut, JobStepOut
    from choir.doors.sdk.client import Client

EXIT_NOT_DONE = 6
_PATIENCE_S = 3.0
_REMIND_S = 30.0

JobArgument = Annotated[str, typer.Argument(help="Such as job_01h…, or its beginning.", metavar="JOB")]


def register(app: typer.Typer) -> None:
    app.command("watch", epilog="Example: choir job watch job_01h…")(watch)


def watch(
    job: Annotated[
        str | None, typer.Argument(help="One job until it closes; default: all open jobs.", metavar="JOB")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Stop after this many seconds.", metavar="SECONDS")] = None,
    node: NodeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Follow a job's steps, or all your open jobs: a live view on a terminal, otherwise one line per step."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        if job is None and sys.stdout.isatty() and not as_json:
            from choir.doors.jobs.commands.board import watch_open

            with _going_on():
                watch_open(buyer.client, timeout)
        elif job is None:
            with _going_on():
                _watch_all(buyer.client, timeout, as_json=as_json)
        else:
            _watch_one(buyer.client, ids.whole(buyer.client, "job", job), timeout, as_json=as_json)


def _watch_one(client: Client, job: str, timeout_s: float | None, *, as_json: bool) -> None:
    from choir.doors.mesh.client import MeshClient

    output.say(headline(client.jobs.get(job)))
    with telling(client, steps_to="stdout", as_json=as_json) as view, ending_early(job):
        found = MeshClient(client).wait(job, timeout_s, on_change=view.look)
    if found.winner is None:
        raise typer.Exit(output.EXIT_REFUSED)
    output.say(f"Get it with: choir job result {job}")


@contextmanager
def _going_on() -> Iterator[None]:
    """Whoever stops looking at all their jobs is told that these do not stop."""
    try:
        yield
    except KeyboardInterrupt:
        output.say("Your jobs continue. List them: choir job ls; cancel one: choir job cancel JOB")
        raise


def _watch_all(client: Client, timeout_s: float | None, *, as_json: bool) -> None:
    """Steps of all one's jobs, until Ctrl-C or until the time is over."""
    listening = client.twin()
    over = threading.Event()

    def end() -> None:
        over.set()
        listening.close()

    timer = threading.Timer(timeout_s or 0, end)
    timer.daemon = True
    if timeout_s is not None:
        timer.start()
    output.say(f"Listening to {client.url}; Ctrl-C ends it.")
    try:
        _tell_all(client, listening, as_json=as_json)
    except Exception:  # closing it while it reads has many faces
        if not over.is_set():
            raise
    finally:
        timer.cancel()
        listening.close()


def _tell_all(client: Client, listening: Client, *, as_json: bool) -> None:
    import json

    known: dict[str, str] = {}
    for event in listening.events(type_="bazaar.job"):
        if as_json:
            output.print_line(json.dumps(event.model_dump()))
        elif not event.missed:
            what = event.type.removeprefix("bazaar.job.")
            if event.subject not in known:
                known[event.subject] = _what(client, event.subject)
                output.print_line(known[event.subject])
            output.print_line(f"{_clock(event.at)}  {event.subject}  {_words(what, event.data, {})}")
        sys.stdout.flush()


def headline(job: JobOut) -> str:
    """A job and what was ordered with it, in a line."""
    return plain(f"{job.id}  {job.type.word}  {job.summary or ''}").rstrip()


def _what(client: Client, job: str) -> str:
    """The same for a job of which only the id is known."""
    try:
        return headline(client.jobs.get(job))
    except ChoirError:  # not theirs to see whole, or the node is away for a moment
        return job


@contextmanager
def ending_early(job: str) -> Iterator[None]:
    """A wait that ends before the job does not end the job, and says so."""
    from choir.doors.mesh.model import NotDoneYet

    try:
        yield
    except NotDoneYet as error:
        output.show_error(error)
        raise typer.Exit(EXIT_NOT_DONE) from None
    except KeyboardInterrupt:
        output.say(f"The job continues. Get the result: choir job result {job}; cancel it: choir job cancel {job}")
        raise


class View:
    """Prints the steps that are new, and shows on a terminal where the job is now."""

    def __init__(self, client: Client, stream: str, status: output.Ticker | None, *, as_json: bool) -> None:
        self._client = client
        self._stream = stream
        self._status = status
        self._began_s = self._said_s = time.monotonic()
        self._as_json = as_json
        self._told = 0
        self._seen: tuple[Any, ...] = ()
        self._changed_s = 0.0
        self._explained = False

    def look(self, job: JobOut) -> None:
        """Called whenever the job was looked at."""
        seen = (job.state, job.closed_at, *((item.id, item.state) for item in job.attempts))
        if not self._stream:
            return
        if seen == self._seen:
            self._say_why_nobody(job)
            self._say_still(job)
            return
        self._changed_s = self._said_s = time.monotonic()
        self._explained = False
        self._seen = seen
        if self._status is not None:
            self._status.text = f"{job.id} is {job.state}"
        steps = self._client.jobs.steps(job.id).items
        attempts = {item.id: item.provider for item in job.attempts}
        if any(step.data.get("attempt") not in {None, *attempts} for step in steps):  # newer than what we looked at
            attempts = {item.id: item.provider for item in self._client.jobs.get(job.id).attempts}
        for step in steps[self._told :]:
            self._tell(step, attempts)
        self._told = len(steps)
        self._say_why_nobody(job, at_once=True)

    def _say_why_nobody(self, job: JobOut, *, at_once: bool = False) -> None:
        """Who waits for a provider is told, once for each wait, why there is none."""
        waits = at_once or time.monotonic() > self._changed_s + _PATIENCE_S
        if job.state == "open" and waits and not self._explained and not self._as_json:
            said = no_provider.tell(self._client, job, at_once=at_once)
            self._explained = said or not at_once

    def _say_still(self, job: JobOut) -> None:
        """Where no terminal shows how long it takes, a line says so now and then."""
        now_s = time.monotonic()
        if self._status is None and not self._as_json and now_s >= self._said_s + _REMIND_S:
            self._said_s = now_s
            output.say(f"{job.id} is still {job.state} after {clock(now_s - self._began_s)}")

    def _tell(self, step: JobStepOut, providers: dict[str, str]) -> None:
        import json

        stream: TextIO = getattr(sys, self._stream)  # as it is now: while a status is shown, lines go around it
        if self._as_json:
            stream.write(json.dumps(step.model_dump()) + "\n")
        elif step.what not in _UNTOLD:
            stream.write(plain(f"{_clock(step.at)}  {_words(step.what, step.data, providers)}") + "\n")
        stream.flush()


@contextmanager
def telling(client: Client, *, steps_to: str, as_json: bool = False) -> Iterator[View]:
    """A view on a job for as long as it is waited for, on "stdout" or "stderr"; empty: nothing is shown."""
    if not steps_to or not sys.stderr.isatty():
        yield View(client, steps_to, None, as_json=as_json)
        return
    ticking = output.Ticker("Waiting")
    with output.console().status(ticking):
        yield View(client, steps_to, ticking, as_json=as_json)


# Words

_UNTOLD = {"assigned", "running", "delivered", "examined"}  # said already by what led there
_WORDS = {
    "opened": "ordered; {budget} SAT are held",
    "open": "waits for a provider",
    "offered": "assigned to {provider}",
    "started": "running at {provider}",
    "second_review": "a second reviewer is asked",
    "second_reviewed": "second review: {outcome}",
    "handed_in": "delivered by {provider}; the artifact is in escrow",
    "verifying": "verifying",
    "paid": "passed and paid: {paid} SAT",
    "failed": "failed at {provider}: {reason}",
    "lost": "{provider} also passed, but was not first: {paid} SAT",
    "timed_out": "{provider} timed out",
    "gone": "{provider} stopped answering",
    "excused": "{provider} could not deliver: {reason}",
    "withdrawn": "{provider} withdrew: {said}",
    "called_off": "{provider} was cancelled",
    "cancel_asked": "cancelled by the buyer",
    "unverifiable": "cannot be verified: {reason}",
    "not_verified": "the node could not verify it in time",
    "closed": "closed: no more attempts",
}


def _words(what: str, data: dict[str, Any], providers: dict[str, str]) -> str:
    told = {name: plain(str(value)) for name, value in data.items()}
    for name in ("budget", "paid", "extras"):
        if name in told and told[name].isdecimal():
            told[name] = sat(told[name])
    told["reason"] = told.get("said") or in_words(told.get("reason", ""))
    told["provider"] = providers.get(told.get("attempt", ""), "a provider")
    for name in ("budget", "paid", "reason", "said"):
        told.setdefault(name, "")
    extras = f", and {told['extras']} SAT for stronger checks" if told.get("extras") else ""
    return _WORDS.get(what, what.replace("_", " ")).format(**told) + extras


def _clock(at: str) -> str:
    """The time of day in UTC, out of a whole time."""
    return at[11:19]
