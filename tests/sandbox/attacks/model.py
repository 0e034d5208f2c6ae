"""What an attack is, how it is attempted in a tier, and how it proves itself without one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from choir.sandbox.model import Limits, Result, Spec, Tier, Trust
from choir.sandbox.service import Sandboxes
from choir.sandbox.tiers.base import Machine
from tests.sandbox.attacks.scene import Scene

PYTHON = "/usr/bin/python3"
PROOF_S_MAX = 600.0  # a last resort: each proof ends by itself, however busy the machine is
_PREAMBLE = """
import ctypes, errno, os, signal, socket, subprocess, sys, threading, time
E = os.environ
print("BEGAN", flush=True)
def escaped(*what):
    print("ESCAPED", *what, flush=True)
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return result if result >= 0 else -ctypes.get_errno()
"""
TIERS = (Tier.LOCAL, Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR)

Check = Callable[[Result, Scene], str]
Proof = Callable[["Attack", Scene], bool]


@dataclass(frozen=True)
class Outcome:
    """What came of one attack in one tier."""

    attack: str
    tier: str
    outcome: str  # "contained", "escaped" or "not applicable"
    how: str  # what stopped it, or why it does not apply


def _quiet(result: Result, scene: Scene) -> str:
    """The usual check: no success was announced, no secret came out, nothing on the host was touched."""
    said = result.stdout + result.stderr + b"".join(item.content for item in result.files)
    if b"ESCAPED" in said:
        return said[said.index(b"ESCAPED") :].split(b"\n")[0].decode(errors="replace")
    if scene.secret.encode() in said:
        return "the secret came out"
    if scene.touched or any(scene.open_folder.iterdir()):
        return f"the host was reached: {sorted(scene.touched)}"
    return ""


def unconfined(attack: Attack, scene: Scene) -> bool:
    """Whether the same program reaches its goal without a sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [PYTHON, "-c", attack.program],
            env={**os.environ, **scene.environment},
            cwd=folder,
            capture_output=True,
            timeout=PROOF_S_MAX,
            check=False,
        )
    said = done.stdout + done.stderr
    return b"ESCAPED" in said or scene.secret.encode() in said or bool(scene.touched) or scene.hit.exists()


@dataclass(frozen=True)
class Attack:
    """One attack."""

    name: str
    title: str
    code: str
    limits: Limits = field(default_factory=Limits)
    contained: Check = _quiet
    proof: Proof = unconfined
    proof_text: str = "succeeds without a sandbox"
    not_for: Mapping[Tier, str] = field(default_factory=dict)
    needs: tuple[
        str, ...
    ] = ()  # limits that it is about; where one is missing the result says so, and it does not apply
    excused: Callable[[Machine, Tier], str] = lambda *_: ""  # why it does not apply on such a machine, or nothing
    needs_root: bool = False  # whether the proof needs root; without it the attack is skipped
    more: Callable[[Scene], dict[str, Any]] = lambda _: {}

    @property
    def program(self) -> str:
        return _PREAMBLE + self.code

    @property
    def digest(self) -> str:
        """Changes when the attack does, so that old evidence is noticed."""
        text = "\n".join([self.program, repr(self.limits), repr(sorted(self.not_for.items()))])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def spec(self, tier: Tier, scene: Scene) -> Spec:
        limits = self.limits
        if limits.wall_s is None:
            limits = Limits(**{name: getattr(limits, name) for name in limits.__slots__} | {"wall_s": 30.0})
        return Spec(
            argv=(PYTHON, "-c", self.program),
            environment=scene.environment,
            tier=tier,
            trust=Trust.OWN,
            limits=limits,
            **self.more(scene),
        )


def attempt(attack: Attack, tier: Tier, sandboxes: Sandboxes, scene: Scene) -> Outcome:
    """Run the attack in a tier and say what came of it."""
    if tier in attack.not_for:
        return Outcome(attack.name, tier.label, "not applicable", attack.not_for[tier])
    if why := attack.excused(sandboxes.host.machine, tier):
        return Outcome(attack.name, tier.label, "not applicable", why)
    lacking = set(attack.needs) & set(sandboxes.capabilities(tier).missing)
    if lacking:
        return Outcome(attack.name, tier.label, "not applicable", f"here nothing limits {', '.join(sorted(lacking))}")
    scene.reset()
    result = sandboxes.run(attack.spec(tier, scene))
    if not result.stdout.startswith(b"BEGAN"):
        return Outcome(attack.name, tier.label, "did not run", result.stderr.decode(errors="replace")[-200:])
    why = attack.contained(result, scene)
    return Outcome(attack.name, tier.label, "escaped" if why else "contained", why)


def prove(attack: Attack, scene: Scene) -> bool:
    """Whether the attack is one: it reaches its goal where nothing holds it."""
    scene.reset()
    try:
        return attack.proof(attack, scene)
    finally:
        scene.reset()


def left_processes(marker: str) -> list[int]:
    """Processes on the host whose command line holds the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
