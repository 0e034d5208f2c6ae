"""The format of an index: what was written reads the same, and nothing else is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from choir.bazaar.contracts import RepoIndex, index_search
from choir.bazaar.contracts.index_format import (
    BadIndex,
    Embedding,
    IndexedFile,
    IndexReference,
    Symbol,
    resolved,
    vector_of,
    vector_text,
    with_ids,
)
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import bytes_hash

POLICY = VerificationPolicy()
COMMIT = "a" * 40


def symbol(name: str, at: int, kind: str = "function", parent: str = "") -> Symbol:
    return Symbol(name, kind, parent, (1, 1), (at, at + len(name)), at, f"def {name}", "Says it.")


def indexed(path: str, names: list[str], uses: list[tuple[str, str]] = [], language: str = "python") -> IndexedFile:  # noqa: B006
    symbols = with_ids(symbol(name, 10 * place) for place, name in enumerate(names))
    found = [IndexReference(name, kind, (1, 1 + place)) for place, (name, kind) in enumerate(sorted(uses))]
    return IndexedFile(path, bytes_hash(path.encode()), 1_000, 1, language, symbols=symbols, references=tuple(found))


def sample() -> RepoIndex:
    files = resolved(
        [
            indexed("a.py", ["f", "g", "g"], [("h", "call"), ("h", "use"), ("len", "call")]),
            indexed("b.py", ["h"], [("f", "import"), ("f", "use"), ("g", "call"), ("h", "use")]),
            IndexedFile("notes.md", bytes_hash(b"x"), 1),
            indexed("z.js", ["f"], [("f", "call"), ("h", "call")], "javascript"),
        ]
    )
    return RepoIndex(COMMIT, ("javascript", "python"), {"tree-sitter": "1"}, files)


def test_reading_what_was_written_gives_the_same() -> None:
    index = sample()
    again = RepoIndex.from_bytes(index.to_bytes(), POLICY)
    assert again == index
    assert again.to_bytes() == index.to_bytes()
    assert (index.symbols, index.references, index.parsed) == (5, 9, 3)
    assert index.ids() == ["a.py#f", "a.py#g", "a.py#g~2", "b.py#h", "z.js#f"]


def test_references_are_resolved_only_where_one_symbol_can_be_meant() -> None:
    index = sample()
    means = {
        (file.path, item.name, item.kind): None if item.symbol is None else index.ids()[item.symbol]
        for file in index.files
        for item in file.references
    }
    assert means == {
        ("a.py", "h", "call"): "b.py#h",
        ("a.py", "h", "use"): None,  # it may be a variable
        ("a.py", "len", "call"): None,
        ("b.py", "f", "import"): "a.py#f",
        ("b.py", "f", "use"): "a.py#f",  # it is imported
        ("b.py", "g", "call"): None,  # two are called so
        ("b.py", "h", "use"): "b.py#h",
        ("z.js", "f", "call"): "z.js#f",
        ("z.js", "h", "call"): None,  # of another language
    }


def test_vectors_come_back() -> None:
    values = (0, 1, -1, 127, -127)
    assert vector_of(vector_text(values)) == values
    files = tuple(
        IndexedFile(
            **{name: getattr(f, name) for name in f.__slots__} | {"vectors": (vector_text(values),) * len(f.symbols)}
        )
        for f in sample().files
    )
    index = RepoIndex(COMMIT, ("javascript", "python"), {}, files, Embedding("m", 5))
    assert RepoIndex.from_bytes(index.to_bytes(), POLICY) == index


def head(**changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines[0].update(changes)


def first(**changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines[1].update(changes)


def of_symbol(**changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines[1]["symbols"][0].update(changes)


def of_reference(place: int, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines[1]["references"][0].__setitem__(place, value)


@pytest.mark.parametrize(
    "change",
    [
        head(format="choir-index/2"),
        head(commit="HEAD"),
        head(commit=None),
        head(languages=["python", "javascript"]),
        head(languages=["cobol"]),
        head(languages=[]),
        head(more=1),
        head(counts={"files": 1, "parsed": 1, "references": 1, "symbols": 1}),
        head(tools=[]),
        head(tools={"a": 1}),
        head(embedding={"dimensions": 0, "model": "m"}),
        head(embedding={"dimensions": 5, "model": "m"}),  # and no vectors
        first(path="/etc/passwd"),
        first(path="../a"),
        first(path="a//b"),
        first(path="b.py"),  # twice
        first(path="zz.py"),  # not in order
        first(path="a\u0000"),
        first(hash="sha256:0"),
        first(bytes=-1),
        first(bytes=1.5),
        first(bytes=True),
        first(bytes=10_000_000),
        first(lines=0),
        first(language="go"),  # not asked for
        first(language="cobol"),
        first(skipped="because"),
        first(skipped="binary"),  # and has symbols
        first(errors=0),
        first(symbols={}),
        first(symbols=[1]),
        first(vectors=["AAAA"] * 3),
        first(vectors=[float("nan")]),
        of_symbol(kind="spell"),
        of_symbol(kind=["function"]),
        of_symbol(name=""),
        of_symbol(name="x" * 201),
        of_symbol(id="g"),
        of_symbol(id="a.py#f"),
        of_symbol(span=[5, 1]),
        of_symbol(span=[0, 99_999]),
        of_symbol(span=[0]),
        of_symbol(at=500),
        of_symbol(lines=[1, 2]),
        of_symbol(lines=[0, 1]),
        of_symbol(doc="a\u001b[2J"),
        of_symbol(doc=None),
        of_symbol(more=1),
        of_reference(0, ""),
        of_reference(1, "guess"),
        of_reference(2, 99),
        of_reference(2, -1),
        of_reference(2, "a.py#f"),
        of_reference(3, []),
        of_reference(3, [1]),
        of_reference(3, [2, 1]),
        of_reference(3, [1, 0]),
        of_reference(3, [1, 5, 1, 2]),
        of_reference(3, [1, 1, 1, 1]),
        lambda lines: lines[1]["symbols"].reverse(),
        lambda lines: lines[1]["references"].reverse(),
        lambda lines: lines[1]["symbols"].append(lines[1]["symbols"][-1]),
        lambda lines: lines.append(lines[-1]),
        lambda lines: lines.reverse(),
        lambda lines: lines.clear(),
    ],
)
def test_what_the_format_does_not_allow_is_refused(change: Callable[[list[dict[str, Any]]], None]) -> None:
    lines = [json.loads(line) for line in sample().to_bytes().splitlines()]
    change(lines)
    dumped = [json.dumps(line, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for line in lines]
    with pytest.raises(BadIndex):
        RepoIndex.from_bytes("".join(f"{line}\n" for line in dumped).encode(), POLICY)


def test_an_index_has_one_form_only() -> None:
    data = sample().to_bytes()
    for other in (data[:-1], data + b"\n", data.replace(b":", b": ", 1), data.replace(b"a.py", b"\\u0061.py", 1)):
        with pytest.raises(BadIndex):
            RepoIndex.from_bytes(other, POLICY)


def test_searching_finds_the_best_names_first() -> None:
    index = sample()
    assert [item.path for item in index_search.symbols(index, "f")] == ["a.py", "z.js"]
    assert index_search.symbols(index, "f", "class") == []
    assert [(use.path, use.symbol) for use in index_search.uses(index, "f")] == [
        ("b.py", "a.py#f"), ("b.py", "a.py#f"), ("z.js", "z.js#f"),
    ]  # fmt: skip
    assert {use.path for use in index_search.uses(index, "b.py#h")} == {"a.py", "b.py"}
