"""What a look at a part of a node has found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: fine, worth knowing, or wrong."""

    part: str
    state: str  # ok, note, wrong
    told: str
    advice: str = ""
