"""Checks as a buyer writes them: commands, what they must print, and for hidden ones the files that they need."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile, OutsideCheck
from choir.foundation.errors import Invalid

_SALT_BYTES = 32


# A command and what it must print; where only the hash of that is known, the record of the order itself.
Expecting = tuple[str, bytes | str]


def outside(checks: Sequence[OutsideCheck | Expecting]) -> tuple[OutsideCheck, ...]:
    """Outside checks that everybody may see. What they must print stays here; its hash is sent."""
    return tuple(one if isinstance(one, OutsideCheck) else OutsideCheck(one[0], _digest(one[1])) for one in checks)


def _digest(output: bytes | str) -> str:
    return hashlib.sha256(output.encode() if isinstance(output, str) else output).hexdigest()


def _hidden(check: str | HiddenCheck | Expecting) -> HiddenCheck:
    if isinstance(check, HiddenCheck):
        return check
    return HiddenCheck(check) if isinstance(check, str) else HiddenCheck(check[0], _digest(check[1]))


def hiding(
    checks: Sequence[str | HiddenCheck | Expecting], files: Mapping[str, bytes], salt: str | None = None
) -> HiddenChecks | None:
    """The checks with a salt that nobody can guess; it must not be made of anything that a provider sees."""
    if not checks:
        if files:
            raise Invalid(what="The hidden checks", why="files without a command check nothing")
        return None
    return HiddenChecks(
        salt or secrets.token_hex(_SALT_BYTES),
        tuple(_hidden(check) for check in checks),
        tuple(HiddenFile(path, content) for path, content in sorted(files.items())),
    )
