"""What is found in an index, as it travels."""

from __future__ import annotations

from pydantic import Field

from choir.bazaar.contracts import RepoIndex, index_search
from choir.bazaar.contracts.index_search import FoundSymbol, FoundUse
from choir.doors.shapes import Wire, example

SYMBOLS_MAX = 200
USES_MAX = 1_000


class SymbolOut(
    Wire,
    json_schema_extra=example(
        path="src/shelf.py", name="put", kind="function", parent="", first_line=9, last_line=14,
        signature="def put(count, boxes)", doc="How many boxes there are afterwards.", id="src/shelf.py#put",
    ),
):  # fmt: skip
    """Something that a file defines."""

    path: str
    name: str
    kind: str
    parent: str = Field(description="The dotted name of what it stands in.")
    first_line: int
    last_line: int
    signature: str
    doc: str
    id: str


class UseOut(
    Wire,
    json_schema_extra=example(
        path="test_shelf.py", name="put", kind="call", line=13, column=12, symbol="src/shelf.py#put"
    ),
):
    """A place where a name is used."""

    path: str
    name: str
    kind: str
    line: int
    column: int = Field(description="In characters, from 1.")
    symbol: str | None = Field(description="The only symbol that it can mean, if there is one.")


class IndexSearchOut(
    Wire,
    json_schema_extra=example(
        commit="0" * 40, files=12, symbols_in_all=240, references_in_all=3100, symbols=[], uses=[]
    ),
):
    """What was found."""

    commit: str
    files: int = Field(description="Files that were parsed.")
    symbols_in_all: int
    references_in_all: int
    symbols: list[SymbolOut]
    uses: list[UseOut]


def search_out(index: RepoIndex, word: str, kind: str, limit: int, *, refs: bool) -> IndexSearchOut:
    """The answer to a question; nothing asked gives the numbers alone."""
    found = index_search.symbols(index, word, kind, min(limit, SYMBOLS_MAX)) if word else []
    uses = index_search.uses(index, word, min(limit, USES_MAX)) if word and refs else []
    return IndexSearchOut(
        commit=index.commit,
        files=index.parsed,
        symbols_in_all=index.symbols,
        references_in_all=index.references,
        symbols=[_symbol(item) for item in found],
        uses=[_use(item) for item in uses],
    )


def _symbol(item: FoundSymbol) -> SymbolOut:
    symbol = item.symbol
    return SymbolOut(
        path=item.path, name=symbol.name, kind=symbol.kind, parent=symbol.parent, first_line=symbol.lines[0],
        last_line=symbol.lines[1], signature=symbol.signature, doc=symbol.doc, id=f"{item.path}#{symbol.id}",
    )  # fmt: skip


def _use(item: FoundUse) -> UseOut:
    return UseOut(
        path=item.path, name=item.name, kind=item.kind, line=item.line, column=item.column, symbol=item.symbol
    )
