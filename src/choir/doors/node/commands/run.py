"""`choir up|down|status|doctor|config|backup|restore|key|clock`: running a node."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import about, output
from choir.doors.cli.output import AsJson, ForceOption, HomeOption, NodeOption
from choir.foundation.clock import SystemClock
from choir.foundation.errors import Unavailable
from choir.foundation.logs import set_up_logs
from choir.foundation.settings import Settings
from choir.foundation.words import count
from choir.operations.home import RunningNode, running_node

if TYPE_CHECKING:
    from choir.node import Node
    from choir.operations.node_clock import PendingEnds
    from choir.storage.database import Tx

key_app = typer.Typer(help="Show or rotate the node's signing key.", no_args_is_help=True)

_STOP_S_MAX = 60.0
_ANNOUNCE_S_MAX = 10.0


class StopFailed(Unavailable):
    """The node does not end."""

    code = "node.stop_failed"
    sentence = "The node (process {pid}) did not stop within {limit_s} seconds."


def register(app: typer.Typer) -> None:
    """Add the commands to the main application."""
    app.command("up", epilog="Example: choir up --background")(up)
    app.command("down", epilog="Example: choir down")(down)
    app.command("status", epilog="Example: choir status --json")(status)
    app.command("doctor", epilog="Example: choir doctor")(doctor)
    app.command("backup", epilog="Example: choir backup monday.tar")(backup)
    app.command("restore", epilog="Example: choir restore monday.tar --home /srv/choir")(restore)
    app.command("clock", epilog="Example: choir clock --advance 86400")(clock)
    app.add_typer(key_app, name="key")


def up(
    home: HomeOption = None,
    bind: Annotated[str | None, typer.Option(help="Address and port (CHOIR_BIND).", metavar="HOST:PORT")] = None,
    processes: Annotated[int | None, typer.Option(help="Server processes (CHOIR_PROCESSES).", min=1, max=64)] = None,
    background: Annotated[bool, typer.Option("--background", help="Return when the node is ready.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a node with everything it needs; Ctrl-C stops it."""
    output.want_json(as_json)
    settings = output.settings_of(home, bind=bind, processes=None if processes is None else str(processes))
    if background:
        from choir.doors.node.commands import start

        started = start.start(settings)
        about = {"url": started.url, "pid": started.pid, "mode": settings.mode, "log": str(start.log_of(settings))}
        _tell(as_json, about, f"Choir is running at {started.url} (process {started.pid}).")
        _tell_of_the_sandbox(settings)
        return
    from choir.operations.supervisor import Supervisor

    set_up_logs(settings.log_format)
    first = settings.mode == "dev" and not (settings.home / "postgres").exists()
    Supervisor(settings, output.say).run(lambda: _greet(settings, first=first, as_json=as_json))
    output.say("Stopped.")


def _greet(settings: Settings, *, first: bool, as_json: bool) -> None:
    if as_json:
        output.print_json({"url": settings.own_url, "pid": os.getpid(), "mode": settings.mode, "log": None})
        sys.stdout.flush()
        return
    lines = [
        f"Choir {about.installed()} is running at {settings.own_url} ({settings.mode} node).",
        f"  data      {settings.home}",
        f"  database  {'embedded PostgreSQL' if settings.embedded else 'your own PostgreSQL'}",
        f"  pages     {settings.public_url}",
        f"  API       {settings.own_url}/v1/openapi.json",
    ]
    choir = _command()
    if first:
        lines += [
            "",
            "New here? In another terminal, this plays a story on a node of its own in two minutes:",
            f"  {choir} demo --home /tmp/choir-demo --bind 127.0.0.1:8421",
            "",
            "Or try, in another terminal:",
            f"  {choir} fund person:ada/available/SAT 100",
            f"  {choir} ledger open person:bob/available/SAT",
            f"  {choir} ledger transfer person:ada/available/SAT person:bob/available/SAT 12.50 --reason thanks",
            f"  {choir} ledger verify",
            "",
            "To buy and sell work, run the first of these in its own terminal:",
            f"  {choir} provider serve",
            f"  {choir} job submit run -- python3 -c 'print(6*7)'",
            "",
            "To write an article whose claims can be checked (docs/tutorials/writer.md):",
            f"  {choir} source add REPORT.pdf",
            f"  {choir} article new ARTICLE.md",
        ]
    lines += ["", f"Stop it with Ctrl-C or `{choir} down`."]
    output.print_line("\n".join(lines))
    sys.stdout.flush()
    _tell_of_the_sandbox(settings)


def _tell_of_the_sandbox(settings: Settings) -> None:
    """Whoever starts a node that can take no orders hears why, and what to install."""
    from choir.foundation.policy import load
    from choir.policies import default_policy
    from choir.sandbox.readiness import sandbox_missing

    why = sandbox_missing(settings, load(default_policy(), settings.policy_overrides))
    if why:
        output.say(f"This node accepts no jobs because it cannot verify them. {why}")


def _command() -> str:
    """How this reader can type the command: by name where it is on the path."""
    if shutil.which("choir"):
        return "choir"
    return os.path.relpath(sys.argv[0]) if Path(sys.argv[0]).name == "choir" else "choir"


def down(home: HomeOption = None, as_json: AsJson = False) -> None:
    """Stop this home's node and wait until it has ended."""
    output.want_json(as_json)
    settings = output.settings_of(home)
    running = _announced(settings.home)
    if running is None:
        _tell(as_json, {"stopped": False}, f"No node is running on {settings.home}.")
        return
    with suppress(ProcessLookupError):  # it ended by itself just now
        end_node(settings.home, running)
    _tell(as_json, {"stopped": True, "pid": running.pid}, f"Stopped the node (process {running.pid}).")


def _announced(home: Path) -> RunningNode | None:
    """The node of this home; one that is just starting is waited for, until it has said who it is."""
    deadline = time.monotonic() + _ANNOUNCE_S_MAX
    while home.exists() and (running := running_node(home)) is not None:
        if running.pid:
            return running
        if time.monotonic() > deadline:
            raise StopFailed(pid="just starting", limit_s=int(_ANNOUNCE_S_MAX))
        time.sleep(0.05)
    return None


def end_node(home: Path, running: RunningNode) -> None:
    """Ask the process to end and wait for it; a descriptor stands for that process and no later one of its number."""
    process = os.pidfd_open(running.pid)
    try:
        if running_node(home) != running:
            return
        signal.pidfd_send_signal(process, signal.SIGTERM)
        if not select.select([process], [], [], _STOP_S_MAX)[0]:
            raise StopFailed(pid=running.pid, limit_s=int(_STOP_S_MAX))
    finally:
        os.close(process)


def status(home: HomeOption = None, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show whether the node is running, and where."""
    output.want_json(as_json)
    from choir.doors.sdk.client import Client
    from choir.doors.sdk.target import address_of, choose

    settings = output.settings_of(home, node)
    running = running_node(settings.home) if settings.home.exists() else None
    url = address_of(settings, node)
    with Client(url, choose(settings, url, rather_operator=True).token, patience_s=1.0) as client:
        found = client.node()
    own = running is not None and running.url == url
    asked_for = node is not None or settings.chose("node")
    if as_json:
        pid = running.pid if running is not None and own else None
        output.print_json({"running": True, "pid": pid, "of_this_home": own, **found.model_dump()})
        return
    if not own and not asked_for:
        output.print_line(f"No node is running on {settings.home}. Another node answers at that address:")
    output.print_line(f"{found.id} is running at {url} ({found.mode} node, version {found.version}).")
    output.print_line(f"  entries  {found.entries}")
    output.print_line(f"  key      {found.key}")
    output.print_line(f"  policy   {found.policy}")


def doctor(home: HomeOption = None, as_json: AsJson = False) -> None:
    """Check every part of the node and how to fix problems."""
    from choir.operations.doctor import examine

    output.want_json(as_json)
    findings = list(examine(output.settings_of(home)))
    if as_json:
        output.print_json(
            [{"part": item.part, "state": item.state, "told": item.told, "advice": item.advice} for item in findings]
        )
    else:
        for item in findings:
            output.print_line(f"{item.state:5}  {item.part}: {item.told}")
            if item.advice:
                output.print_line(f"       {item.advice}")
    if any(item.state == "wrong" for item in findings):
        raise typer.Exit(output.EXIT_REFUSED)


@key_app.command("show", epilog="Example: choir key show")
def key_show(home: HomeOption = None, as_json: AsJson = False) -> None:
    """List the public keys that signed this ledger, first to current."""
    from choir.foundation.clock import format_time
    from choir.operations.preparation import opened_node

    output.want_json(as_json)
    with opened_node(output.settings_of(home), output.say) as node, node.read() as tx:
        history = node.keys.history(tx)
    if as_json:
        output.print_json([{"n": key.n, "key": str(key.vkey), "since": format_time(key.at_us)} for key in history])
    else:
        output.print_table(
            ["n", "since", "key"], [(str(key.n), format_time(key.at_us), str(key.vkey)) for key in history]
        )


@key_app.command("rotate", epilog="Example: choir key rotate")
def key_rotate(home: HomeOption = None, as_json: AsJson = False) -> None:
    """Rotate the node's key. The old key signs the rotation, so that anyone who trusts it can follow."""
    from choir.operations.rotation import rotate_key

    output.want_json(as_json)
    old, new = rotate_key(output.settings_of(home), output.say)
    _tell(as_json, {"old": str(old), "new": str(new)}, f"The key is now {new}\n(before: {old})")


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write the backup.")],
    force: ForceOption = False,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Back up the database; the node may be running. The backup does not contain the node's key."""
    from choir.operations.backup import back_up

    output.want_json(as_json)
    output.may_write(file, force=force)
    settings = output.settings_of(home)
    manifest = back_up(settings, file, output.say)
    entries = count(manifest.entries, "entry", "entries")
    told = f"{entries} backed up to {file}. Keep {settings.node_key_file} safe and separate."
    _tell(as_json, {"file": str(file), "entries": manifest.entries, "made_at": manifest.made_at}, told)


def restore(
    file: Annotated[Path | None, typer.Argument(help="The backup to restore.")] = None,
    accept_rollback: Annotated[
        bool, typer.Option("--accept-rollback", help="Continue although a published checkpoint has more entries.")
    ] = False,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty database. It is compared with the last published checkpoint."""
    from choir.operations import backup as backups

    output.want_json(as_json)
    settings = output.settings_of(home)
    if file is None:
        if not accept_rollback:
            raise typer.BadParameter("give a backup file")
        size = backups.accept_rollback(settings, output.say)
        _tell(as_json, {"entries": size}, f"Accepted: the ledger continues from {count(size, 'entry', 'entries')}.")
        return
    manifest, identity = backups.restore(settings, file, output.say, accept_rollback=accept_rollback)
    entries = count(manifest.entries, "entry", "entries")
    mode = "" if identity.mode == settings.mode else f"CHOIR_MODE={identity.mode} "  # it was in the old home's settings
    told = f"Restored {entries} from {manifest.made_at}. Start the node with `{mode}{_up_command(settings)}`."
    _tell(as_json, {"entries": manifest.entries, "made_at": manifest.made_at}, told)


def _up_command(settings: Settings) -> str:
    """How to start a node on this home; a home that only a flag named has to be named again."""
    named = output.home_flag() or any(item.name == "home" and item.origin == "flag" for item in settings.sources)
    return f"choir up --home {shlex.quote(str(settings.home))}" if named else "choir up"


def clock(
    advance: Annotated[int | None, typer.Option(help="Move it forward by this many seconds.", min=1)] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Return to real time.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show or move a development node's clock, for testing.

    Moving it forward triggers everything due by then: holds, sessions and tokens expire, jobs and
    attempts time out. That cannot be undone. With --reset, open deadlines keep their remaining time,
    and work continues. What ended stays ended, and entries keep the time of the last one until the clock has
    caught up, because the ledger's time never runs backwards.
    """
    from choir.foundation.clock import MICROSECONDS, format_time
    from choir.operations import node_clock
    from choir.operations.preparation import opened_node

    output.want_json(as_json)
    with opened_node(output.settings_of(home), output.say) as node:
        if advance is not None and not reset:
            with node.read() as tx:
                ending = node_clock.ending(node, tx, advance * MICROSECONDS)
            _confirm_ending(ending, ask=not yes)
        last_us, offset_us = node.write(lambda tx: _moved(node, tx, advance, reset=reset))
    now_us = SystemClock().now_us() + offset_us
    now = format_time(now_us)
    told = f"The node's time is {now}, {offset_us // MICROSECONDS} seconds ahead of real time."
    if last_us > now_us:
        told += f"\nThe last entry is from {format_time(last_us)}; until then entries are stamped with that time,"
        told += " because the ledger's time never runs backwards. Holds run from then on."
    about = {"now": now, "offset_s": offset_us // MICROSECONDS, "entries_not_before": format_time(max(last_us, now_us))}
    _tell(as_json, about, told)


def _moved(node: Node, tx: Tx, advance: int | None, *, reset: bool) -> tuple[int, int]:
    """Move the clock; the time of the last entry, and how far the clock is ahead now."""
    from choir.foundation.clock import MICROSECONDS
    from choir.ledger import queries
    from choir.operations import node_clock
    from choir.storage.identity import offset_of

    if reset:
        node_clock.turn_back(node, tx)
    elif advance is not None:
        node_clock.advance(node, tx, advance * MICROSECONDS)
    return queries.head(tx).at_us, offset_of(tx)


def _confirm_ending(ending: PendingEnds, *, ask: bool) -> None:
    """Say what will be over. Whoever sits at a terminal is asked; a script has decided."""
    if not ending.holds and not ending.jobs:
        return
    ends = f"{count(ending.holds, 'open hold')} and {count(ending.jobs, 'open job')}"
    output.say(f"By then {ends} will have expired. That cannot be undone.")
    if ask and sys.stdin.isatty() and not typer.confirm("Move the clock?", err=True):
        from choir.doors.disputes.commands import NotConfirmed

        raise NotConfirmed


def _tell(as_json: bool, value: object, text: str) -> None:
    if as_json:
        output.print_json(value)
    else:
        output.print_line(text)
