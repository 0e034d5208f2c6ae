"""The attacks that containment is proved by: a table of attacks × tiers.

Each attack is a small program that prints ESCAPED when it reached its goal, or leaves a trace that the host
looks for. Each proves itself first: the same program, started without a sandbox, reaches its goal. An attack
that does not apply to a tier says why. Every program is bounded, so that the proof does no harm.
"""

from __future__ import annotations

from tests.sandbox.attacks.kernel import KERNEL
from tests.sandbox.attacks.model import Attack, Outcome, attempt, prove
from tests.sandbox.attacks.reach import REACH
from tests.sandbox.attacks.resources import RESOURCES
from tests.sandbox.attacks.scene import Scene

ATTACKS: tuple[Attack, ...] = (*RESOURCES, *REACH, *KERNEL)

__all__ = ["ATTACKS", "Attack", "Outcome", "Scene", "attempt", "prove"]
