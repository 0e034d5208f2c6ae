"""The node's own pytest, lent to the sandbox read-only together with the programs that run it.

The tested tree brings no runner of its own: which pytest runs is the node's choice and in no one else's reach.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from pathlib import Path

from choir.foundation.errors import Unavailable
from choir.sandbox.model import Mount

TARGET = "/opt/choir"
_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "pygments")
_ASKED = ("pytest", "pluggy")  # they look up their own versions, pluggy's for the first line that pytest prints
_PROGRAMS = ("supervisor.py", "reporter.py", "reader.py", "digests.py", "late.py", "observer.py", "unittest_results.py")
_SCRIPTS = ("observer.cjs", "node_reporter.mjs")
_INSIDE = Path(__file__).parent / "inside"


class NoRunner(Unavailable):
    """The node's installation lacks the test runner."""

    code = "bazaar.no_runner"
    sentence = "The test runner cannot be lent to sandboxes: the package {package} is not installed."
    hint = "Install the node with all its dependencies: `make setup`."


def build(folder: Path) -> Mount:
    """Copy what the sandbox needs below `folder`; the mount that lends it."""
    site = folder / "site"
    site.mkdir(parents=True)
    for name in _PACKAGES:
        _copy(name, site)
    for name in _ASKED:
        _copy_metadata(name, site)
    for program in (*_PROGRAMS, *_SCRIPTS):
        shutil.copy(_INSIDE / program, folder / program)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Mount(folder, TARGET)


def _copy(name: str, site: Path) -> None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise NoRunner(package=name)
    source = Path(found.origin)
    if source.name != "__init__.py":
        shutil.copy(source, site / source.name)
        return
    shutil.copytree(source.parent, site / name, ignore=shutil.ignore_patterns("*.so"))  # with what is compiled already


def _copy_metadata(name: str, site: Path) -> None:
    """Its name and version alone; no entry points, by which plugins are loaded."""
    try:
        told = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise NoRunner(package=name) from None
    place = site / f"{name}-{told.version}.dist-info"
    place.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {told.version}\n"
    (place / "METADATA").write_text(text, encoding="utf-8")
