"""The table of attacks × tiers for the documentation, and the evidence it is made from.

The evidence says on which machine each cell was shown, and carries a digest of each attack, so that a test
notices when an attack has changed and its evidence has not.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from choir.sandbox.model import Tier
from choir.sandbox.service import Sandboxes
from tests.sandbox.attacks import ATTACKS, Scene, attempt, prove
from tests.sandbox.attacks.host import HOST_ATTACKS
from tests.sandbox.attacks.model import TIERS

BEGIN, END = "<!-- attacks: generated, do not edit -->", "<!-- attacks: end -->"
_SIGNS = {"contained": "contained", "not applicable": "n/a", "escaped": "**escaped**", "did not run": "**did not run**"}


def record(say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything on this machine."""
    scene = Scene()
    try:
        with tempfile.TemporaryDirectory() as folder, Sandboxes(Path(folder)) as sandboxes:
            known = {tier: sandboxes.capabilities(tier) for tier in TIERS}
            working = [tier for tier in TIERS if known[tier].works]
            return {
                "machine": {
                    "kernel": platform.release(),
                    "architecture": platform.machine(),
                    "system": _system(),
                    "user": "root" if sandboxes.host.machine.is_root else "an ordinary user",
                    "groups": sandboxes.host.machine.cgroups.label,
                },
                "engines": {tier.label: known[tier].engine for tier in working},
                "attacks": [_attack(attack, working, sandboxes, scene, say) for attack in ATTACKS],
                "host": [_host(attack, sandboxes, say) for attack in HOST_ATTACKS],
            }
    finally:
        scene.close()


def _attack(attack: Any, working: list[Tier], sandboxes: Sandboxes, scene: Scene, say: Callable[[str], None]) -> Any:
    outcomes = {}
    for tier in working:
        found = attempt(attack, tier, sandboxes, scene)
        outcomes[tier.label] = {"outcome": found.outcome, "why": found.how if found.outcome != "contained" else ""}
    proved = prove(attack, scene)
    say(f"{attack.name}: proved {proved}, {[item['outcome'] for item in outcomes.values()]}")
    return {"name": attack.name, "digest": attack.digest, "proved": proved, "outcomes": outcomes}


def _host(attack: Any, sandboxes: Sandboxes, say: Callable[[str], None]) -> Any:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        proved, contained = attack.proof(Path(first)), attack.contained(Path(second), sandboxes)
    say(f"{attack.name}: proved {proved}, contained {contained}")
    return {"name": attack.name, "proved": proved, "contained": contained}


def render(evidence: dict[str, Any]) -> str:
    """The generated part of the page."""
    machine = evidence["machine"]
    engines = ", ".join(f"{tier}: {engine}" for tier, engine in evidence["engines"].items())
    lines = [
        BEGIN,
        "",
        f"Shown on {machine['system']}, Linux {machine['kernel']} on {machine['architecture']}, started by "
        f"{machine['user']}, with {machine['groups']}. Engines: {engines}.",
        "",
        "| attack | what is tried | it proves itself | " + " | ".join(tier.label for tier in TIERS) + " |",
        "|---|---|---|" + "---|" * len(TIERS),
    ]
    shown = {item["name"]: item for item in evidence["attacks"]}
    notes: list[str] = []
    for attack in ATTACKS:
        item = shown[attack.name]
        cells = [_cell(attack.name, tier, item["outcomes"].get(tier.label), notes) for tier in TIERS]
        proof = attack.proof_text if item["proved"] else "**not proved**"
        lines.append(f"| {attack.name} | {attack.title} | {proof} | " + " | ".join(cells) + " |")
    lines += ["", "Where an attack does not apply:", "", *notes, "", *_host_table(evidence), "", END]
    return "\n".join(lines)


def _cell(name: str, tier: Tier, found: dict[str, str] | None, notes: list[str]) -> str:
    if found is None:
        return "not shown"
    if found["outcome"] == "not applicable":
        notes.append(f"- {name}, {tier.label}: {found['why']}.")
    return _SIGNS[found["outcome"]]


def _host_table(evidence: dict[str, Any]) -> list[str]:
    lines = ["What strangers hand over, and the host unpacks or reads:", ""]
    lines += ["| attack | what is handed over | it proves itself | outcome |", "|---|---|---|---|"]
    shown = {item["name"]: item for item in evidence["host"]}
    for attack in HOST_ATTACKS:
        item = shown[attack.name]
        proof = attack.proof_text if item["proved"] else "**not proved**"
        outcome = "refused or made harmless" if item["contained"] else "**fell for it**"
        lines.append(f"| {attack.name} | {attack.title} | {proof} | {outcome} |")
    return lines


def put_in(page: str, table: str) -> str:
    """The page with its generated part replaced."""
    before, _, rest = page.partition(BEGIN)
    return before + table + rest.partition(END)[2]


def _system() -> str:
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return platform.system()
    return facts.get("PRETTY_NAME", platform.system())
