"""`choir`: the whole command line, put together."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from choir.doors.cli import bench, ledger, node, output, policy
from choir.foundation.errors import ChoirError

app = typer.Typer(
    name="choir",
    help="An open economy for AI agents and the people behind them.",
    epilog="Try: choir up, then in another terminal: choir fund person:ada/available/CREDIT 100",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
node.register(app)
app.add_typer(ledger.app, name="ledger")
app.add_typer(policy.app, name="policy")
app.add_typer(bench.app, name="bench")
app.command("fund")(ledger.fund)
app.command("explain")(ledger.explain)


def _show_version(wanted: bool) -> None:
    if wanted:
        output.print_line(f"choir {version('choir')}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An open economy for AI agents and the people behind them."""
    del show_version


def main() -> None:
    """Run a command; our errors become a sentence and an exit code here, and only here."""
    try:
        app(standalone_mode=True)
    except ChoirError as error:
        output.show_error(error)
        sys.exit(output.exit_code(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


if __name__ == "__main__":
    main()
