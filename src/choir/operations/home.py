"""The home folder: where the data, the node's key, the operator's token and the locks are.

Guarantees: the folder is private to its owner; secrets in it are 0600 and written whole; a home that has a
ledger gets no other key; one node at a time holds the node lock, which cannot outlive it.
"""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from choir.foundation.clock import Entropy
from choir.foundation.errors import Refusal, Unavailable
from choir.foundation.node_key import make_key_file, write_secret_file
from choir.foundation.settings import Settings
from choir.operations.ledger_place import must_be_found, must_have_its_key
from choir.operations.privacy import exposures, must_be_private
from choir.storage.processes import FolderLock

_ACQUIRE_S_MAX = 2.0


class NodeRunning(Refusal):
    """Another node has this home."""

    code = "node.running"
    sentence = "A node is already running on {home} (process {pid}, {url})."
    hint = "Stop it with `choir down`, or start this one with another CHOIR_HOME."


class HomeUnusable(Unavailable):
    """The home folder cannot be made or written."""

    code = "node.home_unusable"
    sentence = "The folder {home} cannot be used: {why}."
    hint = "Choose another one with CHOIR_HOME, or make it writable."


class KeyNotMade(Unavailable):
    """The node's key cannot be written where the settings say."""

    code = "node.key_not_made"
    sentence = "The node's key could not be created at {path}: {why}."
    hint = "Check CHOIR_NODE_KEY_FILE, and that you may write there."


class DiskLow(Unavailable):
    """So little disk is left that writes are refused before the database meets a full disk."""

    code = "node.disk_low"
    sentence = "Only {free_mb} MB of disk are free; writes are refused below {needed_mb} MB."
    hint = "Free some space; reads still work and nothing is damaged."


@dataclass(frozen=True, slots=True)
class RunningNode:
    """What a running node says about itself in its lock file."""

    pid: int
    url: str
    started_us: int


_STARTING = RunningNode(0, "just starting", 0)


class NodeLock:
    """Held by a node while it runs."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = FolderLock(home / "node.lock")
        self._state = home / "node.json"

    def acquire(self) -> None:
        """Be the one node of this home, or say who is."""
        deadline = time.monotonic() + _ACQUIRE_S_MAX
        while not self._lock.acquire():
            found = running_node(self._home)
            if found is not None and (found.pid or time.monotonic() > deadline):
                raise NodeRunning(home=self._home, pid=found.pid, url=found.url)
            time.sleep(0.01)  # somebody is only looking, or about to say who it is

    def announce(self, running: RunningNode) -> None:
        """Say who and where we are, once the address is really ours."""
        write_secret_file(self._state, json.dumps(asdict(running)))

    def release(self) -> None:
        if self._lock.descriptor >= 0:  # what another node wrote is not ours to remove
            self._state.unlink(missing_ok=True)
            self._lock.release()


def running_node(home: Path) -> RunningNode | None:
    """The node that holds this home's lock now; a stale file is not believed."""
    lock = FolderLock(home / "node.lock")
    if not lock.path.exists():
        return None
    if lock.acquire(shared=True):
        lock.release()
        return None
    try:
        found = RunningNode(**json.loads((home / "node.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return _STARTING
    return found if lock.holder() == f"process {found.pid}" else _STARTING  # a killed node's file is still there


def look_first(settings: Settings, say: Callable[[str], None]) -> None:
    """Before a node is started: raise if its ledger or key is not where it should be, or the key is anybody's.

    What else others may read is told, with the command that mends it.
    """
    must_be_found(settings)
    must_have_its_key(settings)
    must_be_private(settings)
    for item in exposures(settings):
        say(f"Warning: {item.told}. {item.advice}")


def prepare_home(settings: Settings, entropy: Entropy) -> None:
    """Make the folder, the node's key and the operator's token, whichever are missing."""
    home = settings.home
    must_have_its_key(settings)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not settings.node_key and not settings.node_key_command:
            _make_key(settings.node_key_file, entropy)
        token = home / "operator.token"
        if not token.exists():
            write_secret_file(token, "op_" + base64.urlsafe_b64encode(entropy.bytes(32)).decode().rstrip("=") + "\n")
    except OSError as error:
        raise HomeUnusable(home=home, why=(error.strerror or str(error)).lower()) from None


def _make_key(path: Path, entropy: Entropy) -> None:
    try:
        make_key_file(path, entropy)
    except OSError as error:
        raise KeyNotMade(path=path, why=(error.strerror or str(error)).lower()) from None


def operator_token(home: Path) -> str:
    """The operator's token; empty where this user cannot read it."""
    try:
        return (home / "operator.token").read_text().strip()
    except OSError:
        return ""


def free_bytes(folder: Path) -> int:
    """Free disk below a folder that may not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def check_disk(folder: Path, needed: int) -> None:
    """Raise while too little disk is left to write safely."""
    free = free_bytes(folder)
    if free < needed:
        raise DiskLow(free_mb=free // 1_000_000, needed_mb=needed // 1_000_000)
