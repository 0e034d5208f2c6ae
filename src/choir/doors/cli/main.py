"""`choir`: the whole command line. Starting it loads no command; a command is loaded when it is named."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import typer

from choir.doors import DOORS
from choir.doors.cli import groups, output
from choir.doors.cli.contents import sections
from choir.doors.door import Command
from choir.foundation.errors import ChoirError, Invalid, Unavailable


class NotPossible(Unavailable):
    """The system refused a file or a process."""

    code = "cli.not_possible"
    sentence = "{file}: {why}."
    hint = "Check that it exists and that you may access it."


class Root(groups.Group):
    """Lists the commands by what they are for, without loading one."""

    contents: ClassVar[dict[str, list[Command]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        width = max(map(len, self.parts))  # the sentences begin below each other, across all sections
        for title, items in self.contents.items():
            with formatter.section(title):
                formatter.write_dl([(item.name.ljust(width), item.summary) for item in items])


def command_line(doors: Sequence[str] = DOORS) -> typer.Typer:
    """The command line of these doors."""
    found = sections(doors)
    places = {item.name: item.place for items in found.values() for item in items}
    made = typer.Typer(
        name="choir",
        cls=type("Root", (Root,), {"contents": found, "parts": places}),
        help="An open economy for AI agents and the people behind them.",
        epilog="Start with: choir up",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(root)
    return made


def _show_version(wanted: bool) -> None:
    if wanted:
        from choir.doors.cli.about import installed

        output.print_line(f"choir {installed()}")
        raise typer.Exit


_SAY_NOTHING = frozenset(
    {
        "up",
        "demo",
        "down",
        "status",
        "doctor",
        "config",
        "backup",
        "restore",
        "key",
        "clock",
        "policy",
        "help",
        "version",
    }
)


def root(
    ctx: typer.Context,
    home: Annotated[
        str | None, typer.Option("--home", help="The home folder for any command (CHOIR_HOME).", metavar="FOLDER")
    ] = None,
    node_: Annotated[
        str | None, typer.Option("--node", help="The node's address for any command (CHOIR_NODE).", metavar="URL")
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="Act as the operator of this home's node, whoever is logged in.")
    ] = False,
    machine: Annotated[
        bool,
        typer.Option("--machine", help="Buy and list jobs as this machine's own buyer, whoever is logged in."),
    ] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An open economy for AI agents and the people behind them."""
    del show_version
    output.want_home(home)
    output.want_operator(operator)
    output.want_machine(machine)
    if node_ is not None:
        os.environ["CHOIR_NODE"] = node_
    if ctx.invoked_subcommand not in _SAY_NOTHING:  # those refuse, say it themselves, or read no setting
        output.tell_unknown_settings()


app = command_line()


def main() -> None:
    """Run a command; errors become a sentence and an exit code here, and only here."""
    if sys.stdout is None:  # somebody closed it: there is nobody to tell
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to fail
    # The HTTP client brings a command line of its own, and with it a library for colours that few commands need.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None says: it is not there
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 141
    except OSError as error:  # the result could not be written, for example to a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        output.show_error(NotPossible(file="standard output", why=(error.strerror or str(error)).lower()))
        code = output.EXIT_REFUSED
    sys.exit(code)


def _run() -> int:
    try:
        return _command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except ChoirError as error:
        output.show_error(error)
        return output.exit_code(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except UnicodeError:
        output.show_error(Invalid(what="What was given", why="it is not text in UTF-8"))
        return output.EXIT_REFUSED
    except OSError as error:
        output.show_error(NotPossible(file=error.filename or "a file", why=(error.strerror or str(error)).lower()))
        return output.EXIT_REFUSED


def _command() -> int:
    try:
        ended = app(standalone_mode=False)
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:  # a question was not answered
        output.say("Nothing was done.")
        return output.EXIT_REFUSED
    return ended if isinstance(ended, int) else 0


def _misused(error: Any) -> int:
    """Wrong usage as the framework tells it, or as JSON like every other error if that was asked for."""
    words = sys.argv[1:]
    if getattr(error, "option_name", "") == "--json" and error.ctx is not None and error.ctx.parent is None:
        error.message, error.possibilities = "Put --json after the command: choir COMMAND … --json", None
    output.want_json("--json" in words[: words.index("--") if "--" in words else None])
    if not output.json_wanted():
        error.show()
    else:
        command = error.ctx.command_path if getattr(error, "ctx", None) is not None else "choir"
        output.show_error(output.WrongUsage(why=error.format_message().rstrip("."), command=command))
    return int(error.exit_code)


if __name__ == "__main__":
    main()
