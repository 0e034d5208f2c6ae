"""Importing a folder: all of its Markdown, nothing from outside, each fault in its place."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from choir.commons.articles.imports import read_folder
from choir.commons.articles.model import ArticleTooLarge, BadArticle, FolderTooLarge
from tests.commons.articles.pages import POLICY


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_files_come_in_order_with_their_faults(tmp_path: Path) -> None:
    write(tmp_path, b_md="# B", a__z_md="# Z", a__b__c_markdown="# C", A_MD="a]{#c1}", x_txt="# X", _git__h_md="# H")
    found = read_folder(tmp_path, POLICY)
    assert [one.path for one in found] == ["A.MD", "a/b/c.markdown", "a/z.md", "b.md"]
    assert [one.article.title if one.article else None for one in found] == [None, "C", "Z", "B"]
    assert isinstance(found[0].error, BadArticle)


def test_links_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    write(inside, a_md="# A")
    write(outside, b_md="# B")
    (inside / "b.md").symlink_to(outside / "b.md")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe.md")
    (inside / "named.md").mkdir()
    assert [one.path for one in read_folder(inside, POLICY)] == ["a.md"]


def test_a_file_that_is_no_text_or_too_large_is_a_fault_of_its_own(tmp_path: Path) -> None:
    policy = replace(POLICY, article_chars_max=1_000)
    (tmp_path / "bytes.md").write_bytes(b"a\n\xff")
    (tmp_path / "bom.md").write_bytes("\ufeff---\ntitle: With a mark\n---\n".encode())
    (tmp_path / "large.md").write_text("x" * 4_001)
    found = {one.path: one for one in read_folder(tmp_path, policy)}
    assert found["bom.md"].article is not None
    assert found["bom.md"].article.title == "With a mark"
    fault = found["bytes.md"].error
    assert isinstance(fault, BadArticle)
    assert fault.fields["line"] == 2
    assert isinstance(found["large.md"].error, ArticleTooLarge)


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, a_md="", b_md="", c_md="")
    with pytest.raises(FolderTooLarge):
        read_folder(tmp_path, replace(POLICY, import_files_max=2))
    assert len(read_folder(tmp_path, replace(POLICY, import_files_max=3))) == 3


def test_fields_of_other_programs_are_ignored_and_named(tmp_path: Path) -> None:
    front = "---\ntitle: Mine\nlayout: post\ntags:\n  - a\n- b\ntopics: x\n---\n\n# Mine\n"
    write(tmp_path, a_md=front, b_md="# B\n\nlayout: post\n")
    first, second = read_folder(tmp_path, POLICY)
    assert first.article is not None
    assert (first.article.title, first.article.topics) == ("Mine", ("x",))
    assert (first.ignored, second.ignored) == (("layout", "tags"), ())
    assert "layout" not in first.article.markdown
    assert second.article is not None
    assert "layout: post" in second.article.markdown
