"""Looking something up in an index. Pure.

Guarantees: the same index and question give the same answer in the same order: names that are the word come before
names that begin with it, and those before names that only hold it; upper and lower case differ only in the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from choir.bazaar.contracts.index_format import IndexedFile, IndexReference, RepoIndex, Symbol


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol that fits."""

    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class FoundUse:
    """A place where a name is used."""

    path: str
    name: str
    kind: str
    line: int
    column: int
    symbol: str | None


def symbols(index: RepoIndex, word: str, kind: str = "", limit: int = 50) -> list[FoundSymbol]:
    """Symbols whose name, or dotted name, holds a word; the best first."""
    found = []
    for file in index.files:
        for item in file.symbols:
            rank = _rank(item, word) if not kind or item.kind == kind else None
            if rank is not None:
                found.append((rank, len(item.name), file.path, item.at, FoundSymbol(file.path, item)))
    return [item[-1] for item in sorted(found, key=lambda item: item[:-1])[:limit]]


def uses(index: RepoIndex, word: str, limit: int = 200) -> list[FoundUse]:
    """Where a name is used, exactly as it is written, or whatever stands for the symbol with this id."""
    found: list[FoundUse] = []
    ids = index.ids()
    meant = ids.index(word) if word in ids else None
    for file in index.files:
        for item in file.references:
            if item.name == word or (meant is not None and item.symbol == meant):
                found += _places(file, item, None if item.symbol is None else ids[item.symbol])
    return sorted(found, key=lambda use: (use.path, use.line, use.column))[:limit]


def _places(file: IndexedFile, item: IndexReference, means: str | None) -> Iterator[FoundUse]:
    return (FoundUse(file.path, item.name, item.kind, line, column, means) for line, column in item.places)


def _rank(item: Symbol, word: str) -> int | None:
    name, path, folded = item.name.casefold(), item.path.casefold(), word.casefold()
    tests = (item.name == word, name == folded, path == folded, name.startswith(folded), folded in name, folded in path)
    return next((rank for rank, fits in enumerate(tests) if fits), None)
