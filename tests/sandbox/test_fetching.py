"""Repositories by their address: real git servers on loopback, and servers that lie."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from choir.foundation.errors import Invalid
from choir.sandbox.fetching import BadAddress, fetch
from choir.sandbox.repositories import NotARepository
from choir.sandbox.service import Sandboxes
from tests.sandbox.attacks.host import git, make_repository
from tests.sandbox.conftest import POLICY
from tests.sandbox.git_servers import daemon, http_backend, http_server

PRIVATE = replace(POLICY, fetch_private=1, repository_s_max=60)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits, a tag, a branch, a submodule that leads nowhere, an LFS pointer and an ignored file."""
    made = make_repository(tmp_path_factory.mktemp("served"))
    git(made, "tag", "v1")
    (made / ".gitignore").write_text("kept.log\n")
    (made / "kept.log").write_text("tracked all the same\n")
    (made / ".gitattributes").write_text("*.bin filter=lfs\n")
    (made / "large.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    git(made, "add", "-A", "-f")
    git(made, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(made, "commit", "-q", "-m", "second")
    return made


@pytest.mark.parametrize("server", [http_backend, daemon])
def test_a_branch_a_tag_and_a_commit_are_fetched_and_pinned(
    sandboxes: Sandboxes, repository: Path, tmp_path: Path, server: Callable[..., object]
) -> None:
    first, second = git(repository, "rev-parse", "v1"), git(repository, "rev-parse", "HEAD")
    with server(repository / ".git") as url:  # type: ignore[attr-defined]
        for place, (ref, expected) in enumerate({"main": second, "v1": first, second: second, "HEAD": second}.items()):
            found = fetch(sandboxes, url, tmp_path / str(place), ref, PRIVATE)
            assert found.commit == expected, ref
            assert not (found.tree / ".git").exists()
            if expected == second:
                assert (found.tree / "kept.log").read_text() == "tracked all the same\n"
                assert (found.tree / "large.bin").read_text().startswith("version https://git-lfs")
                assert found.submodules == ("module",)


def test_two_commits_are_fetched_to_be_compared(sandboxes: Sandboxes, repository: Path, tmp_path: Path) -> None:
    with http_backend(repository / ".git") as url:
        found = fetch(sandboxes, url, tmp_path / "a", "main", PRIVATE, compared_with="")
        named = fetch(sandboxes, url, tmp_path / "b", "main", PRIVATE, compared_with="v1")
    assert found.base_commit == named.base_commit == git(repository, "rev-parse", "v1")
    assert found.base is not None
    assert not (found.base / "large.bin").exists()


def test_private_addresses_are_refused_unless_policy_says_so(
    sandboxes: Sandboxes, repository: Path, tmp_path: Path
) -> None:
    with http_backend(repository / ".git") as url, pytest.raises(NotARepository, match="not public"):
        fetch(sandboxes, url, tmp_path / "a", "main", POLICY)
    with daemon(repository / ".git") as url, pytest.raises(NotARepository, match="not public"):
        fetch(sandboxes, url, tmp_path / "b", "main", POLICY)


@pytest.mark.parametrize(
    "ref", ["--upload-pack=touch x", "-x", "a..b", "a b", "$(x)", "a\nb", "@{u}", "x:refs/heads/y"]
)
def test_a_ref_cannot_be_an_option_or_a_refspec(sandboxes: Sandboxes, tmp_path: Path, ref: str) -> None:
    with pytest.raises(Invalid):
        fetch(sandboxes, "https://example.org/x", tmp_path / "a", ref, POLICY)
    with pytest.raises(Invalid):
        fetch(sandboxes, "https://example.org/x", tmp_path / "b", "main", POLICY, compared_with=ref)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc", "ssh://host/x", "ext::sh -c x", "https://", "https://a", "https://me:secret@host/x",
        "https://host/x y", "--upload-pack=x", "https://host:99999/x", "git@host:x", "https://host/x\n", "/etc",
        "https://[::1]/x",
    ],
)  # fmt: skip
def test_an_address_is_a_plain_one(sandboxes: Sandboxes, tmp_path: Path, url: str) -> None:
    with pytest.raises(BadAddress):
        fetch(sandboxes, url, tmp_path / "a", "main", PRIVATE)


def _redirecting(to: str) -> type[BaseHTTPRequestHandler]:
    class Redirect(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(301)
            self.send_header("Location", f"{to}{self.path.partition('x')[2]}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Redirect


def test_a_redirect_to_another_host_or_port_is_not_followed(
    sandboxes: Sandboxes, repository: Path, tmp_path: Path
) -> None:
    """Loopback is allowed here, and still only the host and port that were named are reached."""
    with http_backend(repository / ".git") as other, http_server(_redirecting(other)) as url:
        with pytest.raises(NotARepository, match=r"no rule names 127\.0\.0\.1"):
            fetch(sandboxes, f"{url}/x", tmp_path / "a", "main", PRIVATE)
        local = other.replace("127.0.0.1", "localhost")
        with http_server(_redirecting(local)) as lying, pytest.raises(NotARepository, match="no rule names localhost"):
            fetch(sandboxes, f"{lying}/x", tmp_path / "b", "main", PRIVATE)


def test_an_answer_without_end_is_cut(sandboxes: Sandboxes, tmp_path: Path) -> None:
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.end_headers()
            row = b"003c" + b"0" * 40 + b" refs/heads/aaaaaaa\n"
            try:
                for _ in range(1_000_000):
                    self.wfile.write(row * 100)
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            pass

    policy = replace(PRIVATE, fetch_bytes_max=1_000_000, repository_s_max=30)
    with http_server(Endless) as url, pytest.raises(NotARepository):
        fetch(sandboxes, f"{url}/x", tmp_path / "a", "main", policy)


def test_a_huge_repository_is_refused(sandboxes: Sandboxes, tmp_path: Path) -> None:
    made = make_repository(tmp_path)
    made.joinpath("large").write_bytes(bytes(range(256)) * 200 + os.urandom(3_000_000))
    git(made, "add", "-A")
    git(made, "commit", "-q", "-m", "large")
    policy = replace(PRIVATE, fetch_bytes_max=1_000_000)
    with http_backend(made / ".git") as url, pytest.raises(NotARepository, match="too large"):
        fetch(sandboxes, url, tmp_path / "a", "main", policy)
