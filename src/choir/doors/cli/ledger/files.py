"""`choir ledger verify|export|import`: the commands that open the database themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from rich.progress import Progress

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, ForceOption, HomeOption
from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Invalid, Refusal
from choir.foundation.words import count
from choir.operations.home import prepare_home, running_node

if TYPE_CHECKING:
    from choir.ledger.verifying import Report


class StopTheNode(Refusal):
    """A running node would be surprised."""

    code = "ledger.import.node_running"
    sentence = "A node is running on {home}."
    hint = "Stop it with `choir down` first."


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir ledger verify --file export.jsonl --checkpoint kept.note")(verify)
    app.command("export", epilog="Example: choir ledger export ledger.jsonl")(export)
    app.command("import", epilog="Example: choir ledger import ledger.jsonl --home /srv/copy")(import_)


def verify(
    file: Annotated[Path | None, typer.Option(help="An export to verify instead of the database.")] = None,
    key: Annotated[str | None, typer.Option(help="The verifier key you trust.")] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(help="A checkpoint you kept; history must contain it. May be repeated.", metavar="FILE"),
    ] = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every hash, balance and proof, and say exactly what differs (exit code 5)."""
    from choir.ledger.notes import VerifierKey
    from choir.ledger.verifying import verify_database, verify_export
    from choir.operations.preparing import opened_node
    from choir.storage.database import Tx, connect

    output.want_json(as_json)
    held = [_read(path) for path in checkpoint or []]
    with _bar("Verifying", quiet=as_json) as told:
        if file is not None:
            trusted = VerifierKey.parse(key) if key else None
            with _open(file) as stream:
                report = verify_export(stream, trusted=trusted, held=held, on_progress=told)
        else:
            settings = output.settings_of(home)
            with opened_node(settings, output.say) as node, connect(node.database.conninfo) as db:
                report = verify_database(Tx(db), node.keys, held=held, on_progress=told)
    _show(report, as_json=as_json, of_file=file is not None)


def export(
    file: Annotated[str, typer.Argument(help="Where to write; - for standard output.")],
    force: ForceOption = False,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole ledger as canonical JSONL with a signed trailer, for anyone to verify."""
    from choir.operations.preparing import opened_node
    from choir.storage.database import Tx, connect

    output.want_json(as_json)
    if file != "-":
        output.may_write(Path(file), force=force)
    settings = output.settings_of(home)
    with opened_node(settings, output.say) as node, connect(node.database.conninfo) as db:
        with _bar("Exporting", quiet=as_json or file == "-") as told:
            if file == "-":
                done = node.exporter.write(Tx(db), sys.stdout.buffer.write, told)
            else:
                target = Path(file)
                partial = target.with_name(target.name + ".partial")
                with partial.open("wb") as stream:
                    done = node.exporter.write(Tx(db), stream.write, told)
                partial.replace(target)
        db.commit()
    if as_json:
        output.print_json({"entries": done.size, "checkpoint": done.note, "file": file})
    else:
        written = f"{count(done.size, 'entry', 'entries')} written to {file}."
        result = f"{written} Verify with: python3 auditor/choir_verify.py export {file}"
        (output.say if file == "-" else output.print_line)(result)


def import_(
    file: Annotated[Path, typer.Argument(help="An export.")],
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Load an export into a new, empty ledger; the node needs the key it is signed with."""
    from choir.foundation.node_key import load_node_secret
    from choir.ledger.importing import import_export
    from choir.operations.preparing import database_of, owner_connection, prepare_database

    output.want_json(as_json)
    settings = output.settings_of(home)
    if running_node(settings.home) is not None:
        raise StopTheNode(home=settings.home)
    _open(file).close()
    prepare_home(settings, SystemEntropy())
    with _bar("Importing", quiet=as_json) as told, database_of(settings, output.say) as dsns:
        prepare_database(settings, dsns, new_ledger=False)
        with owner_connection(dsns) as owner:
            report = import_export(owner, file, load_node_secret(settings).signer(), told)
    _show(report, as_json=as_json, of_file=True)


def _show(report: Report, *, as_json: bool, of_file: bool) -> None:
    if as_json:
        output.print_json(
            {
                "good": report.good,
                "entries": report.entries,
                "accounts": report.accounts,
                "root": report.root.hex(),
                "key": report.key,
                "key_pinned": report.key_pinned,
                "differences": [item._asdict() for item in report.differences],
            }
        )
    elif report.good:
        entries = count(report.entries, "entry", "entries")
        accounts = count(report.accounts, "account")
        output.print_line(f"Verified: {entries}, {accounts}, every hash and balance.")
        if of_file and not report.key_pinned:
            output.print_line(f"The key was taken from the file itself; pin it with --key '{report.key}'.")
    else:
        for item in report.differences:
            output.print_line(f"{item.where}: {item.what}")
    if not report.good:
        raise typer.Exit(output.EXIT_DIFFERENCE)


class _bar:  # noqa: N801 - used like a function
    """A progress bar on standard error, shown only to people."""

    def __init__(self, title: str, *, quiet: bool) -> None:
        self._progress = Progress(console=output.errors, transient=True, disable=quiet or not sys.stderr.isatty())
        self._title = title

    def __enter__(self) -> _bar:
        self._progress.start()
        self._task = self._progress.add_task(self._title, total=None)
        return self

    def __call__(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total or None)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise Invalid(what=str(path), why=(error.strerror or "it cannot be read").lower()) from None


def _read(path: Path) -> str:
    with _open(path) as file:
        return file.read(1_000_000).decode("utf-8", "replace")
