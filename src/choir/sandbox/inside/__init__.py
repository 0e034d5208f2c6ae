"""Programs that run on the sandbox's side. Each is one file that needs only Python's standard library, because
it is handed to the sandbox's own interpreter as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def source(name: str) -> str:
    """The text of one of these programs."""
    return Path(__file__).with_name(f"{name}.py").read_text()
