"""The real agents, from the package registries, each in a folder of its own in a cache that is never committed.

Whoever needs one asks `agent_folder`; where the registry is out of reach and the cache is empty, the test is skipped
and says so. `CHOIR_TEST_CACHE` names another place for the cache.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL_S_MAX = 900
# pinned, so that a test means the same tomorrow; litellm, which two of them stand on, does not say that it needs mcp
PYPI = {
    "mini-swe-agent": ("mini-swe-agent==2.4.6", "litellm==1.106.2", "mcp==2.3.0"),
    "aider": ("aider-chat==0.86.2",),
}
NPM = {"claude-code": "@anthropic-ai/claude-code@2.1.197"}
PROGRAMS = {"mini-swe-agent": "bin/mini", "aider": "bin/aider", "claude-code": "node_modules/.bin/claude"}


def cache() -> Path:
    named = os.environ.get("CHOIR_TEST_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "choir-tests"


def agent_folder(name: str) -> Path:
    """Where the agent is installed; installed now, if it was not."""
    version = "-".join((NPM.get(name) or PYPI[name][0]).replace("@anthropic-ai/", "").split("==")).replace("@", "-")
    folder = cache() / "agents" / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:  # several test processes may ask at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            problem = _install(name, folder)
            if problem:
                pytest.skip(f"{name} cannot be installed here: {problem}")
            (folder / "installed").touch()
    return folder


def _install(name: str, folder: Path) -> str:
    """Install it; why that failed, or nothing."""
    if name in NPM:
        if shutil.which("npm") is None:
            return "there is no npm"
        return _run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), NPM[name]])
    made = _run(["/usr/bin/python3", "-m", "venv", str(folder)])  # the sandbox sees no other Python
    return made or _run([str(folder / "bin/python3"), "-m", "pip", "install", "-q", *PYPI[name]])


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1][:200]
