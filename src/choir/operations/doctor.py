"""`choir doctor`: look at every part of a node and say what to do about what is not right.

Guarantees: nothing is made or changed; what keeps the other checks from being made is told once, and they are left out.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import psycopg

from choir.feature import load_features
from choir.features import FEATURES
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from choir.foundation.errors import Broken, ChoirError
from choir.foundation.findings import Finding
from choir.foundation.node_key import load_node_secret
from choir.foundation.policy import Policy, load
from choir.foundation.settings import PUBLISHED, Settings
from choir.ledger import queries
from choir.ledger.keys import NodeKeys
from choir.operations.home import HomeUnusable, check_disk, free_bytes, running_node
from choir.operations.ledger_place import has_ledger, must_be_found, must_have_its_key
from choir.operations.preparation import Dsns, compare_published, database_of, must_hold_ledger
from choir.operations.privacy import exposures
from choir.operations.supervisor import AddressInUse
from choir.policies import default_policy
from choir.storage.database import DatabaseUnavailable, Tx, connect
from choir.storage.identity import offset_of, read_identity
from choir.storage.migrations import check_migrated, known_migrations
from choir.storage.policy import NodePolicy

_AHEAD_S = 60


def examine(settings: Settings) -> Iterator[Finding]:
    """Every check, one after the other."""
    yield from _checked("python", lambda: f"{sys.version.split()[0]} on {sys.platform}")
    yield from _checked("settings", lambda: f"home {settings.home}, mode {settings.mode}")
    yield from _checked("policy", lambda: f"{len(settings.policy_overrides)} overrides" if _policy(settings) else "")
    yield from _checked("home", lambda: _home(settings))
    yield from _private(settings)
    yield from _checked("disk", lambda: _disk(settings))
    yield from _checked("node key", lambda: _node_key(settings))
    yield from _checked("address", lambda: _address(settings))
    yield from _of_machine(settings)
    try:
        must_be_found(settings)
        if settings.embedded and not (settings.home / "postgres" / "data").exists():
            yield Finding("database", "note", "there is none yet", "`choir up` creates it.")
            return
        with database_of(settings) as dsns:
            yield from _of_database(settings, dsns)
    except ChoirError as error:
        yield Finding("database", "wrong", str(error), _advice(settings, error))
    except OSError as error:
        yield _unreadable("database", error)
    except psycopg.Error as error:
        yield _unfit("database", error)


def _of_machine(settings: Settings) -> Iterator[Finding]:
    """What features need of the machine; left out where the policy is wrong, which was told."""
    with suppress(ChoirError):
        policy = _policy(settings)
        for feature in load_features(FEATURES):
            if feature.check_machine is not None:
                yield from feature.check_machine(settings, policy)


def _of_database(settings: Settings, dsns: Dsns) -> Iterator[Finding]:
    """What is in the database; nothing more if it does not answer or has no ledger yet."""
    connect(dsns.app).close()  # one that does not answer is told once
    yield from _checked("database", lambda: _database(settings, dsns))
    if not settings.embedded and not has_ledger(dsns.app):
        yield from _no_ledger(settings, dsns)
        return
    yield from _checked("migrations", lambda: _migrations(dsns))
    yield from _checked("mode", lambda: _mode(settings, dsns))
    yield from _ahead(dsns)
    yield from _checked("signing key", lambda: _signing_key(settings, dsns))
    yield from _checked("published checkpoint", lambda: _published(settings, dsns))
    yield from _of_features(settings, dsns)


def _of_features(settings: Settings, dsns: Dsns) -> Iterator[Finding]:
    """What each feature finds in its own tables."""
    for feature in load_features(FEATURES):
        if feature.check_database is None:
            continue
        try:
            with connect(dsns.app) as app:
                yield from feature.check_database(settings, Tx(app))
        except psycopg.Error as error:  # such as a table that is not there yet
            yield _unfit(feature.name, error)


def _no_ledger(settings: Settings, dsns: Dsns) -> Iterator[Finding]:
    """An empty database of the operator's own is as good as none yet, unless there was a ledger."""
    try:
        must_hold_ledger(settings, dsns)
    except ChoirError as error:
        yield Finding("ledger", "wrong", str(error), error.advice)
        return
    needs = "" if dsns.owner else " It needs CHOIR_DATABASE_OWNER_URL for that."
    yield Finding("ledger", "note", "there is none yet in this database", f"`choir up` creates it.{needs}")


def _advice(settings: Settings, error: ChoirError) -> str:
    """What to do; an error that would send its reader to the doctor gets better words."""
    if not isinstance(error, DatabaseUnavailable):
        return error.advice
    if settings.embedded:
        return f"Its log is in {settings.home}/postgres."
    return "Check that PostgreSQL is running there, and CHOIR_DATABASE_URL."


def _checked(part: str, check: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield Finding(part, "ok", check())
    except ChoirError as error:
        yield Finding(part, "wrong", str(error), error.advice)
    except OSError as error:
        yield _unreadable(part, error)
    except psycopg.Error as error:
        yield _unfit(part, error)


def _unfit(part: str, error: psycopg.Error) -> Finding:
    """A database that is half of one, or somebody else's."""
    told = str(error).strip().partition("\n")[0]
    return Finding(part, "wrong", f"PostgreSQL says: {told}", "Is it the right database? Check CHOIR_DATABASE_URL.")


def _private(settings: Settings) -> Iterator[Finding]:
    """Secrets that are not their owner's alone."""
    for item in exposures(settings):
        yield Finding(f"{item.part}, permissions", "wrong", item.told, item.advice)


def _unreadable(part: str, error: OSError) -> Finding:
    told = f"{error.filename or part}: {(error.strerror or str(error)).lower()}"
    return Finding(part, "wrong", told, "Check its owner and permissions.")


def _policy(settings: Settings) -> Policy:
    return load(default_policy(), settings.policy_overrides)


def _home(settings: Settings) -> str:
    if not settings.home.exists():
        return f"{settings.home} will be created at the first start"
    if not os.access(settings.home, os.W_OK | os.X_OK):
        raise HomeUnusable(home=settings.home, why="you may not write in it")
    mode = settings.home.stat().st_mode & 0o777
    return f"{settings.home} ({mode:o})"


def _disk(settings: Settings) -> str:
    check_disk(settings.home, _policy(settings).of(NodePolicy).disk_free_bytes_min)
    return f"{free_bytes(settings.home) // 1_000_000} MB free"


def _node_key(settings: Settings) -> str:
    from_file = not settings.node_key and not settings.node_key_command
    if from_file and not settings.node_key_file.exists():
        with suppress(DatabaseUnavailable):  # which is told where it belongs
            must_have_its_key(settings)
        return "will be created at the first start"
    load_node_secret(settings)
    return f"from {settings.node_key_file}" if from_file else "from the environment or a command"


def _address(settings: Settings) -> str:
    running = running_node(settings.home) if settings.home.exists() else None
    if running is not None:
        return f"a node is running at {running.url} (process {running.pid})"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            raise AddressInUse(address=address, why=(error.strerror or str(error)).lower()) from None
    return f"{settings.host}:{settings.port} is free"


def _database(settings: Settings, dsns: Dsns) -> str:
    with connect(dsns.app) as app:
        row = app.execute("select current_setting('server_version'), current_setting('fsync')").fetchone()
    assert row is not None
    if row[1] != "on" and settings.mode == "production":
        raise Broken(what="PostgreSQL's durability", why="fsync is off, so a power failure loses acknowledged entries")
    return f"PostgreSQL {row[0]}, fsync {row[1]}" + ("" if row[1] == "on" else ": for development only")


def _migrations(dsns: Dsns) -> str:
    with connect(dsns.app) as app:
        check_migrated(app, known_migrations(FEATURES))
    return "up to date"


def _mode(settings: Settings, dsns: Dsns) -> str:
    """It is fixed when a database is made; a restored one may not be what the settings here say."""
    with connect(dsns.app) as app:
        identity = read_identity(Tx(app))
    identity.must_be(settings.mode)
    return f"created as a {identity.mode} node"


def _ahead(dsns: Dsns) -> Iterator[Finding]:
    """Times of entries never decrease, so one moment of a wrong clock stays until the right one has caught up."""
    try:
        with connect(dsns.app) as app:
            tx = Tx(app)
            production, offset_us, at_us = read_identity(tx).production, offset_of(tx), queries.head(tx).at_us
    except (ChoirError, psycopg.Error):
        return  # no ledger, or not all of it: the checks around this one say so
    ahead_s = (at_us - offset_us - SystemClock().now_us()) // MICROSECONDS
    if ahead_s < _AHEAD_S:
        return
    told = f"the last entry is from {format_time(at_us)}, {ahead_s} seconds ahead of the clock"
    advice = "New entries get that time until the clock catches up; holds that expire before it have expired."
    yield Finding("time", "wrong" if production else "note", told, advice)


def _signing_key(settings: Settings, dsns: Dsns) -> str:
    with connect(dsns.app) as app:
        tx = Tx(app)
        keys = NodeKeys(read_identity(tx).origin, lambda: load_node_secret(settings).signer(), SystemClock())
        keys.signer(tx)
        return str(keys.current(tx).vkey)


def _published(settings: Settings, dsns: Dsns) -> str:
    with connect(dsns.app) as app:
        compare_published(Tx(app), settings.home / PUBLISHED)
    return "matches the database" if (settings.home / PUBLISHED).exists() else "none yet"
