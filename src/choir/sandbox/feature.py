"""The sandbox, as a part of a node: its numbers, and whether the machine has what it needs."""

from __future__ import annotations

from choir.feature import Feature
from choir.sandbox.readiness import check_machine

FEATURE = Feature(name="sandbox", check_machine=check_machine)
