"""How thorough a run of the tests is.

`make test` keeps every promise in it. `make test-deep` runs what is marked `deep`, which takes long and looks at odd
machines, and what is `scaled`, which runs in both, here with many more examples, kills or bytes.
"""

from __future__ import annotations

import os

DEEP = os.environ.get("CHOIR_TEST_DEEP") == "1"


def times(usual: int, deep: int) -> int:
    """How often something is tried in this run."""
    return deep if DEEP else usual
