"""Buying an index for real: a node, a provider that indexes, and repositories of here and elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from choir.bazaar.contracts import RepoIndex
from choir.bazaar.policy import VerificationPolicy
from tests.doors.mesh.processes import serving
from tests.doors.mesh.test_bundles import commit, git
from tests.doors.townsfolk import public_node
from tests.operations.nodes import NodeUnderTest
from tests.sandbox.git_servers import http_backend

SHELF = '"""A shelf."""\n\n\ndef put(count):\n    """Put boxes."""\n    return count + 1\n'
PRIVATE = "CHOIR_POLICY__SANDBOX__FETCH_PRIVATE"


@dataclass
class Library:
    """A node with one provider that indexes, and a repository."""

    node: NodeUnderTest
    checkout: Path
    folder: Path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("library")
    checkout = folder / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q", "-b", "main")
    commit(checkout, shelf_DOT_py=SHELF, use_DOT_py="from shelf import put\n\nprint(put(1))\n", notes_DOT_txt="x\n")
    quick = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3", PRIVATE: "1"}
    with public_node(**quick) as node, serving(node, folder / "provider", "index"):
        yield Library(node, checkout, folder)


def test_an_index_is_ordered_verified_paid_searched_and_built_upon(library: Library) -> None:
    node, out = library.node, library.folder / "bought.index"
    done = node.run("job", "submit", "index", "--repo", str(library.checkout), "--out", str(out))
    assert done.code == 0, done
    assert "Verified and paid: " in done.err
    assert "2 of 2 files were indexed again" in done.err
    bought = RepoIndex.from_bytes(out.read_bytes(), VerificationPolicy())
    assert [file.path for file in bought.files] == ["notes.txt", "shelf.py", "use.py"]
    job = str(node.run("job", "ls", "--json").json[0]["id"])
    shown = node.run("job", "show", job, "--json").json["job"]
    # 500 and 8 for each thousand tokens, which the node counted
    price = int(shown["price"])
    assert 500_000 < price < 500_000 + 8_000
    assert (shown["state"], shown["type"]) == ("paid", "repo_index")
    assert node.run("job", "verify", job).code == 0

    for where in (job, str(out)):
        asked = node.run("index", "search", "put", "--index", where, "--refs", "--kind", "function", "--json")
        assert asked.code == 0, asked
        found = asked.json
        assert [(item["id"], item["first_line"]) for item in found["symbols"]] == [("shelf.py#put", 4)]
        uses = [(item["path"], item["line"], item["kind"], item["symbol"]) for item in found["uses"]]
        assert uses == [("use.py", 1, "import", "shelf.py#put"), ("use.py", 3, "call", "shelf.py#put")]
    assert node.run("index", "search", "put", "--index", "nowhere.index").code == 1

    commit(library.checkout, more_DOT_js="export function put() { return 1 }\n")
    second = library.folder / "second.index"
    again = node.run(
        "job", "submit", "index", "--repo", str(library.checkout), "--previous", job, "--out", str(second), "--json"
    )
    assert again.code == 0, again
    later = node.run("index", "build", "--repo", str(library.checkout), "--out", str(library.folder / "local.index"))
    assert later.code == 0, later
    assert second.read_bytes() == (library.folder / "local.index").read_bytes()


def test_only_a_bought_index_can_be_built_upon(library: Library) -> None:
    claimed = "sha256:" + "0" * 64
    done = library.node.run("job", "submit", "index", "--repo", str(library.checkout), "--previous", claimed, "--json")
    assert done.code == 1, done
    assert json.loads(done.err.splitlines()[-1])["error"]["code"] == "bazaar.index_not_bought"


def test_a_repository_elsewhere_is_pinned_and_indexed(library: Library) -> None:
    head = git(library.checkout, "rev-parse", "HEAD").strip()
    with http_backend(library.checkout / ".git") as url:
        done = library.node.run("job", "submit", "index", "--repo-url", url, "--ref", "main", "--no-wait", "--json")
    assert done.code == 0, done
    shown = library.node.run("job", "show", done.json["id"]).out
    assert f"{url}@{head}" in shown
    found = library.node.run("job", "result", done.json["id"], "--json").json
    assert found["artifact"]["counts"]["symbols"] == 2


def test_embeddings_are_made_by_the_provider_s_own_model(library: Library) -> None:
    out = library.folder / "vectors.index"
    done = library.node.run(
        "job", "submit", "index", "--repo", str(library.checkout), "--embeddings", "--languages", "python",
        "--out", str(out),
    )  # fmt: skip
    assert done.code == 0, done
    index = RepoIndex.from_bytes(out.read_bytes(), VerificationPolicy())
    assert index.embedding is not None
    assert all(len(file.vectors) == len(file.symbols) for file in index.files)
