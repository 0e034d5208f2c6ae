"""Indexing against parsing alone: generated sources of about 100 thousand lines, in one run, in the same sandbox.

What is compared: tree-sitter parsing every file and nothing else; our indexer, which also looks up names, places and
comments; the whole way of a worker, from files on disk to the bytes of the index; and the same with a previous index in
which one file in twenty differs. Both programs run in the sandbox, and its start is in every number.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.indexes import ALL_LANGUAGES
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import indexing
from choir.bazaar.verification.indexing import TARGET, Indexer, Survey
from choir.sandbox.model import InFile, Limits, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import for_play
from choir.sandbox.service import Sandboxes

_COMMIT = "0" * 40
_FILE_LINES = 400
_CHANGED_ONE_IN = 20
_PARSE = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1] + "/site")
from tree_sitter import Language, Parser
names = {"python": ("tree_sitter_python", "language"), "javascript": ("tree_sitter_javascript", "language"),
         "typescript": ("tree_sitter_typescript", "language_typescript"), "go": ("tree_sitter_go", "language"),
         "rust": ("tree_sitter_rust", "language")}
parsers = {}
plan, sources = json.load(open("/work/plan.json")), open("/work/sources", "rb").read()
for language, begin, end in plan:
    if language not in parsers:
        module, function = names[language]
        parsers[language] = Parser(Language(getattr(importlib.import_module(module), function)()))
    parsers[language].parse(sources[begin:end])
"""
_UNITS = {
    "python": (
        "py",
        '\ndef task_{n}(count, limit=10):\n    """Task {n}: adds up."""\n    total = helper_{m}(count)\n'
        "    for step in range(limit):\n        total += step * {n}\n    return total\n",
    ),
    "javascript": (
        "js",
        "\n// Task {n} adds up.\nexport function task{n}(count, limit = 10) {{\n  let total = helper{m}(count);\n"
        "  for (let i = 0; i < limit; i++) {{ total += i * {n}; }}\n  return total;\n}}\n",
    ),
    "typescript": (
        "ts",
        "\nexport class Task{n} implements Work {{\n  private total: number = {n};\n"
        "  run(count: number): number {{\n    return this.total + helper{m}(count);\n  }}\n}}\n",
    ),
    "go": (
        "go",
        "\n// Task{n} adds up.\nfunc Task{n}(count int) int {{\n\ttotal := helper{m}(count)\n"
        "\tfor i := 0; i < 10; i++ {{\n\t\ttotal += i * {n}\n\t}}\n\treturn total\n}}\n",
    ),
    "rust": (
        "rs",
        "\n/// Task {n} adds up.\npub fn task_{n}(count: u64) -> u64 {{\n    let mut total = helper_{m}(count);\n"
        "    for i in 0..10 {{\n        total += i * {n};\n    }}\n    total\n}}\n",
    ),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    lines: int
    rounds: int


FULL = Size(100_000, 3)
QUICK = Size(10_000, 1)


def run(size: Size, folder: Path | None, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure, and say what came out."""
    place = nullcontext(str(folder)) if folder is not None else tempfile.TemporaryDirectory(prefix="choir-bench-")
    with place as name, tempfile.TemporaryDirectory(prefix="index-", dir=name) as inner:
        scratch = Path(inner)
        lines = write_sources(scratch / "tree", size.lines)
        policy = VerificationPolicy(index_bytes_max=10**9)
        with Sandboxes(scratch / "sandbox", for_play(SandboxPolicy())) as sandboxes:
            indexer = Indexer(sandboxes, indexing.build(scratch / "lent"), policy, lambda: False)
            return _measured(indexer, scratch, lines, size, tell)


def _measured(indexer: Indexer, scratch: Path, lines: int, size: Size, tell: Callable[[str], None]) -> dict[str, Any]:
    found = indexing.survey(scratch / "tree", ALL_LANGUAGES, indexer.policy)
    tell(f"{lines} lines in {len(found.files)} files")
    index, _ = indexing.make(indexer, found, _COMMIT, ALL_LANGUAGES)
    later = _changed(found, indexer.policy)
    ways: dict[str, Callable[[], object]] = {
        "parsing": lambda: _parse(indexer, found),
        "indexer": lambda: indexer.parse(found, found.files),
        "index": lambda: indexing.make(
            indexer, indexing.survey(found.tree, ALL_LANGUAGES, indexer.policy), _COMMIT, ALL_LANGUAGES
        ),
        "incremental": lambda: indexing.make(indexer, later, _COMMIT, ALL_LANGUAGES, index),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(size.rounds):
        tell(f"round {round_ + 1} of {size.rounds}")
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - began)
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    return {
        "lines": lines,
        "files": len(found.files),
        "source_bytes": sum(file.bytes for file in found.files),
        "index_bytes": len(index.to_bytes()),
        "symbols": index.symbols,
        "references": index.references,
        "tools": dict(index.tools),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "ratios": {
            f"{name}_of_parsing": round(seconds[name] / seconds["parsing"], 2)
            for name in ("indexer", "index", "incremental")
        },
    }


def write_sources(tree: Path, lines: int) -> int:
    """Sources of that many lines in five languages in turn, the same each time; says how many it became."""
    written = number = 0
    while written < lines:
        language = sorted(_UNITS)[number % len(_UNITS)]
        suffix, unit = _UNITS[language]
        text = "package p\n" if language == "go" else ""
        while text.count("\n") < _FILE_LINES:
            text += unit.format(n=f"{number}{text.count(chr(10)):03d}", m=number % 7)
        place = tree / f"part{number % 10}" / f"file{number}.{suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        written += text.count("\n")
        number += 1
    return written


def _changed(found: Survey, policy: VerificationPolicy) -> Survey:
    """The same with one file in some that differs."""
    other = found.tree.parent / "later"
    for place, file in enumerate(found.files):
        target = other / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(found.data(file.path) + (b"\n" if place % _CHANGED_ONE_IN == 0 else b""))
    return indexing.survey(other, ALL_LANGUAGES, policy)


def _parse(indexer: Indexer, found: Survey) -> None:
    plan, sources = [], bytearray()
    for file in found.files:
        begin = len(sources)
        sources += found.data(file.path)
        plan.append((file.language, begin, len(sources)))
    python, mounts = indexing.interpreter()
    spec = Spec(
        argv=(python, "-I", "-c", _PARSE, TARGET),
        limits=Limits(wall_s=indexer.policy.index_wall_s, memory_bytes=indexer.policy.index_memory_bytes),
        files=(InFile("plan.json", json.dumps(plan).encode()), InFile("sources", bytes(sources))),
        mounts=(indexer.lent, *mounts),
    )
    result = indexer.runs.run(spec)
    assert result.ok, result.stderr
