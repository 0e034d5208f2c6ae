"""A repository elsewhere, as what an order needs: fetched in a sandbox of this machine and pinned to a commit.

What is sent is made as for a local folder: one commit without parents of the files as they are, nothing that looks
like a secret. The order names the address and the commit that it resolved to, as `https://host/path@commit`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.doors.mesh import bundles
from choir.doors.mesh.bundles import Bundle, LocalDiff
from choir.doors.provider.machine import policy_here
from choir.foundation.settings import load_settings
from choir.sandbox.fetching import Fetched, fetch
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes


@contextmanager
def bundle(
    url: str, ref: str = "HEAD", *, include: Sequence[str] = (), bytes_max: int | None = None
) -> Iterator[Bundle]:
    """A bundle of one commit of a repository elsewhere, for as long as it is needed."""
    limit = BazaarPolicy().inputs_bytes_max if bytes_max is None else bytes_max
    with _fetched(url, ref, None) as (found, place):
        made = bundles.bundle_of_tree(found.tree, place, found.commit, include, limit)
        yield _named(made, found)


@contextmanager
def changes(
    url: str, base: str = "", head: str = "HEAD", *, include: Sequence[str] = (), bytes_max: int | None = None
) -> Iterator[tuple[LocalDiff, Bundle | None]]:
    """What changed from one commit to another, with the changed files; without a base, since the first parent."""
    limit = VerificationPolicy().review_diff_bytes_max if bytes_max is None else bytes_max
    with _fetched(url, head, base) as (found, place):
        assert found.base is not None
        diff, files = bundles.changes_of_trees(found.base, found.tree, place, include, limit)
        made = replace(diff, base=found.base_commit, head=found.commit)
        yield made, None if files is None else _named(files, found)


@contextmanager
def _fetched(url: str, ref: str, compared_with: str | None) -> Iterator[tuple[Fetched, Path]]:
    policy = policy_here(load_settings(), play=True).of(SandboxPolicy)
    with tempfile.TemporaryDirectory(prefix="choir-fetch-") as name:
        place = Path(name)
        with Sandboxes(place / "sandbox", policy) as sandboxes:
            found = fetch(sandboxes, url, place / "files", ref, policy, compared_with=compared_with)
        yield found, place


def _named(made: Bundle, found: Fetched) -> Bundle:
    modules = tuple((path, "it is a submodule") for path in found.submodules)
    return replace(made, source=found.commit, origin=f"{found.url}@{found.commit}", left_out=(*made.left_out, *modules))
