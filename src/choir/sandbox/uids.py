"""One user id per sandbox, for nodes that run as root.

Guarantees: no two live sandboxes on the machine share a user id, so that neither can signal, read or
crowd out the other even if a namespace leaked. A user id is held by a lock on one byte of one file, the one at its own
number, which the kernel releases when the holder dies. Ids are taken in turns: the kernel forgets a dead namespace's
processes late, and an id used again at once would find its process count still full.
"""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import Refusal, Unavailable

_LOCKS = "locks"  # empty: a lock may lie beyond its end, and a descriptor holds it, not a process
MACHINE_FOLDER = Path("/run/choir-sandbox/uids")  # user ids belong to the machine, not to one node


class NoUidLeft(Refusal):
    """Every user id of the pool is in use."""

    code = "sandbox.no_uid_left"
    sentence = "All {count} user ids for sandboxes are in use."


class NoUidFolder(Unavailable):
    """The folder of locks cannot be trusted."""

    code = "sandbox.no_uid_folder"
    sentence = "The folder {folder} cannot hold the locks on user ids: {why}"


@dataclass(slots=True)
class HeldUid:
    """A user id that is ours until `release`."""

    uid: int
    lock: int  # descriptor that holds the lock

    def release(self) -> None:
        os.close(self.lock)
        self.lock = -1


class UidPool:
    """The user ids of this machine's sandboxes."""

    def __init__(self, first: int, count: int, folder: Path = MACHINE_FOLDER) -> None:
        self.first = first
        self.count = count
        self.folder = folder
        self._folder_fd = _open_private(folder)

    def close(self) -> None:
        if self._folder_fd >= 0:
            os.close(self._folder_fd)
            self._folder_fd = -1

    def take(self) -> HeldUid:
        """The next free user id, machine-wide."""
        start = self._turn()
        for step in range(self.count):
            place = (start + step) % self.count
            held = self.try_take(self.first + place)
            if held is not None:
                self._remember((place + 1) % self.count)
                return held
        raise NoUidLeft(count=self.count)

    def try_take(self, uid: int) -> HeldUid | None:
        """This very user id, or None while someone holds it."""
        fd = os.open(_LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=self._folder_fd)
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0))
        except (BlockingIOError, PermissionError):  # whichever the kernel says of a lock that another holds
            os.close(fd)
            return None
        return HeldUid(uid, fd)

    def _turn(self) -> int:
        try:
            fd = os.open("next", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._folder_fd)
        except FileNotFoundError:
            return 0
        try:
            text = os.read(fd, 16)
        finally:
            os.close(fd)
        return int(text) % self.count if text.strip().isdigit() else 0

    def _remember(self, place: int) -> None:
        """A hint only: two callers may write the same one, and the locks sort it out."""
        fd = os.open("next", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=self._folder_fd)
        try:
            os.pwrite(fd, b"%-8d" % place, 0)
        finally:
            os.close(fd)


def _open_private(folder: Path) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    facts = os.fstat(fd)
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        os.close(fd)
        raise NoUidFolder(folder=folder, why="it belongs to another user or others may write to it")
    return fd
