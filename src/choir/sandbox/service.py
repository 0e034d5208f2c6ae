"""The sandbox service: knows the machine's tiers and runs specs in them.

Guarantees: tiers are probed by really running something, once, and again only when asked; what dead nodes
left is removed when the service starts; a run goes into the tier that the rules choose or is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from choir.foundation.clock import Clock, Entropy, SystemClock, SystemEntropy
from choir.foundation.errors import ChoirError
from choir.foundation.ids import show_id, uuid7
from choir.sandbox import cgroups, rules, runner
from choir.sandbox.holdings import Host
from choir.sandbox.model import Capabilities, Limits, Result, Spec, Tier, Trust, said
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.pump import OnOutput
from choir.sandbox.runs import CleanReport, FoundRun, RunFolder
from choir.sandbox.tiers import base, drivers
from choir.sandbox.tiers.stage import STAGE
from choir.sandbox.uids import MACHINE_FOLDER, UidPool

_PROBE_WORD = "choir-sandbox-works"
_BUILT = drivers()


class Sandboxes:
    """Runs specs. One per process; safe to call from many threads."""

    def __init__(
        self,
        state: Path,
        policy: SandboxPolicy | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        uid_locks: Path = MACHINE_FOLDER,
        hierarchy: cgroups.Hierarchy | None = None,
        clean_first: bool = True,
    ) -> None:
        self.policy = policy or SandboxPolicy()
        self.clock = clock or SystemClock()
        self.entropy = entropy or SystemEntropy()
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = cgroups.discover() if hierarchy is None else hierarchy
        machine = base.look(found)
        if machine.is_root:
            STAGE.mkdir(mode=0o711, parents=True, exist_ok=True)
        uids = UidPool(self.policy.uid_first, self.policy.uid_count, uid_locks) if machine.is_root else None
        self.host = Host(machine, RunFolder(state), self.policy, uids)
        self._lock = threading.Lock()
        self._known: dict[tuple[Tier, str | None], Capabilities] = {}
        self._counter = 0
        self.cleaned = self.clean() if clean_first else CleanReport((), ())

    def close(self) -> None:
        """Let go of what the service itself holds; runs that are going on keep what is theirs."""
        if self.host.egress is not None:
            self.host.egress.close()
        if self.host.uids is not None:
            self.host.uids.close()

    def __enter__(self) -> Sandboxes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, spec: Spec, on_output: OnOutput | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> Result:
        """Run a spec to its end. Blocks; raises a refusal if it may not or cannot run."""
        rules.check(spec, self.policy)
        chosen = rules.choose(spec, self._needed(spec), self.policy)
        host = self._with_egress() if spec.egress is not None else self.host
        return runner.run(host, _BUILT[chosen.tier], chosen, spec, self.new_name(), on_output, cancelled)

    def capabilities(self, tier: Tier, image: str | None = None) -> Capabilities:
        """What a tier can do here, found out by running something in it, or in the image."""
        with self._lock:
            known = self._known.get((tier, image))
        if known is None:
            known = self.probe(tier, image)
            with self._lock:
                self._known[tier, image] = known
        return known

    def doctor(self) -> list[Capabilities]:
        """Every tier, probed anew."""
        with self._lock:
            self._known.clear()
        return [self.capabilities(tier) for tier in Tier]

    def lacking(self) -> str:
        """Why strangers' code cannot be run here at all; empty if it can."""
        spec = Spec(argv=("true",))
        try:
            rules.choose(spec, self._needed(spec), self.policy)
        except ChoirError as error:
            return str(error)
        return ""

    def unlimited(self) -> str:
        """What strangers' code has no firm limit of here, though it may run; nothing if all is limited."""
        spec = Spec(argv=("true",))
        return rules.unlimited(rules.choose(spec, self._needed(spec), self.policy))

    def probe(self, tier: Tier, image: str | None = None) -> Capabilities:
        """Run something in a tier within the time limit and say what came of it."""
        driver = _BUILT.get(tier)
        if driver is None:
            return Capabilities(tier, False, "", "this version does not have it.", {}, rules.missing_limits({}))
        machine = self.host.machine
        lacking = driver.missing(machine, image)
        if lacking:
            return Capabilities(tier, False, "", f"{lacking}.", {}, rules.missing_limits({}))
        applied, missing = driver.applied(machine, image), rules.missing_limits(driver.applied(machine, image))
        native = driver.native(machine)
        known = Capabilities(tier, True, driver.engine(machine, image), "", applied, missing, native=native)
        why = self._try(driver, known, image)
        notes = driver.notes(machine)
        return replace(known, works=not why, why=why or " ".join(notes), notes=notes)

    def _try(self, driver: base.Driver, known: Capabilities, image: str | None) -> str:
        spec = Spec(
            argv=("/bin/sh", "-c", f"echo {_PROBE_WORD}"),
            tier=known.tier,
            trust=Trust.OWN,
            image=image,
            limits=Limits(wall_s=self.policy.probe_s_max, memory_bytes=64_000_000),
        )
        try:
            result = runner.run(self.host, driver, known, spec, self.new_name())
        except ChoirError as error:
            return str(error)
        except OSError as error:
            return f"it could not be set up: {error}"
        if result.timed_out:
            return f"it did not answer within {self.policy.probe_s_max} seconds."
        if result.stdout.strip().decode(errors="replace") != _PROBE_WORD:
            return f"a trial run exited with code {result.exit_code}: {said(result.stderr, 200)}"
        return ""

    def ls(self) -> list[FoundRun]:
        """The runs of this state folder, live or left behind."""
        return list(self.host.runs.all())

    def clean(self) -> CleanReport:
        """Remove what dead nodes left."""
        return self.host.runs.clean(self.host.uids)

    def _needed(self, spec: Spec) -> dict[Tier, Capabilities]:
        """Only the tiers that could matter are probed: the best first, until one works."""
        if spec.tier is not None:
            return {spec.tier: self.capabilities(spec.tier, spec.image)}
        known: dict[Tier, Capabilities] = {}
        native = [tier for tier, driver in _BUILT.items() if driver.native(self.host.machine)]
        for tier in rules.preference(spec, self.policy, native):
            known[tier] = self.capabilities(tier, spec.image)
            if known[tier].works:
                break
        return known

    def _with_egress(self) -> Host:
        with self._lock:
            if self.host.egress is None:
                from choir.sandbox.egress.service import EgressHost

                self.host = replace(self.host, egress=EgressHost(self.policy))
            return self.host

    def new_name(self) -> str:
        """A name that no run has had."""
        with self._lock:
            self._counter += 1
            counter = self._counter
        return show_id("run", uuid7(self.clock.now_us(), counter, self.entropy.bytes(6)))
