"""The autopilot: look, order, wait, verify, and put what passed on a branch.

    failing test or issue ─ does it fail here? ─ order a patch ─ verdict ─┬─ passed ─ branch ─ review, if wanted
                                     ▲                                    │
                                     └── the next order, within budget ───┴─ failed

Guarantees: all orders together cost no more than the budget; nothing is ordered where the test passes already; only
what the node verified, and hashes and signatures confirm, gets onto a branch; a stranger's patch is never run here;
every step is told, and each can be the last one before a kill: the same command goes on from there.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import StructuredReview
from choir.bazaar.jobs.model import JobState, JobType
from choir.bazaar.policy import BazaarPolicy
from choir.doors.autopilot import branches
from choir.doors.autopilot.flight import Flight, Placed
from choir.doors.mesh import bundles
from choir.doors.mesh.model import Handle, JobFailed, NotDoneYet, Outcome, cost_of, sat
from choir.doors.mesh.progress import Progress
from choir.doors.mesh.proof import proof_of
from choir.doors.sdk.policies import policy_of
from choir.foundation.errors import Refusal
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.mesh.client import MeshClient
    from choir.doors.mesh.git import Checkout

Tell = Callable[..., None]  # tell("ordered", "sentence", job=…)
_MILLI = 1_000
_WHY_CHARS_MAX = 2_000
_TEST_S_MAX = 3_600
_NO_LITTER = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}  # the folder stays clean


class NothingVerified(Refusal):
    code = "autopilot.nothing_verified"
    sentence = "No delivery passed in {orders}; it cost {cost} SAT. Last reason: {why}"
    hint = "`choir job ls` lists the orders. Say more in the issue, or allow more with --orders and --budget."


class BudgetUsedUp(Refusal):
    code = "autopilot.budget_used_up"
    sentence = "The budget is used up: {left} SAT of {budget} SAT are left, and a {kind} needs {needed} SAT. {why}"
    hint = "Run it again with a larger --budget; that is a new start, with new orders."


class TestNotRun(Refusal):
    code = "autopilot.test_not_run"
    sentence = "The test command could not be run here: {why}."
    hint = "It is run in the folder that --repo names, with your shell, before anything is ordered."


class Autopilot:
    """Flies one flight to its end."""

    def __init__(
        self,
        mesh: MeshClient,
        flight: Flight,
        checkout: Checkout,
        tell: Tell,
        cover: Callable[[int], None],
        patience_s: float,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._mesh = mesh
        self._flight = flight
        self._asked = flight.asked
        self._checkout = checkout
        self._tell = tell
        self._cover = cover
        self._patience_s = patience_s
        self._say = say  # of an order on its way; None: nobody
        self._until: float | None = None  # by `time.monotonic`, for all orders together

    def fly(self, branch: str, timeout_s: float | None) -> Flight:
        """Go on until there is a branch, or a reason why there is none."""
        flight = self._flight
        self._until = None if timeout_s is None else time.monotonic() + timeout_s
        if flight.orders:
            made = count(len(flight.orders), "order")
            self._tell("resumed", f"Going on: {made} so far, {sat(flight.spent)} SAT spent.", spent=str(flight.spent))
        if not self._needed():
            return self._ended("passes_already")
        found = self._patch()
        self._on_branch(found, branch)
        if self._asked.review:
            self._reviewed(found)
        return self._ended("branch")

    def _ended(self, outcome: str) -> Flight:
        self._flight.outcome = outcome
        self._flight.save()
        return self._flight

    # --- the test ---

    def _needed(self) -> bool:
        """Whether there is anything to do. The command is the user's own, on the user's own files."""
        flight, asked = self._flight, self._asked
        if flight.tested or flight.orders or not asked.must_fail:
            return True
        with bundles.bundle(asked.repo):  # what is not committed would be tested and not sent, so it is refused
            self._tell("testing", f"Running `{asked.test}` in {asked.repo}.")
        try:
            done = subprocess.run(  # noqa: S602 - as the user's own shell would
                asked.test, shell=True, cwd=asked.repo, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=_TEST_S_MAX, check=False, env={**os.environ, **_NO_LITTER},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TestNotRun(why=type(error).__name__) from None
        if done.returncode in (126, 127):
            raise TestNotRun(why=f"the shell answered {done.returncode}, so a program is missing")
        if done.returncode == 0:
            self._tell("passes_already", "The test passes already: there is nothing to order.")
            return False
        flight.tested = True
        flight.save()
        self._tell("fails", f"It fails (exit code {done.returncode}), so a patch is ordered.", code=done.returncode)
        return True

    # --- orders ---

    def _patch(self) -> Outcome:
        """The first patch that passes; what was ordered before is asked for first."""
        flight = self._flight
        while True:
            order = flight.last("patch")
            if order is None or order.state == "failed":
                self._may_order_again(order)
                order = flight.intend("patch", self._price(order), self._body(order))
            found = self._finish(order)
            if found is not None:
                return found

    def _may_order_again(self, last: Placed | None) -> None:
        made = [order for order in self._flight.orders if order.kind == "patch"]
        if last is not None and len(made) >= self._asked.orders_max:
            self._ended("nothing_verified")
            raise NothingVerified(orders=count(len(made), "order"), cost=sat(self._flight.spent), why=last.why)

    def _price(self, last: Placed | None) -> int:
        """What the next patch may cost: the usual, or what is left, if that can be enough."""
        usual = self._mesh.default_budget(JobType.PATCH_GEN, self._mesh.limits.units_files * _MILLI)
        least = self._mesh.default_budget(JobType.PATCH_GEN, _MILLI)
        left = self._flight.left
        if left < least:
            self._ended("budget_used_up")
            why = "" if last is None else f"The last delivery failed: {last.why}"
            raise BudgetUsedUp(left=sat(left), budget=sat(self._asked.budget), kind="patch", needed=sat(least), why=why)
        return min(usual, left)

    def _body(self, last: Placed | None) -> str:
        if last is None or not last.why:
            return self._asked.body
        return f"{self._asked.body}\n\nAn earlier delivery was refused: {last.why}\n".lstrip()

    def _finish(self, order: Placed) -> Outcome | None:
        """Place an order, or find the one that was placed, and wait for it; None if nobody delivered what passes."""
        flight = self._flight
        handle = self._placed(order)
        try:
            found = self._waited(handle)
        except JobFailed as error:
            order.state, order.why = "failed", str(error.fields.get("why", ""))[:_WHY_CHARS_MAX]
            order.cost = cost_of(self._mesh.client.jobs.get(handle.id))
            flight.save()
            self._tell("failed", str(error), job=handle.id, cost=str(order.cost), why=order.why)
            return None
        order.state, order.cost, order.receipt = "passed", cost_of(found.job), found.receipt_hash
        flight.save()
        proof = proof_of(found.job.type, found.checks)
        self._tell(
            "verified", f"{proof.word} and paid: {sat(found.price)} SAT. Checked: {proof.checked}", job=handle.id,
            price=str(found.price), receipt=found.receipt_hash, checked=proof.checked,
        )  # fmt: skip
        return found

    def _waited(self, handle: Handle) -> Outcome:
        """Wait; an order that nobody has for so long is cancelled, so that what it holds can buy another."""
        on_change = Progress(self._mesh.client, self._say) if self._say else None
        while True:
            left_s = None if self._until is None else max(0.0, self._until - time.monotonic())
            slice_s = self._patience_s if left_s is None else min(self._patience_s, left_s)
            try:
                return self._mesh.await_and_verify(handle, slice_s, on_change=on_change)
            except NotDoneYet:
                if left_s is not None and left_s <= slice_s:
                    raise
                if self._mesh.client.jobs.get(handle.id).state == JobState.OPEN:
                    waited = f"No provider has {handle.id} after {self._patience_s:.0f} seconds: it is cancelled."
                    self._tell("cancelled", waited, job=handle.id)
                    self._mesh.cancel(handle)

    def _placed(self, order: Placed) -> Handle:
        """Sent again, the same key is the same job: that is how an order is found whose answer was lost."""
        if order.job:
            return self._mesh.handle(order.job)
        self._cover(order.budget)
        handle = self._send(order)
        order.job, order.state = handle.id, "placed"
        self._flight.save()
        left = sat(self._flight.left)
        self._tell(
            "ordered", f"Ordered a {order.kind}: {handle.id}, at most {sat(order.budget)} SAT; {left} SAT stay free.",
            job=handle.id, kind=order.kind, budget=str(order.budget), left=str(self._flight.left),
        )  # fmt: skip
        return handle

    def _send(self, order: Placed) -> Handle:
        asked = self._asked
        if order.kind == "review":
            return self._mesh.request_review(
                diff=self._diff(), instructions=order.body, budget=order.budget, key=order.key
            )
        most = policy_of(self._mesh.client).of(BazaarPolicy).inputs_bytes_max
        with ExitStack() as stack:
            sent = stack.enter_context(bundles.bundle(asked.repo, ref=asked.base, bytes_max=most))
            return self._mesh.request_patch(
                sent, asked.title, order.body, asked.test, order.budget, fail_before=asked.must_fail,
                whole_suite=not asked.must_fail, key=order.key,
            )  # fmt: skip

    # --- what came ---

    def _diff(self) -> bytes:
        """The patch that passed, again from the node and checked again."""
        order = self._flight.last("patch")
        assert order is not None
        return self._mesh.verified(self._mesh.client.jobs.get(order.job)).data

    def _on_branch(self, found: Outcome, branch: str) -> None:
        flight, asked = self._flight, self._asked
        name = flight.branch or branch or f"choir/{asked.id[:8]}"
        message = f"{asked.title}\n\nVerified by {asked.node}: {found.job.id}\nReceipt: {found.receipt_hash}\n"
        flight.branch = name
        index = flight.file.with_suffix(".index")
        flight.commit = branches.make(self._checkout, asked.base, found.data, message, name, index)
        flight.save()
        self._tell(
            "branch", f"The patch is on the branch {name}. Look at it: git diff {asked.base[:12]} {name}",
            branch=name, commit=flight.commit, base=asked.base,
        )  # fmt: skip

    def _reviewed(self, found: Outcome) -> None:
        """A second pair of eyes, if the budget allows; it decides nothing."""
        order = self._flight.last("review")
        if order is None:
            needed = self._mesh.default_budget(JobType.CODE_REVIEW, _files(found.data) * _MILLI)
            if self._flight.left < needed:
                text = f"No review is ordered: {sat(self._flight.left)} SAT are left, and it needs {sat(needed)} SAT."
                self._tell("no_review", text)
                return
            order = self._flight.intend("review", needed, f"Does this change do what was asked? {self._asked.title}")
        review = None if order.state == "failed" else self._finish(order)
        if review is not None:
            assert isinstance(review.artifact, StructuredReview)
            issues: list[dict[str, Any]] = [
                {"file": item.file, "lines": list(item.line_range), "severity": item.severity.value,
                 "description": item.description}
                for item in review.artifact.issues
            ]  # fmt: skip
            told = review.artifact.summary[:500]
            self._tell("reviewed", f"Review: {told} ({count(len(issues), 'finding')})", issues=issues, summary=told)


def _files(diff: bytes) -> int:
    from choir.bazaar.verification.diffs import read_diff

    return max(1, len([item for item in read_diff(diff).files if item.path]))
