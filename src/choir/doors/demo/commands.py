"""`choir demo`: from nothing to a node on which something has happened, in one terminal.

Guarantees: never on a production node, and not among other people's data unless that is asked for; a story that was cut
off goes on; a node that is started here ends with the command, one that ran before runs on.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, HomeOption
from choir.foundation.clock import SystemClock
from choir.foundation.errors import NotAllowed, Refusal
from choir.operations.home import RunningNode, running_node
from choir.storage.processes import FolderLock

if TYPE_CHECKING:
    from choir.doors.demo.record import Record
    from choir.doors.demo.stage import Playbill, Stage
    from choir.foundation.settings import Settings

_ASK_S = 1.0
_AHEAD_US = 60_000_000
_DEVELOPMENT = "dev"


class NotHere(Refusal):
    """The home has something in it that the story would stand among."""

    code = "demo.not_here"
    sentence = "{home} has data of its own, and the story moves the node's clock by more than a month."
    hint = "Play it in a new home: choir demo --home FOLDER. Or here nevertheless: choir demo --here"


class OnlyInDevelopment(NotAllowed):
    """Play money and a clock that is moved are for development."""

    code = "demo.only_in_development"
    sentence = "The demo plays with play money and moves the clock; a production node allows neither."
    hint = "Play it in a new home: choir demo --home FOLDER"


class Playing(Refusal):
    """Another process plays the story of this home, or keeps its node up."""

    code = "demo.playing"
    sentence = "The story of {home} is being played by {holder}."
    hint = "Look at it there, or end it with Ctrl-C first."


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""
    app.command("demo", epilog="Example: choir demo --home /tmp/choir-demo")(demo)


def demo(
    home: HomeOption = None,
    bind: Annotated[str | None, typer.Option(help="Address and port (CHOIR_BIND).", metavar="HOST:PORT")] = None,
    here: Annotated[bool, typer.Option("--here", help="Play it although this home has other data.")] = False,
    leave: Annotated[bool, typer.Option("--exit", help="Stop when the story is over.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a node and play a story on it in two minutes.

    Articles are published on sources, challenged, cited and paid for; providers do work that is verified before it is
    paid, and a dishonest delivery is refused; the ledger is verified. Everything goes through the node's real doors.
    Then the node stays up for you to look around, until Ctrl-C. If a development node runs on this home already, the
    story is played there. Run it again to start the node of a story, or to go on with one that was cut off.
    """
    output.want_json(as_json)
    settings = output.settings_of(home, bind=bind)
    say = output.say if as_json else _print
    with _ends_by_signal(), ExitStack() as cleanup:
        made = _played(settings, say, cleanup, here=here)
        if as_json:
            output.print_json(made)
            sys.stdout.flush()
        if not leave:
            say("The node stays up, and a provider takes orders. Ctrl-C stops what this command started.")
            _stay(settings)


def _played(settings: Settings, say: Callable[[str], None], cleanup: ExitStack, *, here: bool) -> dict[str, Any]:
    """The whole story, and what came of it."""
    from choir.doors.demo.play import play
    from choir.doors.demo.stage import Playbill, set_up

    record, began, bill = _record(settings, here=here), time.monotonic(), Playbill(say)
    if record.outcome is not None:
        say(f"{settings.home} has the story already; its node is started.")
    elif record.begun:
        say("The story was cut off before; it goes on.")
    with bill.act("A development node"):
        url = _node(settings, record, bill, cleanup, here=here)
    _lock(settings, record, cleanup)
    with set_up(settings, url, record, bill) as stage:
        outcome = play(stage, cleanup)
        seconds, links = round(time.monotonic() - began, 1), _links(stage)
        ahead = stage.now_us > SystemClock().now_us() + _AHEAD_US
    say(f"It took {seconds} seconds. Look at it:")
    for what, link in links.items():
        say(f"  {what:24} {link}")
    if ahead:
        say("The node's clock is ahead now; `choir clock --reset` returns it to real time.")
    where = {"url": url, "home": str(settings.home)}
    timed = {"seconds": seconds, "acts": [asdict(item) for item in bill.timings]}
    return {"node": where, **outcome, **timed, "made": record.made, "links": links}


def _links(stage: Stage) -> dict[str, str]:
    from choir.doors.demo.knowledge import FIRST, SECOND

    made = stage.record.made
    found = {
        "the front page": "/",
        "the hall of work": "/hall",
        "the providers": "/providers",
        "the cited article": f"/articles/{made[f'article {FIRST}']}",
        "the citing article": f"/articles/{made[f'article {SECOND}']}",
        "search": "/search?q=tide",
        "the treasury": "/treasury",
        "the citation's payment": f"/ledger/entries/{made['citation entry']}",
    }
    for name, what in {"run": "the run", "review": "the review", "patch": "the patch", "cheat": "the refusal"}.items():
        if f"job {name}" in made:
            found[what] = f"/jobs/{made[f'job {name}']}"
    found["the documentation"] = "/docs"
    return {what: stage.public_url + path for what, path in found.items()}


# The node


def _record(settings: Settings, *, here: bool) -> Record:
    """The story of this home, if it may be played here."""
    from choir.doors.demo.record import Record

    if settings.mode != _DEVELOPMENT:
        raise OnlyInDevelopment
    record = Record(settings.home)
    running = running_node(settings.home) if settings.home.exists() else None
    has_data = (settings.home / "postgres").exists() or not settings.embedded
    if running is None and has_data and not record.begun and not here:
        raise NotHere(home=settings.home)
    return record


def _node(settings: Settings, record: Record, bill: Playbill, cleanup: ExitStack, *, here: bool) -> str:
    """The address of the node, which is started if none runs."""
    running = running_node(settings.home) if settings.home.exists() else None
    if running is None or not running.pid:
        started = _start(settings)
        cleanup.callback(_stop, settings, started, bill.say)
        bill.tell(f"started at {started.url}, with its data in {settings.home}")
        return started.url
    _must_be_new(settings, running.url, record, here=here)
    bill.tell(f"runs already at {running.url}; the story is played there")
    return running.url


def _lock(settings: Settings, record: Record, cleanup: ExitStack) -> None:
    """Be the only one who plays here; the lock ends with this process, however that ends."""
    record.folder.mkdir(mode=0o700, exist_ok=True)
    lock = FolderLock(record.folder / "demo.lock")
    if not lock.acquire():
        raise Playing(home=settings.home, holder=lock.holder())
    cleanup.callback(lock.release)


def _start(settings: Settings) -> RunningNode:
    from choir.doors.demo.stage import quick_looks
    from choir.doors.node.commands import start

    quick_looks()
    return start.start(settings)


def _stop(settings: Settings, started: RunningNode, say: Callable[[str], None]) -> None:
    from choir.doors.node.commands.run import end_node

    end_node(settings.home, started)
    say("The node is stopped.")


def _must_be_new(settings: Settings, url: str, record: Record, *, here: bool) -> None:
    from choir.doors.sdk.client import Client
    from choir.operations.home import operator_token

    with Client(url, operator_token(settings.home)) as operator:
        found = operator.node()
    if found.mode != _DEVELOPMENT:
        raise OnlyInDevelopment
    if found.entries and not record.begun and not here:
        raise NotHere(home=settings.home)


def _stay(settings: Settings) -> None:
    """Until Ctrl-C, or until the node is gone."""
    while running_node(settings.home) is not None:
        time.sleep(_ASK_S)


@contextmanager
def _ends_by_signal() -> Iterator[None]:
    """A service manager or a closed terminal ends it like Ctrl-C, so that what was started is stopped."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(text: str) -> None:
    output.print_line(text)
    sys.stdout.flush()
