"""Logins that are kept between commands: one file per node, in the user's configuration folder.

Guarantees: a file is readable by its owner only, written whole or not at all, and used only if it is a
plain file of this user that nobody else can read; its token is only ever given for the address it was made
for, which stands in the file too. Whatever is not so is refused with words, never repaired in silence.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

import httpx

from choir.foundation.errors import Invalid, Refusal
from choir.foundation.node_key import sync_folder

_FILE_BYTES_MAX = 100_000


class UnsafeLogin(Refusal):
    """A file that others could have read or put there."""

    code = "sdk.unsafe_login"
    sentence = "The saved login {path} cannot be used: {why}."
    hint = "Check it, delete it, and log in again with `choir login`."


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """A token for one node."""

    node: str  # the address it is for
    token: str = field(repr=False)
    token_id: str = ""  # what the node calls it; empty where it was given by hand
    handle: str = ""
    pages: str = ""  # where the node's pages are, for what takes a browser
    saved_at: str = ""


def origin_of(address: str) -> str:
    """The one way to write an address: scheme, host and port, as the connection is made."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise Invalid(what=f"the node's address '{address}'", why="write it like http://localhost:8420")
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    return f"{url.scheme}://{host}:{port}{url.path.rstrip('/')}"


def folder() -> Path:
    """Where logins are kept (XDG base directory specification)."""
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if configured.startswith("/") else Path("~/.config").expanduser()
    return base / "choir" / "logins"


def path_of(address: str) -> Path:
    return folder() / f"{quote(origin_of(address), safe='')}.json"


def load(address: str) -> SavedLogin | None:
    """The login for this address; None if there is none."""
    path = path_of(address)
    data = read_private(path)
    if data is None:
        return None
    found = _parse(path, data)
    if found.node != origin_of(address):
        raise UnsafeLogin(path=str(path), why=f"it is for {found.node}")
    return found


def save(login: SavedLogin) -> Path:
    """Keep a login, instead of any before it."""
    path = path_of(login.node)
    write_private(path, json.dumps(asdict(login) | {"node": origin_of(login.node)}))
    return path


def read_private(path: Path) -> bytes | None:
    """What a file says that is this user's alone; None if there is none."""
    try:
        _check_folder(path.parent)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else (error.strerror or str(error)).lower()
        raise UnsafeLogin(path=str(path), why=why) from None
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(file.fileno()), regular=True)
        return file.read(_FILE_BYTES_MAX)


def write_private(path: Path, text: str) -> None:
    """Keep a text in a file that is this user's alone, instead of what was there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_folder(path.parent)
        if path.is_symlink():
            raise UnsafeLogin(path=str(path), why="it is a symbolic link")
        _write(path, text)
    except OSError as error:
        raise UnsafeLogin(path=str(path), why=(error.strerror or str(error)).lower()) from None


def forget(address: str) -> bool:
    """Remove a login; says whether there was one."""
    path = path_of(address)
    try:
        path.unlink()  # of a symbolic link, the link
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise UnsafeLogin(path=str(path), why=(error.strerror or str(error)).lower()) from None
    return True


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _check_folder(path: Path) -> None:
    """The folder of logins is this user's alone; who may write to it could put a file there."""
    _check(path, path.lstat(), regular=False)


def _check(path: Path, found: os.stat_result, *, regular: bool) -> None:
    right_kind = stat.S_ISREG if regular else stat.S_ISDIR
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        why = "it is a symbolic link"
    elif not right_kind(found.st_mode):
        why = "it is not a plain file" if regular else "it is not a folder"
    elif found.st_uid != os.geteuid():
        why = "it belongs to another user"
    elif mode & 0o077:
        why = f"others can use it (mode {mode:04o}; it must be {'0600' if regular else '0700'})"
    else:
        return
    raise UnsafeLogin(path=str(path), why=why)


def _parse(path: Path, data: bytes) -> SavedLogin:
    try:
        found = SavedLogin(**json.loads(data))
    except (ValueError, TypeError, RecursionError):
        raise UnsafeLogin(path=str(path), why="it is not a login file of this version") from None
    if not all(isinstance(value, str) for value in asdict(found).values()):
        raise UnsafeLogin(path=str(path), why="it is not a login file of this version")
    return found
