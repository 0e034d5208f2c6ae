"""The index worker: the same bytes whoever makes them, with a previous index or without."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.contracts import RepoIndex, RepoIndexRequest
from choir.bazaar.jobs.model import JobType
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.verification import indexing
from choir.bazaar.verification.indexing import Indexer
from choir.bazaar.workers.index_worker import IndexWorker
from choir.bazaar.workers.model import NotDone, WorkOrder
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.model import Mount
from tests.bazaar.indexed import FILES, POLICY, TERMS, tree_of
from tests.bazaar.workers.scene import JOB, done_by

LANGUAGES = ("go", "javascript", "python", "rust", "typescript")


def ordered(folder: Path, files: dict[str, bytes], previous: bytes | None = None) -> WorkOrder:
    folder.mkdir(parents=True)
    made = bundle_of(files)
    (folder / "bundle").write_bytes(made.data)
    request = RepoIndexRequest(made.commit, TERMS)
    return WorkOrder(
        JOB, JobType.REPO_INDEX, request, folder / "bundle", previous=previous, deadline=time.monotonic() + 300
    )


def test_the_same_commit_gives_the_same_bytes(shop: Workshop, tmp_path: Path) -> None:
    worker = IndexWorker(shop)
    assert worker.problem() == ""
    first = done_by(worker, ordered(tmp_path / "a", FILES))
    second = done_by(worker, ordered(tmp_path / "b", FILES))
    assert first.error is None
    assert first.artifact == second.artifact
    index = RepoIndex.from_bytes(first.artifact, POLICY)
    assert {file.language for file in index.files} == {"", *LANGUAGES}


def test_an_index_built_upon_another_is_the_same_as_a_full_one(shop: Workshop, tmp_path: Path) -> None:
    """For many histories of small changes: renames, copies, edits, removals, names that become ambiguous."""
    chance = random.Random(7)
    indexer = Indexer(shop.runner, shop.indexer(), POLICY, lambda: False)
    files = dict(FILES)
    previous: RepoIndex | None = None
    saved = 0
    for step in range(8):
        commit = bundle_of(files).commit
        found = indexing.survey(tree_of(tmp_path / f"{step}", files), LANGUAGES, POLICY)
        full, parsed = indexing.make(indexer, found, commit, LANGUAGES)
        built, again = indexing.make(indexer, found, commit, LANGUAGES, previous)
        assert built.to_bytes() == full.to_bytes()
        saved += parsed - again
        previous = built
        files = _changed(files, chance)
    assert saved > 10


def _changed(files: dict[str, bytes], chance: random.Random) -> dict[str, bytes]:
    made = dict(files)
    path = chance.choice(sorted(made))
    what = chance.randrange(4)
    if what == 0:
        made[f"copy{chance.randrange(99)}/{path}"] = made[path]
    elif what == 1:
        made[f"moved{chance.randrange(99)}.py"] = made.pop(path)
    elif what == 2 and len(made) > 3:
        del made[path]
    else:
        made[path] = made[path] + b"\n\ndef put(): pass\n"
    return made


@pytest.mark.parametrize("previous", [b"", b"{}\n", b"\xff" * 100])
def test_a_previous_index_that_cannot_be_read_is_not_used(shop: Workshop, tmp_path: Path, previous: bytes) -> None:
    plain = done_by(IndexWorker(shop), ordered(tmp_path / "a", FILES))
    other = done_by(IndexWorker(shop), ordered(tmp_path / "b", FILES, previous))
    assert plain.artifact == other.artifact


def test_what_it_cannot_do_is_given_back(shop: Workshop, tmp_path: Path) -> None:
    order = ordered(tmp_path / "a", FILES)
    assert isinstance(order.request, RepoIndexRequest)
    wrong = WorkOrder(JOB, order.type, RepoIndexRequest("1" * 40, TERMS), order.repository, deadline=order.deadline)
    vectors = RepoIndexRequest(order.request.base_commit, TERMS, embeddings=True)
    no_model = WorkOrder(JOB, order.type, vectors, order.repository, deadline=order.deadline)
    for each in (wrong, no_model):
        assert isinstance(done_by(IndexWorker(shop), each).error, NotDone)


def test_an_interpreter_of_another_version_is_lent(shop: Workshop, tmp_path: Path) -> None:
    """Where the system's Python is not like ours, ours goes along, so that compiled parts fit."""
    found = indexing.survey(tree_of(tmp_path, FILES), LANGUAGES, POLICY)
    lent = Mount(Path(sys.base_prefix), "/opt/choir-python")
    name = f"/opt/choir-python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    indexer = Indexer(shop.runner, shop.indexer(), POLICY, lambda: False)
    plain, _ = indexing.make(indexer, found, "a" * 40, LANGUAGES)
    other, _ = indexing.make(replace(indexer, python=(name, (lent,))), found, "a" * 40, LANGUAGES)
    assert plain.to_bytes() == other.to_bytes()
