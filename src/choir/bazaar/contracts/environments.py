"""Environments: what a repository needs before its tests can run.

A set-up is the buyer's command. It runs once, on the buyer's base commit, and what it leaves is kept as a layer for
every job that asks for the same. It sees only the files that decide it, so that the name of a layer, which is the hash
of all that went in, tells everything about it; a set-up that names none sees the whole tree, and then all of the tree
is in the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from choir.bazaar.contracts import paths
from choir.bazaar.contracts.base import BadField, Record, Rule, Text, Texts, Wrong

if TYPE_CHECKING:
    from pydantic import ValidationInfo

MACHINE = "machine"  # the programs of the sandbox itself
_COMMAND = Text(lambda policy: policy.command_chars_max)
_FILES = Texts(lambda policy: policy.list_items_max, 300)
_HOSTS_MAX = 30
_HOST_TEXTS = Texts(_HOSTS_MAX, 253)
_HOST = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))+\Z")
_ADDRESS = re.compile(r"[0-9.]+\Z")
_BASE_TEXT = Text(300, 1)
_IMAGE = re.compile(r"([a-z0-9][a-z0-9._:/-]{0,200}@)?sha256:[0-9a-f]{64}\Z")


class Base(Rule):
    """The machine's own tools, or an image by its digest."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = _BASE_TEXT.read(value, info)
        if text != MACHINE and not _IMAGE.match(text):
            raise Wrong("it must be 'machine' or an image by its digest, such as python@sha256:…")
        return text


class FilePatterns(Rule):
    """Files of the tree, by path or pattern, each once and in order."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[str, ...]:
        try:
            return tuple(sorted({paths.check_pattern(item) for item in _FILES.read(value, info)}))
        except paths.BadPattern as error:
            raise Wrong(error) from None


class Hosts(Rule):
    """Names of hosts; `*.` and a domain for all below it. No addresses."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[str, ...]:
        found = _HOST_TEXTS.read(value, info)
        for place, item in enumerate(found):
            if not _HOST.match(item) or _ADDRESS.match(item):
                raise Wrong("it must be the name of a host, such as pypi.org, in lower case and without a port", place)
        return tuple(sorted(set(found)))


@dataclass(frozen=True, slots=True)
class Environment(Record):
    """What a buyer asks for."""

    setup: Annotated[str, _COMMAND] = ""  # run once, on the base commit, with the hosts in reach
    setup_files: Annotated[tuple[str, ...], FilePatterns()] = ()  # all that the set-up sees; none: the whole tree
    hosts: Annotated[tuple[str, ...], Hosts()] = ()  # what the set-up may reach, by HTTPS
    build: Annotated[str, _COMMAND] = ""  # run on each delivery, after the patch, without network
    base: Annotated[str, Base()] = MACHINE

    def check(self) -> None:
        if not self.setup.strip() and (self.hosts or self.setup_files):
            raise Wrong(BadField(field="setup", why="there are hosts or files for a set-up, but no command"))
        if not self.setup.strip() and not self.build.strip() and self.base == MACHINE:
            raise Wrong(BadField(field="setup", why="an environment needs a set-up, a build or an image"))
