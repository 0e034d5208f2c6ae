"""Our relay under clients of others: nostr-tools (JavaScript) and nostr-sdk (Rust).

They are downloaded from their registries into a cache that is never committed; offline these tests are skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.nodes import NodeUnderTest, new_node
from tests.real_agents import cache

pytestmark = pytest.mark.deep

INSTALL_S_MAX = 600
RUN_S_MAX = 120
HERE = Path(__file__).parent
NPM = ("nostr-tools@2.25.2", "ws@8.18.3")
PYPI = "nostr-sdk==0.45.1"


@pytest.fixture(scope="module")
def node() -> Iterator[NodeUnderTest]:
    with new_node(CHOIR_PROCESSES="2") as made:
        yield made.up()


def _installed(name: str, *commands: list[str]) -> Path:
    folder = cache() / "nostr" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:  # several test processes may ask at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False)
                if done.returncode:
                    pytest.skip(f"{name} cannot be installed here: {done.stderr.strip()[-200:]}")
            (folder / "installed").touch()
    return folder


def _run(node: NodeUnderTest, command: list[str], **environment: str) -> str:
    settings = {"PATH": os.environ["PATH"], "RELAY": f"ws://127.0.0.1:{node.port}/relay", **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nostr_tools(node: NodeUnderTest) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    folder = cache() / "nostr" / "nostr-tools"
    _installed("nostr-tools", ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM])
    program = folder / "client.mjs"
    shutil.copyfile(HERE / "nostr_tools_client.mjs", program)
    assert _run(node, ["node", str(program)]).split() == ["published", "found", "live", "refused", "proven", "counted"]


def test_nostr_sdk(node: NodeUnderTest) -> None:
    folder = cache() / "nostr" / "nostr-sdk"
    install = [str(folder / "bin/python3"), "-m", "pip", "install", "-q", PYPI]
    _installed("nostr-sdk", [sys.executable, "-m", "venv", str(folder)], install)
    program = [str(folder / "bin/python3"), str(HERE / "nostr_sdk_client.py")]
    assert _run(node, program).split() == ["published", "found", "live"]
