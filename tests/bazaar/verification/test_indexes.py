"""Indexes: an honest one passes and is priced by its tokens; one that leaves out, invents or moves does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from choir.bazaar.contracts import RepoIndex
from choir.bazaar.contracts.index_format import vector_text
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import indexing
from choir.bazaar.verification.service import Verifier
from choir.bazaar.verification.texts import count_tokens
from choir.sandbox.service import Sandboxes
from tests.bazaar.indexed import FILES, POLICY, Scene, counts_of, index_of, scene

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def shelf(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(sandboxes, tmp_path_factory.mktemp("shelf"))


def file(lines: Lines, path: str) -> dict[str, Any]:
    return next(line for line in lines[1:] if line["path"] == path)


def test_an_honest_index_passes_and_is_paid_by_its_tokens(verifier: Verifier, shelf: Scene) -> None:
    verdict = verifier.verify(shelf.order, shelf.delivery())
    assert verdict.passed, verdict
    tokens = sum(count_tokens(data.decode()) for path, data in FILES.items() if not path.endswith(".md"))
    assert verdict.units_milli == tokens
    assert verdict.tier == "bubblewrap"
    assert verifier.examine(shelf.order).passed
    found = {item.id: item for item in next(f for f in shelf.index.files if f.path == "shelf.py").symbols}
    assert found.keys() == {"MOST", "Shelf", "Shelf.size", "Shelf.put", "make"}
    assert (found["Shelf"].doc, found["Shelf.put"].kind) == ("Holds böxes.", "method")
    assert found["Shelf.put"].signature == "def put(self, count: int) -> int"
    text = FILES["shelf.py"].decode()
    assert text[slice(*found["Shelf.put"].span)].startswith("def put(self")


def lose_symbols(lines: Lines) -> None:
    for line in lines[1:]:
        line["symbols"] = []
        for item in line["references"]:
            item[2] = None


def invent_symbol(lines: Lines) -> None:
    """A symbol on a name that is really written there, but defines nothing."""
    line = file(lines, "use.py")
    at = FILES["use.py"].decode().index("print")
    symbol = {"at": at, "doc": "", "id": "print", "kind": "function", "lines": [3, 3], "name": "print", "parent": ""}
    line["symbols"] = [symbol | {"signature": "print", "span": [at, at + 5]}]
    number = sum(len(each["symbols"]) for each in lines[1 : lines.index(line)])
    for each in lines[1:]:  # as the rule would resolve it
        for item in each["references"]:
            if item[2] is not None and item[2] >= number:
                item[2] += 1
            if item[0] == "print":
                item[2] = number


def lose_references(lines: Lines) -> None:
    for line in lines[1:]:
        line["references"] = []


def move_name(lines: Lines) -> None:
    file(lines, "tool/main.go")["symbols"][0]["at"] += 1


def move_lines(lines: Lines) -> None:
    file(lines, "shelf.py")["symbols"][0]["lines"] = [3, 3]


def move_reference(lines: Lines) -> None:
    for item in file(lines, "use.py")["references"]:
        item[3] = [1, 1]


def forget_file(lines: Lines) -> None:
    lines.remove(file(lines, "README.md"))


def add_file(lines: Lines) -> None:
    lines.append(file(lines, "README.md") | {"path": "zzz.md"})


def wrong_hash(lines: Lines) -> None:
    file(lines, "README.md")["hash"] = "sha256:" + "0" * 64


def skip_file(lines: Lines) -> None:
    line = file(lines, "README.md")
    assert line["language"] == ""
    line = file(lines, "use.py")
    line |= {"skipped": "parser", "lines": 0, "symbols": [], "references": []}


def not_a_language(lines: Lines) -> None:
    file(lines, "use.py").update(language="", lines=0, symbols=[], references=[])


def unresolve(lines: Lines) -> None:
    for item in file(lines, "use.py")["references"]:
        item[2] = None


def other_commit(lines: Lines) -> None:
    lines[0]["commit"] = "1" * 40


def fewer_languages(lines: Lines) -> None:
    lines[0]["languages"] = ["python"]
    for line in lines[1:]:
        if line["language"] not in ("", "python"):
            line |= {"language": "", "lines": 0, "symbols": [], "references": []}
    numbers = [item[2] for line in lines[1:] for item in line["references"] if item[2] is not None]
    assert numbers
    for line in lines[1:]:
        for item in line["references"]:
            item[2] = None


def unordered_vectors(lines: Lines) -> None:
    lines[0]["embedding"] = {"dimensions": 4, "model": "mine"}
    for line in lines[1:]:
        if line["symbols"]:
            line["vectors"] = [vector_text([1, 2, 3, 4])] * len(line["symbols"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lose_symbols, "index.symbols_differ"),
        (invent_symbol, "index.symbols_differ"),
        (lose_references, "index.symbols_differ"),
        (move_name, "index.symbol_absent"),
        (move_lines, "index.symbol_absent"),
        (move_reference, "index.reference_absent"),
        (forget_file, "index.file_missing"),
        (add_file, "index.file_absent"),
        (wrong_hash, "index.file_differs"),
        (skip_file, "index.symbols_differ"),
        (not_a_language, "index.file_differs"),
        (unresolve, "index.references_unresolved"),
        (other_commit, "index.wrong_commit"),
        (fewer_languages, "index.wrong_languages"),
        (unordered_vectors, "index.wrong_embeddings"),
    ],
)
def test_a_dishonest_index_is_refused(
    verifier: Verifier, shelf: Scene, change: Callable[[Lines], None], reason: str
) -> None:
    data = shelf.changed(change)
    RepoIndex.from_bytes(data, POLICY)  # its shape is good: what it says is not
    verdict = verifier.verify(shelf.order, shelf.delivery(data, **counts_of(data)))
    assert (verdict.passed, verdict.reason) == (False, reason), verdict


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "index.malformed"),
        (b"[" * 100_000, "index.malformed"),
        (b'{"a":NaN}\n', "index.malformed"),
        (b"\xff\xfe\n", "index.malformed"),
        (b"\n" * 30_000, "index.too_large"),
        (b"{}" + b" " * POLICY.index_bytes_max, "index.too_large"),
    ],
    ids=["empty", "deep", "not-a-number", "not-utf8", "many-lines", "huge"],
)
def test_what_is_no_index_is_refused(verifier: Verifier, shelf: Scene, data: bytes, reason: str) -> None:
    verdict = verifier.verify(shelf.order, shelf.delivery(data))
    assert (verdict.passed, verdict.reason) == (False, reason)


def test_claims_that_differ_from_the_index_are_refused(verifier: Verifier, shelf: Scene) -> None:
    assert verifier.verify(shelf.order, shelf.delivery(symbols=99)).reason == "index.counts_differ"
    assert verifier.verify(shelf.order, shelf.delivery(references=1)).reason == "index.counts_differ"


def test_in_a_dispute_every_file_is_read_again(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where only one file of many is looked at, a cheat may get through once; a dispute finds it."""
    files = {f"m{n}.py": f"def f{n}():\n    return {n}\n".encode() for n in range(30)}
    many = scene(sandboxes, tmp_path_factory.mktemp("many"), files)

    def cheat(lines: Lines) -> None:
        lines[7] |= {"symbols": [], "references": []}

    data = many.changed(cheat)
    delivery = many.delivery(data, **counts_of(data))
    policy = VerificationPolicy(index_files_sampled=1)
    with Verifier(sandboxes, policy) as careless:
        assert careless.verify(many.order, delivery, rerun=True).reason == "index.symbols_differ"
        found = [careless.verify(many.order, delivery).passed for _ in range(3)]
    assert True in found  # of thirty, one is drawn


def test_an_order_without_anything_to_index_is_called_off(
    verifier: Verifier, sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = scene(sandboxes, tmp_path_factory.mktemp("empty"), {"README.md": b"x\n"})
    assert verifier.examine(empty.order).reason == "order.nothing_to_index"


class Numbers:
    """A model that knows how long a text is."""

    name = "numbers/1"
    dims = 3

    def embed(self, texts: Any) -> list[tuple[int, ...]]:
        return [(len(text) % 100, -1, 127) for text in texts]


def test_vectors_of_a_model_that_the_verifier_has_too_are_checked(sandboxes: Sandboxes, shelf: Scene) -> None:
    assert shelf.order.request is not None
    order = replace(shelf.order, request=replace(shelf.order.request, embeddings=True))  # type: ignore[arg-type]
    good = indexing.assemble(shelf.commit, shelf.index.languages, shelf.index.files, Numbers())
    bad = replace(
        good, files=tuple(replace(f, vectors=tuple(vector_text([1, 1, 1]) for _ in f.symbols)) for f in good.files)
    )
    with Verifier(sandboxes, embedder=Numbers()) as knowing, Verifier(sandboxes) as unknowing:
        assert knowing.verify(order, shelf.delivery(good.to_bytes())).passed
        assert knowing.verify(order, shelf.delivery(bad.to_bytes())).reason == "index.vectors_differ"
        assert unknowing.verify(order, shelf.delivery(bad.to_bytes())).passed
        assert unknowing.verify(order, shelf.delivery()).reason == "index.wrong_embeddings"


def test_hostile_files_are_listed_and_do_not_stop_the_others(
    sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = {
        "binary.py": b"\0\1\2def f(): pass\n",
        "latin.py": b"# caf\xe9\n",
        "line.js": b"x" * 10_000_000,
        "deep.py": b"(" * 100_000,
        "chain.js": b"a" + b".b()" * 20_000,
        "braces.rs": b"fn f() " + b"{" * 400 + b"}" * 400,
        "good.py": b"def good():\n    pass\n",
        "broken.py": b"def good(:\n  class\n",
        "empty.py": b"",
        "mark.py": "\ufeffdef é(): return 'x\u2028y'\n".encode(),
    }
    index, _ = index_of(sandboxes, tmp_path_factory.mktemp("hostile"), files)
    found = {item.path: item for item in index.files}
    skipped = {path: item.skipped for path, item in found.items() if item.skipped}
    assert skipped == {"binary.py": "binary", "latin.py": "not_utf8", "line.js": "too_large", "deep.py": "parser"}
    assert [item.name for item in found["good.py"].symbols] == ["good"]
    assert found["broken.py"].errors
    assert [item.name for item in found["mark.py"].symbols] == ["é"]
    assert [item.name for item in found["braces.rs"].symbols] == ["f"]
