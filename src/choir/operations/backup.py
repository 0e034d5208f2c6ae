"""Backup and restore of a node's database.

A backup is a tar file with PostgreSQL's own dump and the checkpoint it must match. Guarantees: a
backup is one snapshot, written whole or not at all; a restore goes into an empty database only, and
afterwards the result is compared with the backup's checkpoint and with the last published one, so
that a rollback is noticed. The node's key is not in it: keep that apart, and safe.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from choir.foundation.clock import SystemClock, SystemEntropy, format_time
from choir.foundation.errors import Broken, ChoirError, Invalid, Refusal, Unavailable
from choir.foundation.settings import PUBLISHED, Settings
from choir.ledger.checkpoints import what_differs
from choir.ledger.notes import Checkpoint
from choir.ledger.publication import publish_checkpoint, read_unsigned
from choir.operations.former_keys import hand_over_again, key_of_backup, must_know_signer
from choir.operations.home import prepare_home, running_node
from choir.operations.ledger_place import must_be_found, must_not_be_elsewhere
from choir.operations.preparation import (
    Dsns,
    Progress,
    RolledBack,
    database_of,
    must_hold_ledger,
    opened_node,
    prepare_database,
)
from choir.storage.database import Tx, connect
from choir.storage.embedded.binaries import installed_programs
from choir.storage.identity import NodeIdentity

_FORMAT = "choir-backup/1"
_MANIFEST_BYTES_MAX = 1_000_000
_DROP_ALL = """
    do $$ declare found record; begin
        for found in select tablename from pg_tables where schemaname = 'public' loop
            execute format('drop table public.%I cascade', found.tablename);
        end loop;
        for found in
            select p.oid::regprocedure as name from pg_proc p
            where p.pronamespace = 'public'::regnamespace and p.proowner = current_user::regrole
        loop
            execute format('drop routine %s cascade', found.name);
        end loop;
    end $$
"""


class BackupFailed(Unavailable):
    """PostgreSQL's tool did not succeed."""

    code = "backup.failed"
    sentence = "{program} ended with code {exit_code}: {why}."


class NotABackup(Invalid):
    """The file is something else."""

    code = "backup.not_a_backup"
    sentence = "{file} is not a backup: {why}."


class RestoreNeedsEmpty(Refusal):
    """A restore never writes over data."""

    code = "backup.not_empty"
    sentence = "{home} already contains data; a restore needs an empty database."
    hint = "Restore into a new CHOIR_HOME, or move {home}/postgres away first."


class RestoreNeedsEmptyDatabase(Refusal):
    """Nor over data in a PostgreSQL of the operator's own."""

    code = "backup.database_not_empty"
    sentence = "The database of CHOIR_DATABASE_URL already contains tables; a restore needs an empty one."
    hint = (
        "As a superuser, create an empty database for the owner role (`create database … owner …`) and in it"
        " the extension (`create extension vector`); then set CHOIR_DATABASE_URL and CHOIR_DATABASE_OWNER_URL to it."
    )


class BackupNeedsOwner(Refusal):
    """The application role may not read everything that a dump needs."""

    code = "backup.needs_owner"
    sentence = "A backup of your own PostgreSQL needs the owner role."
    hint = "Set CHOIR_DATABASE_OWNER_URL."


class NothingRolledBack(Refusal):
    """There is no loss to accept."""

    code = "backup.nothing_rolled_back"
    sentence = "The database in {home} matches its published checkpoint, so there is nothing to accept."
    hint = "Is it the right home? Set it with --home."


class NodeIsRunning(Refusal):
    """A restore under a running node is not possible."""

    code = "backup.node_running"
    sentence = "A node is running on {home}."
    hint = "Stop it with `choir down` first."


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says about itself."""

    format: str
    made_at: str
    origin: str
    entries: int
    checkpoint: str  # the signed note over exactly these entries or fewer
    app_role: str = "choir_app"  # whom the dump gives its rights to; a restore gives them to its own


def back_up(settings: Settings, target: Path, say: Progress) -> Manifest:
    """Write a backup of the database; the node may run meanwhile."""
    with opened_node(settings, say) as node, database_of(settings, say) as dsns:
        if dsns.owner is None:
            raise BackupNeedsOwner
        with node.unit_of_work() as tx:
            checkpoint = node.checkpoints.sign(tx)
        publish_checkpoint(settings.home, checkpoint.note)
        now = format_time(SystemClock().now_us())
        manifest = Manifest(_FORMAT, now, node.identity.origin, checkpoint.size, checkpoint.note, dsns.app_role)
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".choir-backup-") as folder:
            dump = Path(folder) / "database.dump"
            say("Dumping the database.")
            _run("pg_dump", ["--format=custom", "--schema=public", f"--file={dump}"], dsns.owner)
            whole = Path(folder) / "backup.tar"
            _write_tar(whole, manifest, dump)
            whole.replace(target)
    return manifest


def restore(settings: Settings, source: Path, say: Progress, *, accept_rollback: bool) -> tuple[Manifest, NodeIdentity]:
    """Load a backup into an empty database and compare it with what was published."""
    manifest = read_manifest(source)
    if settings.home.exists() and running_node(settings.home) is not None:
        raise NodeIsRunning(home=settings.home)
    must_not_be_elsewhere(settings)
    key = key_of_backup(settings, manifest.origin, manifest.checkpoint)
    if not accept_rollback:
        must_know_signer(settings, manifest.origin, manifest.entries, settings.home / PUBLISHED)
    prepare_home(settings, SystemEntropy())
    with tempfile.TemporaryDirectory(dir=settings.home, prefix=".choir-restore-") as folder:
        dump = _extract(source, Path(folder))
        wanted = _wanted(source, dump, Path(folder))
        with database_of(settings, say) as dsns:
            _must_be_empty(settings, dsns)
            say("Loading the database.")
            _load(dump, wanted, dsns)
            try:
                _grant(dump, manifest, dsns)
                _compare(dsns, manifest)
                if hand_over_again(settings, dsns.owner or dsns.app, key, manifest.origin):
                    say("The backup is from before a key rotation; rotating it to the node's key again.")
            except BaseException:
                _empty(dsns)
                raise
            renumber_events(dsns)
            if accept_rollback:
                (settings.home / PUBLISHED).unlink(missing_ok=True)
                publish_checkpoint(settings.home, manifest.checkpoint)
            identity = prepare_database(settings, dsns)
    return manifest, identity


def accept_rollback(settings: Settings, say: Progress) -> int:
    """Publish what the database has now, although a published checkpoint had more."""
    must_be_found(settings)
    with database_of(settings, say) as dsns:
        must_hold_ledger(settings, dsns)
        _must_be_rolled_back(settings, dsns)
        (settings.home / PUBLISHED).unlink(missing_ok=True)
        prepare_database(settings, dsns)
        with opened_node(settings, say) as node:  # on the same server, so that it is started once
            with node.unit_of_work() as tx:
                checkpoint = node.checkpoints.sign(tx)
            publish_checkpoint(settings.home, checkpoint.note)
    return checkpoint.size


def _must_be_rolled_back(settings: Settings, dsns: Dsns) -> None:
    """Nobody gives up a published checkpoint by mistake, in a home that has all of it."""
    try:
        prepare_database(settings, dsns)
    except RolledBack:
        return
    raise NothingRolledBack(home=settings.home)


def read_manifest(source: Path) -> Manifest:
    """What a backup file says about itself."""
    try:
        with tarfile.open(source) as tar:
            member = tar.extractfile("manifest.json")
            text = b"" if member is None else member.read(_MANIFEST_BYTES_MAX)  # None: a folder of that name
            manifest = Manifest(**json.loads(text))
            _checkpoint(manifest)
    except OSError as error:
        raise NotABackup(file=source, why=(error.strerror or str(error)).lower()) from None
    except (tarfile.TarError, EOFError, KeyError, ValueError, TypeError, AttributeError, ChoirError):
        raise NotABackup(file=source, why="it is damaged or not a backup") from None
    if manifest.format != _FORMAT:
        raise NotABackup(file=source, why=f"its format is {str(manifest.format)[:40]}")
    return manifest


def _checkpoint(manifest: Manifest) -> Checkpoint:
    return read_unsigned(manifest.checkpoint)


def _write_tar(path: Path, manifest: Manifest, dump: Path) -> None:
    text = json.dumps({name: getattr(manifest, name) for name in Manifest.__slots__}, indent=2).encode()
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        with tarfile.open(fileobj=file, mode="w") as tar:
            about = tarfile.TarInfo("manifest.json")
            about.size = len(text)
            tar.addfile(about, io.BytesIO(text))
            tar.add(dump, "database.dump", filter=_plain)
        file.flush()
        os.fsync(file.fileno())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _extract(source: Path, folder: Path) -> Path:
    try:
        with tarfile.open(source) as tar, (folder / "database.dump").open("wb") as target:
            member = tar.extractfile("database.dump")
            shutil.copyfileobj(member or io.BytesIO(), target)  # a folder of that name has no bytes
    except (tarfile.TarError, KeyError, OSError):
        raise NotABackup(file=source, why="its database dump cannot be read") from None
    return folder / "database.dump"


def _wanted(source: Path, dump: Path, folder: Path) -> Path:
    """A list of everything in the dump but the schema itself, which every database has."""
    try:
        listing = _run("pg_restore", ["--list", str(dump)])
    except BackupFailed:
        raise NotABackup(file=source, why="its database dump cannot be read") from None
    wanted = folder / "wanted"
    wanted.write_text("".join(line + "\n" for line in listing.splitlines() if " SCHEMA - public " not in line))
    return wanted


def _load(dump: Path, wanted: Path, dsns: Dsns) -> None:
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", f"--use-list={wanted}"]
    _run("pg_restore", [*options, str(dump)], dsns.owner or dsns.app)


def _grant(dump: Path, manifest: Manifest, dsns: Dsns) -> None:
    """Give the application role here the rights that the one in the dump had; their names may differ."""
    theirs = re.compile(rf' (TO|FROM) "?{re.escape(manifest.app_role)}"?;$')
    text = _run("pg_restore", ["--no-owner", "--schema-only", "--file=-", str(dump)])
    with connect(dsns.owner or dsns.app) as owner:
        mine = sql.Identifier(dsns.app_role).as_string(owner)
        for line in text.splitlines():
            if line.startswith(("GRANT ", "REVOKE ")) and theirs.search(line):
                owner.execute(theirs.sub(rf" \1 {mine};", line).encode())


def _empty(dsns: Dsns) -> None:
    """Take back what was loaded into the empty database."""
    with connect(dsns.owner or dsns.app) as owner:
        owner.execute(_DROP_ALL)


def _must_be_empty(settings: Settings, dsns: Dsns) -> None:
    with connect(dsns.app) as app:
        row = app.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
    if row is not None and row[0] > 0:
        raise RestoreNeedsEmpty(home=settings.home) if settings.embedded else RestoreNeedsEmptyDatabase


def _compare(dsns: Dsns, manifest: Manifest) -> None:
    """The restored journal must be the one the backup says it is."""
    claimed = _checkpoint(manifest)
    with connect(dsns.owner or dsns.app) as owner:
        if what_differs(Tx(owner), claimed) is not None:
            raise Broken(what="The backup", why="its journal is not the one of its checkpoint")


def renumber_events(dsns: Dsns) -> None:
    """Events are ordered by transaction, and transactions of the old server mean nothing to the new one.

    What waits for a subscriber goes with its event. A subscriber that had heard of everything goes on behind that; one
    that had not hears some of it again, rather than missing any.
    """
    with connect(dsns.owner or dsns.app) as owner:
        owner.execute(_KEEP_PLACES)
        owner.execute("update outbox set xid = '0'")
        owner.execute("update outbox_forgotten set xid = '0'")


_KEEP_PLACES = """
    update event_subscribers s set xid = '0', n = case
        when exists (select from outbox o where (o.xid, o.n) > (s.xid, s.n)) then 0
        else coalesce((select max(n) from outbox), 0) end
"""


def _run(program: str, arguments: list[str], dsn: str = "") -> str:
    """Run one of PostgreSQL's tools; a password goes through its environment, which others cannot see."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    if dsn:
        target = conninfo_to_dict(dsn)
        environment["PGPASSWORD"] = str(target.pop("password", ""))
        arguments = [f"--dbname={make_conninfo('', **target)}", *arguments]
    done = subprocess.run(
        [installed_programs().path(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise BackupFailed(program=program, exit_code=done.returncode, why=lines[0][:300] if lines else "no reason")
    return done.stdout
