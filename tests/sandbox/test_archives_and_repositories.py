"""Honest archives and repositories come through whole; lying ones do not. The attacks on them are in the suite."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from choir.foundation.errors import ChoirError, Invalid
from choir.sandbox import repositories, rules
from choir.sandbox.archives import unpack
from choir.sandbox.model import EndReason, Result, Spec, Tier, TooMuch, UnsafeEntry, Usage
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.repositories import NotARepository, WorkTree
from choir.sandbox.service import Sandboxes
from tests.sandbox.attacks.host import git, make_repository

POLICY = SandboxPolicy()


def make_tree(folder: Path) -> Path:
    tree = folder / "tree"
    (tree / "deep" / "deeper").mkdir(parents=True)
    (tree / "a.txt").write_text("a")
    (tree / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (tree / "deep" / "run.sh").chmod(0o755)
    (tree / "deep" / "deeper" / "exact").write_bytes(b"x" * 1024)  # a whole number of blocks
    (tree / "deep" / "link").symlink_to("../a.txt")
    (tree / "empty").write_text("")
    return tree


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_honest_tar_comes_through_whole(tmp_path: Path, mode: str) -> None:
    tree = make_tree(tmp_path)
    with tarfile.open(tmp_path / "a.tar", mode) as archive:  # type: ignore[call-overload]
        archive.add(tree, ".")
    target = tmp_path / "target"
    target.mkdir()
    assert unpack(tmp_path / "a.tar", target, POLICY) == 4
    assert (target / "deep" / "deeper" / "exact").read_bytes() == b"x" * 1024
    assert (target / "deep" / "run.sh").stat().st_mode & 0o100
    assert (target / "deep" / "link").readlink() == Path("../a.txt")


def test_an_honest_zip_comes_through_whole(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(tree.rglob("*")):
            if not path.is_symlink():
                archive.write(path, path.relative_to(tree))
    target = tmp_path / "target"
    target.mkdir()
    assert unpack(tmp_path / "a.zip", target, POLICY) == 4
    assert (target / "deep" / "deeper" / "exact").read_bytes() == b"x" * 1024


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"PK\3\4nonsense", b"\x1f\x8bnonsense", b"\xfd7zXZ\0nonsense", b"x" * 600]
)
def test_garbage_is_refused_with_a_typed_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "t").mkdir()
    with suppress(ChoirError):
        assert unpack(tmp_path / "a", tmp_path / "t", POLICY) == 0
    assert list((tmp_path / "t").iterdir()) == []


def test_a_bomb_costs_the_host_little_memory(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz", preset=0) as archive:
        member = tarfile.TarInfo("zeros")
        member.size = 60_000_000
        archive.addfile(member, io.BufferedReader(_Zeros()))
    (tmp_path / "t").mkdir()
    tracemalloc.start()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.tar.xz", tmp_path / "t", POLICY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000


class _Zeros(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        view[:] = bytes(len(view))
        return len(view)


def test_a_zip_that_claims_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 60_000, 60_000, 4_000_000_000, 0, 0)
    (tmp_path / "a.zip").write_bytes(b"PK\3\4" + bytes(100) + end)
    (tmp_path / "t").mkdir()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.zip", tmp_path / "t", POLICY)


def test_counts_are_limited(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number in range(50):
            archive.addfile(tarfile.TarInfo(f"f{number}"))
    (tmp_path / "t").mkdir()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.tar", tmp_path / "t", replace(POLICY, files_max=20))


@pytest.mark.parametrize("name", ["a\\b", "a/../../b", "/abs", "a" * 300])
def test_odd_names_are_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo(name))
    (tmp_path / "t").mkdir()
    with pytest.raises(UnsafeEntry):
        unpack(tmp_path / "a.tar", tmp_path / "t", POLICY)


def _headers_for_all(number: int, size: int) -> bytes:
    """A header that is said to hold for all members that follow (pax, type g)."""
    body = f" k{number}={'A' * size}\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    data = f"{length}{body}".encode()
    member = tarfile.TarInfo("g")
    member.type, member.size = b"g", len(data)
    return member.tobuf() + data + bytes(-len(data) % 512)


def test_headers_for_all_members_do_not_pile_up(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as archive:
        for number in range(40):
            archive.write(_headers_for_all(number, 3_000_000) + tarfile.TarInfo(f"f{number}").tobuf())
        archive.write(bytes(1024))
    (tmp_path / "t").mkdir()
    tracemalloc.start()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.tar.gz", tmp_path / "t", POLICY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


@pytest.mark.parametrize(("count", "size"), [(3_000, 10), (3, 2_000_000)])
def test_a_long_row_of_headers_is_refused(tmp_path: Path, count: int, size: int) -> None:
    headers = b"".join(_headers_for_all(number, size) for number in range(count))
    (tmp_path / "a.tar").write_bytes(headers + tarfile.TarInfo("f").tobuf() + bytes(1024))
    (tmp_path / "t").mkdir()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.tar", tmp_path / "t", POLICY)


def test_many_small_honest_files_come_through(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for number in range(2_000):
            member = tarfile.TarInfo(f"{'long-' * 20}{number}")
            member.mtime = 1.5  # costs a header of its own
            archive.addfile(member)
    (tmp_path / "t").mkdir()
    assert unpack(tmp_path / "a.tar.gz", tmp_path / "t", replace(POLICY, files_max=2_000)) == 2_000


def test_a_zip_that_lists_more_than_it_says_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(200):
            archive.writestr(f"{number}", b"")
    data = (tmp_path / "a.zip").read_bytes()
    end = data.rindex(b"PK\5\6")
    lying = data[: end + 8] + struct.pack("<2H", 3, 3) + data[end + 12 :]
    (tmp_path / "a.zip").write_bytes(lying)
    (tmp_path / "t").mkdir()
    with pytest.raises(TooMuch):
        unpack(tmp_path / "a.zip", tmp_path / "t", replace(POLICY, files_max=100))
    assert list((tmp_path / "t").iterdir()) == []


# --- repositories -----------------------------------------------------------------------------------


def test_a_branch_a_tag_and_a_commit_can_be_prepared(sandboxes: Sandboxes, tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "v1")
    (repository / "more.txt").write_text("more")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    second = git(repository, "rev-parse", "HEAD")
    for place, (ref, commit) in enumerate(
        {"main": second, "refs/tags/v1": first, first: first, "HEAD": second}.items()
    ):
        prepared = repositories.prepare(sandboxes, repository, tmp_path / f"p{place}", ref, POLICY)
        assert prepared.commit == commit
        assert (prepared.folder / "more.txt").exists() is (commit == second)
        assert not (prepared.folder / ".git").exists()


@pytest.mark.parametrize("ref", ["--upload-pack=touch x", "-x", "a..b", "a b", "", "$(x)"])
def test_a_ref_cannot_be_an_option(sandboxes: Sandboxes, tmp_path: Path, ref: str) -> None:
    with pytest.raises(Invalid):
        repositories.prepare(sandboxes, tmp_path, tmp_path / "p", ref, POLICY)


def test_what_is_no_repository_is_said(sandboxes: Sandboxes, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotARepository):
        repositories.prepare(sandboxes, tmp_path / "empty", tmp_path / "p", "HEAD", POLICY)
    with pytest.raises(Invalid):
        repositories.prepare(sandboxes, "http://insecure.example/x", tmp_path / "q", "HEAD", POLICY)


def test_changes_are_read_from_the_files_and_can_be_applied_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (folder / ".gitignore").write_text("*.bin\n")
    tree = WorkTree(folder, tmp_path / "git")
    base = tree.begin()
    (folder / "a.txt").write_text("two\n")
    (folder / "new.bin").write_bytes(bytes(range(256)))  # ignored by the tree's own wish, but changed all the same
    diff = tree.changes(base)
    assert b"+two" in diff
    assert b"new.bin" in diff
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("one\n")
    again = WorkTree(other, tmp_path / "git2")
    again.begin()
    again.apply(diff)
    assert (other / "a.txt").read_text() == "two\n"
    assert (other / "new.bin").read_bytes() == bytes(range(256))


def test_a_repository_inside_the_tree_has_no_say(tmp_path: Path) -> None:
    """An agent may leave one, with a program in its configuration that git would run."""
    folder = tmp_path / "tree"
    folder.mkdir()
    tree = WorkTree(folder, tmp_path / "git")
    base = tree.begin()
    inner = make_repository(folder)
    git(inner, "config", "core.fsmonitor", f"touch {tmp_path}/pwned")
    with pytest.raises(UnsafeEntry):
        tree.changes(base)
    assert not (tmp_path / "pwned").exists()


def new_file(path: str, text: str, mode: int = 100644) -> bytes:
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1 @@\n+{text}\n\\ No newline at end of file\n".encode()


@pytest.mark.parametrize(
    "diff",
    [
        b"--- a/x\n+++ b/../../evil\n@@ -0,0 +1 @@\n+x\n",
        new_file("l", "..", 120000) + new_file("l/evil", "x"),
        new_file(".git/hooks/x", "x", 100755),
        new_file("../evil", "x"),
    ],
)
def test_a_diff_cannot_write_outside(tmp_path: Path, diff: bytes) -> None:
    folder = tmp_path / "deep" / "tree"
    folder.mkdir(parents=True)
    tree = WorkTree(folder, tmp_path / "git")
    tree.begin()
    with pytest.raises(NotARepository):
        tree.apply(diff)
    assert not list(tmp_path.rglob("evil"))
    assert not (folder / ".git").exists()


@pytest.mark.parametrize(
    "diff", [new_file("l", "/etc/passwd", 120000), new_file("l", "a/../../x", 120000), new_file("sub", "x", 160000)]
)
def test_a_diff_makes_no_link_that_leads_out_and_no_submodule(tmp_path: Path, diff: bytes) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    tree = WorkTree(folder, tmp_path / "git")
    base = tree.begin()
    with pytest.raises(ChoirError):
        tree.apply(diff)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]
    assert tree.changes(base) == b""
    tree.apply(new_file("inner", "a.txt", 120000))  # an honest one
    assert (folder / "inner").read_text() == "one\n"


@pytest.mark.parametrize(
    ("attributes", "before", "after"),
    [
        ("* ident", b"x = 1  # $Id$\n", b"x = 1  # $Id: something else $\n"),
        ("* text", b"x = 1\n", b"x = 1\r\n"),
        ("* text working-tree-encoding=UTF-16LE", "x".encode("utf-16-le"), "y".encode("utf-16-le")),
        ("* -diff", b"x\n", b"y\n"),
        ("* binary", b"x\n", b"y\n"),
    ],
)
def test_no_attribute_hides_a_change(tmp_path: Path, attributes: str, before: bytes, after: bytes) -> None:
    folder, other = tmp_path / "tree", tmp_path / "other"
    for place in (folder, other):
        place.mkdir()
        (place / ".gitattributes").write_text(f"{attributes}\n")
        (place / "file").write_bytes(before)
    tree, again = WorkTree(folder, tmp_path / "git"), WorkTree(other, tmp_path / "git2")
    base = tree.begin()
    again.begin()
    (folder / "file").write_bytes(after)
    again.apply(tree.changes(base))
    assert (other / "file").read_bytes() == after


class _Liar:
    """A sandbox in which the stranger's repository has taken over git."""

    def __init__(self, names: list[str], commit: str) -> None:
        self.names = names
        self.commit = commit

    def run(self, spec: Spec) -> Result:
        assert spec.collect_into is not None
        for name in self.names:
            (spec.collect_into / "tree" / name).mkdir(parents=True)
        usage = Usage(0.0, 0.0, 0, "largest process")
        limits = rules.effective_limits(spec.limits, POLICY)
        said = self.commit.encode()
        return Result(
            "run_x", Tier.BUBBLEWRAP, "", 0, EndReason.EXITED, said, b"", False, False, None, usage, limits, {}, ()
        )


@pytest.mark.parametrize("names", [["sub/.git/hooks"], [".GIT"], []])
def test_the_word_of_a_git_that_was_taken_over_is_not_enough(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises((UnsafeEntry, NotARepository)):
        repositories.prepare(_Liar(names, "b" * 40), tmp_path, tmp_path / "p", "a" * 40, POLICY)
    if names:
        with pytest.raises(UnsafeEntry):
            repositories.prepare(_Liar(names, "a" * 40), tmp_path, tmp_path / "q", "a" * 40, POLICY)


@pytest.mark.parametrize(
    "name", [".git", ".GIT/config", "a/.git/hooks/x", ".git.", ".git ", "git~1", ".g\u200cit", ".git:x"]
)
def test_every_spelling_of_the_repository_s_own_name_is_left_out(name: str) -> None:
    assert not repositories.is_plain(name)


def test_ordinary_names_are_not(tmp_path: Path) -> None:
    assert all(repositories.is_plain(name) for name in (".gitignore", "git", "a/.github/x", "x.git.txt", "agit~1b"))
    source = tmp_path / "source"
    (source / "sub" / ".git").mkdir(parents=True)
    (source / "sub" / ".git" / "config").write_text("x")
    (source / "sub" / "file").write_text("kept")
    (tmp_path / "target").mkdir()
    repositories.copy_plain(source, tmp_path / "target", POLICY)
    assert [path.name for path in (tmp_path / "target" / "sub").iterdir()] == ["file"]
    (source / "out").symlink_to("/etc/passwd")
    (tmp_path / "second").mkdir()
    with pytest.raises(UnsafeEntry):
        repositories.copy_plain(source, tmp_path / "second", POLICY)
