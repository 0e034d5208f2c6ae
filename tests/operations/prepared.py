"""Homes whose database is made and migrated already, for nodes whose first start is not what a test is about.

Making a database and migrating it takes a third of a node's first start, and is the same every time. Who the node is
comes after that: each home still gets a key and an identity of its own.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from choir.features import FEATURES
from choir.foundation.clock import SystemEntropy
from choir.foundation.node_key import make_key_file
from choir.storage.database import connect
from choir.storage.embedded.previous import Places
from choir.storage.migrations import known_migrations, migrate
from choir.storage.postgres import EmbeddedPostgres
from tests.depth import DEEP
from tests.places import throw_away

# A home with a database or a key from elsewhere begins in another way.
_ELSEWHERE = ("CHOIR_DATABASE", "CHOIR_NODE_KEY")


def fill(home: Path, settings: Mapping[str, str]) -> None:
    """Put a database into a home that is not there yet. The deep tests start from nothing."""
    if DEEP or home.exists() or any(name.startswith(_ELSEWHERE) for name in settings):
        return
    places = Places.of(home)
    for folder in (home, places.folder):
        folder.mkdir(mode=0o700)
    subprocess.run(["cp", "-r", _template(), places.data], check=True)
    places.data.chmod(0o700)
    make_key_file(home / "node.key", SystemEntropy())


@cache
def _template() -> Path:
    """The folder of a migrated database that no server has open."""
    home = Path(tempfile.mkdtemp(prefix="choir-test-", dir=throw_away()))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    postgres = EmbeddedPostgres(home, durable=False)
    try:
        server = postgres.start()
        with connect(server.dsn("choir_owner"), autocommit=True) as owner:
            migrate(owner, "choir_app", known_migrations(FEATURES))
    finally:
        postgres.stop()
    return Places.of(home).data
