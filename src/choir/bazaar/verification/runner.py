"""Verification in a server process: threads of its own, a sandbox made at first use, a folder that is always cleared.

Guarantees: so many verifications at once as the policy says, and none of them holds up other background work; a
process that is told to stop ends what it is verifying at once and leaves it to whoever comes next; what a killed
process left (runs, groups, folders) is removed by the next one that starts. A node without a usable sandbox says so
and lets nobody wait: it takes no orders, and what it cannot verify is called off, to nobody's cost.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from choir.bazaar.composition import Bazaar
from choir.bazaar.disputes.service import REVERIFY
from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.lifecycle import VERIFY
from choir.bazaar.jobs.orders import CannotVerify
from choir.bazaar.jobs.service import EXAMINE
from choir.bazaar.policy import BazaarPolicy, EnvironmentsPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.verification.inspection import Inspection
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.service import Verifier
from choir.feature import Base
from choir.objects.service import Objects
from choir.sandbox import readiness
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.removal import remove_tree
from choir.sandbox.service import Sandboxes
from choir.storage.database import DatabaseBusy, DatabaseUnavailable
from choir.storage.policy import NodePolicy
from choir.storage.processes import FolderLock
from choir.storage.tasks import Handlers, Postponed, Scheduler, Task

log = logging.getLogger(__name__)

NO_SANDBOX = CannotVerify.code
NOT_VERIFIED = "bazaar.not_verified"
_STOP_S = 4.0  # for a sandbox that is told to end
_PROBE_AGAIN_S = 30.0


def sandbox_policy(node: Base) -> SandboxPolicy:
    """What this node's sandboxes keep to."""
    return readiness.sandbox_policy(node.settings, node.policy, production=node.identity.production)


def environments_of(node: Base, runs: Runs) -> Environments:
    """The environments of this node's home folder."""
    return Environments(runs, node.settings.home, node.policy.of(EnvironmentsPolicy), node.clock)


class Bench:
    """What a process verifies with. Made at first use, below the node's home; safe to use from many threads."""

    def __init__(self, node: Base) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._home = node.settings.home / "verifying"
        self._state = node.settings.home / "sandbox"
        self._sandboxes: Sandboxes | None = None
        self._verifier: Verifier | None = None
        self._own: FolderLock | None = None
        self._looked = -_PROBE_AGAIN_S
        self._verifier_problem = ""

    def clean(self) -> None:
        """Remove what killed processes left behind; those that live hold locks on what is theirs."""
        with self._lock:
            if any((self._state / "runs").glob("*")):
                self._open_sandboxes()
        for path in self._home.glob("*.lock"):
            lock = FolderLock(path)
            if lock.acquire():
                gone = remove_tree(path.with_suffix(""))
                if gone:
                    path.unlink(missing_ok=True)
                lock.release()

    def verifier_problem(self) -> str:
        """Why nothing can be verified here; empty if it can. Looked at anew from time to time while it is so."""
        with self._lock:
            if self._verifier_problem and time.monotonic() - self._looked < _PROBE_AGAIN_S:
                return self._verifier_problem
            if self._verifier_problem:
                self._close_sandboxes()
            self._looked = time.monotonic()
            self._verifier_problem = self._look()
            if self._verifier_problem:
                log.error("this node cannot verify anything", extra={"why": self._verifier_problem})
            return self._verifier_problem

    def _look(self) -> str:
        if self._verifier is not None:
            return ""
        try:
            sandboxes = self._open_sandboxes()
            why = sandboxes.lacking()
            if not why:
                if loose := sandboxes.unlimited():
                    log.warning("verification has no firm limits; for development only", extra={"why": loose})
                environments = environments_of(self._node, sandboxes)
                environments.collect()
                self._verifier = Verifier(
                    sandboxes, self._node.policy.of(VerificationPolicy), self._folder(), environments=environments
                )
        except OSError as error:
            return str(error)
        return why

    def verifier(self) -> Verifier:
        assert self._verifier is not None, "asked for before it was looked whether there is one"
        return self._verifier

    def folder(self) -> Path:
        with self._lock:
            return self._folder()

    def _folder(self) -> Path:
        """A folder of this process's own, locked for as long as it lives."""
        if self._own is None:
            self._home.mkdir(mode=0o700, exist_ok=True)
            own = FolderLock(self._home / f"{os.getpid()}-{os.urandom(4).hex()}.lock")
            while not own.acquire():  # one that cleans up may have it for a moment
                own = FolderLock(self._home / f"{os.getpid()}-{os.urandom(4).hex()}.lock")
            self._own = own
            own.path.with_suffix("").mkdir(mode=0o700)
        return self._own.path.with_suffix("")

    def _open_sandboxes(self) -> Sandboxes:
        if self._sandboxes is None:
            self._sandboxes = Sandboxes(self._state, sandbox_policy(self._node))
        return self._sandboxes

    def _close_sandboxes(self) -> None:
        if self._sandboxes is not None:
            self._sandboxes.close()
            self._sandboxes = None

    def close(self) -> None:
        """Give everything back. What is still verified, if anything, is ended by force soon."""
        with self._lock:
            if self._verifier is not None:
                self._verifier.close()
                self._verifier = None
            self._close_sandboxes()
            if self._own is not None:
                remove_tree(self._own.path.with_suffix(""))
                self._own.path.unlink(missing_ok=True)
                self._own.release()
                self._own = None


class VerificationRunner:
    """The verifications of this process."""

    def __init__(self, node: Base, stopping: Callable[[], bool], bench: Bench | None = None) -> None:
        self._node = node
        self._stopping = stopping
        self._ended = threading.Event()
        self.bench = bench or Bench(node)
        self._inspection: Inspection | None = None
        handlers = Handlers(quick={}, slow={EXAMINE: self._examine, VERIFY: self._verify, REVERIFY: self._reverify})
        self._schedulers = [
            Scheduler(node.database, handlers, node.clock, node.policy.of(NodePolicy))
            for _ in range(node.policy.of(BazaarPolicy).verify_at_once)
        ]

    def start(self) -> None:
        """Clean up, then begin; in a thread, because neither need hold up a start."""
        threading.Thread(target=self._begin, name="verifying", daemon=True).start()

    def _begin(self) -> None:
        try:
            self.bench.clean()
        except OSError:
            log.exception("what a killed process left could not be removed")
        for scheduler in self._schedulers:
            scheduler.start()

    def halt(self) -> None:
        """What is being verified goes on until `stop`."""

    def stop(self) -> None:
        """End what is being verified and leave it to whoever comes next."""
        self._ended.set()
        deadline = time.monotonic() + _STOP_S
        for scheduler in self._schedulers:
            scheduler.stop(max(0.0, deadline - time.monotonic()))
        self.bench.close()

    def _must_stop(self) -> bool:
        return self._ended.is_set() or self._stopping()

    def _examine(self, task: Task) -> None:
        inspection = self._ready()
        self._do(task, inspection.examine, inspection.give_up_order)

    def _verify(self, task: Task) -> None:
        inspection = self._ready()
        self._do(task, inspection.verify, inspection.give_up)

    def _reverify(self, task: Task) -> None:
        inspection = self._ready()
        self._do(task, inspection.reverify, inspection.give_up_dispute)

    def _do(
        self, task: Task, work: Callable[[UUID, Callable[[], bool]], None], give_up: Callable[[UUID, str], None]
    ) -> None:
        """Do it within its time; when the node has failed at it often enough, nobody waits any longer."""
        id_ = UUID(task.key)
        policy = self._node.policy.of(BazaarPolicy)
        self._unless_stopping()
        if self.bench.verifier_problem():
            give_up(id_, NO_SANDBOX)
            return
        deadline = time.monotonic() + policy.verify_s_max
        try:
            work(id_, lambda: self._must_stop() or time.monotonic() > deadline)
        except Exception as error:
            self._unless_stopping()
            database = isinstance(error, DatabaseUnavailable | DatabaseBusy)  # says nothing about the verification
            if database or task.attempts + 1 < policy.verify_tries_max:
                raise
            log.exception("verification failed for the last time", extra={"task": task.name, "key": task.key})
            give_up(id_, NOT_VERIFIED)

    def _unless_stopping(self) -> None:
        if self._must_stop():
            for scheduler in self._schedulers:
                scheduler.halt()
            raise Postponed

    def _ready(self) -> Inspection:
        node = self._node
        if self._inspection is None:
            bazaar = node.of(Bazaar)
            self._inspection = Inspection(
                node.database,
                node.of(Objects),
                bazaar.jobs,
                bazaar.attempts,
                bazaar.disputes,
                bazaar.market,
                self.bench.verifier,
                self.bench.folder(),
                node.policy.of(WorkersPolicy),
            )
        return self._inspection
