"""Small repositories to index, an order of an index, and what an honest provider would hand in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.bazaar.contracts import RepoIndex, RepoIndexRequest, RepoIndexResult, Terms
from choir.bazaar.contracts.indexes import ALL_LANGUAGES
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.verification import indexing
from choir.bazaar.verification.indexing import Indexer
from choir.bazaar.verification.model import Delivery, Order
from choir.foundation.canonical import bytes_hash
from choir.sandbox.service import Sandboxes

TERMS = Terms(20_000_000, 900, "key")
POLICY = VerificationPolicy()
FILES = {
    "shelf.py": b'"""A shelf."""\nMOST = 5\n\n\nclass Shelf:\n    """Holds b\xc3\xb6xes."""\n\n    size = 1\n\n'
    b"    def put(self, count: int) -> int:\n        return min(count, MOST)\n\n\ndef make():\n    return Shelf()\n",
    "use.py": b"from shelf import make\n\nprint(make().put(2))\n",
    "web/app.js": b"// Starts it.\nexport function start(x) { return helper(x) }\nconst helper = (y) => y + 1;\n",
    "web/types.ts": b"export interface Box { size: number }\n"
    b"export class Crate implements Box { size = 1; open(): Box { return this } }\n",
    "tool/main.go": b"package main\n\n// Run runs.\nfunc Run(n int) int { return n }\n\n"
    b"type Tool struct{ Name string }\n\nfunc (t *Tool) Go() int { return Run(1) }\n",
    "core/lib.rs": b"pub struct Crate { pub size: u8 }\n"
    b"impl Crate { pub fn open(&self) -> u8 { helper(self.size) } }\nfn helper(x: u8) -> u8 { x }\n",
    "README.md": b"# Shelf\n",
}


@dataclass(frozen=True)
class Scene:
    """A commit with its order and its honest index."""

    order: Order
    index: RepoIndex
    commit: str

    def delivery(self, data: bytes | None = None, **claims: Any) -> Delivery:
        artifact = self.index.to_bytes() if data is None else data
        said = {"symbols": self.index.symbols, "references": self.index.references} | claims
        return Delivery(artifact, bytes_hash(artifact), RepoIndexResult(self.commit, **said))

    def changed(self, change: Callable[[list[dict[str, Any]]], None], *, recount: bool = True) -> bytes:
        """The index with something changed in its lines, canonical again; head first, then the files."""
        lines = [json.loads(line) for line in self.index.to_bytes().splitlines()]
        change(lines)
        if recount:
            files = lines[1:]
            lines[0]["counts"] = {
                "files": len(files),
                "parsed": sum(bool(file["language"]) and not file["skipped"] for file in files),
                "references": sum(len(item[3]) // 2 for file in files for item in file["references"]),
                "symbols": sum(len(file["symbols"]) for file in files),
            }
        dumped = [json.dumps(line, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for line in lines]
        return "".join(f"{line}\n" for line in dumped).encode()


def counts_of(data: bytes) -> dict[str, int]:
    counts = json.loads(data.splitlines()[0])["counts"]
    return {"symbols": counts["symbols"], "references": counts["references"]}


def tree_of(folder: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def index_of(
    sandboxes: Sandboxes, folder: Path, files: Mapping[str, bytes], previous: RepoIndex | None = None
) -> tuple[RepoIndex, int]:
    """The index of some files, and how many of them were parsed."""
    lent = indexing.build(folder / "lent")
    found = indexing.survey(tree_of(folder / "tree", files), ALL_LANGUAGES, POLICY)
    indexer = Indexer(sandboxes, lent, POLICY, lambda: False)
    return indexing.make(indexer, found, bundle_of(files).commit, ALL_LANGUAGES, previous)


def scene(sandboxes: Sandboxes, folder: Path, files: Mapping[str, bytes] | None = None) -> Scene:
    made = bundle_of(FILES if files is None else files)
    bundle = folder / "repository.bundle"
    bundle.write_bytes(made.data)
    order = Order(JobType.REPO_INDEX, RepoIndexRequest(made.commit, TERMS), bundle)
    return Scene(order, index_of(sandboxes, folder, FILES if files is None else files)[0], made.commit)
