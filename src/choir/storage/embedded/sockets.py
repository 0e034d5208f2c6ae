"""The folder with the server's socket, which is the only way in.

Guarantees: only the server's account (and root) can enter it, which is what allows the server to
trust every connection; its path is short enough for a Unix socket however long the home is; in a
shared place such as /tmp nothing that another user prepared is ever used.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from choir.storage.embedded.accounts import Account
from choir.storage.embedded.errors import FolderUnusable

PORT = 5432  # names the socket file; there is no TCP
_SOCKET_NAME = f".s.PGSQL.{PORT}"
_SOCKET_PATH_BYTES_MAX = 107  # sun_path of Linux, without its final zero byte
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9_./+=@ -]*")  # libpq splits hosts at commas
_INSIDE = "socket"
# Seen from the data folder: the server need not pass the folders above, which may be closed to it.
_INSIDE_SETTING = f"../{_INSIDE}"


@dataclass(frozen=True, slots=True)
class SocketFolder:
    """Where clients find the socket, and how the server is told."""

    path: Path
    setting: str


def make_socket_folder(folder: Path, account: Account, token: str) -> SocketFolder:
    """A fresh, private folder: beside the data if the path is short and plain, else in a shared short place."""
    remove_socket_folders(folder, account, token)
    inside = folder / _INSIDE
    beside_data = (folder / "data").resolve().parent == folder.resolve()  # not if data is a link to elsewhere
    if beside_data and _fits(inside):
        _make(inside, account)
        return SocketFolder(inside, _INSIDE_SETTING)
    for place in _short_places():
        try:
            path = _make_in_shared_place(place, account, token)
        except OSError:
            continue
        return SocketFolder(path, str(path))
    raise FolderUnusable(folder=inside, why="its path is too long for a socket, and /run and /tmp take no folder")


def remove_socket_folders(folder: Path, account: Account, token: str) -> None:
    """Remove what this or an earlier, killed run left; only what is ours."""
    for path in (folder / _INSIDE, *(place / token for place in _short_places())):
        if is_private(path, account.uid):
            shutil.rmtree(path, ignore_errors=True)


def remove_socket_folder(found: SocketFolder) -> None:
    """Remove the folder of a server that has ended."""
    shutil.rmtree(found.path, ignore_errors=True)


def socket_folder_of(folder: Path, setting: str) -> Path:
    """The folder that a server's pid file speaks of."""
    return folder / _INSIDE if setting == _INSIDE_SETTING else Path(setting)


def is_private(path: Path, uid: int) -> bool:
    """Whether this is a real folder of that account, closed to all others."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077


def listener(path: Path) -> tuple[int, int] | None:
    """Process id and account of whoever listens on the socket in this folder, as the kernel knows them."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(5)
            client.connect(str(path / _SOCKET_NAME))
            peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError:
        return None
    pid, uid, _ = struct.unpack("iII", peer)
    return pid, uid


def _fits(path: Path) -> bool:
    whole = os.fsencode(path / _SOCKET_NAME)
    return len(whole) <= _SOCKET_PATH_BYTES_MAX and _PLAIN_PATH.fullmatch(str(path)) is not None


def _short_places() -> list[Path]:
    """Root-owned places where no one can rename what is ours. Not TMPDIR: it can be long or anything."""
    candidates = ["/run", "/tmp", "/var/tmp"] if os.geteuid() == 0 else ["/tmp", "/var/tmp"]  # noqa: S108
    return [place for place in map(Path, candidates) if _keeps_names(place)]


def _keeps_names(place: Path) -> bool:
    try:
        found = place.stat()
    except OSError:
        return False
    sticky = found.st_mode & stat.S_ISVTX
    return found.st_uid == 0 and (bool(sticky) or not found.st_mode & 0o022)


def _make_in_shared_place(place: Path, account: Account, token: str) -> Path:
    path = place / token
    try:
        _make(path, account)
    except FileExistsError:  # another user's: leave it, and take a name that could not be foreseen
        path = Path(tempfile.mkdtemp(prefix=f"{token}-", dir=place))
        _give(path, account)
    return path


def _make(path: Path, account: Account) -> None:
    path.mkdir(mode=0o700)
    _give(path, account)


def _give(path: Path, account: Account) -> None:
    path.chmod(0o700)  # whatever the umask
    if account.switch:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
