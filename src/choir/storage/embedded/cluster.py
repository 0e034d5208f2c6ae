"""The data folder: making it, judging one that is there, and the roles and database inside.

Guarantees: a folder called `data` is always a whole one, because it is made under another name and
renamed when complete, so a kill at any moment costs only a repeat; roles and database are made one by
one where missing, at every start; data of another version or of something else is never touched.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg import sql

from choir.storage.embedded.accounts import Account
from choir.storage.embedded.binaries import POSTGRES_MAJOR, Programs
from choir.storage.embedded.errors import DiskFull, NamelessAccount, NoAccess, NotADataFolder, WrongVersion, free_mb
from choir.storage.embedded.log import ServerLog, start_error
from choir.storage.processes import CLEAN_ENVIRONMENT, die_with_parent

SUPERUSER = "postgres"
DATABASE = "choir"
OWNER_ROLE = "choir_owner"
APP_ROLE = "choir_app"
# The data folder as the server itself sees it. A path through folders that are closed to the server's
# account would not do; its own current folder always does, and odd characters in the path do not matter.
HERE = "/proc/self/cwd"
_NEW_CLUSTER_MB = 128
_HBA = "# Written by Choir. The socket's folder is closed to other accounts.\nlocal all all trust\n"


def fresh_folder(data: Path) -> Path:
    """Where a new cluster is made before it gets its name."""
    return data.with_name("data.new")


def cluster_exists(data: Path) -> bool:
    """Whether a usable cluster is there; raises if what is there is not one."""
    if not data.exists():
        return False
    if not data.is_dir():
        raise NotADataFolder(folder=data, why="it is not a folder")
    if not any(data.iterdir()):
        data.rmdir()
        return False
    version = data / "PG_VERSION"
    if not version.is_file():
        raise NotADataFolder(folder=data, why="the file PG_VERSION is missing")
    found = version.read_text(errors="replace").strip()
    if found != POSTGRES_MAJOR:
        if not found.replace(".", "").isdecimal():
            raise NotADataFolder(folder=data, why="the file PG_VERSION holds no version")
        raise WrongVersion(folder=data, found=found, ours=POSTGRES_MAJOR)
    if not (data / "global" / "pg_control").is_file():
        raise NotADataFolder(folder=data, why="the file global/pg_control is missing")
    return True


def adopt_cluster(data: Path, account: Account) -> None:
    """Give a cluster the owner and mode that PostgreSQL insists on; a copy put back by root has neither."""
    found = data.stat()
    if account.switch and found.st_uid == 0:
        _give_tree(data, account)
    elif found.st_uid != account.uid:
        raise NoAccess(folder=data, why=f"it belongs to account {found.st_uid}")
    if found.st_mode & 0o077:
        data.chmod(0o700)


def make_cluster(
    data: Path, programs: Programs, account: Account, log: ServerLog, lock_descriptor: int, *, durable: bool
) -> None:
    """Run initdb in a folder beside, then put it in place."""
    free = free_mb(data.parent)
    if free < _NEW_CLUSTER_MB:
        raise DiskFull(folder=data.parent, free_mb=free, why=f"a new database needs {_NEW_CLUSTER_MB} MB")
    try:
        pwd.getpwuid(account.first_uid)
    except KeyError:
        raise NamelessAccount(uid=account.first_uid) from None
    fresh = fresh_folder(data)
    if fresh.exists():
        shutil.rmtree(fresh)
    fresh.mkdir()
    fresh.chmod(0o700)
    if account.switch:
        os.chown(fresh, account.first_uid, account.gid)
    try:
        _run_initdb(fresh, programs, account, log, lock_descriptor, durable=durable)
        _complete(fresh, account, durable=durable)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    fresh.rename(data)
    _sync_folder(data.parent)


def _run_initdb(
    fresh: Path, programs: Programs, account: Account, log: ServerLog, lock_descriptor: int, *, durable: bool
) -> None:
    command = [programs.path("initdb"), "-D", HERE, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"]
    if not durable:
        command.append("--no-sync")
    done = subprocess.run(
        command,
        cwd=fresh,
        env=dict(CLEAN_ENVIRONMENT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        umask=0o077,
        start_new_session=True,
        pass_fds=[lock_descriptor],  # what a kill leaves behind for a moment keeps the folder locked
        preexec_fn=die_with_parent(signal.SIGKILL),
        check=False,
        **account.spawn_arguments(first=True),
    )
    said = done.stdout.decode(errors="replace")
    log.append(said)
    if done.returncode != 0:
        raise start_error(fresh.parent, log.path, said, f"initdb ended with code {done.returncode}")


def _complete(fresh: Path, account: Account, *, durable: bool) -> None:
    (fresh / "pg_hba.conf").write_text(_HBA)
    if account.switch:
        _give_tree(fresh, account)
    if durable:
        _sync_tree(fresh)


def _give_tree(top: Path, account: Account) -> None:
    for _, folders, files, descriptor in os.fwalk(top):
        for name in folders + files:
            os.chown(name, account.uid, account.gid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(top, account.uid, account.gid)


def _sync_tree(top: Path) -> None:
    """Owners too must be on disk before the folder gets its name; the contents are there already."""
    for _, _, files, folder in os.fwalk(top):
        for name in files:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        os.fsync(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems cannot, and need not
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def ensure_roles(superuser_dsn: str, database_dsn: str) -> None:
    """Roles, database and the vector extension, each where missing."""
    with psycopg.connect(superuser_dsn, autocommit=True) as connection:
        roles = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
        for role in (OWNER_ROLE, APP_ROLE):
            if role not in roles:
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        found = connection.execute("SELECT datacl IS NULL FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if found is None:
            _execute(connection, "CREATE DATABASE {database} OWNER {owner}")
        if found is None or found[0]:
            with connection.transaction():
                _execute(connection, "REVOKE ALL ON DATABASE {database} FROM PUBLIC")
                _execute(connection, "GRANT CONNECT ON DATABASE {database} TO {app}")
    with psycopg.connect(database_dsn, autocommit=True) as connection:
        # pgvector is not marked trusted, so that the owner role could not add it in a migration.
        connection.execute("SET client_min_messages = warning")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _execute(connection: psycopg.Connection, statement: str) -> None:
    names = {"database": DATABASE, "owner": OWNER_ROLE, "app": APP_ROLE}
    identifiers = {key: sql.Identifier(name) for key, name in names.items()}
    connection.execute(sql.SQL(statement).format(**identifiers))
