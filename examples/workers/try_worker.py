"""Try a worker on a folder of yours, without a node and without money.

Called as: try_worker.py WORKER FOLDER [TEST COMMAND]

WORKER is the path of a Python file, or the name of a built-in worker or preset. A repository is made of the folder, as
a buyer's client would; the worker gets an order for it in the sandbox; what it would hand in is printed, with its
trajectory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from choir.bazaar.contracts import PatchGenRequest, Terms
from choir.bazaar.model import JobType
from choir.bazaar.workers import Workshop, fulfil, workers
from choir.bazaar.workers.model import WorkOrder
from choir.foundation.clock import SystemClock
from choir.foundation.policy import Policy
from choir.identity.nostr_keys import checked_secret
from choir.sandbox import Sandboxes

GIT = {f"GIT_{who}_{what}": "try@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **GIT}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def bundle_of(source: Path, scratch: Path) -> tuple[Path, str]:
    """A bundle with one commit that holds the folder's files."""
    home = scratch / "repository"
    home.mkdir()
    subprocess.run(["cp", "-r", f"{source}/.", str(home)], check=True)
    git(home, "init", "-q")
    git(home, "add", "-A")
    git(home, "commit", "-q", "--allow-empty", "-m", "base")
    git(home, "bundle", "create", "-q", str(scratch / "bundle"), "HEAD")
    return scratch / "bundle", git(home, "rev-parse", "HEAD")


def main() -> int:
    name, source = sys.argv[1], Path(sys.argv[2])
    test = sys.argv[3] if len(sys.argv) > 3 else "python3 -m pytest -q"
    policy = Policy()
    key = checked_secret(os.urandom(32))  # a provider keeps one; a trial needs none that lasts
    with tempfile.TemporaryDirectory() as folder, Sandboxes(Path(folder, "sandbox"), policy.sandbox) as sandboxes:
        scratch = Path(folder)
        bundle, commit = bundle_of(source, scratch)
        request = PatchGenRequest("Make the tests pass", "", commit, test, Terms(1_000_000, 600, "trial"))
        order = WorkOrder("job_trial", JobType.PATCH_GEN, request, bundle)
        with Workshop(sandboxes, scratch / "shop", policy.workers, policy.verification, policy.sandbox) as shop:
            (worker, *_) = [item for item in workers([name], shop, os.environ) if order.type in item.types]
            outcome = fulfil(order, worker, key, SystemClock(), policy.workers, lambda: False)
    print(outcome.trajectory.decode())
    print(outcome.error or outcome.artifact.decode(errors="replace"))
    return 0 if outcome.is_done else 1


if __name__ == "__main__":
    sys.exit(main())
