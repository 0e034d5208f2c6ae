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
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.clock import SystemClock, SystemEntropy, format_time
from choir.foundation.errors import Broken, Invalid, Refusal, Unavailable
from choir.foundation.settings import Settings
from choir.ledger.checkpoints import what_differs
from choir.ledger.notes import Checkpoint
from choir.operations.home import prepare_home, running_node
from choir.operations.preparing import (
    PUBLISHED,
    Dsns,
    Progress,
    database_of,
    opened_node,
    prepare_database,
    publish_checkpoint,
)
from choir.storage.database import Tx, connect
from choir.storage.embedded.binaries import installed_programs

_FORMAT = "choir-backup/1"
_MANIFEST_BYTES_MAX = 1_000_000


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
    sentence = "There is data in {home} already; a restore needs an empty database."
    hint = "Restore into a new CHOIR_HOME, or move {home}/postgres away first."


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


def back_up(settings: Settings, target: Path, say: Progress) -> Manifest:
    """Write a backup of the database; the node may run meanwhile."""
    with opened_node(settings, say) as node, database_of(settings, say) as dsns:
        with node.unit_of_work() as tx:
            checkpoint = node.checkpoints.sign(tx)
        publish_checkpoint(settings.home, checkpoint.note)
        now = format_time(SystemClock().now_us())
        manifest = Manifest(_FORMAT, now, node.identity.origin, checkpoint.size, checkpoint.note)
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".choir-backup-") as folder:
            dump = Path(folder) / "database.dump"
            say("Dumping the database.")
            _run("pg_dump", ["--format=custom", "--schema=public", f"--file={dump}", dsns.owner or dsns.app])
            whole = Path(folder) / "backup.tar"
            _write_tar(whole, manifest, dump)
            whole.replace(target)
    return manifest


def restore(settings: Settings, source: Path, say: Progress, *, accept_rollback: bool) -> Manifest:
    """Load a backup into an empty database and compare it with what was published."""
    manifest = read_manifest(source)
    if settings.home.exists() and running_node(settings.home) is not None:
        raise NodeIsRunning(home=settings.home)
    prepare_home(settings, SystemEntropy())
    with database_of(settings, say) as dsns:
        _must_be_empty(settings, dsns)
        with tempfile.TemporaryDirectory(dir=settings.home, prefix=".choir-restore-") as folder:
            dump = _extract(source, Path(folder))
            say("Loading the database.")
            _load(dump, Path(folder), dsns)
        _compare(dsns, manifest)
        if accept_rollback:
            publish_checkpoint(settings.home, manifest.checkpoint)
        prepare_database(settings, dsns)
    return manifest


def accept_rollback(settings: Settings, say: Progress) -> int:
    """Publish what the database has now, although a published checkpoint had more."""
    with database_of(settings, say) as dsns:
        (settings.home / PUBLISHED).unlink(missing_ok=True)
        prepare_database(settings, dsns)
    with opened_node(settings, say) as node:
        with node.unit_of_work() as tx:
            checkpoint = node.checkpoints.sign(tx)
        publish_checkpoint(settings.home, checkpoint.note)
    return checkpoint.size


def read_manifest(source: Path) -> Manifest:
    """What a backup file says about itself."""
    try:
        with tarfile.open(source) as tar:
            member = tar.extractfile("manifest.json")
            if member is None:
                raise NotABackup(file=source, why="it has no manifest")
            manifest = Manifest(**json.loads(member.read(_MANIFEST_BYTES_MAX)))
    except OSError as error:
        raise NotABackup(file=source, why=(error.strerror or str(error)).lower()) from None
    except (tarfile.TarError, KeyError, ValueError, TypeError):
        raise NotABackup(file=source, why="it is damaged or something else") from None
    if manifest.format != _FORMAT:
        raise NotABackup(file=source, why=f"its format is {manifest.format[:40]}")
    return manifest


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
        with tarfile.open(source) as tar:
            tar.extract("database.dump", folder, filter="data")
    except (tarfile.TarError, KeyError, OSError):
        raise NotABackup(file=source, why="its database dump cannot be read") from None
    return folder / "database.dump"


def _load(dump: Path, folder: Path, dsns: Dsns) -> None:
    """Everything but the schema itself, which every database has."""
    listing = _run("pg_restore", ["--list", str(dump)])
    wanted = folder / "wanted"
    wanted.write_text("".join(line + "\n" for line in listing.splitlines() if " SCHEMA - public " not in line))
    target = dsns.owner or dsns.app
    options = ["--no-owner", "--exit-on-error", "--single-transaction", f"--use-list={wanted}", f"--dbname={target}"]
    _run("pg_restore", [*options, str(dump)])


def _must_be_empty(settings: Settings, dsns: Dsns) -> None:
    with connect(dsns.app) as app:
        row = app.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
    if row is not None and row[0] > 0:
        raise RestoreNeedsEmpty(home=settings.home)


def _compare(dsns: Dsns, manifest: Manifest) -> None:
    """The restored journal must be the one the backup says it is."""
    claimed = Checkpoint.parse(manifest.checkpoint.partition("\n\n")[0] + "\n")
    with connect(dsns.app) as app:
        if what_differs(Tx(app), claimed) is not None:
            raise Broken(what="The backup", why="its journal is not the one of its checkpoint")


def _run(program: str, arguments: list[str]) -> str:
    done = subprocess.run(
        [installed_programs().path(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise BackupFailed(program=program, exit_code=done.returncode, why=lines[0][:300] if lines else "no reason")
    return done.stdout
