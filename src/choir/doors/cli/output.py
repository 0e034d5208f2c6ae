"""How the command line speaks: tables and sentences for people, JSON for machines, exit codes for both.

Guarantees: results go to standard output, everything else to standard error; `--json` prints exactly
one JSON value; the same error always has the same exit code. Whatever a node, a provider or a repository calls itself
or says, a terminal only shows it: no control character and no markup of theirs has an effect.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.doors.cli.live_output import plain
from choir.doors.sdk.errors import NoNode
from choir.foundation.errors import Broken, ChoirError, Invalid, NotAllowed, Refusal, Unauthenticated
from choir.foundation.words import clock

if TYPE_CHECKING:  # loaded when it is used: most of the time to start a command would go there
    from rich.console import Console, JustifyMethod
    from rich.table import Table
    from rich.text import Text

    from choir.doors.sdk.client import Client
    from choir.foundation.policy import Policy
    from choir.foundation.settings import Settings

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_NO_NODE = 3
EXIT_NOT_ALLOWED = 4
EXIT_DIFFERENCE = 5

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
HomeOption = Annotated[str | None, typer.Option("--home", help="The home folder (CHOIR_HOME).", metavar="FOLDER")]
NodeOption = Annotated[str | None, typer.Option("--node", help="The node's address (CHOIR_NODE).", metavar="URL")]


def given_key(key: str | None) -> str | None:
    """A key that is empty is a mistake, such as a variable that is not set: taken for none, it would protect nobody."""
    if key is not None and not key.strip():
        raise typer.BadParameter("it is empty; omit the option for no key")
    return key


KeyOption = Annotated[
    str | None,
    typer.Option("--key", help="Idempotency key; the same key and content have one effect.", callback=given_key),
]

ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
Command = Callable[..., None]

_ASKED_AS = {"login": "the person who is logged in", "setting": "the owner of the token that is set (CHOIR_TOKEN)"}
_PERSONS_ONLY = ("identity.person_needed", "identity.scope_missing")  # what an operator is told who asks for these
_CONNECT_S = 2.0  # a person would rather hear at once that no node is there
_WAIT_S = 1.0  # after which a person is told that we are waiting

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_RECENT_MONTHS = 5
_WIDE = 240  # columns where nobody looks at a terminal
_CONTROL_IN_JSON = re.compile(r"[\x7f-\x9f]")  # the others are escaped by everybody who writes JSON

_console: Console | None = None
_json_wanted = False
_operator_wanted = False
_machine_wanted = False
_home_named = False


class WrongUsage(Invalid):
    """A command line that cannot be understood."""

    code = "cli.wrong_usage"
    sentence = "{why}."
    hint = "See: {command} --help"


class FileExists(Refusal):
    """A command would write over a file that somebody may need."""

    code = "cli.file_exists"
    sentence = "{file} already exists."
    hint = "Choose another name, or replace it with --force."


class AskAsOperator(NotAllowed):
    """Somebody who runs a node asks it as a person."""

    code = "cli.ask_as_operator"
    sentence = "Only the node's operator can do this, and you are {who}."
    hint = "On the node's own machine, put --operator before the command: choir --operator …"


class AskAsPerson(NotAllowed):
    """The operator asks for what only people and their agents have: agents, delegations, tokens."""

    code = "cli.ask_as_person"
    sentence = "This is for people and their agents, and you are the node's operator."
    hint = "Sign up on the node's page, and log in with `choir login`."


class TokenRefused(Unauthenticated):
    """The token that is set is none of this node's; who forgot that it is set would look elsewhere."""

    code = "cli.token_refused"
    sentence = "The node does not know your token, which was used because {why}."
    hint = "Set the right one, or none (`unset CHOIR_TOKEN`) to use your login."


_EXIT: list[tuple[type[ChoirError], int]] = [
    (NoNode, EXIT_NO_NODE),
    (Unauthenticated, EXIT_NOT_ALLOWED),
    (NotAllowed, EXIT_NOT_ALLOWED),
    (Broken, EXIT_DIFFERENCE),
    (WrongUsage, EXIT_USAGE),
]


def exit_code(error: ChoirError) -> int:
    """The exit code of one of our errors."""
    return next((code for category, code in _EXIT if isinstance(error, category)), EXIT_REFUSED)


def settings_of(home: str | None = None, node: str | None = None, **flags: str | None) -> Settings:
    """The settings with a command's flags, for commands that act on them; a mistyped one is refused."""
    from choir.foundation.settings import load_settings

    found = load_settings({"home": home, "node": node, **flags})
    found.must_know_all()
    return found


def tell_unknown_settings() -> None:
    """Commands that only ask a node go on with a word about what may be a mistyped setting."""
    from choir.foundation.settings import meant, unknown_variables

    for name in unknown_variables(os.environ):
        say(f"Warning: {name} in the environment is not a setting{meant(name)}.")


def address_of(node: str | None) -> str:
    """The address that a command talks to."""
    from choir.doors.sdk import target
    from choir.foundation.settings import load_settings

    return target.address_of(load_settings(), node)


@contextmanager
def client_of(node: str | None, *, quiet: bool = False) -> Iterator[Client]:
    """A client of the node that a command talks to, for as long as it asks; who waits longer is told so."""
    from choir.doors.sdk.client import Client
    from choir.doors.sdk.target import address_of, choose_operator
    from choir.foundation.settings import load_settings

    token = None
    if _operator_wanted:
        settings = load_settings()
        token = choose_operator(settings, address_of(settings, node)).token
    with Client(node, token, connect_s=_CONNECT_S) as client, waiting(f"Waiting for {client.url}", quiet=quiet):
        try:
            yield client
        except Unauthenticated as error:
            if error.code == Unauthenticated.code and client.who.source == "setting":
                raise TokenRefused(why=client.who.why) from None
            raise
        except NotAllowed as error:
            if error.code == "identity.operator_needed" and client.who.source in _ASKED_AS:
                raise AskAsOperator(who=_ASKED_AS[client.who.source]) from None
            if error.code in _PERSONS_ONLY and client.who.source == "operator":
                raise AskAsPerson from None
            raise


def policy_at(node: str | None) -> Policy:
    """The policy of the node that a command talks to: its limits count, not this machine's. Everybody may read it."""
    return _policy_of(address_of(node))


@functools.cache
def _policy_of(address: str) -> Policy:
    from choir.doors.sdk.policies import policy_of

    with stranger_at(address) as client:
        return policy_of(client)


@contextmanager
def stranger_at(address: str, token: str = "") -> Iterator[Client]:
    """A client that is nobody, or whoever this token says; nothing else that is known here is sent along."""
    from choir.doors.sdk.client import Client

    with Client(address, token, connect_s=_CONNECT_S) as client:
        yield client


class Ticker:
    """A text with the time that has passed since it began to wait; it goes on by itself wherever it is drawn."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._began = time.monotonic()

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(plain(f"{self.text}  {clock(time.monotonic() - self._began)}"))


@contextmanager
def waiting(text: str, *, quiet: bool = False) -> Iterator[None]:
    """A sign of life on standard error when something takes long, shown only to people."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    status = console().status(Ticker(text))
    timer = threading.Timer(_WAIT_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # so that it cannot start after it was stopped
        status.stop()


def want_home(home: str | None) -> None:
    """Remember the folder of a `--home` before the command; every part finds it in the environment."""
    global _home_named  # noqa: PLW0603 - one process runs one command
    if home is not None:
        _home_named = True
        os.environ["CHOIR_HOME"] = home


def home_flag() -> bool:
    """Whether the home was named before the command."""
    return _home_named


def want_operator(wanted: bool) -> None:
    """Remember that the node's operator asks, whoever is logged in."""
    global _operator_wanted  # noqa: PLW0603 - one process runs one command
    _operator_wanted = wanted


def operator_wanted() -> bool:
    """Whether the operator asks, by name."""
    return _operator_wanted


def want_machine(wanted: bool) -> None:
    """Remember that this machine's own buyer asks, whoever is logged in."""
    global _machine_wanted  # noqa: PLW0603 - one process runs one command
    _machine_wanted = wanted


def machine_wanted() -> bool:
    """Whether this machine's own buyer asks, by name."""
    return _machine_wanted


def may_write(file: Path, *, force: bool) -> None:
    """Raise unless a command may put its result there."""
    if file.exists() and not file.is_file():
        raise Invalid(what=f"The file {file}", why="it is not a regular file; write to - and redirect instead")
    if not force and (file.exists() or file.is_symlink()):
        raise FileExists(file=str(file))
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))


def write_result(file: Path, data: bytes, *, force: bool) -> None:
    """Put a result there, whole or not at all. No link is followed, and what came there meanwhile is left alone."""
    made = file.with_name(f".choir-{secrets.token_hex(8)}") if force else file
    try:
        with made.open("xb") as out:
            out.write(data)
        if force:
            made.replace(file)
    except FileExistsError:
        raise FileExists(file=str(file)) from None
    except OSError:
        made.unlink(missing_ok=True)
        raise


def want_json(wanted: bool) -> None:
    """Remember how errors are to be shown."""
    global _json_wanted  # noqa: PLW0603 - one process runs one command
    _json_wanted = wanted or _json_wanted


def json_wanted() -> bool:
    """Whether errors are to be shown as JSON."""
    return _json_wanted


@contextmanager
def reading_options(refusals: tuple[type[ChoirError], ...] = (Invalid,)) -> Iterator[None]:
    """What is refused in here by one of these was typed wrong: that is wrong usage."""
    try:
        yield
    except refusals as error:
        show_error(error)
        raise typer.Exit(EXIT_USAGE) from None


def print_json(value: Any, *, beside: bool = False) -> None:
    """To standard output, or beside it to standard error where the result itself is something else."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    safe = _CONTROL_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    (sys.stderr if beside else sys.stdout).write(safe + "\n")


def print_bytes(data: bytes) -> None:
    """Exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def print_line(text: str = "") -> None:
    """A line: as it is into a file or a pipe, and into a terminal without what could steer it."""
    sys.stdout.write((plain(text) if sys.stdout.isatty() else text) + "\n")


def say(text: str) -> None:
    """Progress and remarks, for people; behind what was printed before, also where both go to the same file."""
    if sys.stdout is not None:
        sys.stdout.flush()
    if sys.stderr is not None and sys.stderr.isatty():
        console().print(plain(text), style="dim", markup=False)
    else:
        _print_beside(plain(text))


def console() -> Console:
    """The terminal beside the result, for what is dim or moves. Made when it is used: not every command needs it."""
    global _console  # noqa: PLW0603 - one process runs one command
    if _console is None:
        from rich.console import Console

        _console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    return _console


def _print_beside(text: str) -> None:
    """A line of plain text on standard error; above what moves there, if anything does."""
    if _console is not None:
        _console.print(text, markup=False)
    elif sys.stderr is not None:  # somebody may have closed it
        sys.stderr.write(text + "\n")


def say_there_is_more(cursor: str | None) -> None:
    if cursor:
        say(f"More: --cursor {cursor}")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), whole: Sequence[int] = ()
) -> None:
    """A plain table; numbers in the columns `right` stand to the right."""
    from rich.console import Console

    table = table_of(columns, rows, right=right, whole=whole)
    Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else _WIDE).print(
        table
    )


def width() -> int:
    """How many columns there are; in a file or a pipe as many as lines need."""
    return console().width if sys.stdout.isatty() else _WIDE


def cut_lines(lines: Sequence[str]) -> list[Text]:
    """Lines with the first as their head, each cut where the terminal ends."""
    from rich.text import Text

    return [
        Text(plain(line), style="" if place else "bold", no_wrap=True, overflow="ellipsis")
        for place, line in enumerate(lines)
    ]


def print_lines(lines: Sequence[str]) -> None:
    """Lines with the first as their head; a terminal shows as much of each as it has columns for."""
    from rich.console import Console

    shown = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    for line in cut_lines(lines):
        shown.print(line)


def table_of(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Table:
    """The table itself. Where the terminal is narrow, neither numbers nor the columns `whole` are broken."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        side: JustifyMethod = "right" if index in right else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=index in right or index in whole)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def day_and_time(at: str, now: str) -> str:
    """A time in twelve letters, as `ls` shows them: of the last half year with the hour, else with the year. UTC."""
    month = _MONTHS[int(at[5:7]) - 1]
    months = (int(now[:4]) - int(at[:4])) * 12 + int(now[5:7]) - int(at[5:7])
    return f"{at[8:10]} {month} {at[11:16]}" if 0 <= months <= _RECENT_MONTHS else f"{at[8:10]} {month}  {at[:4]}"


def show_error(error: ChoirError) -> None:
    """An error as a sentence and what to do, or as JSON."""
    if _json_wanted:
        value = {"code": error.code, "detail": str(error), "hint": error.advice, "fields": error.fields}
        json.dump({"error": value}, sys.stderr, default=str)
        sys.stderr.write("\n")
        return
    _print_beside(plain(f"choir: {error}"))
    if error.advice:
        _print_beside(plain(error.advice))
