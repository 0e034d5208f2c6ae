"""The tiers: one file each, all with the same shape."""

from __future__ import annotations

from choir.sandbox.model import Tier
from choir.sandbox.tiers.base import Driver
from choir.sandbox.tiers.bubblewrap import Bubblewrap
from choir.sandbox.tiers.container import Container
from choir.sandbox.tiers.gvisor import Gvisor
from choir.sandbox.tiers.local import Local


def drivers() -> dict[Tier, Driver]:
    """Every tier that this version can drive. The microvm tier is named but not built."""
    known: list[Driver] = [Local(), Bubblewrap(), Container(), Gvisor()]
    return {driver.tier: driver for driver in known}
