"""Who else may read or replace a node's secrets.

Guarantees: a node does not start with a key that every account of the machine can read or that others can replace,
as `ssh` does with its keys; what is less grave is told with the command that mends it. A key file that its group may
read is accepted, because that is how secrets are handed to services.
"""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import Refusal
from choir.foundation.settings import Settings

_OTHERS = 0o007
_GROUP_WRITES = 0o020
_NOT_OWNER = 0o077


class KeyExposed(Refusal):
    """Whoever reads the key can sign in the node's name."""

    code = "node.key_exposed"
    sentence = "The node's key {file} {why}, so the node does not start."
    hint = "Fix it with `{command}`. If others may have read it, rotate it afterwards with `choir key rotate`."


@dataclass(frozen=True, slots=True)
class Exposure:
    """Something of a node's that is not its owner's alone."""

    part: str  # home, node key, operator token
    path: Path
    why: str
    command: str  # that mends it

    unless: str = ""  # what may be as it should be all the same

    @property
    def told(self) -> str:
        return f"{self.path} {self.why}"

    @property
    def advice(self) -> str:
        return f"{self.unless} fix it with `{self.command}`." if self.unless else f"Fix it with `{self.command}`."


def exposures(settings: Settings) -> list[Exposure]:
    """Everything that others may read or replace; what is not there yet, or not to be looked at, is left out."""
    found = [_owner(settings.home), _open_home(settings.home), _token(settings.home / "operator.token")]
    return [item for item in (*found, exposed_key(settings)) if item is not None]


def must_be_private(settings: Settings) -> None:
    """Raise if the node's key is in a file that is anybody's to read or others' to replace."""
    found = exposed_key(settings)
    if found is not None:
        raise KeyExposed(file=found.path, why=found.why, command=found.command)


def exposed_key(settings: Settings) -> Exposure | None:
    """The key file, if it is anybody's to read or others' to replace."""
    if settings.node_key or settings.node_key_command:
        return None
    file = settings.node_key_file
    mode = _mode(file)
    if not mode & (_OTHERS | _GROUP_WRITES):
        return None
    return Exposure("node key", file, f"is accessible to others (mode {mode:04o})", _chmod("600", file))


def _token(file: Path) -> Exposure | None:
    mode = _mode(file)
    if not mode & _NOT_OWNER:
        return None
    why = f"can be read by others (mode {mode:04o}), who can then act as the operator"
    return Exposure("operator token", file, why, _chmod("600", file))


def _open_home(home: Path) -> Exposure | None:
    mode = _mode(home)
    if not mode & _NOT_OWNER:
        return None
    return Exposure("home", home, f"is open to others (mode {mode:04o})", _chmod("700", home))


def _owner(home: Path) -> Exposure | None:
    """Who owns the folder can replace everything in it."""
    uid = _uid(home)
    if uid in (None, os.geteuid()):
        return None
    whose = _name(uid or 0)
    why = f"belongs to {whose} and not to you, {_name(os.geteuid())}"
    command = f"chown {os.geteuid()} {shlex.quote(str(home))}"
    return Exposure("home", home, why, command, f"If the node runs as {whose}, do this as {whose}; otherwise")


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _uid(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account {uid}"


def _chmod(mode: str, path: Path) -> str:
    return f"chmod {mode} {shlex.quote(str(path))}"
