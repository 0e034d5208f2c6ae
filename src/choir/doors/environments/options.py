"""The options that say which environment a repository needs; the same for `choir env build` and for an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.bazaar.contracts import Environment
    from choir.doors.mesh.bundles import Bundle

SetupOption = Annotated[
    str | None,
    typer.Option("--setup", help="Command that installs what the tests need; default: found in it.", metavar="COMMAND"),
]
SetupFileOption = Annotated[
    list[str] | None,
    typer.Option("--setup-file", help="A file that decides the set-up; it sees only those.", metavar="PATTERN"),
]
HostOption = Annotated[
    list[str] | None, typer.Option("--host", help="A host that the set-up may reach; may be repeated.", metavar="HOST")
]
BaseOption = Annotated[
    str | None, typer.Option("--base", help="An image by its digest instead of the machine's tools.", metavar="IMAGE")
]
BuildOption = Annotated[
    str | None, typer.Option("--build", help="Command run after the patch, before the tests.", metavar="COMMAND")
]
NoSetupOption = Annotated[bool, typer.Option("--no-setup", help="The tests need nothing: do not look for a set-up.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller says about an environment."""

    setup: str | None = None
    files: Sequence[str] | None = None
    hosts: Sequence[str] | None = None
    base: str | None = None
    build: str | None = None
    none: bool = False


def environment_for(asked: Asked, sent: Bundle) -> tuple[Environment | None, str]:
    """The environment of an order and a sentence about it: as asked for, else as found among what is sent."""
    from choir.bazaar.contracts import Environment
    from choir.bazaar.contracts.environments import MACHINE
    from choir.bazaar.environments.detection import detect
    from choir.bazaar.policy import VerificationPolicy
    from choir.doors.mesh import bundles

    if asked.none and (asked.setup or asked.files or asked.hosts):
        raise Invalid(what="--no-setup", why="there is a set-up, a file or a host for one")
    if asked.setup is None and (asked.files or asked.hosts) and not asked.none:
        raise Invalid(what="--setup-file or --host", why="they need --setup")
    found, sentence = None, ""
    if asked.setup is None and not asked.none:
        found, sentence = detect(sent.files, lambda path: bundles.text_of(sent, path), sent.subdir)
    elif asked.setup is not None:
        found = Environment(asked.setup, tuple(asked.files or ()), tuple(asked.hosts or ()))
    if asked.build is not None or asked.base is not None:
        found = replace(found or Environment(), build=asked.build or "", base=asked.base or MACHINE)
    if found is None:
        return None, sentence
    return Environment.read(found.to_json(), VerificationPolicy()), sentence


def check_some(named: Sequence[str], *, everything: bool) -> None:
    if bool(named) == everything:
        raise Invalid(what="LAYER", why="name layers, or say --all")
