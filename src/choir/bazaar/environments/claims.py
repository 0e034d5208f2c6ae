"""Which layer provider and verifier worked on: each names it, and the verdict says if they differ.

A difference is no fault by itself: two machines may have other tools, and a registry may have given something else a
day later. But whoever wonders why a patch passed here and failed there must find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

TOOL = "Environment"  # the name of its line in a trajectory
CHECK = "environment"  # the name of its check and evidence in a verdict


def told(layer: Mapping[str, Any]) -> str:
    """What a trajectory says of a layer."""
    return f"layer {layer['layer'] or 'none'} content {layer['content'] or 'none'}"


def evidence_of(evidence: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The layer that a verdict names."""
    return next((item for item in evidence if item.get("check") == CHECK), None)


def compare(ours: Mapping[str, Any], theirs: Iterable[str]) -> str:
    """A sentence about what the provider named, for the verdict."""
    said = list(theirs)
    if not said:
        return "The provider names no layer of its environment."
    if told(ours) in said:
        return "Provider and verifier used the same layer."
    if any(item.startswith(f"layer {ours['layer'] or 'none'} ") for item in said):
        return "The provider's layer was made from the same set-up and has other contents."
    return "The provider used another layer."
