"""Making an index: which files a commit has, what our own indexer says of them, and both put together.

Provider and verifier use the same. Files are hashed and told apart here, by reading them; whatever parses them runs in
the sandbox (`inside/index.py`), on a copy under no name of theirs, with tree-sitter and its grammars lent read-only.

Guarantees: the same files, languages and tools give the same index. What is known of a file from a previous index of
the same tools is taken for the same bytes, and else the file is parsed; the result does not show which. Links and
names that are not UTF-8 or very long are left out; nothing is followed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from choir.bazaar.contracts.index_format import (
    FILE_BYTES_MAX,
    PATH_CHARS_MAX,
    BadIndex,
    Embedding,
    IndexedFile,
    IndexReference,
    RepoIndex,
    Skip,
    Symbol,
    resolved,
    vector_text,
    with_ids,
)
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.trees import entries_of, guarded
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import ChoirError, Invalid, Unavailable
from choir.sandbox.model import EndReason, InFile, Limits, Mount, Result, Spec

INDEXER = "choir-indexer"
VERSION = "1"  # of our own queries and rules; another gives other bytes
TARGET = "/opt/choir-indexer"
_PYTHON_TARGET = "/opt/choir-python"
_SYSTEM_PYTHON = "/usr/bin/python3"
_DISTRIBUTIONS = {
    "go": "tree-sitter-go",
    "javascript": "tree-sitter-javascript",
    "python": "tree-sitter-python",
    "rust": "tree-sitter-rust",
    "typescript": "tree-sitter-typescript",
}
_CORE = "tree-sitter"
_SUFFIXES = {
    ".py": ("python", "python"),
    ".pyi": ("python", "python"),
    ".js": ("javascript", "javascript"),
    ".mjs": ("javascript", "javascript"),
    ".cjs": ("javascript", "javascript"),
    ".jsx": ("javascript", "javascript"),
    ".ts": ("typescript", "typescript"),
    ".mts": ("typescript", "typescript"),
    ".cts": ("typescript", "typescript"),
    ".tsx": ("typescript", "tsx"),
    ".go": ("go", "go"),
    ".rs": ("rust", "rust"),
}
_INSIDE = Path(__file__).parent / "inside" / "index.py"
_PIECE = 1 << 20
_ASK_S_MAX = 10
_ROOM = 16_000_000


class NoIndexer(Unavailable):
    """The installation lacks the parser or a grammar."""

    code = "bazaar.no_indexer"
    sentence = "Repositories cannot be indexed here: {why}."
    hint = "Install with all dependencies: `make setup`."


class TooMuchToIndex(Invalid):
    """A commit beyond what is indexed."""

    code = "bazaar.too_much_to_index"
    sentence = "The repository is too large to be indexed: {what} is {size}; the limit is {limit}."
    hint = "Name fewer languages, or a folder of it."


class NotIndexed(ChoirError):
    """The indexer did not come to an end."""

    code = "bazaar.not_indexed"
    sentence = "The indexer did not finish: {why}."


class Embedder(Protocol):
    """Turns texts into vectors of whole numbers of at most 127 either way; whoever has a model brings it along."""

    @property
    def name(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[int]]: ...


@dataclass(frozen=True, slots=True)
class Survey:
    """The files of a tree as far as they can be told without parsing, in the order of their paths."""

    files: tuple[IndexedFile, ...]
    tree: Path

    def data(self, path: str) -> bytes:
        return (self.tree / path).read_bytes()

    def text(self, path: str) -> str:
        """A file that was found to be text."""
        return self.data(path).decode("utf-8")


def language_of(path: str) -> tuple[str, str] | None:
    """The language that a name stands for, and the grammar; by its ending alone."""
    return _SUFFIXES.get(Path(path).suffix.lower())


def survey(tree: Path, languages: Iterable[str], policy: VerificationPolicy) -> Survey:
    """Look at every file of a tree that we made ourselves."""
    wanted = frozenset(languages)
    entries = {path: item for path, item in entries_of(tree).items() if _can_be_listed(path, item[1].st_mode)}
    if len(entries) > policy.index_files_max:
        raise TooMuchToIndex(what="the number of files", size=len(entries), limit=policy.index_files_max)
    found = [_look(path, entries[path][0], wanted) for path in sorted(entries)]
    total = sum(item.bytes for item in found if item.is_parsed)
    if total > policy.index_source_bytes_max:
        raise TooMuchToIndex(what="the source in bytes", size=total, limit=policy.index_source_bytes_max)
    return Survey(tuple(found), tree)


def _can_be_listed(path: str, mode: int) -> bool:
    plain = len(path) <= PATH_CHARS_MAX and all(ord(sign) >= 32 and not 0x7F <= ord(sign) < 0xA0 for sign in path)
    return (
        stat.S_ISREG(mode)
        and plain
        and not any(sign in "\u2028\u2029" or "\ud800" <= sign <= "\udfff" for sign in path)
    )


def _look(path: str, place: Path, wanted: frozenset[str]) -> IndexedFile:
    known = language_of(path)
    language = known[0] if known is not None and known[0] in wanted else ""
    digest = hashlib.sha256()
    size, kept = 0, b""
    with place.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            if language and size <= FILE_BYTES_MAX:
                kept += piece
    name = ObjectHash(f"sha256:{digest.hexdigest()}")
    skipped = _why_skipped(kept, size) if language else ""
    lines = kept.count(b"\n") + 1 if language and not skipped else 0
    return IndexedFile(path, name, size, lines, language, skipped)


def _why_skipped(data: bytes, size: int) -> str:
    if size > FILE_BYTES_MAX:
        return Skip.TOO_LARGE.value
    if b"\0" in data:
        return Skip.BINARY.value
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return Skip.NOT_UTF8.value
    return ""


# --- our own indexer, in the sandbox ---


@cache
def tools() -> Mapping[str, str]:
    """What decides the bytes of an index: our indexer, the parser and the grammars."""
    return {INDEXER: VERSION} | {name: _distribution(name).version for name in (_CORE, *_DISTRIBUTIONS.values())}


@cache
def lacking() -> str:
    """Why nothing can be indexed here, or nothing."""
    try:
        tools()
    except NoIndexer as error:
        return str(error)
    return ""


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise NoIndexer(why=f"the package {name} is not installed") from None


def build(folder: Path) -> Mount:
    """Copy parser and grammars below `folder`; the mount that lends them. They are compiled, and nothing else is."""
    site = folder / "site"
    site.mkdir(parents=True)
    for name in (_CORE, *_DISTRIBUTIONS.values()):
        _distribution(name)
        found = importlib.util.find_spec(name.replace("-", "_"))
        if found is None or found.origin is None:
            raise NoIndexer(why=f"the package {name} is not installed")
        source = Path(found.origin).parent
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("*.c", "*.h", "queries"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Mount(folder, TARGET)


@cache
def interpreter() -> tuple[str, tuple[Mount, ...]]:
    """A Python in the sandbox that can load what fits ours: the system's own if it is alike, else ours is lent."""
    ours = f"{sys.implementation.cache_tag}"
    ask = [_SYSTEM_PYTHON, "-I", "-c", "import sys; print(sys.implementation.cache_tag)"]
    try:
        said = subprocess.run(ask, env={}, capture_output=True, timeout=_ASK_S_MAX, check=False).stdout.decode().strip()
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    if said == ours:
        return _SYSTEM_PYTHON, ()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return f"{_PYTHON_TARGET}/bin/{name}", (Mount(Path(sys.base_prefix), _PYTHON_TARGET),)


@dataclass(frozen=True, slots=True)
class Indexer:
    """Parses files in the sandbox."""

    runs: Runs
    lent: Mount
    policy: VerificationPolicy
    cancelled: Callable[[], bool]
    wall_s: float | None = None
    owner: str = ""
    python: tuple[str, tuple[Mount, ...]] | None = None  # None: as `interpreter` says

    def parse(self, found: Survey, files: Sequence[IndexedFile]) -> tuple[list[IndexedFile], str]:
        """These files with what they define and use, and the tier they were parsed in."""
        if not files:
            return [], ""
        result = self._run(found, files)
        if not result.ok or not result.files:
            why = "it was stopped" if result.ended is not EndReason.EXITED else f"it ended with code {result.exit_code}"
            raise NotIndexed(why=why)
        rows = result.files[0].content.split(b"\n")
        if len(rows) != len(files) + 1:
            raise NotIndexed(why="it did not tell of every file")
        return [_told(file, row) for file, row in zip(files, rows, strict=False)], result.tier.label

    def _run(self, found: Survey, files: Sequence[IndexedFile]) -> Result:
        plan, sources = [], bytearray()
        for file in files:
            known = language_of(file.path)
            assert known is not None
            begin = len(sources)
            sources += found.data(file.path)
            plan.append((known[1], begin, len(sources)))
        python, mounts = self.python or interpreter()
        spec = Spec(
            argv=(python, "-I", "-c", _INSIDE.read_text(encoding="utf-8"), TARGET),
            limits=Limits(
                wall_s=self.wall_s or self.policy.index_wall_s,
                memory_bytes=self.policy.index_memory_bytes,
                disk_bytes=len(sources) + 2 * self.policy.index_bytes_max + _ROOM,
            ),
            files=(InFile("plan.json", json.dumps(plan).encode()), InFile("sources", bytes(sources))),
            collect=("out",),
            mounts=(self.lent, *mounts),
            owner=self.owner,
        )
        return guarded(self.runs, spec, self.cancelled)


def _told(file: IndexedFile, row: bytes) -> IndexedFile:
    """One file as the indexer told it; what it read was a stranger's, so the whole index is read strictly later."""
    try:
        said = json.loads(row)
        if "skipped" in said:
            return replace(file, skipped=Skip(said["skipped"]).value, lines=0)
        symbols = [
            Symbol(**item | {"lines": tuple(item["lines"]), "span": tuple(item["span"])}) for item in said["symbols"]
        ]
        uses = [IndexReference(str(name), str(kind), tuple(at)) for name, kind, at in said["references"]]
        return replace(file, errors=bool(said["errors"]), symbols=with_ids(symbols), references=tuple(uses))
    except (ValueError, TypeError, KeyError):
        raise NotIndexed(why="what it told cannot be read") from None


# --- an index ---


def taken(found: Survey, previous: RepoIndex | None) -> dict[str, IndexedFile]:
    """What need not be parsed: files of the same bytes and grammar in an index of the same tools."""
    if previous is None or dict(previous.tools) != dict(tools()):
        return {}
    known = {(file.hash, language_of(file.path)): file for file in previous.files if file.language}
    reused = {}
    for file in found.files:
        same = known.get((file.hash, language_of(file.path))) if file.is_parsed else None
        if same is not None:
            uses = tuple(replace(item, symbol=None) for item in same.references)
            reused[file.path] = replace(same, path=file.path, references=uses, vectors=())
    return reused


def assemble(
    commit: str, languages: Iterable[str], files: Iterable[IndexedFile], embedder: Embedder | None = None
) -> RepoIndex:
    """An index of files that were told about. Pure, but for the embedder."""
    whole = resolved(tuple(sorted(files, key=lambda file: file.path)))
    embedding = None
    if embedder is not None:
        embedding = Embedding(embedder.name, embedder.dims)
        whole = tuple(replace(file, vectors=vectors(file, embedder)) for file in whole)
    return RepoIndex(commit, tuple(sorted(languages)), tools(), whole, embedding)


def meaning(symbol: Symbol) -> str:
    """The text whose vector a symbol has."""
    return " ".join(filter(None, (symbol.kind, symbol.path, symbol.signature, symbol.doc)))


def vectors(file: IndexedFile, embedder: Embedder) -> tuple[str, ...]:
    return tuple(vector_text(item) for item in embedder.embed([meaning(symbol) for symbol in file.symbols]))


def make(
    indexer: Indexer,
    found: Survey,
    commit: str,
    languages: Iterable[str],
    previous: RepoIndex | None = None,
    embedder: Embedder | None = None,
) -> tuple[RepoIndex, int]:
    """The index of a tree, and how many files were parsed for it."""
    reused = taken(found, previous)
    fresh = [file for file in found.files if file.is_parsed and file.path not in reused]
    parsed = {file.path: file for file in indexer.parse(found, fresh)[0]}
    files = [reused.get(file.path) or parsed.get(file.path) or file for file in found.files]
    made = assemble(commit, languages, files, embedder)
    data = made.to_bytes()
    if len(data) > indexer.policy.index_bytes_max:
        limit = indexer.policy.index_bytes_max
        raise TooMuchToIndex(what="the index in bytes", size=len(data), limit=limit)
    try:
        return RepoIndex.from_bytes(data, indexer.policy), len(fresh)
    except BadIndex as error:
        raise NotIndexed(why=f"what it told is no index ({error})") from None
