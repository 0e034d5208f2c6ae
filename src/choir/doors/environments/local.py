"""What `choir env` does below its options, on this machine. Apart from the commands, so that listing loads little."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from choir.bazaar.contracts import Environment
from choir.bazaar.environments.layers import find, shelf_at
from choir.bazaar.environments.service import Environments
from choir.bazaar.policy import EnvironmentsPolicy
from choir.bazaar.verification.trees import check_out
from choir.doors.cli import output
from choir.doors.environments.options import Asked, environment_for
from choir.doors.mesh import bundles
from choir.foundation.errors import ChoirError, Invalid, Refusal, Unavailable
from choir.foundation.policy import load
from choir.foundation.settings import load_settings
from choir.policies import default_policy
from choir.sandbox.layers.model import LayerInUse
from choir.sandbox.layers.shelf import KeptLayer, LayerShelf
from choir.sandbox.readiness import sandbox_policy
from choir.sandbox.service import Sandboxes


class NothingToSetUp(Refusal):
    """No usual set-up was found, and none was named."""

    code = "environments.nothing_to_set_up"
    sentence = "There is nothing to set up in {folder}."
    hint = "Name a command with --setup."


@dataclass(frozen=True, slots=True)
class BuiltHere:
    environment: Environment
    sentence: str
    layer: KeptLayer
    new: bool


@contextmanager
def reported(as_json: bool) -> Iterator[None]:
    """Errors in the reader's language, as everywhere."""
    output.want_json(as_json)
    try:
        yield
    except ChoirError as error:
        output.show_error(error)
        raise typer.Exit(2 if type(error) is Invalid else 1) from None
    except OSError as error:
        output.show_error(Unavailable(what=str(error.filename or "The home folder"), why=str(error)))
        raise typer.Exit(1) from None


def shelf(home: str | None) -> LayerShelf:
    return shelf_at(load_settings({"home": home}).home)


def build(
    home: str | None, repo: Path, ref: str | None, asked: Asked, *, dirty: bool = False, quiet: bool = False
) -> BuiltHere:
    """Set up as an order would: the same files in sight, the same hosts in reach, the same name."""
    settings = load_settings({"home": home})
    policy = load(default_policy(), settings.policy_overrides)
    own = sandbox_policy(settings, policy, production=settings.mode == "production")
    with (
        bundles.bundle(repo, ref=ref, dirty=dirty) as sent,
        tempfile.TemporaryDirectory(prefix="choir-env-") as name,
        Sandboxes(settings.home / "sandbox", own, clean_first=False) as sandboxes,
    ):
        environment, sentence = environment_for(asked, sent)
        if environment is None or not environment.setup.strip():
            raise NothingToSetUp(folder=str(repo.absolute()))
        if sentence and not quiet:
            output.say(sentence)
        environments = Environments(sandboxes, settings.home, policy.of(EnvironmentsPolicy))
        tree = check_out(sandboxes, sent.file, sent.commit, Path(name), lambda: False)
        known = environments.shelf.find(environments.name_of(environment, tree)[0])
        with output.waiting("Setting up", quiet=quiet), environments.use(environment, tree) as layer:
            assert layer.kept is not None
            kept = layer.kept
        environments.collect()
        return BuiltHere(environment, sentence, kept, known is None)


def remove(home: str | None, named: Sequence[str], *, everything: bool) -> tuple[list[str], list[str]]:
    """Remove layers; the names of those that are gone, and of those that are in use."""
    place = shelf(home)
    wanted = [item.name for item in place.all()] if everything else [find(place, text).name for text in named]
    removed, kept = [], []
    for name in wanted:
        try:
            place.remove(name)
            removed.append(name)
        except LayerInUse:
            kept.append(name)
    return removed, kept
