"""Whether this machine can run strangers' code, for the doctor and for the start of a node."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from choir.foundation.errors import ChoirError
from choir.foundation.findings import Finding
from choir.foundation.policy import Policy
from choir.foundation.settings import Settings
from choir.sandbox.model import Tier
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import LIMITS_REQUIRED, for_play
from choir.sandbox.service import Sandboxes
from choir.sandbox.tiers.base import SEARCH_PATH

_HINT = "See `choir sandbox doctor`."


def sandbox_policy(settings: Settings, policy: Policy, *, production: bool) -> SandboxPolicy:
    """As policy says; a development node whose policy says nothing does without firm limits where there are none."""
    own = policy.of(SandboxPolicy)
    return own if production or LIMITS_REQUIRED in settings.policy_overrides else for_play(own)


def sandbox_missing(settings: Settings, policy: Policy) -> str:
    """Why no job can be verified on this machine; empty if it can. Quick where the usual sandbox is installed."""
    usual = policy.of(SandboxPolicy).stranger_tier_min <= Tier.BUBBLEWRAP
    return "" if usual and shutil.which("bwrap", path=SEARCH_PATH) else _probed(settings, policy)[0]


def check_machine(settings: Settings, policy: Policy) -> Iterator[Finding]:
    """Without a sandbox the ledger works, but no job can be verified."""
    why, loose = _probed(settings, policy)
    if why:
        yield Finding("sandbox", "note", f"no job can be verified here: {why}", _HINT)
    elif loose:
        yield Finding("sandbox", "note", f"jobs can be verified, for development only: {loose}.", _HINT)
    else:
        yield Finding("sandbox", "ok", "untrusted code can be run, so jobs can be verified")


def _probed(settings: Settings, policy: Policy) -> tuple[str, str]:
    """Why strangers' code cannot be run here, and what it has no firm limit of if it can."""
    own = sandbox_policy(settings, policy, production=settings.mode == "production")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="choir-doctor-") as folder,
            Sandboxes(Path(folder), own, clean_first=False) as sandboxes,
        ):
            why = sandboxes.lacking()
            return why, "" if why else sandboxes.unlimited()
    except (ChoirError, OSError) as error:
        return str(error), ""
