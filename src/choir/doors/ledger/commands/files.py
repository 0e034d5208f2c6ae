"""`choir ledger verify|export|import`: the commands that open the database themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, ForceOption, HomeOption
from choir.doors.cli.result_file import whole_file
from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Invalid, Refusal
from choir.foundation.settings import Settings
from choir.foundation.words import count
from choir.operations.home import prepare_home, running_node

if TYPE_CHECKING:
    from choir.ledger.verification import Report
    from choir.node import Node
    from choir.storage.database import Tx


class StopTheNode(Refusal):
    """A running node would be surprised."""

    code = "ledger.import.node_running"
    sentence = "A node is running on {home}."
    hint = "Stop it with `choir down` first."


class KeyNeeded(Refusal):
    """A key that is made for the occasion cannot be the one that signed an export."""

    code = "ledger.import.key_needed"
    sentence = "Importing needs the key that signed the export, and there is none in {file}."
    hint = "Put the node's key there first, or set CHOIR_NODE_KEY_FILE. Nothing was imported."


class ExportFormat(StrEnum):
    """What an export can be written as."""

    JSONL = "jsonl"
    CSV = "csv"
    BEANCOUNT = "beancount"
    AIDOLLAR = "aidollar"


class ImportFormat(StrEnum):
    """What can be read again."""

    JSONL = "jsonl"
    AIDOLLAR = "aidollar"


_CHECKS = {
    ExportFormat.JSONL: "Verify with: python3 auditor/choir_verify.py export",
    ExportFormat.BEANCOUNT: "Check with: bean-check",
}
_ENDINGS = {
    ".csv": ExportFormat.CSV,
    ".beancount": ExportFormat.BEANCOUNT,
    ".bean": ExportFormat.BEANCOUNT,
}
_ExportOption = Annotated[
    ExportFormat | None,
    typer.Option(
        "--format",
        help="jsonl, to be verified or imported; csv, for spreadsheets; beancount; aidollar, an ai$ file of all AID."
        " Without it, a FILE that ends with .csv, .beancount or .bean is written as that, any other as jsonl.",
        metavar="FORMAT",
    ),
]
_ImportOption = Annotated[
    ImportFormat,
    typer.Option(
        "--format",
        help="jsonl, a whole ledger; aidollar, an ai$ file, posted to the ledger of a development node.",
        metavar="FORMAT",
    ),
]


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir ledger verify --file export.jsonl --checkpoint kept.note")(verify)
    app.command("export", epilog="Example: choir ledger export books.beancount --format beancount")(export)
    app.command("import", epilog="Example: choir ledger import ledger.jsonl --home /srv/copy")(import_)


def verify(
    file: Annotated[Path | None, typer.Option(help="An export to verify instead of the database.")] = None,
    key: Annotated[
        str | None, typer.Option(help="The verifier key you trust; for a file.", callback=output.given_key)
    ] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(help="A saved checkpoint; history must contain it. May be repeated.", metavar="FILE"),
    ] = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every hash and balance, check every signature, and report all differences (exit code 5).

    Signed liabilities: totals are always checked, their trees for as long as they are kept.
    """
    from choir.ledger.notes import VerifierKey
    from choir.ledger.verification import verify_database, verify_export
    from choir.operations.preparation import opened_node
    from choir.storage.database import Tx, connect

    output.want_json(as_json)
    if key is not None and file is None:
        raise typer.BadParameter("--key is for a file; the database is checked with the node's own keys")
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
    _show(report, as_json=as_json)
    if report.good and file is not None and not report.key_pinned and not as_json:
        output.print_line(f"The key was taken from the file itself; pin it with --key '{report.key}'.")


def export(
    file: Annotated[str, typer.Argument(help="Where to write; - for standard output.")],
    chosen: _ExportOption = None,
    force: ForceOption = False,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Export the whole ledger: as canonical JSONL with a signed trailer that anyone can verify, or for other tools."""
    from choir.operations.preparation import opened_node
    from choir.storage.database import Tx, connect

    output.want_json(as_json)
    piped = file == "-"
    format_ = chosen or _ENDINGS.get(Path(file).suffix.lower(), ExportFormat.JSONL)
    if not piped:
        output.may_write(Path(file), force=force)
    settings = output.settings_of(home)
    with opened_node(settings, output.say) as node, connect(node.database.conninfo) as db:
        with _bar("Exporting", quiet=as_json or (piped and sys.stdout.isatty())) as told:
            if piped:
                done = _write(node, format_, Tx(db), sys.stdout.buffer.write, told)
            else:
                with whole_file(Path(file), force=force) as stream:
                    done = _write(node, format_, Tx(db), stream.write, told)
        db.commit()
    if as_json:
        output.print_json(done | {"file": file, "format": format_}, beside=piped)
    else:
        (output.say if piped else output.print_line)(_written(format_, done, file))


def _write(
    node: Node, format_: ExportFormat, tx: Tx, write: Callable[[bytes], Any], told: Callable[[int, int], None]
) -> dict[str, Any]:
    """Write in this format; what is to be said of it."""
    if format_ is ExportFormat.JSONL:
        checkpoint = node.exporter.write(tx, write, told)
        return {"entries": checkpoint.size, "checkpoint": checkpoint.note}
    from choir.ledger.formats import WRITERS

    many = "lines" if format_ is ExportFormat.AIDOLLAR else "entries"
    return {many: WRITERS[format_](tx, write, told)}


def _written(format_: ExportFormat, done: dict[str, Any], file: str) -> str:
    place = "standard output" if file == "-" else file
    if format_ is ExportFormat.AIDOLLAR:
        return f"{count(done['lines'], 'line')} written to {place}."
    written = f"{count(done['entries'], 'entry', 'entries')} written to {place}."
    return f"{written} {_CHECKS[format_]} {file}" if format_ in _CHECKS and file != "-" else written


def import_(
    file: Annotated[Path, typer.Argument(help="An export.")],
    format_: _ImportOption = ImportFormat.JSONL,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Import an export into a new, empty ledger; the node needs the key that signed it. Or import an ai$ file."""
    output.want_json(as_json)
    settings = output.settings_of(home)
    if format_ is ImportFormat.AIDOLLAR:
        _import_aidollar(settings, file, as_json=as_json)
    else:
        _import_export(settings, file, as_json=as_json)


def _import_export(settings: Settings, file: Path, *, as_json: bool) -> None:
    from choir.foundation.node_key import has_key, load_node_secret
    from choir.ledger.importer import import_export
    from choir.operations.preparation import database_of, owner_connection, prepare_database

    if running_node(settings.home) is not None:
        raise StopTheNode(home=settings.home)
    _open(file).close()
    if not has_key(settings):
        raise KeyNeeded(file=settings.node_key_file)
    prepare_home(settings, SystemEntropy())
    with _bar("Importing", quiet=as_json) as told, database_of(settings, output.say) as dsns:
        prepare_database(settings, dsns, new_ledger=False)
        with owner_connection(dsns) as owner:
            report = import_export(owner, file, load_node_secret(settings).signer(), told)
    _show(report, as_json=as_json, what="Imported and verified")


def _import_aidollar(settings: Settings, file: Path, *, as_json: bool) -> None:
    """By entries like all others, so the node may run meanwhile: what others post waits only while these are posted."""
    from choir.ledger.formats.aidollar_import import AidollarImport
    from choir.operations.preparation import opened_node
    from choir.storage.database import Tx, connect

    with _open(file) as stream, opened_node(settings, output.say) as node, connect(node.database.conninfo) as db:
        service = AidollarImport(node.ledger, node.accounts, node.entropy, production=node.identity.production)
        with _bar("Importing", quiet=as_json) as told:
            read = service.read(stream, told)
            done = service.post(Tx(db), read, told)
        db.commit()
    if as_json:
        output.print_json({"lines": done.lines, "new": done.new, "file": str(file)})
    else:
        output.print_line(f"{count(done.lines, 'line')} of {file} imported, {done.new} new.")


def _show(report: Report, *, as_json: bool, what: str = "Verified") -> None:
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
        output.print_line(f"{what}: {entries}, {accounts}, every hash and balance.")
    else:
        for item in report.differences:
            output.print_line(f"{item.where}: {item.what}")
    if not report.good:
        raise typer.Exit(output.EXIT_DIFFERENCE)


class _bar:  # noqa: N801 - used like a function
    """A progress bar on standard error, shown only to people."""

    def __init__(self, title: str, *, quiet: bool) -> None:
        from rich.progress import Progress

        self._progress = Progress(
            console=output.console(),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
            redirect_stdout=False,  # an export may be on its way there
        )
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
