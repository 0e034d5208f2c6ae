"""A step for CI: order a review of a change, and write it as JSON.

    CHOIR_NODE=https://choir.example CHOIR_TOKEN=… python3 review_a_change.py --base origin/main --out review.json

The diff from the base to HEAD and the changed files are sent, nothing else of the repository. The token comes from the
environment and needs the scopes `read` and `buy`. The same change and budget are one order, so that a step which is run
again pays nothing more. `report.py` turns the review into annotations and a comment.

Exit codes: 0 the review is written, or nothing changed; 1 nobody delivered a review that passes; 2 something is missing
or wrong here; 3 the node is away, or the time is over; 5 what came does not fit its hashes or signatures; 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

from buy_a_patch import DONE, INTERRUPTED, NOT_READY, code_of, say

from choir.sdk import Asset, ChoirError, MeshClient, Progress, within


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Order a review of a change.")
    parser.add_argument("--repo", default=".", help="the checkout")
    parser.add_argument("--base", default="HEAD~1", help="the commit that the change begins after")
    parser.add_argument("--out", default="review.json", type=Path, help="where the review is written")
    parser.add_argument("--budget", default="3000", help="the most it may cost, in SAT")
    parser.add_argument("--timeout", default=1800.0, type=float, help="seconds that all of it may take")
    return parser.parse_args()


def tree_of(repo: str, commit: str) -> str:
    """The files of a commit, by one name; empty, if there is none."""
    words = ["git", "-C", repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def review(options: argparse.Namespace) -> int:
    before, after = tree_of(options.repo, options.base), tree_of(options.repo, "HEAD")
    if not before or not after:
        print(f"There is no commit {options.base} or HEAD in {options.repo}: fetch more of it.", file=sys.stderr)
        return NOT_READY
    if before == after:
        say("Nothing changed; nothing is ordered.")
        return DONE
    key = "ci-review-" + hashlib.sha256("\0".join((before, after, options.budget)).encode()).hexdigest()
    until = time.monotonic() + options.timeout
    with MeshClient(node_key=os.environ.get("CHOIR_NODE_PUBLIC_KEY") or None) as mesh:
        with within(options.timeout):
            order = mesh.request_review(
                options.repo, options.base, "HEAD", budget=Asset.SAT.parse(options.budget), key=key
            )
        say(f"ordered {order.id} for at most {options.budget} SAT")
        found = mesh.await_and_verify(order, until - time.monotonic(), on_change=Progress(mesh.client, say))
    options.out.write_bytes(found.data)
    say(f"verified and paid: {Asset.SAT.format(found.price)} SAT, receipt {found.receipt_hash}")
    return DONE


def main() -> int:
    options = asked()
    if not os.environ.get("CHOIR_TOKEN"):
        print("CHOIR_TOKEN is not set: it needs a token with the scopes read and buy.", file=sys.stderr)
        return NOT_READY
    try:
        return review(options)
    except ChoirError as error:
        print(error, error.advice, file=sys.stderr)
        return code_of(error)
    except KeyboardInterrupt:
        print("Interrupted. Run this step again to get what was ordered.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
