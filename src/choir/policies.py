"""The policy of a node with these features: the sections that each feature's `policy.py` declares, put together.

Loads no service: a process that needs numbers only, such as a provider's or a command, loads nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from choir.features import FEATURES
from choir.foundation.policy import Policy


def default_policy(features: Sequence[str] = FEATURES) -> Policy:
    """Every section with its defaults."""
    return _composed(tuple(features))


@cache
def _composed(features: tuple[str, ...]) -> Policy:
    sections: dict[str, object] = {}
    for package in features:
        if find_spec(f"{package}.policy") is not None:
            own = import_module(f"{package}.policy").SECTIONS
            assert not own.keys() & sections.keys(), f"{package} declares a section that another feature has"
            sections |= {name: kind() for name, kind in own.items()}
    return Policy(sections)
