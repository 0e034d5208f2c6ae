"""A step for CI: when the tests fail, buy a patch that makes them pass, and write it as a diff.

    CHOIR_NODE=https://choir.example CHOIR_TOKEN=… python3 buy_a_patch.py --test 'python3 -m pytest -q' --out fix.diff

Nobody is asked anything. The token comes from the environment and needs the scopes `read` and `buy`; give it a cap for
what CI may spend. The node checks the patch in a clean sandbox before it is paid, and this script checks hashes,
verdict and the receipt's signature before it writes the diff. What is done with the diff is up to the next step:
show it, upload it, open a pull request. Do not merge it unseen.

The same files, tests and budget are one order, so a step that is run again gets the same patch and pays nothing more.
While it waits, it says so with the time that has passed, and why if nobody can take the order. When the time is over or
somebody presses Ctrl-C, the order continues, and the last line says how to cancel it.

Exit codes: 0 the tests pass already, or the diff is written; 1 nobody delivered a patch that passes; 2 something is
missing or wrong here; 3 the node is away, or the time is over; 5 what came does not fit its hashes or signatures; 130
after Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from choir.sdk import (
    Asset,
    BazaarPolicy,
    Broken,
    ChoirError,
    JobFailed,
    MeshClient,
    Progress,
    Unavailable,
    bundle,
    policy_of,
    proof_of,
    within,
)

DONE, NO_PATCH, NOT_READY, NOT_NOW, WRONG, INTERRUPTED = 0, 1, 2, 3, 5, 130


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Buy a patch for failing tests.")
    parser.add_argument("--repo", default=".", help="the checkout")
    parser.add_argument("--test", default="python3 -m pytest -q", help="the test command")
    parser.add_argument("--title", default="Make the tests pass")
    parser.add_argument("--out", default="fix.diff", type=Path, help="where the diff is written")
    parser.add_argument("--budget", default="5000", help="the most it may cost, in SAT")
    parser.add_argument(
        "--timeout", default=1800.0, type=float, help="seconds that ordering and waiting may take together"
    )
    return parser.parse_args()


def tests_pass(command: str, folder: str) -> bool:
    """Whether they pass. They may be a stranger's, so they do not get the token."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, check=False).returncode == 0  # noqa: S602 - CI's own command


def order_key(commit: str, test: str, budget: str) -> str:
    """The same order has the same key, so that a step which is run again does not buy twice."""
    return "ci-" + hashlib.sha256("\0".join((commit, test, budget)).encode()).hexdigest()


def say(text: str) -> None:
    print(text, flush=True)  # a CI log shows it at once


@dataclass
class Step:
    """What is to be done, and what goes on without us if somebody ends it."""

    options: argparse.Namespace
    goes_on: str = "Nothing was ordered."

    def run(self) -> int:
        options = self.options
        if not Path(options.repo).is_dir():
            print(f"There is no folder {options.repo}.", file=sys.stderr)
            return NOT_READY
        if tests_pass(options.test, options.repo):
            say("The tests pass; nothing is bought.")
            return DONE
        try:
            options.out.write_bytes(self.buy())
        except ChoirError as error:
            print(error, error.advice, file=sys.stderr)
            return code_of(error)
        say(f"The patch is in {options.out}; apply it with: git apply {options.out}")
        return DONE

    def buy(self) -> bytes:
        """The diff, verified; raises where there is none."""
        options = self.options
        until = time.monotonic() + options.timeout
        with ExitStack() as stack:
            mesh = stack.enter_context(MeshClient(node_key=os.environ.get("CHOIR_NODE_PUBLIC_KEY") or None))
            with within(options.timeout):
                most = policy_of(mesh.client).of(BazaarPolicy).inputs_bytes_max
            sent = stack.enter_context(bundle(options.repo, ref="HEAD", bytes_max=most))
            self.goes_on = "It may have been ordered: run this step again to get it, or look with: choir job ls"
            with within(until - time.monotonic()):
                order = mesh.request_patch(
                    sent,
                    options.title,
                    test_command=options.test,
                    budget=Asset.SAT.parse(options.budget),
                    key=order_key(sent.commit, options.test, options.budget),
                )
            self.goes_on = (
                f"{order.id} continues: run this step again to get it. Cancel it: choir job cancel {order.id}"
            )
            say(f"ordered {order.id} for at most {options.budget} SAT")
            found = mesh.await_and_verify(order, until - time.monotonic(), on_change=Progress(mesh.client, say))
        proof = proof_of(found.job.type, found.checks, found.verdict)
        say(f"{proof.word.lower()} and paid: {Asset.SAT.format(found.price)} SAT, receipt {found.receipt_hash}")
        say(f"checked: {proof.checked}")
        return found.data


def code_of(error: ChoirError) -> int:
    codes = {JobFailed: NO_PATCH, Broken: WRONG, Unavailable: NOT_NOW}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), NOT_READY)


def main() -> int:
    step = Step(asked())
    if not os.environ.get("CHOIR_TOKEN"):
        print("CHOIR_TOKEN is not set: it needs a token with the scopes read and buy.", file=sys.stderr)
        return NOT_READY
    try:
        return step.run()
    except KeyboardInterrupt:
        print(f"Interrupted. {step.goes_on}", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
