"""What leaves the machine with an order: these files and no others, whatever the repository says about itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from choir.doors.mesh import bundles
from choir.doors.mesh.bundles import Bundle, NothingToSend, Uncommitted
from choir.doors.mesh.git import GitFailed, NoSuchCommit
from choir.foundation.errors import Invalid, TooLarge

SOMEBODY = {
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@private.example",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@private.example",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str, given: bytes = b"") -> str:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        input=given,
        env=os.environ | SOMEBODY,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="replace")


def commit(folder: Path, **files: str | bytes) -> str:
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a private message")
    return git(folder, "rev-parse", "HEAD").strip()


def write(folder: Path, **files: str | bytes) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, a_DOT_txt="one\n", forgotten="the past\n")
    (folder / "forgotten").unlink()
    commit(folder, a_DOT_txt="two\n", sub__b_DOT_txt="b\n")
    return folder


def unpacked(sent: Bundle, folder: Path) -> dict[str, bytes]:
    """The bundle as a verifier takes it: an empty repository and nothing else."""
    clean = folder / "unpacked.git"
    git(folder, "init", "-q", "--bare", str(clean))
    git(clean, "bundle", "unbundle", str(sent.file))
    names = git(clean, "ls-tree", "-r", "--name-only", "-z", sent.commit).split("\0")
    show = ["git", "cat-file", "blob"]
    return {
        name: subprocess.run([*show, f"{sent.commit}:{name}"], cwd=clean, capture_output=True, check=True).stdout
        for name in names
        if name
    }


def test_a_commit_is_sent_without_its_history_or_its_author(repo: Path, tmp_path: Path) -> None:
    with bundles.bundle(repo) as sent:
        assert unpacked(sent, tmp_path) == {"a.txt": b"two\n", "sub/b.txt": b"b\n"}
        clean = tmp_path / "unpacked.git"
        everything = git(clean, "cat-file", "--batch-all-objects", "--batch", "--unordered")
        assert git(clean, "rev-list", "--count", sent.commit).strip() == "1"
        assert sent.source == git(repo, "rev-parse", "HEAD").strip()
        assert (sent.files, sent.bytes) == (("a.txt", "sub/b.txt"), 6)
    assert "private" not in everything
    assert "the past" not in everything
    assert not sent.file.exists()


def test_the_same_files_give_the_same_bundle(repo: Path) -> None:
    with bundles.bundle(repo) as first, bundles.bundle(repo, ref="HEAD") as second:
        assert first.commit == second.commit
        assert first.file.read_bytes() == second.file.read_bytes()


def test_a_named_commit_is_sent_as_it_was(repo: Path, tmp_path: Path) -> None:
    (repo / "a.txt").write_text("not committed\n")
    with bundles.bundle(repo, ref="HEAD~1") as sent:
        assert unpacked(sent, tmp_path) == {"a.txt": b"one\n", "forgotten": b"the past\n"}
    for odd in ("nowhere", "--all", "", "HEAD:a.txt"):
        with pytest.raises(NoSuchCommit), bundles.bundle(repo, ref=odd):
            pass


def test_what_is_not_committed_is_refused_or_sent_by_name(repo: Path, tmp_path: Path) -> None:
    write(repo, a_DOT_txt="three\n", new_DOT_txt="new\n", staged="s\n")
    (repo / "sub/b.txt").unlink()
    git(repo, "add", "staged")
    with pytest.raises(Uncommitted) as refused, bundles.bundle(repo):
        pass
    assert "a.txt, new.txt, staged, sub/b.txt" in str(refused.value)
    assert "--dirty" in refused.value.advice
    before = (repo / ".git/index").read_bytes()
    with bundles.bundle(repo, dirty=True) as sent:
        assert unpacked(sent, tmp_path) == {"a.txt": b"three\n", "new.txt": b"new\n", "staged": b"s\n"}
        assert sent.source.endswith(" with changes")
    assert (repo / ".git/index").read_bytes() == before, "the user's own repository was touched"


def test_what_only_is_staged_counts_as_not_committed(repo: Path) -> None:
    write(repo, a_DOT_txt="staged\n")
    git(repo, "add", "a.txt")
    with pytest.raises(Uncommitted), bundles.bundle(repo):
        pass
    with bundles.bundle(repo / "sub") as sent:  # nothing is different there
        assert sent.files == ("sub/b.txt",)


def test_a_diff_against_what_was_sent_applies_to_the_checkout(repo: Path, tmp_path: Path) -> None:
    """Also for a folder inside the repository, which keeps its place; and nothing beside it is sent."""
    with bundles.bundle(repo / "sub") as sent:
        assert (sent.subdir, sent.files) == ("sub", ("sub/b.txt",))
        assert unpacked(sent, tmp_path) == {"sub/b.txt": b"b\n"}
        work = tmp_path / "work"
        git(tmp_path, "clone", "-q", str(sent.file), "-b", "choir", str(work))
        (work / "sub/b.txt").write_text("better\n")
        diff = git(work, "diff").encode()
    git(repo / "sub", "apply", "-", given=diff)
    assert (repo / "sub/b.txt").read_text() == "better\n"


def test_a_folder_that_is_no_repository_is_sent_as_it_lies_there(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    write(folder, _DOT_gitignore="*.log\nbuild/\n", a_DOT_py="x\r\ny\n", noise_DOT_log="z", build__out="o")
    write(folder, _DOT_gitattributes="* text=auto eol=crlf\n")
    with bundles.bundle(folder) as sent:
        found = unpacked(sent, tmp_path)
        assert sent.subdir == ""
    assert sorted(found) == [".gitattributes", ".gitignore", "a.py"]
    assert found["a.py"] == b"x\r\ny\n", "line ends were changed on the way"
    assert not (folder / ".git").exists()
    with pytest.raises(Invalid), bundles.bundle(folder, ref="HEAD"):
        pass


def test_a_repository_without_a_commit_is_sent_as_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "young"
    folder.mkdir()
    git(folder, "init", "-q")
    with pytest.raises(NothingToSend), bundles.bundle(folder):
        pass
    write(folder, a_DOT_txt="a\n")
    with bundles.bundle(folder) as sent:
        assert unpacked(sent, tmp_path) == {"a.txt": b"a\n"}
    with pytest.raises(GitFailed), bundles.bundle(tmp_path / "nowhere"):
        pass


def test_ignored_files_and_secrets_stay_at_home(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    write(config, git__ignore="*.own\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    write(repo, _DOT_git__info__exclude="*.local\n", _DOT_gitignore="*.log\n")
    write(repo, x_DOT_log="l", x_DOT_local="l", x_DOT_own="o")
    write(repo, _DOT_env="PASSWORD=1", deploy__id_rsa="k", sub__site_DOT_pem="k", _DOT_env_DOT_example="PASSWORD=")
    git(repo, "add", "-f", ".env", "deploy", "sub", ".env.example", ".gitignore")
    git(repo, "commit", "-q", "-m", "tracked by mistake")
    with bundles.bundle(repo) as sent:
        assert sent.files == (".env.example", ".gitignore", "a.txt", "sub/b.txt")
        assert {path for path, _ in sent.left_out} == {".env", "deploy/id_rsa", "sub/site.pem"}
        assert {why for _, why in sent.left_out} == {"it looks like a secret"}
        assert b"PASSWORD=1" not in b"".join(unpacked(sent, tmp_path).values())
    with bundles.bundle(repo, include=["sub/site.pem"]) as sent:
        assert "sub/site.pem" in sent.files
    reviewed = bundles.diff(repo, "HEAD~1")
    assert b"PASSWORD=1" not in reviewed.data
    assert b"PASSWORD=" in reviewed.data
    assert {path for path, _ in reviewed.left_out} == {".env", "deploy/id_rsa", "sub/site.pem"}


def test_links_that_lead_out_and_submodules_stay_at_home(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, inner_DOT_txt="i\n")
    git(repo, "submodule", "add", "-q", str(other), "module")
    (repo / "out").symlink_to("/etc/passwd")
    (repo / "up").symlink_to("../../secret")
    (repo / "in").symlink_to("sub/b.txt")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "x")
    (repo / "module/inner.txt").write_text("changed\n")  # inside the submodule: none of our business
    with bundles.bundle(repo) as sent:
        assert sent.files == (".gitmodules", "a.txt", "in", "sub/b.txt")
        assert dict(sent.left_out) == {
            "module": "it is a submodule",
            "out": "it is a link that points outside",
            "up": "it is a link that points outside",
        }
    with bundles.bundle(repo, include=["out", "module"], ref="HEAD") as sent:
        assert "out" not in sent.files


def test_what_is_too_large_is_refused_by_name(repo: Path) -> None:
    commit(repo, huge_DOT_bin=b"x" * 10_000)
    with pytest.raises(TooLarge) as refused, bundles.bundle(repo, bytes_max=5_000):
        pass
    assert "huge.bin" in str(refused.value)


def test_line_ends_are_those_of_the_commit(repo: Path, tmp_path: Path) -> None:
    commit(repo, _DOT_gitattributes="*.txt text eol=crlf\n", c_DOT_txt="one\r\ntwo\r\n", d_DOT_bin=b"x\r\n")
    with bundles.bundle(repo) as sent:
        found = unpacked(sent, tmp_path)
    assert (found["c.txt"], found["d.bin"]) == (b"one\ntwo\n", b"x\r\n")
    (repo / "c.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    with bundles.bundle(repo, dirty=True) as sent:
        (tmp_path / "again").mkdir()
        assert unpacked(sent, tmp_path / "again")["c.txt"] == b"one\ntwo\nthree\n"


def test_nothing_that_a_repository_says_is_run(repo: Path, tmp_path: Path) -> None:
    """Every way that we know of to have git run a program from its own configuration, hooks or attributes."""
    touched = tmp_path / "touched"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {touched}\ncat\n")
    program.chmod(0o755)
    commit(repo, _DOT_gitattributes="* filter=evil diff=evil merge=evil\n", x_DOT_txt="x\n", y_DOT_txt="y\n")
    settings = {
        "core.fsmonitor": program,
        "core.hooksPath": tmp_path / "hooks",
        "core.sshCommand": program,
        "core.pager": program,
        "core.editor": program,
        "core.gitProxy": program,
        "core.askPass": program,
        "core.alternateRefsCommand": program,
        "diff.external": program,
        "diff.evil.command": program,
        "diff.evil.textconv": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.process": program,
        "filter.evil.required": "true",
        "merge.evil.driver": program,
        "gpg.program": program,
        "commit.gpgSign": "true",
        "uploadpack.packObjectsHook": program,
        "alias.rev-parse": f"!{program}",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "safe.directory": "",
    }
    (tmp_path / "hooks").mkdir()
    for place in (tmp_path / "hooks", repo / ".git/hooks"):
        place.mkdir(exist_ok=True)
        for hook in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
            (place / hook).write_bytes(program.read_bytes())
            (place / hook).chmod(0o755)
    for name, value in settings.items():
        git(repo, "config", name, str(value))
    (repo / "x.txt").write_text("changed\n")
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False)
    assert touched.exists(), "git itself would not run it either, so this shows nothing"
    touched.unlink()
    with bundles.bundle(repo, dirty=True) as sent:
        assert "x.txt" in sent.files
    with bundles.bundle(repo, ref="HEAD"):
        pass
    with pytest.raises(Uncommitted), bundles.bundle(repo):
        pass
    assert b"x.txt" in bundles.diff(repo, "HEAD~1").data
    blob = git(repo, "rev-parse", "HEAD:y.txt").strip()  # gone: git would fetch it from where the configuration says
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    touched.unlink(missing_ok=True)  # the line above was ours
    with pytest.raises(GitFailed), bundles.bundle(repo, ref="HEAD"):
        pass
    assert not touched.exists(), touched.read_text()


def test_a_diff_is_between_the_commits_that_were_named(repo: Path) -> None:
    commit(repo, a_DOT_txt="three\n", sub__b_DOT_txt="c\n")
    (repo / "a.txt").write_text("not committed\n")
    whole = bundles.diff(repo, "HEAD~1").data
    assert b"+three" in whole
    assert b"not committed" not in whole
    part = bundles.diff(repo / "sub", "HEAD~1").data
    assert b"a.txt" not in part
    assert b"diff --git a/sub/b.txt b/sub/b.txt" in part
    with pytest.raises(NothingToSend):
        bundles.diff(repo, "HEAD")
    with pytest.raises(NoSuchCommit):
        bundles.diff(repo, "nowhere")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "diary.txt").write_text("private")
    return folder


@pytest.mark.parametrize("committed", [True, False])
def test_a_repository_cannot_have_another_folder_sent(tmp_path: Path, elsewhere: Path, committed: bool) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    if committed:
        commit(folder, a_DOT_txt="a\n")
    git(folder, "config", "core.worktree", str(elsewhere))
    with pytest.raises(GitFailed, match="its files are in"), bundles.bundle(folder, dirty=committed):
        pass


@pytest.mark.parametrize(
    ("file", "text"),
    [("config", "[garbage\n"), ("config", "[core]\n\trepositoryformatversion = 99\n"), ("HEAD", "nonsense")],
)
def test_what_git_cannot_read_is_not_sent_as_a_plain_folder(repo: Path, file: str, text: str) -> None:
    (repo / ".git" / file).write_text(text)
    write(repo, never_committed="mine")
    for folder in (repo, repo / "sub"):
        with pytest.raises(GitFailed), bundles.bundle(folder):
            pass


def test_an_endless_index_is_not_copied(repo: Path) -> None:
    (repo / ".git" / "index").unlink()
    (repo / ".git" / "index").symlink_to("/dev/zero")
    with bundles.bundle(repo) as sent:
        assert sent.files == ("a.txt", "sub/b.txt")


def test_a_list_of_ignored_names_that_is_too_long_is_refused_and_not_cut(repo: Path) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    with exclude.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(GitFailed, match="too large"), bundles.bundle(repo):
        pass


def test_a_folder_that_is_too_large_is_not_copied_first(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    with (folder / "film").open("wb") as file:
        file.truncate(1 << 42)  # takes no room here, but would in a copy
    with pytest.raises(TooLarge, match="film"), bundles.bundle(folder):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "prod.env", ".envrc", "terraform.tfvars", "server.pem.bak", "secrets.yml", "service-account-1.json", ".pgpass",
        ".aws/config", "deploy/.ssh/config", ".docker/config.json", "db_secret.txt", "my-Secrets.prod.json",
        "client_secret_1.json",
    ],
)  # fmt: skip
def test_more_of_what_looks_like_a_secret_stays(repo: Path, name: str) -> None:
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    (repo / name).write_text("x")
    commit(repo)
    with bundles.bundle(repo) as sent:
        assert sent.left_out == ((name, "it looks like a secret"),)


def test_code_that_is_about_secrets_goes_along(repo: Path) -> None:
    for name in ("secret_store.py", "test_secrets.py", "secrets.md"):
        (repo / name).write_text("x")
    commit(repo)
    with bundles.bundle(repo) as sent:
        assert {"secret_store.py", "test_secrets.py", "secrets.md"} <= set(sent.files)
        assert not sent.left_out
