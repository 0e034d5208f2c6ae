"""A provider's folder: its two keys, its lock, and room for the work.

`agent.key` is who it is to the node (if it has no other account), `result.key` signs results and trajectories and is
used for nothing else. Both are made when they are first needed.

Guarantees: keys are 0600, made once, and never replaced; a key that others could read is refused, not used; one
process at a time serves from a folder, by a lock that the kernel drops when the process ends; a folder that was made
for a start that failed is removed again, unless a node may know a key in it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from choir.doors.provider.model import AlreadyServing, HomeUnusable, UnsafeKey
from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Invalid
from choir.foundation.node_key import make_key_file
from choir.foundation.settings import load_settings
from choir.identity.keys.nostr_keys import parse_secret
from choir.identity.keys.secret_values import SecretKey
from choir.storage.processes import FolderLock

DEFAULT_NAME = "provider"
HOME_VARIABLE = "CHOIR_PROVIDER_HOME"
_KEY_BYTES_MAX = 1_000
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def folder_of(name: str | None, named: str | None) -> Path:
    """Where a provider's folder is: as named, else by the provider's name below the home folder."""
    chosen = named or os.environ.get(HOME_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser()
    return load_settings().home / "providers" / _slug(name or DEFAULT_NAME)


def _slug(name: str) -> str:
    slug = _NOT_PLAIN.sub("-", name.lower()).strip("-")
    if not slug:
        raise Invalid(what=f"The name '{name[:40]}'", why="it needs a letter or a digit, for its folder")
    return slug[:60]


class ProviderHome:
    """One provider's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent_key_file = folder / "agent.key"
        self.result_key_file = folder / "result.key"
        self._kept = False

    @property
    def has_agent(self) -> bool:
        return self.agent_key_file.exists() or self.agent_key_file.is_symlink()

    def make(self) -> None:
        """Make the folder, private to its owner."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.folder.stat()
        except OSError as error:
            raise HomeUnusable(home=self.folder, why=(error.strerror or str(error)).lower()) from None
        if found.st_uid != os.geteuid():
            raise HomeUnusable(home=self.folder, why="it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise HomeUnusable(home=self.folder, why="others can write to it; make it private with chmod 700")

    def agent_key(self) -> SecretKey:
        """The key that the provider's own agent stands on, made if there is none."""
        return self._key(self.agent_key_file)

    def result_key(self) -> SecretKey:
        """The key that signs results and trajectories, made if there is none."""
        return self._key(self.result_key_file)

    def _key(self, path: Path) -> SecretKey:
        self.make()
        try:
            if not path.is_symlink():
                make_key_file(path, SystemEntropy())
        except OSError as error:
            raise HomeUnusable(home=self.folder, why=(error.strerror or str(error)).lower()) from None
        return read_key(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that serves from here."""
        missing = [path for path in (self.folder, *self.folder.parents) if not os.path.lexists(path)]
        self.make()
        lock = self._lock()
        try:
            yield
        except BaseException:
            if missing and not self._kept and not self.has_agent:
                self._unmake(missing)
            raise
        finally:
            lock.release()

    def keep(self) -> None:
        """From here on a node may know the keys in here."""
        self._kept = True

    def _lock(self) -> FolderLock:
        lock = FolderLock(self.folder / "serve.lock")
        try:
            is_ours = lock.acquire() and os.path.samestat(os.fstat(lock.descriptor), lock.path.stat())
        except OSError as error:
            lock.release()
            raise HomeUnusable(home=self.folder, why=(error.strerror or str(error)).lower()) from None
        if not is_ours:
            lock.release()
            raise AlreadyServing(home=self.folder, holder=lock.holder())
        return lock

    @staticmethod
    def _unmake(missing: Sequence[Path]) -> None:
        """Remove what was made, while it is locked, and the folders around it if they are empty."""
        shutil.rmtree(missing[0], ignore_errors=True)
        with suppress(OSError):
            for parent in missing[1:]:
                parent.rmdir()


def read_key(path: Path) -> SecretKey:
    """A key from a file that nobody else can read. What the file holds is in no error."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else (error.strerror or str(error)).lower()
        raise UnsafeKey(path=path, why=why) from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        mode = stat.S_IMODE(found.st_mode)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeKey(path=path, why="it is not a plain file")
        if found.st_uid != os.geteuid():
            raise UnsafeKey(path=path, why="it belongs to another user")
        if mode & 0o077:
            raise UnsafeKey(path=path, why=f"others can use it (mode {mode:04o})")
        data = file.read(_KEY_BYTES_MAX)
    try:
        return parse_secret(data.decode("ascii"))
    except (UnicodeDecodeError, Invalid):
        raise UnsafeKey(path=path, why="it does not hold a key") from None
