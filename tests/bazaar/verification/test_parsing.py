"""Reading Python that nobody trusts: what is read is what Python reads, and nothing takes long."""

from __future__ import annotations

import ast
import time
import tracemalloc
from pathlib import Path

import pytest

from choir.bazaar.contracts import BadField, TextGenRequest
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import changes, expectations, signs, syntax, texts, trees
from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.verification.trees import Change, Entry

LONG = b"import " + b"a." * 99_000 + b"b\n"  # half a minute for the parser, with the whole process standing still


@pytest.mark.parametrize(
    "source",
    [
        LONG,
        LONG.replace(b".", b" . \\\n"),
        b"from " + LONG.removeprefix(b"import ").strip() + b" import c\n",
        b"import " + "ä.".encode() * 50_000 + b"b",
        b"x = 1\n" * 200_000,
        b"# coding: utf-7\nimport os\n",  # where +AC4- is a point
        b"\r# coding: utf-7\rimport os\r",
        b"# coding: nothing-known\n",
        b"\xff\xfe",
        b"x = '\0'",
    ],
)
def test_what_is_not_read_is_refused_at_once(source: bytes) -> None:
    began = time.process_time()
    with pytest.raises(syntax.UNREADABLE):
        syntax.parse(source)
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"import os.path, a.b.c.d\nx = a.b(1).c.d[2].e\n",
        b"\xef\xbb\xbfx = 1\r\ny = '\xc3\xa4'\r\n",
        b"# coding: latin-1\nx = '\xe4'\n",
        b"import " + b".".join([b"a"] * 90),
        b"x = " + b" + ".join(b"1.5" for _ in range(900)),
    ],
)
def test_ordinary_code_is_read_as_python_reads_it(source: bytes) -> None:
    assert ast.dump(syntax.parse(source)) == ast.dump(ast.parse(source))


def test_nothing_that_looks_at_code_stands_still(tmp_path: Path) -> None:
    (tmp_path / "test_long.py").write_bytes(LONG)
    change = Change("long.py", None, Entry(LONG))
    began = time.process_time()
    assert expectations.statics_of(tmp_path, ["test_long.py"]) == ()
    assert signs.signs([change]) == ("has Python code that cannot be parsed",)
    assert [item.path for item in changes.counted([change])] == ["long.py"]
    assert time.process_time() - began < 3


def test_a_tree_is_compared_without_holding_it(tmp_path: Path) -> None:
    """A bundle of a few kilobytes can hold gigabytes of zeros."""
    before, after = tmp_path / "before", tmp_path / "after"
    for tree in (before, after):
        tree.mkdir()
        (tree / "link").symlink_to("large")
        with (tree / "large").open("wb") as file:
            file.truncate(300_000_000)
    (before / "small").write_bytes(b"1")
    (after / "small").write_bytes(b"2")
    tracemalloc.start()
    try:
        found = trees.compare(before, after, 1_000_000)
        assert [(item.path, item.kind) for item in found] == [("small", trees.Kind.CHANGED)]
        with (after / "large").open("r+b") as file:
            file.write(b"1")
        with pytest.raises(trees.DoesNotApply):
            trees.compare(before, after, 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    (after / "link").unlink()
    (after / "link").symlink_to("small")
    (after / "small").chmod(0o755)
    (after / "small").write_bytes(b"1")
    (after / "large").unlink()
    found = trees.compare(before, after, 10**9)
    assert [(item.path, item.kind.value) for item in found] == [
        ("large", "deleted"),
        ("link", "changed"),
        ("small", "changed"),
    ]


@pytest.mark.parametrize("start", [b"--- ", b"diff --git "])
def test_a_name_of_megabytes_is_read_in_one_go(start: bytes) -> None:
    began = time.process_time()
    headers = read_diff(start + b'"a/' + b"\\303\\244" * 200_000 + b'"\n').headers
    assert headers.paths == {"a/" + "ä" * 200_000}
    assert time.process_time() - began < 3


def test_marks_without_end_on_one_letter_are_not_put_in_order() -> None:
    marks = "a" + "\u0301\u0327" * 20_000
    policy = VerificationPolicy()
    order = {"max_cost_msat": "1000000", "idempotency_key": "k", "max_tokens": 100}
    began = time.process_time()
    assert texts.count_tokens(marks) > 1
    with pytest.raises(BadField):
        TextGenRequest.from_json(order | {"prompt": marks}, policy)
    assert time.process_time() - began < 1
    assert TextGenRequest.from_json(order | {"prompt": "a\u0308"}, policy).prompt == "ä"
    assert texts.count_tokens("a\u0308 " * 2_000) == texts.count_tokens("ä " * 2_000) == 2_000
