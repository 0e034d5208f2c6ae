"""Hidden checks as a buyer writes them: commands, and the files that they need."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile
from choir.foundation.errors import Invalid

_SALT_BYTES = 32


def hiding(commands: Sequence[str], files: Mapping[str, bytes], salt: str | None = None) -> HiddenChecks | None:
    """The checks with a salt that nobody can guess; it must not be made of anything that a provider sees."""
    if not commands:
        if files:
            raise Invalid(what="The hidden checks", why="files without a command check nothing")
        return None
    return HiddenChecks(
        salt or secrets.token_hex(_SALT_BYTES),
        tuple(HiddenCheck(command) for command in commands),
        tuple(HiddenFile(path, content) for path, content in sorted(files.items())),
    )
