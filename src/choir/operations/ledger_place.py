"""Where the ledger of a home is: looked at before anything is made.

A home that serves a ledger from the operator's own PostgreSQL remembers so in a small file, which says host and
database and no credential. Guarantees: where `CHOIR_DATABASE_URL` was forgotten, no second, empty ledger is made
beside the first; a home that had a ledger never gets a new node key.
"""

from __future__ import annotations

import json
from pathlib import Path

from choir.foundation.errors import Refusal
from choir.foundation.node_key import has_key, write_public_file
from choir.foundation.settings import PUBLISHED, Settings

# What knows PostgreSQL is loaded where it is used: every command comes here, and most ask no database.

ELSEWHERE = "ledger.elsewhere"
_BYTES_MAX = 10_000


class LedgerElsewhere(Refusal):
    """The home's ledger is in a PostgreSQL of the operator's own, and the settings here do not say which."""

    code = "node.ledger_elsewhere"
    sentence = "The ledger of {home} is in your own PostgreSQL ({where}), and CHOIR_DATABASE_URL is not set here."
    hint = "Set it as for the node. To keep the ledger in this folder from now on, delete {file} first."


class LedgerGone(Refusal):
    """The home published a checkpoint, and there is no ledger where the settings look for it."""

    code = "node.ledger_gone"
    sentence = "{home} published a checkpoint, but there is no ledger {place}."
    hint = (
        "If it is in your own PostgreSQL, check CHOIR_DATABASE_URL. Otherwise put {home}/postgres back, or restore a"
        " backup with `choir restore`."
    )


class KeyGone(Refusal):
    """A new key would be the wrong one: the ledger is signed with another."""

    code = "node.key_gone"
    sentence = "There is a ledger {place}, and the key that signed it is not in {file}."
    hint = "Restore the key from your copy, or check CHOIR_NODE_KEY_FILE. No new one was created."


def remember_elsewhere(settings: Settings) -> None:
    """Keep in the home that its ledger is in the operator's own PostgreSQL. Whoever may read it learns no secret."""
    file = settings.home / ELSEWHERE
    found = json.dumps(_where(settings.database_url), sort_keys=True) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8", errors="replace") != found:
        write_public_file(file, found.encode())


def _where(dsn: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return {"database": str(parts.get("dbname") or parts.get("user") or ""), "host": str(host)}


def must_not_be_elsewhere(settings: Settings) -> None:
    """Raise where the ledger is in a PostgreSQL that the settings here do not name."""
    file = settings.home / ELSEWHERE
    if settings.embedded and file.exists():
        raise LedgerElsewhere(home=settings.home, where=_told(file), file=file)


def _told(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as stream:
            found = json.loads(stream.read(_BYTES_MAX))
        return f"database {found['database']} at {found['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "which one is no longer readable"


def must_be_found(settings: Settings) -> None:
    """Raise before a node is started where there should be a ledger and is none."""
    must_not_be_elsewhere(settings)
    if settings.embedded and (settings.home / PUBLISHED).exists() and not _has_cluster(settings):
        raise LedgerGone(home=settings.home, place="here")


def must_have_its_key(settings: Settings) -> None:
    """Raise where the key file is missing and a ledger is signed with what was in it."""
    if has_key(settings):
        return
    if settings.embedded and ((settings.home / PUBLISHED).exists() or _has_cluster(settings)):
        raise KeyGone(place=f"in {settings.home}", file=settings.node_key_file)
    if not settings.embedded and has_ledger(settings.database_url):
        raise KeyGone(place="in your PostgreSQL", file=settings.node_key_file)


def has_ledger(dsn: str) -> bool:
    """Whether a database was made a node; one that was never migrated, or only that far, was not."""
    from choir.storage.database import connect

    with connect(dsn) as app:
        if app.execute("select to_regclass('public.node_keys')").fetchone() == (None,):
            return False
        return app.execute("select 1 from node_keys limit 1").fetchone() is not None


def _has_cluster(settings: Settings) -> bool:
    from choir.storage.embedded.cluster import cluster_exists
    from choir.storage.embedded.errors import folder_errors
    from choir.storage.embedded.previous import Places

    places = Places.of(settings.home)
    with folder_errors(places.folder):
        return cluster_exists(places.data)
