"""What a layer is, what is taken into one, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import Refusal

ROOM = "/opt/env"  # where a set-up writes what is to stay, and where every later run finds it, read-only
TREE = "tree"  # the buyer's tree below the workspace, in a set-up and in the runs after it
ROOM_PART = "env"  # what was written into the room, below a layer's folder
TREE_PART = "tree"  # what was added to the tree


@dataclass(frozen=True, slots=True)
class Capture:
    """What of a run becomes a layer."""

    into: Path  # an empty folder of the node's own
    known: frozenset[str]  # the files of the tree before the run: they are no part of a layer, changed or not
    files_max: int
    bytes_max: int
    depth_max: int = 64


@dataclass(frozen=True, slots=True)
class Captured:
    """What was taken."""

    content: str  # hash of all paths, kinds, executable bits and contents; no times
    files: int
    bytes: int
    left_out: tuple[str, ...] = ()  # what is no folder, file or link, named with the reason; the first few
    fault: str = ""  # why nothing was taken


class LayerInUse(Refusal):
    """Somebody works with the layer."""

    code = "sandbox.layer_in_use"
    sentence = "The layer {name} is in use."
    hint = "Try again when the work that uses it is over."
