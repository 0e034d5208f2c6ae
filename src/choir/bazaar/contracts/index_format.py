"""The artifact of a RepoIndex: what the files of one commit define and use (docs/reference/index-format.md).

One JSON object a line, in canonical form: first the head, then one for each file in the order of their paths. Lines and
columns are counted from 1, spans are half-open, and all of them count Unicode code points of the file as it is; lines
end with a line feed.

Guarantees: reading is strict and bounded, and what was read writes the same bytes again, so one index has one form;
ids are unique and follow from names and order; a place lies inside its file as far as the index can know; a
reference that names a symbol names one that is there. What it says of the files is for verification to find out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Self

from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_bytes, parse_json, parse_object_hash
from choir.foundation.errors import ChoirError, Invalid, TooLarge

FORMAT = "choir-index/1"
FILE_BYTES_MAX = 1_000_000  # of a file that is parsed; larger ones are listed as skipped
NAME_CHARS_MAX = 200
TEXT_CHARS_MAX = 200
PATH_CHARS_MAX = 1_000
DIMENSIONS_MAX = 4_096
_TOOLS_MAX = 20
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class IndexLanguage(StrEnum):
    """What can be parsed. TypeScript includes TSX, JavaScript JSX."""

    GO = "go"
    JAVASCRIPT = "javascript"
    PYTHON = "python"
    RUST = "rust"
    TYPESCRIPT = "typescript"


class SymbolKind(StrEnum):
    CLASS = "class"
    CONSTANT = "constant"
    ENUM = "enum"
    FIELD = "field"
    FUNCTION = "function"
    INTERFACE = "interface"
    MACRO = "macro"
    METHOD = "method"
    MODULE = "module"
    STRUCT = "struct"
    TRAIT = "trait"
    TYPE = "type"
    VARIABLE = "variable"


class UseKind(StrEnum):
    """How a name is used: called, named after a dot, as a type, imported, or otherwise."""

    CALL = "call"
    IMPORT = "import"
    MEMBER = "member"
    TYPE = "type"
    USE = "use"


class Skip(StrEnum):
    """Why a file of a known language was not parsed."""

    BINARY = "binary"
    NOT_UTF8 = "not_utf8"
    PARSER = "parser"  # the parser gave up on it
    TOO_LARGE = "too_large"


_KINDS = frozenset(item.value for item in SymbolKind)
_USES = frozenset(item.value for item in UseKind)
_SKIPS = frozenset(item.value for item in Skip)
_LANGUAGES = frozenset(item.value for item in IndexLanguage)
_INNER = frozenset({SymbolKind.METHOD.value, SymbolKind.FIELD.value})  # what is reached through something else
_FAMILIES = {"typescript": "javascript"}  # these use each other's names


class BadIndex(Invalid):
    """An index that is not as the format says."""

    code = "bazaar.bad_index"
    sentence = "The index is not valid in line {line}: {why}."


class _Wrong(ValueError):
    """Why a line is refused."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something that a file defines."""

    name: str
    kind: str
    parent: str  # the dotted name of what it stands in
    lines: tuple[int, int]  # first and last
    span: tuple[int, int]  # code points of the whole definition
    at: int  # where its name stands
    signature: str = ""
    doc: str = ""
    id: str = ""  # its dotted name, with ~2 and so on where the file has several; `path#id` is unique in the index

    @property
    def path(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True)
class IndexReference:
    """A name, and where a file uses it in one way."""

    name: str
    kind: str
    at: tuple[int, ...]  # line, column, line, column …
    symbol: int | None = None  # the one symbol that it can mean, counted from 0 through all files

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        return zip(self.at[::2], self.at[1::2], strict=True)


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of the commit."""

    path: str
    hash: ObjectHash
    bytes: int
    lines: int = 0  # of a file that was parsed
    language: str = ""  # empty: none that was asked for
    skipped: str = ""
    errors: bool = False  # whether parts of it could not be parsed
    symbols: tuple[Symbol, ...] = ()
    references: tuple[IndexReference, ...] = ()
    vectors: tuple[str, ...] = ()  # one for each symbol, in base64: signed bytes

    @property
    def is_parsed(self) -> bool:
        return bool(self.language) and not self.skipped

    def to_json(self) -> dict[str, Any]:
        return {
            "bytes": self.bytes,
            "errors": self.errors,
            "hash": self.hash,
            "language": self.language,
            "lines": self.lines,
            "path": self.path,
            "references": [[item.name, item.kind, item.symbol, list(item.at)] for item in self.references],
            "skipped": self.skipped,
            "symbols": [_symbol_json(item) for item in self.symbols],
        } | ({"vectors": list(self.vectors)} if self.vectors else {})


@dataclass(frozen=True, slots=True)
class Embedding:
    """The model whose vectors the index has."""

    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class RepoIndex:
    """The artifact."""

    commit: str
    languages: tuple[str, ...]  # which were asked for
    tools: Mapping[str, str]  # parser and grammars with their versions
    files: tuple[IndexedFile, ...]
    embedding: Embedding | None = None

    @property
    def symbols(self) -> int:
        return sum(len(file.symbols) for file in self.files)

    def ids(self) -> list[str]:
        """The names of all symbols, in the order in which references count them."""
        return [f"{file.path}#{item.id}" for file in self.files for item in file.symbols]

    @property
    def references(self) -> int:
        return sum(len(item.at) // 2 for file in self.files for item in file.references)

    @property
    def parsed(self) -> int:
        return sum(file.is_parsed for file in self.files)

    def __repr__(self) -> str:
        return f"<RepoIndex: {self.parsed} files, {self.symbols} symbols, {self.references} references>"

    def head(self) -> dict[str, Any]:
        embedding = self.embedding
        return {
            "commit": self.commit,
            "counts": {
                "files": len(self.files),
                "parsed": self.parsed,
                "references": self.references,
                "symbols": self.symbols,
            },
            "embedding": None if embedding is None else {"dimensions": embedding.dimensions, "model": embedding.model},
            "format": FORMAT,
            "languages": list(self.languages),
            "tools": dict(self.tools),
        }

    def to_bytes(self) -> bytes:
        return b"".join(canonical_bytes(item) + b"\n" for item in (self.head(), *(f.to_json() for f in self.files)))

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> Self:
        """An index from untrusted bytes."""
        if len(data) > policy.index_bytes_max:
            raise TooLarge(what="The index", size=len(data), limit=policy.index_bytes_max)
        if data.count(b"\n") > policy.index_files_max + 1:
            raise TooLarge(what="The index, in files,", size=data.count(b"\n") - 1, limit=policy.index_files_max)
        lines = data.split(b"\n")
        if lines.pop() != b"":
            raise BadIndex(line=len(lines) + 1, why="it does not end with its line")
        head = _read(lines[0] if lines else b"", 1, _head)
        found = cls(
            commit=head["commit"],
            languages=tuple(head["languages"]),
            tools=head["tools"],
            files=tuple(_read(line, n, _file) for n, line in enumerate(lines[1:], 2)),
            embedding=None if head["embedding"] is None else Embedding(**head["embedding"]),
        )
        found.check(head["counts"])
        return found

    def check(self, counts: Any) -> None:
        """Raise if lines that are good by themselves do not go together."""
        paths = [file.path for file in self.files]
        if any(first >= second for first, second in pairwise(paths)):
            raise BadIndex(line=2, why="the files are not in the order of their paths, each once")
        if counts != self.head()["counts"]:
            raise BadIndex(line=1, why="the counts are not those of the files")
        known = self.symbols
        wide = 0 if self.embedding is None else self.embedding.dimensions
        for n, file in enumerate(self.files, 2):
            if file.language and file.language not in self.languages:
                raise BadIndex(line=n, why="its language was not asked for")
            if any(item.symbol is not None and item.symbol >= known for item in file.references):
                raise BadIndex(line=n, why="a reference names a symbol that is not there")
            if len(file.vectors) != (len(file.symbols) if wide else 0):
                raise BadIndex(line=n, why="there must be a vector for each symbol, or none at all")
            if any(_dimensions(item) != wide for item in file.vectors):
                raise BadIndex(line=n, why="a vector has not the dimensions of the model")


def vector_text(values: Sequence[int]) -> str:
    """A vector of whole numbers of at most 127 either way, as the index has it."""
    return base64.b64encode(bytes(value & 0xFF for value in values)).decode()


def vector_of(text: str) -> tuple[int, ...]:
    return tuple(value - 256 if value > 127 else value for value in base64.b64decode(text))


def _dimensions(text: str) -> int:
    try:
        return len(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return -1


# --- what follows from the rest ---


def with_ids(symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Symbols of one file with their ids."""
    seen: Counter[str] = Counter()
    found = []
    for item in symbols:
        seen[item.path] += 1
        again = f"~{seen[item.path]}" if seen[item.path] > 1 else ""
        found.append(replace(item, id=f"{item.path}{again}"))
    return tuple(found)


def resolved(files: Sequence[IndexedFile]) -> tuple[IndexedFile, ...]:
    """The files with each reference resolved where only one symbol can be meant, by its name.

    A call, a type, an import: the only symbol of that name in the same file, else in the files of the same language,
    fields and methods aside. What stands after a dot: the only symbol of that name in that language. Any other use:
    the only one in the same file, or as an import if the file imports the name.
    """
    plain: dict[tuple[str, str], int | None] = {}
    every: dict[tuple[str, str], int | None] = {}
    number, begins = 0, []
    for file in files:
        begins.append(number)
        family = _FAMILIES.get(file.language, file.language)
        for item in file.symbols:
            key = (family, item.name)
            every[key] = None if key in every else number
            if item.kind not in _INNER:
                plain[key] = None if key in plain else number
            number += 1
    return tuple(_resolved(file, begin, plain, every) for file, begin in zip(files, begins, strict=True))


def _resolved(
    file: IndexedFile,
    begin: int,
    plain: Mapping[tuple[str, str], int | None],
    every: Mapping[tuple[str, str], int | None],
) -> IndexedFile:
    if not file.references:
        return file
    family = _FAMILIES.get(file.language, file.language)
    own: dict[str, int | None] = {}
    for number, item in enumerate(file.symbols, begin):
        if item.kind not in _INNER:
            own[item.name] = None if item.name in own else number
    imported = {use.name for use in file.references if use.kind == UseKind.IMPORT}
    found = []
    for use in file.references:
        if use.kind == UseKind.MEMBER:
            symbol = every.get((family, use.name))
        elif use.name in own:
            symbol = own[use.name]
        else:
            known = use.kind != UseKind.USE or use.name in imported
            symbol = plain.get((family, use.name)) if known else None
        found.append(use if symbol == use.symbol else replace(use, symbol=symbol))
    return replace(file, references=tuple(found))


# --- reading ---


def _read(line: bytes, number: int, read: Any) -> Any:
    try:
        value = parse_json(line)
        _need(isinstance(value, dict), "it is not an object")
        found = read(value)
        _need(canonical_bytes(value) == line, "it is not in canonical form")
    except _Wrong as error:
        raise BadIndex(line=number, why=str(error)) from None
    except ChoirError as error:
        raise BadIndex(line=number, why=f"it cannot be read ({error.code})") from None
    return found


def _need(good: bool, why: str) -> None:
    if not good:
        raise _Wrong(why)


def _fields(value: Any, names: frozenset[str], what: str, optional: frozenset[str] = frozenset()) -> None:
    _need(isinstance(value, dict) and names <= value.keys() <= names | optional, f"the fields of {what} are not right")


def _text(value: Any, most: int, what: str, least: int = 0) -> str:
    _need(isinstance(value, str) and least <= len(value) <= most, f"{what} is no text of {least} to {most} characters")
    _need(not _CONTROL.search(value), f"{what} has control characters")
    return value  # type: ignore[no-any-return]


def _whole(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value <= high, f"{what} is not a whole number from {low} to {high}")
    return value  # type: ignore[no-any-return]


def _list(value: Any, what: str) -> list[Any]:
    _need(isinstance(value, list), f"{what} is not a list")
    return value  # type: ignore[no-any-return]


_HEAD = frozenset({"commit", "counts", "embedding", "format", "languages", "tools"})
_FILE = frozenset({"bytes", "errors", "hash", "language", "lines", "path", "references", "skipped", "symbols"})
_SYMBOL = frozenset({"at", "doc", "id", "kind", "lines", "name", "parent", "signature", "span"})
_BYTES_MOST = 10**12


def _head(value: dict[str, Any]) -> dict[str, Any]:
    _fields(value, _HEAD, "the head")
    _need(value["format"] == FORMAT, f"the format is not {FORMAT}")
    _need(isinstance(value["commit"], str) and bool(_COMMIT.match(value["commit"])), "the commit is not a commit id")
    languages = _list(value["languages"], "languages")
    _need(all(isinstance(item, str) for item in languages), "a language is no text")
    _need(languages == sorted(set(languages) & _LANGUAGES) != [], "the languages are not known, sorted and distinct")
    tools = value["tools"]
    _need(isinstance(tools, dict) and len(tools) <= _TOOLS_MAX, "the tools are not an object of a few names")
    for name, version in tools.items():
        _text(name, NAME_CHARS_MAX, "a tool")
        _text(version, NAME_CHARS_MAX, "a tool's version")
    if value["embedding"] is not None:
        _fields(value["embedding"], frozenset({"dimensions", "model"}), "the embedding")
        _text(value["embedding"]["model"], NAME_CHARS_MAX, "the model", 1)
        _whole(value["embedding"]["dimensions"], 1, DIMENSIONS_MAX, "dimensions")
    return value


def _file(value: dict[str, Any]) -> IndexedFile:
    _fields(value, _FILE, "a file", frozenset({"vectors"}))
    path = _text(value["path"], PATH_CHARS_MAX, "path", 1)
    parts = path.split("/")
    _need(not {"", ".", ".."} & set(parts), "the path leads elsewhere")
    try:
        parse_object_hash(value["hash"] if isinstance(value["hash"], str) else "")
    except ChoirError:
        raise _Wrong("the hash is not an object's") from None
    size = _whole(value["bytes"], 0, _BYTES_MOST, "bytes")
    lines = _whole(value["lines"], 0, FILE_BYTES_MAX + 1, "lines")
    _need(value["language"] in _LANGUAGES or value["language"] == "", "the language is not known")
    _need(value["skipped"] in _SKIPS or value["skipped"] == "", "the reason to skip it is not known")
    _need(isinstance(value["errors"], bool), "errors is neither true nor false")
    parsed = value["language"] and not value["skipped"]
    _need(bool(value["language"]) or not value["skipped"], "a file without a language cannot be skipped")
    bare = not (value["symbols"] or value["references"] or value["errors"] or lines)
    _need(bool(parsed) or bare, "a file that was not parsed has neither lines nor symbols nor references")
    _need(not parsed or size <= FILE_BYTES_MAX, "a file of that size is not parsed")
    symbols = tuple(_symbol(item, size, lines) for item in _list(value["symbols"], "symbols"))
    _need(with_ids(symbols) == symbols, "an id is not what names and order say")
    order = [(item.span[0], -item.span[1], item.at) for item in symbols]
    _need(order == sorted(set(order)), "the symbols are not in the order of their places, each once")
    return IndexedFile(
        path=path,
        hash=ObjectHash(value["hash"]),
        bytes=size,
        lines=lines,
        language=value["language"],
        skipped=value["skipped"],
        errors=value["errors"],
        symbols=symbols,
        references=_references(value["references"], size, lines),
        vectors=tuple(_vectors(value.get("vectors", []), len(symbols))),
    )


def _vectors(value: Any, most: int) -> list[str]:
    found = _list(value, "vectors")
    _need(len(found) <= most and all(isinstance(item, str) for item in found), "the vectors are not texts")
    return found


def _pair(value: Any, low: int, high: int, what: str) -> tuple[int, int]:
    _need(isinstance(value, list) and len(value) == 2, f"{what} are not two numbers")
    first, last = (_whole(item, low, high, what) for item in value)
    _need(first <= last, f"{what} are not in order")
    return first, last


def _symbol(value: Any, size: int, lines: int) -> Symbol:
    _fields(value, _SYMBOL, "a symbol")
    _need(isinstance(value["kind"], str) and value["kind"] in _KINDS, "a symbol's kind is not known")
    span = _pair(value["span"], 0, size, "a span")
    name = _text(value["name"], NAME_CHARS_MAX, "a name", 1)
    at = _whole(value["at"], span[0], span[1] - len(name), "the place of a name")
    return Symbol(
        name=name,
        kind=value["kind"],
        parent=_text(value["parent"], NAME_CHARS_MAX, "a parent"),
        lines=_pair(value["lines"], 1, lines, "lines"),
        span=span,
        at=at,
        signature=_text(value["signature"], TEXT_CHARS_MAX, "a signature"),
        doc=_text(value["doc"], TEXT_CHARS_MAX, "a doc"),
        id=_text(value["id"], 2 * NAME_CHARS_MAX + 20, "an id"),
    )


def _symbol_json(item: Symbol) -> dict[str, Any]:
    return {
        "at": item.at,
        "doc": item.doc,
        "id": item.id,
        "kind": item.kind,
        "lines": list(item.lines),
        "name": item.name,
        "parent": item.parent,
        "signature": item.signature,
        "span": list(item.span),
    }


def _references(value: Any, size: int, lines: int) -> tuple[IndexReference, ...]:
    found = []
    for item in _list(value, "references"):
        _need(isinstance(item, list) and len(item) == 4, "a reference is not name, kind, symbol and places")
        name, kind, symbol, at = item
        _text(name, NAME_CHARS_MAX, "a name", 1)
        _need(isinstance(kind, str) and kind in _USES, "a reference's kind is not known")
        _need(symbol is None or (type(symbol) is int and symbol >= 0), "a reference's symbol is not a number")
        _need(isinstance(at, list) and len(at) >= 2 and len(at) % 2 == 0, "a reference has no pairs of places")
        _need(all(type(each) is int for each in at), "a place is not a whole number")
        places = list(zip(at[::2], at[1::2], strict=True))
        _need(all(1 <= line <= lines and 1 <= column <= size for line, column in places), "a place is outside its file")
        _need(places == sorted(set(places)), "the places of a name are not in order, each once")
        found.append(IndexReference(name, kind, tuple(at), symbol))
    keys = [(item.name, item.kind) for item in found]
    _need(keys == sorted(set(keys)), "the references are not in the order of their names, each once")
    return tuple(found)
