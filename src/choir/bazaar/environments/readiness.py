"""What set-ups find on this machine, for the doctor."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from choir.bazaar.environments.mirrors import FILE, read_mirrors
from choir.foundation.errors import ChoirError
from choir.foundation.findings import Finding
from choir.foundation.policy import Policy
from choir.foundation.settings import Settings
from choir.sandbox.tiers.base import PAYLOAD_PATH

_TOOLS = ("npm", "go", "cargo", "make", "git")
_PYTHON = Path("/usr/bin/python3")


def check_machine(settings: Settings, policy: Policy) -> Iterator[Finding]:
    """Which tools of the machine orders can be set up with, and whether the operator's file can be read."""
    del policy
    try:
        read_mirrors(settings.home / FILE)
    except ChoirError as error:
        yield Finding(
            "environments", "wrong", str(error), "Correct it, or remove it: then orders reach what they name."
        )
        return
    tools = (["Python"] if _has_venv() else []) + [name for name in _TOOLS if shutil.which(name, path=PAYLOAD_PATH)]
    lacking = "" if _has_venv() else "; for Python install Debian's python3-venv"
    told = f"set-ups find {', '.join(tools) or 'no tools'}{lacking}; layers are mounted read-only"
    yield Finding("environments", "ok", told)


def _has_venv() -> bool:
    """Whether the machine's own Python can make environments: Debian has that apart."""
    if not _PYTHON.exists():
        return False
    library = Path("/usr/lib") / _PYTHON.resolve().name
    return (library / "ensurepip").is_dir() or (Path("/usr/lib64") / library.name / "ensurepip").is_dir()
