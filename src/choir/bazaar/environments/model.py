"""An environment that is ready to be used, and why one is not.

A set-up that fails is the buyer's error: the refusals here are reasons of the order, and no delivery is blamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from choir.bazaar.environments import rules
from choir.bazaar.policy import EnvironmentsPolicy
from choir.foundation.errors import Invalid
from choir.sandbox.layers import view
from choir.sandbox.layers.model import TREE
from choir.sandbox.layers.shelf import KeptLayer
from choir.sandbox.model import InFile, Spec


class SetupFailed(Invalid):
    """The buyer's command did not end with code 0."""

    code = "order.setup_failed"
    sentence = "The set-up ended with code {exit_code}: {said}"
    hint = "Try it with `choir env build`; a set-up that names setup_files sees only those."


class SetupTimedOut(Invalid):
    """It took too long."""

    code = "order.setup_timed_out"
    sentence = "The set-up was stopped at its limit: {limit}."


class SetupTooLarge(Invalid):
    """It wrote or took more than a layer may have."""

    code = "order.setup_too_large"
    sentence = "The set-up exceeds a limit: {why}."


class SetupHostRefused(Invalid):
    """It failed after it asked for a host that the order does not name, or that leads to a private address."""

    code = "order.setup_host_refused"
    sentence = "The set-up ended with code {exit_code} after it was refused {host}: {why}."
    hint = (
        "If it needs that host, name it in the order's hosts. If it is named there already, it leads to a private"
        " address: then the operator's mirrors.toml must allow it (`private = true`)."
    )


class HostNotOffered(Invalid):
    """The operator lets set-ups reach other hosts only."""

    code = "order.host_not_offered"
    sentence = "Set-ups on this node may not reach {host}."
    hint = "The operator's mirrors.toml lists what they may reach."


class NoSuchFile(Invalid):
    """The tree has none of the files that the set-up is decided by."""

    code = "order.no_setup_file"
    sentence = "No file of the base commit fits the set-up file '{pattern}'."


class NoImage(Invalid):
    """The node does not have the image that the order names."""

    code = "order.no_image"
    sentence = "This node does not have the image {image}."
    hint = "Ask its operator, or order with base 'machine'."


class NoEnvironments(Invalid):
    """A verifier or worker that was started without a place for layers."""

    code = "order.no_environments"
    sentence = "This machine builds no environments."


@dataclass(frozen=True, slots=True)
class Layer:
    """An environment for runs. The one seam: `over` turns a run into one that has it."""

    kept: KeptLayer | None  # None: nothing was to be set up
    root: Path | None = None  # an unpacked image
    image: str | None = None  # an image by its name
    build: str = ""
    python_path: tuple[str, ...] = ()  # where its Python packages are, in the sandbox
    variables: Mapping[str, str] = field(default_factory=dict)
    policy: EnvironmentsPolicy = field(default_factory=EnvironmentsPolicy)

    @property
    def name(self) -> str:
        return self.kept.name if self.kept else ""

    @property
    def content(self) -> str:
        return self.kept.content if self.kept else ""

    def evidence(self) -> dict[str, str]:
        """What a verdict or a trajectory says of it."""
        return {"layer": self.name, "content": self.content}

    def over(self, spec: Spec, tree: Path | None = None, at: str = TREE) -> Spec:
        """The run with this environment: the tree, a folder of the node's own that is put in at `at`, lies over it."""
        spec = replace(spec, environment={**self.variables, **spec.environment})
        if self.root is not None or self.image is not None:
            spec = replace(spec, root=self.root, image=self.image)
        if self.kept is None:
            return spec
        laid = view.over(spec, self.kept, tree, at, rules.is_usual)
        caches = (InFile(f"caches/{name}/.choir") for name in rules.CACHES)
        return replace(laid, files=(*laid.files, *self._home(), *caches))

    def added(self, tree: Path) -> list[str]:
        """The topmost paths of a tree that come from the layer."""
        return view.below(self.kept.tree, tree, rules.is_usual) if self.kept else []

    def _home(self) -> tuple[InFile, ...]:
        """A home that can be written to, with links to what the set-up left in its own."""
        assert self.kept is not None
        place, kept = self.kept.room / "home", InFile("home/.choir")
        if place.is_symlink() or not place.is_dir():
            return (kept,)
        names = sorted(item.name for item in place.iterdir() if item.name != ".choir")[: rules.HOME_LINKS_MAX]
        return (kept, *(InFile(f"home/{name}", link=f"{rules.SETUP_HOME}/{name}") for name in names))


def surroundings(layer: Layer | None) -> str:
    """All that an environment changes about a run, in a word: results of the same tests in others are not the same."""
    return "" if layer is None else f"{layer.name} {layer.root} {layer.image} {layer.build}"
