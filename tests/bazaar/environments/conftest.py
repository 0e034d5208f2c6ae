"""Environments with a shelf of their own per test process, and the way to the package registries of this machine.

A registry may be behind an address that is not public, as on machines that go through a mirror; the operator's
`mirrors.toml` of the tests allows that. Without a registry the tests that need one are skipped and say so.
"""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from choir.bazaar.environments.mirrors import FILE
from choir.bazaar.environments.service import Environments
from choir.bazaar.policy import EnvironmentsPolicy
from choir.sandbox.service import Sandboxes
from tests.sandbox.conftest import started

PYPI = ("files.pythonhosted.org", "pypi.org")
NPM = ("registry.npmjs.org",)
SMALL = EnvironmentsPolicy(
    layer_bytes_max=40_000_000,
    layer_files_max=4_000,
    setup_wall_s=60,
    setup_memory_bytes=300_000_000,
    setup_processes=64,
    setup_download_bytes_max=20_000_000,
)
MIRRORS = f"""
[[mirror]]
instead_of = {list(PYPI + NPM)}
private = true
"""


@cache
def reachable(host: str) -> bool:
    """Whether a registry answers from here."""
    try:
        socket.create_connection((host, 443), 5).close()
        with urllib.request.urlopen(f"https://{host}/", timeout=10) as answer:
            return bool(answer.status < 500)
    except OSError:
        return False


def need(*hosts: str) -> None:
    for host in hosts:
        if not reachable(host):
            pytest.skip(f"{host} cannot be reached from here, so no set-up can download from it")


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("environments")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture(scope="session")
def environments(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """As a node has them."""
    return at(sandboxes, tmp_path_factory.mktemp("home"))


@pytest.fixture
def small(sandboxes: Sandboxes, tmp_path: Path) -> Environments:
    """With narrow limits, for what runs into them; a shelf of its own."""
    return at(sandboxes, tmp_path / "small", SMALL)


def at(sandboxes: Sandboxes, home: Path, policy: EnvironmentsPolicy | None = None) -> Environments:
    home.mkdir(exist_ok=True)
    (home / FILE).write_text(MIRRORS)
    return Environments(sandboxes, home, policy)
