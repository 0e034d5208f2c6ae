"""The table of honest patches of ordinary code. Every one passes, at the level that it names.

All faults lie in one repository, so that its base is laid out once; every patch mends one of them. Beside those of
`honest.py`, which are about the form of a diff.
"""

from __future__ import annotations

from pathlib import Path

from tests.bazaar.verification.honest_flavours import FLAVOURS
from tests.bazaar.verification.honest_patch import SHARED, Patch
from tests.bazaar.verification.honest_runtime import RUNTIME
from tests.bazaar.verification.honest_types import TYPES
from tests.bazaar.verification.honest_unittest import UNITTEST
from tests.bazaar.verification.scene import Repository

PATCHES: list[Patch] = [*RUNTIME, *TYPES, *FLAVOURS, *UNITTEST]
HONEST_CODE = [patch.case() for patch in PATCHES]


def faulty_repository(folder: Path) -> Repository:
    """A repository with every fault of the table."""
    files = {name: text for patch in PATCHES for name, text in patch.base_files().items()}
    return Repository.make(folder, SHARED | files)
