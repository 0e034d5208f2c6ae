"""Everything that can keep the embedded PostgreSQL from serving, one class each.

Guarantees: each says what happened and what the operator can do; where PostgreSQL itself said
something, its last lines are quoted. An `OSError` from the data folder never leaves storage bare.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from choir.foundation.errors import Broken, Refusal, Unavailable

_OWN_DATABASE = "or use your own PostgreSQL with CHOIR_DATABASE_URL and CHOIR_DATABASE_OWNER_URL"


class AlreadyRunning(Refusal):
    """One folder is served by one process at a time."""

    code = "storage.already_running"
    sentence = "Another process already runs the database in {folder} ({holder})."
    hint = "Stop that one first, or choose another folder with CHOIR_HOME."


class UnsupportedSystem(Unavailable):
    """The supervisor rests on Linux: /proc, parent-death signals, flock."""

    code = "storage.unsupported_system"
    sentence = "The embedded PostgreSQL needs Linux; this is {system}."
    hint = "Use your own PostgreSQL with CHOIR_DATABASE_URL and CHOIR_DATABASE_OWNER_URL."


class ProgramsMissing(Unavailable):
    """The wheel with PostgreSQL's programs is not there, or not whole."""

    code = "storage.programs_missing"
    sentence = "PostgreSQL's programs were not found at {place}."
    hint = "Install the project's dependencies again (`make setup`)."


class ProgramsUnreachable(Unavailable):
    """As root: no place from which the unprivileged account could run the programs."""

    code = "storage.programs_unreachable"
    sentence = "The unprivileged account {uid} cannot run PostgreSQL's programs from any of: {places}."
    hint = "Install the project outside of root's home, or run the node as an ordinary user, " + _OWN_DATABASE + "."


class CannotDropRoot(Unavailable):
    """PostgreSQL refuses to run as root, and there is no other account to become."""

    code = "storage.cannot_drop_root"
    sentence = "PostgreSQL does not run as root, and no other account can be used here: {why}."
    hint = "Run the node as an ordinary user, " + _OWN_DATABASE + "."


class NamelessAccount(Unavailable):
    """initdb looks its account up by name; a container's bare number has none."""

    code = "storage.nameless_account"
    sentence = "The account {uid} has no name on this machine, and PostgreSQL needs one to create a new database."
    hint = "Add a line for it to /etc/passwd, or run the node as a named user, " + _OWN_DATABASE + "."


class DiskFull(Unavailable):
    """No room for the database."""

    code = "storage.folder_full"
    sentence = "The disk with {folder} is full ({free_mb} MB free): {why}."
    hint = "Free some space, or move the folder to a larger disk and set CHOIR_HOME. Nothing stored was lost."


class ReadOnly(Unavailable):
    """The file system does not take writes."""

    code = "storage.read_only"
    sentence = "The file system with {folder} is read-only."
    hint = "Mount it writable (a disk error can make it read-only: see the system log), or set CHOIR_HOME."


class NoAccess(Unavailable):
    """The folder belongs to someone else."""

    code = "storage.no_access"
    sentence = "This account may not use {folder}: {why}."
    hint = "Run as the folder's owner, or choose another folder with CHOIR_HOME."


class FolderUnusable(Unavailable):
    """Any other trouble with the folder."""

    code = "storage.folder_unusable"
    sentence = "The database folder {folder} cannot be used: {why}."
    hint = "Check that path, or choose another folder with CHOIR_HOME."


class NotADataFolder(Broken):
    """Something else, or half of a database, is where the database should be."""

    code = "storage.not_a_data_folder"
    sentence = "{folder} does not contain a complete PostgreSQL database: {why}."
    hint = "Restore a backup with `choir restore`, or move this folder away to start with an empty database."


class WrongVersion(Broken):
    """The data was written by another major version."""

    code = "storage.wrong_version"
    sentence = "{folder} was created by PostgreSQL {found}; this Choir contains PostgreSQL {ours}."
    hint = (
        "Use the Choir version that created it, run `choir backup` there, move the folder away "
        "and `choir restore` the backup here."
    )


class PreviousServerStuck(Unavailable):
    """A server that a killed node left behind does not go away."""

    code = "storage.previous_server_stuck"
    sentence = "An earlier PostgreSQL on {folder} is still running after {waited_s} s (processes {pids})."
    hint = "Find out why these processes do not end (a hanging disk?), end them, and start again."


class StartFailed(Unavailable):
    """PostgreSQL gave up, or did not become ready."""

    code = "storage.start_failed"
    sentence = "PostgreSQL did not start: {why}. Its output:\n{tail}"
    hint = "The full log is {log}."


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into the sentence an operator can act on."""
    try:
        yield
    except OSError as error:
        raise _explained(folder, error) from error


def _explained(folder: Path, error: OSError) -> Unavailable:
    why = f"{error.strerror or error} ({error.filename})" if error.filename else str(error.strerror or error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(folder=folder, free_mb=free_mb(folder), why=why)
    if error.errno == errno.EROFS:
        return ReadOnly(folder=folder)
    if error.errno in (errno.EACCES, errno.EPERM):
        return NoAccess(folder=folder, why=why)
    return FolderUnusable(folder=folder, why=why)


def free_mb(folder: Path) -> int:
    """Free space on the disk of the nearest existing ancestor."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free // 2**20
        except OSError:
            continue
    return 0
