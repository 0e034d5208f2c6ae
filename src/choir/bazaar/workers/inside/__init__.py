"""Programs that run inside the sandbox, isolated, with the standard library and the tools they are lent."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def source(name: str) -> str:
    """The text of one of these programs, to be given to `python3 -c`."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
