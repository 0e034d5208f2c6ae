"""An index of one's own folder, without a node and without money: the same worker, in a sandbox of this machine."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from choir.bazaar.contracts import IndexLanguage, RepoIndex, RepoIndexRequest, Terms
from choir.bazaar.contracts.indexes import ALL_LANGUAGES
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy, WorkersPolicy
from choir.bazaar.workers.fulfilment import fulfil
from choir.bazaar.workers.index_worker import IndexWorker
from choir.bazaar.workers.model import WorkOrder
from choir.bazaar.workers.shop import Workshop
from choir.commons.passages.static import StaticEmbedder
from choir.doors.mesh import bundles
from choir.doors.mesh.bundles import Bundle
from choir.doors.provider.machine import policy_here
from choir.foundation.clock import SystemClock
from choir.foundation.settings import load_settings
from choir.identity.keys.nostr_keys import checked_secret
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

_TERMS = Terms(1_000_000, 3_600, "local")


def build_index(
    repo: Path | str | Bundle,
    *,
    languages: Sequence[str] = (),
    embeddings: bool = False,
    previous: bytes | None = None,
    ref: str | None = None,
    dirty: bool = False,
) -> RepoIndex:
    """Index a folder, or one commit of the repository that it is in."""
    policy = policy_here(load_settings(), play=True)
    wanted = tuple(IndexLanguage(item) for item in sorted(set(languages))) or ALL_LANGUAGES
    with tempfile.TemporaryDirectory(prefix="choir-index-") as name, _bundled(repo, ref, dirty=dirty) as sent:
        scratch = Path(name)
        request = RepoIndexRequest(sent.commit, _TERMS, languages=wanted, embeddings=embeddings)
        order = WorkOrder("job_local", JobType.REPO_INDEX, request, sent.file, previous=previous)
        with (
            Sandboxes(scratch / "sandbox", policy.of(SandboxPolicy)) as sandboxes,
            Workshop(
                sandboxes,
                scratch / "shop",
                policy.of(WorkersPolicy),
                policy.of(VerificationPolicy),
                policy.of(SandboxPolicy),
                embedder=StaticEmbedder() if embeddings else None,
            ) as shop,
        ):
            key = checked_secret(secrets.token_bytes(32))
            found = fulfil(order, IndexWorker(shop), key, SystemClock(), policy.of(WorkersPolicy), lambda: False)
    if found.error is not None:
        raise found.error
    return RepoIndex.from_bytes(found.artifact, policy.of(VerificationPolicy))


def _bundled(repo: Path | str | Bundle, ref: str | None, *, dirty: bool) -> AbstractContextManager[Bundle]:
    return nullcontext(repo) if isinstance(repo, Bundle) else bundles.bundle(repo, ref=ref, dirty=dirty)
