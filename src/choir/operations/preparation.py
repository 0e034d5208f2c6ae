"""Making a database ready: migrated, made a node once, and not behind what was published.

Guarantees: nothing serves a database that is not exactly at this version's migrations; a database
that lost entries or account acts which a published checkpoint covers is refused until an operator
accepts that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from choir.features import FEATURES
from choir.foundation.clock import Clock, Entropy, SystemClock, SystemEntropy
from choir.foundation.errors import Broken, ChoirError, Refusal
from choir.foundation.node_key import load_node_secret, retired_key_file, sync_folder
from choir.foundation.settings import PUBLISHED, Settings
from choir.foundation.signing import NodeSecret
from choir.foundation.words import count
from choir.ledger import queries
from choir.ledger.checkpoints import what_differs
from choir.ledger.keys import NodeKeys
from choir.ledger.notes import Checkpoint, NoteUnsigned, VerifierKey, open_note
from choir.ledger.publication import read_unsigned
from choir.operations.home import prepare_home
from choir.operations.ledger_place import (
    LedgerGone,
    has_ledger,
    must_be_found,
    must_not_be_elsewhere,
    remember_elsewhere,
)
from choir.storage.database import Connection, Database, Tx, connect
from choir.storage.embedded.cluster import cluster_exists
from choir.storage.embedded.previous import Places
from choir.storage.identity import NodeIdentity, make_identity
from choir.storage.migrations import NotMigrated, check_migrated, known_migrations, migrate
from choir.storage.postgres import Server, borrowed_server

if TYPE_CHECKING:  # the parent of a node's processes comes here too, and has no use for all that a node is made of
    from choir.node import Node

_APP_ROLE = "choir_app"
_OWNER_ROLE = "choir_owner"

Progress = Callable[[str], None]


class NoLedger(Refusal):
    """A tool that looks at a ledger must not make an empty one."""

    code = "node.no_ledger"
    sentence = "There is no ledger {place}."
    hint = "Check CHOIR_HOME and CHOIR_DATABASE_URL. `choir up` creates a new one."


class RolledBack(Broken):
    """The database is not the one that the last published checkpoint speaks of."""

    code = "node.rolled_back"
    sentence = "The last published checkpoint has {covers}; this database has {entries}: {why}."
    hint = (
        "Restore a newer backup if there is one. If entries are really lost, accept that with `choir restore"
        " --accept-rollback --home {home}`: anyone who holds the checkpoint will notice."
    )


class LaterKey(RolledBack):
    """The published checkpoint is signed by a key that the ledger was handed over to after this database's state."""

    code = "node.later_key"
    sentence = (
        "The last published checkpoint of this ledger has {covers} and is signed by {signer}, a key that {place} does"
        " not know; it has {entries}, and {why}."
    )
    hint = (
        "It is from before a key rotation. Restore it into an empty home with both keys: the one that signed the"
        " checkpoint as {file}, and the former one next to it as {file}.retired-…. Only if that key is lost: `choir"
        " restore --accept-rollback --home {home}` continues with the former one."
    )


class NotItsCheckpoint(RolledBack):
    """What lies where the published checkpoint should be says nothing about this ledger."""

    code = "node.not_its_checkpoint"
    sentence = "{file} is not a checkpoint of this ledger: {why}."
    hint = (
        "Put the last published checkpoint there, or check that home and database belong together. If it is"
        " permanently lost, accept that with `choir restore --accept-rollback --home {home}`."
    )


@dataclass(frozen=True, slots=True)
class Dsns:
    """How the two roles reach the database. No owner: this process cannot migrate."""

    app: str
    owner: str | None

    @classmethod
    def embedded(cls, server: Server) -> Dsns:
        return cls(server.dsn(_APP_ROLE), server.dsn(_OWNER_ROLE))

    @classmethod
    def external(cls, settings: Settings) -> Dsns:
        return cls(settings.database_url, settings.database_owner_url or None)

    @property
    def app_role(self) -> str:
        return str(conninfo_to_dict(self.app).get("user") or _APP_ROLE)


def prepare_database(settings: Settings, dsns: Dsns, *, new_ledger: bool = True) -> NodeIdentity:
    """Migrate, make the node, record its key, compare the published checkpoint."""
    clock, entropy = SystemClock(), SystemEntropy()
    if dsns.owner is None:
        with connect(dsns.app) as app:
            check_migrated(app, known_migrations(FEATURES))
            identity = _make_node(app, settings, clock, entropy, new_ledger=new_ledger)
    else:
        with connect(dsns.owner, autocommit=True) as owner:
            migrate(owner, dsns.app_role, known_migrations(FEATURES))
            with owner.transaction():
                identity = _make_node(owner, settings, clock, entropy, new_ledger=new_ledger)
    with connect(dsns.app) as app:
        compare_published(Tx(app), settings.home / PUBLISHED)
    if not settings.embedded:
        remember_elsewhere(settings)
    return identity


def must_hold_ledger(settings: Settings, dsns: Dsns) -> None:
    """Raise before anything is made in a database where the ledger of this home should be and is not."""
    if (settings.home / PUBLISHED).exists() and not has_ledger(dsns.app):
        raise LedgerGone(home=settings.home, place="in this database")


def _make_node(db: Connection, settings: Settings, clock: Clock, entropy: Entropy, *, new_ledger: bool) -> NodeIdentity:
    identity = make_identity(db, settings.mode, clock, entropy)
    if new_ledger:
        _finish_rotation(Tx(db), settings)
        keys = NodeKeys(identity.origin, lambda: load_node_secret(settings).signer(), clock)
        keys.record_first(Tx(db))
        keys.signer(Tx(db))  # a node that cannot sign must not start
    return identity


def coming_key_file(path: Path) -> Path:
    """Where a new key waits until the hand-over to it is recorded."""
    return path.with_name(path.name + ".next")


def put_key_in_place(path: Path, coming: Path, old: VerifierKey) -> None:
    """Keep the old key under its short name; it can no longer sign anything that is believed."""
    kept = retired_key_file(path, old.hash.hex())
    if not kept.exists():
        kept.hardlink_to(path)
    coming.replace(path)
    sync_folder(path.parent)


def _finish_rotation(tx: Tx, settings: Settings) -> None:
    """Complete a rotation that was recorded before a kill kept the key from being put in place."""
    coming = coming_key_file(settings.node_key_file)
    if settings.node_key or settings.node_key_command or not coming.exists():
        return
    rows = tx.rows("select vkey from node_keys order by n desc limit 2")
    new = NodeSecret.parse(coming.read_text()).signer()
    if len(rows) == 2 and VerifierKey.parse(rows[0][0]).public == new.public:
        put_key_in_place(settings.node_key_file, coming, VerifierKey.parse(rows[1][0]))


def compare_published(tx: Tx, path: Path) -> None:
    """Raise if the database lost or changed what a published checkpoint covers."""
    try:
        note = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    keys = [VerifierKey.parse(row[0]) for row in tx.rows("select vkey from node_keys order by n")]
    entries = queries.head(tx).seq
    try:
        published = Checkpoint.parse(open_note(note, keys).text)
    except NoteUnsigned as error:
        raise _signed_by_others(tx, path, note, keys, error) from None
    except ChoirError as error:
        raise NotItsCheckpoint(home=path.parent, file=path, why=_without_end(error)) from None
    why = what_differs(tx, published)
    if why is not None:
        raise RolledBack(home=path.parent, covers=entries_told(published.size), entries=entries, why=why)


def _signed_by_others(tx: Tx, path: Path, note: str, keys: list[VerifierKey], error: NoteUnsigned) -> RolledBack:
    """A later key of the same ledger, as far as its name tells, or another ledger altogether."""
    try:
        published = read_unsigned(note)
    except ChoirError as unreadable:
        return NotItsCheckpoint(home=path.parent, file=path, why=_without_end(unreadable))
    if all(published.origin != key.name for key in keys):
        return NotItsCheckpoint(home=path.parent, file=path, why=f"it is of {published.origin}")
    return LaterKey(
        home=path.parent,
        covers=entries_told(published.size),
        signer=error.fields["signers"],
        place="this database",
        entries=queries.head(tx).seq,
        why=what_differs(tx, published) or "nothing is missing",
        file=path.parent / "node.key",
    )


def entries_told(number: int) -> str:
    return count(number, "entry", "entries")


def _without_end(error: ChoirError) -> str:
    """An error's sentence as a part of another."""
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:]


@contextmanager
def database_of(settings: Settings, on_progress: Progress = lambda _: None) -> Iterator[Dsns]:
    """The database of a home, started for the duration if no node runs it."""
    must_not_be_elsewhere(settings)
    with ExitStack() as stack:
        if settings.embedded:
            yield Dsns.embedded(stack.enter_context(borrowed_server(settings.home, on_progress)))
        else:
            yield Dsns.external(settings)


@contextmanager
def opened_node(settings: Settings, on_progress: Progress = lambda _: None) -> Iterator[Node]:
    """A node for a command-line tool: its database is prepared and reached directly. It must exist."""
    from choir.node import build_node

    must_be_found(settings)
    if settings.embedded and not cluster_exists(Places.of(settings.home).data):
        raise NoLedger(place=f"in {settings.home}")
    with database_of(settings, on_progress) as dsns:
        must_hold_ledger(settings, dsns)
        with connect(dsns.app) as app:
            if app.execute("select to_regclass('public.node')").fetchone() == (None,):
                raise NoLedger(place=f"in {settings.home}" if settings.embedded else "in your PostgreSQL")
        prepare_home(settings, SystemEntropy())
        prepare_database(settings, dsns)
        node = build_node(settings, Database(dsns.app, connections_max=4).open())
        try:
            yield node
        finally:
            node.close()


def owner_connection(dsns: Dsns) -> Connection:
    """The owner's connection, for import and key rotation."""
    if dsns.owner is None:
        raise NotMigrated(number=0, known=0)
    return psycopg.connect(dsns.owner, autocommit=True)
