"""Which verifier it was: the package's version, and a hash over the sources that decide what a verdict says.

Guarantees: a change to what reads, checks or judges a delivery gives another version, also between releases; the same
sources give the same one on every machine. Not in it: the sandbox, the policy (its hash is on the receipt by itself),
and the tools of the machine.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import choir.bazaar

NAME = "choir.bazaar"
_BAZAAR = Path(choir.bazaar.__file__).parent
_FOLDERS = ("verification", "contracts", "trajectories", "environments")
_SUFFIXES = {".py", ".cjs", ".mjs"}
_HEX_DIGITS = 16


@cache
def verifier_version() -> str:
    """As it stands on receipts: `0.1.0+3f2a…`."""
    return f"{version('choir')}+{sources_hash(_BAZAAR)[:_HEX_DIGITS]}"


def sources_hash(bazaar: Path) -> str:
    """Over each file's place and content, in the order of the places."""
    found = [path for folder in _FOLDERS for path in (bazaar / folder).rglob("*") if path.suffix in _SUFFIXES]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(bazaar).as_posix(), path) for path in found):
        data = path.read_bytes()
        digest.update(f"{name}\n{len(data)}\n".encode() + data)
    return digest.hexdigest()
