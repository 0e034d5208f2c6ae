"""Short ways to make deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile
from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.scene import FIXED, HIDDEN_TEST, Repository
from tests.bazaar.verification.table import Build

SALT = "00" * 16
HIDDEN = HiddenChecks(
    SALT,
    (HiddenCheck("python3 -m pytest -q hidden/test_hidden.py"),),
    (HiddenFile("hidden/test_hidden.py", HIDDEN_TEST),),
)
FIX = (
    b"--- a/calc.py\n+++ b/calc.py\n@@ -1,5 +1,5 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n \n \n"
    b" def mul(a, b):\n"
)


def edits(
    changed: Mapping[str, str | bytes | None], fix: bool = True, hidden: HiddenChecks | None = None, **request: object
) -> Build:
    """A patch by what the files are after it; the honest fix goes along unless said otherwise."""

    def build(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        everything = ({"calc.py": FIXED} if fix else {}) | dict(changed)
        diff = repository.diff(everything, folder)
        return repository.order(hidden, **request), repository.delivery(diff)

    return build


def code(text: str, **request: object) -> Build:
    """A patch that leaves the fault in and puts code before it, to get away with that."""
    return edits({"calc.py": text + FIXED.replace("a + b", "a - b")}, fix=False, hidden=None, **request)


def whole(text: str, hidden: HiddenChecks | None = None, **request: object) -> Build:
    """A patch that replaces the module."""
    return edits({"calc.py": text}, fix=False, hidden=hidden, **request)


def raw(diff: bytes, **request: object) -> Build:
    """A diff as bytes."""

    def build(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        return repository.order(None, **request), repository.delivery(diff)

    return build


def new_file(path: bytes, text: bytes = b"x = 1\n", mode: bytes = b"100644", with_fix: bool = True) -> bytes:
    """A diff that adds one file, whatever its path and mode."""
    head = b"diff --git a/%s b/%s\nnew file mode %s\n--- /dev/null\n+++ b/%s\n" % (path, path, mode, path)
    lines = text.split(b"\n")
    if lines[-1] == b"":
        body = b"".join(b"+" + line + b"\n" for line in lines[:-1])
        count = len(lines) - 1
    else:
        body = b"".join(b"+" + line + b"\n" for line in lines) + b"\\ No newline at end of file\n"
        count = len(lines)
    return (FIX if with_fix else b"") + head + b"@@ -0,0 +1,%d @@\n" % count + body


def claiming(build: Build, **claims: object) -> Build:
    """The same delivery with other claims: of its hash, or in its result."""

    def changed(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        order, delivery = build(repository, folder)
        if "claimed_hash" in claims:
            return order, replace(delivery, claimed_hash=claims["claimed_hash"])  # type: ignore[arg-type]
        return order, replace(delivery, result=replace(delivery.result, **claims))  # type: ignore[arg-type]

    return changed
