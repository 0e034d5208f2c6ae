"""`choir index`: make an index on this machine, and search one, made here or bought."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, ForceOption, NodeOption
from choir.foundation.errors import Invalid, NotFound

if TYPE_CHECKING:
    from choir.doors.indexes.shapes import IndexSearchOut

app = typer.Typer(help="Make an index of a repository, and search it.", no_args_is_help=True)

FILE = Path("choir.index")
LanguagesOption = Annotated[
    list[str] | None,
    typer.Option("--languages", help="python, javascript, typescript, go or rust; may be repeated.", metavar="NAME"),
]


@app.command(epilog="Example: choir index build --repo . --out choir.index")
def build(
    repo: Annotated[Path, typer.Option("--repo", help="A git checkout, a folder inside one, or any folder.")] = Path(),
    languages: LanguagesOption = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="With a vector for each symbol.")] = False,
    previous: Annotated[
        Path | None,
        typer.Option("--previous", help="An earlier index; unchanged files are not parsed.", metavar="FILE"),
    ] = None,
    ref: Annotated[
        str | None, typer.Option("--ref", help="This commit instead of the checked-out one.", metavar="COMMIT")
    ] = None,
    dirty: Annotated[bool, typer.Option("--dirty", help="Include uncommitted changes.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Write the index to this file.", metavar="FILE")] = FILE,
    force: ForceOption = False,
    as_json: AsJson = False,
) -> None:
    """Index a repository on this machine, in a sandbox, as a provider would. Needs no node."""
    from choir.doors.indexes.local import build_index

    output.want_json(as_json)
    with output.reading_options():
        check_languages(languages or [])
    output.may_write(out, force=force)
    before = None if previous is None else previous.read_bytes()
    made = build_index(repo, languages=languages or (), embeddings=embeddings, previous=before, ref=ref, dirty=dirty)
    output.write_result(out, made.to_bytes(), force=force)
    if as_json:
        output.print_json(made.head() | {"file": str(out)})
        return
    counts = f"{made.symbols} symbols and {made.references} references in {made.parsed} files"
    output.print_line(f"{out}: {counts} of commit {made.commit[:12]}.")


@app.command(epilog="Example: choir index search put --index job_01h… --kind function --refs")
def search(
    word: Annotated[str, typer.Argument(help="A name or a part of one, or a symbol's id.", metavar="WORD")],
    index: Annotated[
        str, typer.Option("--index", help="A file, or the job that it was bought with.", metavar="FILE|JOB")
    ] = str(FILE),
    kind: Annotated[
        str, typer.Option("--kind", help="Only symbols of this kind, such as function or class.", metavar="KIND")
    ] = "",
    refs: Annotated[bool, typer.Option("--refs", help="Show where the name is used, too.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of symbols, and of places.", min=1, max=1_000)] = 50,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Find what a repository defines and where it is used, in an index made here or bought."""
    output.want_json(as_json)
    with output.reading_options():
        _check_kind(kind)
    found = _search(word, index, kind, limit, node, refs=refs)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    _print(found, word, refs=refs)


def _search(word: str, index: str, kind: str, limit: int, node: str | None, *, refs: bool) -> IndexSearchOut:
    from choir.doors.indexes.shapes import search_out

    if index.startswith("job_") and not os.path.lexists(index):
        from choir.doors.jobs.commands.buyer import as_buyer

        with as_buyer(node, quiet=True) as buyer:
            job = ids.whole(buyer.client, "job", index)
            return buyer.client.indexes.search(job, word, kind=kind, refs=refs, limit=limit)
    from choir.bazaar.contracts import RepoIndex
    from choir.bazaar.policy import VerificationPolicy

    file = Path(index)
    if not file.is_file():
        raise NoIndexFile(file=index)
    return search_out(RepoIndex.from_bytes(file.read_bytes(), VerificationPolicy()), word, kind, limit, refs=refs)


class NoIndexFile(NotFound):
    code = "cli.no_index_file"
    sentence = "There is no index {file}."
    hint = "Make one with `choir index build`, or name a job with --index job_…"


def check_languages(languages: list[str]) -> None:
    """Raise unless these languages can be indexed."""
    from choir.bazaar.contracts import IndexLanguage

    known = [item.value for item in IndexLanguage]
    wrong = next((item for item in languages if item not in known), None)
    if wrong is not None:
        raise Invalid(what=f"--languages {wrong[:40]}", why=f"there are {', '.join(known)}")


def _check_kind(kind: str) -> None:
    from choir.bazaar.contracts.index_format import SymbolKind

    known = [item.value for item in SymbolKind]
    if kind and kind not in known:
        raise Invalid(what=f"--kind {kind[:40]}", why=f"there are {', '.join(known)}")


def _print(found: IndexSearchOut, word: str, *, refs: bool) -> None:
    for item in found.symbols:
        inner = f"{item.parent}.{item.name}" if item.parent else item.name
        said = f"  {item.doc}" if item.doc else ""
        output.print_line(plain(f"{item.path}:{item.first_line}: {item.kind} {inner}: {item.signature}{said}"))
    for use in found.uses:
        means = f" = {use.symbol}" if use.symbol else ""
        output.print_line(plain(f"{use.path}:{use.line}:{use.column}: {use.kind} {use.name}{means}"))
    if not found.symbols and not found.uses:
        output.say(f"Nothing in {found.files} files is called like '{plain(word)}'.")
    elif found.symbols and not refs:
        output.say("Add --refs to see where a name is used.")
