"""`choir source`: add documents, read their text, find spans."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, ForceOption, NodeOption
from choir.foundation.errors import TooLarge
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.sources.shapes import SourceOut

app = typer.Typer(help="Add documents as evidence, and find what they say.", no_args_is_help=True)

SourceArgument = Annotated[str, typer.Argument(help="The source's hash, such as sha256:9f86….", metavar="SOURCE")]
_ROWS = 20
_SHOWN_CHARS = 200


@app.command(epilog="Example: choir source add report.pdf --title 'Wind loads on bridges'")
def add(
    document: Annotated[str, typer.Argument(help="A file, - for standard input, or a URL.", metavar="DOCUMENT")],
    title: Annotated[str | None, typer.Option("--title", help="Default: the document's own title.")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Add a document: PDF, HTML, Markdown or plain text. It is private until you publish an article on it."""
    output.want_json(as_json)
    with as_author(node) as author, output.waiting("Reading the document", quiet=as_json):
        if document.startswith(("http://", "https://")):
            found = author.client.sources.fetch(document, title=title)
        else:
            name = None if document == "-" else Path(document).name
            found = author.client.sources.add(_bytes_of(document, node), title=title, filename=name)
    _show(found, as_json=as_json)
    if not as_json:
        output.say(f"Find a span to cite: choir source find 'words' --in {found.hash}")


@app.command("ls", epilog="Example: choir source ls --mine")
def ls(
    mine: Annotated[bool, typer.Option("--mine", help="Only what you added.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of sources, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List sources that you may read."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = list(itertools.islice(author.client.sources.all(mine=mine, limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("None yet. Try: choir source add FILE")
    else:
        rows = [(item.hash, item.state, f"{item.chars:,}", item.title) for item in found]
        output.print_table(("source", "state", "characters", "title"), rows, right=(2,), whole=(0,))


@app.command(epilog="Example: choir source show sha256:9f86…")
def show(source: SourceArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a source: hashes, sizes, origin and reader."""
    output.want_json(as_json)
    with as_author(node) as author:
        _show(author.client.sources.get(source), as_json=as_json)


@app.command(epilog="Example: choir source text sha256:9f86… --start 120 --end 188")
def text(
    source: SourceArgument,
    start: Annotated[int, typer.Option(help="First character, from 0.", min=0)] = 0,
    end: Annotated[int | None, typer.Option(help="Behind the last character; default: the end.", min=1)] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a source's text, or a part of it by offsets."""
    output.want_json(as_json)
    parts: list[str] = []
    with as_author(node) as author:
        place = start
        while True:
            found = author.client.sources.text(source, start=place, end=end)
            parts.append(found.text)
            place = found.end
            if not found.text or place >= min(found.chars, found.chars if end is None else end):
                break
    whole = "".join(parts)
    if as_json:
        output.print_json({"source": source, "start": start, "end": start + len(whole), "text": whole})
    else:
        output.print_line(whole)


@app.command(epilog="Example: choir source find 'aeroelastic flutter' --in sha256:9f86…")
def find(
    words: Annotated[str, typer.Argument(help="A quote, or words.", metavar="WORDS")],
    source: Annotated[str | None, typer.Option("--in", help="Only in this source.", metavar="SOURCE")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of places.", min=1, max=500)] = 10,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Find where something is said, and print the pointer that cites it."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.sources.find(words, source=source, limit=limit).items
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
        return
    if not found:
        output.say("Nothing found. Try fewer words.")
    for item in found:
        output.print_line(item.pointer)
        output.print_line(f"  {item.title}: {item.text[:_SHOWN_CHARS]}".replace("\n", " "))


@app.command(epilog="Example: choir source document sha256:9f86… -o report.pdf")
def document(
    source: SourceArgument,
    file: Annotated[Path, typer.Option("--output", "-o", help="Where to write it.", metavar="FILE")],
    force: ForceOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Save the document as it was added."""
    output.want_json(as_json)
    output.may_write(file, force=force)
    with as_author(node) as author:
        data = author.client.sources.document(source)
    output.write_result(file, data, force=force)
    if as_json:
        output.print_json({"file": str(file), "bytes": len(data)})
    else:
        output.print_line(f"{file}: {count(len(data), 'byte')}")


def _bytes_of(document: str, node: str | None) -> bytes:
    """The document's bytes; a file that the node would refuse is not read."""
    from choir.commons.policy import SourcesPolicy

    most = output.policy_at(node).of(SourcesPolicy).document_bytes_max
    with sys.stdin.buffer if document == "-" else Path(document).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLarge(what=f"The document {document}", size=len(data), limit=most)
    return data


def _show(found: SourceOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(found.hash)
    output.print_line(f"  title     {found.title}")
    output.print_line(f"  state     {found.state}")
    output.print_line(f"  document  {found.media_type}, {count(found.size, 'byte')}, {found.bytes}")
    output.print_line(f"  text      {count(found.chars, 'character')}, {found.text}")
    output.print_line(f"  reader    {found.reader}")
    output.print_line(f"  origin    {found.url or found.origin}, {found.added_at}")
