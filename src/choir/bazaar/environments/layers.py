"""The layers of a home folder, to be looked at and removed; building them is the service's part."""

from __future__ import annotations

import re
from pathlib import Path

from choir.bazaar.environments import service
from choir.bazaar.policy import EnvironmentsPolicy
from choir.foundation.errors import Invalid, NotFound
from choir.sandbox.layers.shelf import KeptLayer, LayerShelf

_NAME = re.compile(r"(?:sha256:)?([0-9a-f]{4,64})\Z")


class UnknownLayer(NotFound):
    """No layer of this home has that name."""

    code = "environments.unknown_layer"
    sentence = "There is no layer {layer} here."
    hint = "`choir env ls` lists them."


def shelf_at(home: Path) -> LayerShelf:
    return LayerShelf(home / service.FOLDER)


def collect(home: Path, policy: EnvironmentsPolicy) -> list[str]:
    """Keep to the policy's limits; nothing to do where nothing was ever set up."""
    return service.collect(shelf_at(home), policy) if (home / service.FOLDER).is_dir() else []


def find(shelf: LayerShelf, text: str) -> KeptLayer:
    """A layer by its hash or by the beginning of it, if that fits one only."""
    named = _NAME.match(text)
    if named is None:
        raise Invalid(what=f"layer '{text[:80]}'", why="it must be a hash, or at least 4 hex digits of its beginning")
    found = [item for item in shelf.all() if item.name.removeprefix("sha256:").startswith(named[1])]
    if len(found) > 1:
        raise Invalid(what=f"layer '{text[:80]}'", why="more than one begins so")
    if not found:
        raise UnknownLayer(layer=text[:80])
    return found[0]
