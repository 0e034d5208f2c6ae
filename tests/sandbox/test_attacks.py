"""The attack suite: every attack proves itself, then fails in every tier that works on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from choir.sandbox.model import Tier
from choir.sandbox.service import Sandboxes
from tests.sandbox.attacks import ATTACKS, Attack, Scene, attempt, prove
from tests.sandbox.attacks.host import HOST_ATTACKS, HostAttack
from tests.sandbox.attacks.model import TIERS


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    bait = Scene()
    yield bait
    bait.close()


def test_there_are_at_least_thirty_attacks_with_names_of_their_own() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 30


@pytest.mark.deep
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_attack_succeeds_where_nothing_holds_it(attack: Attack, scene: Scene) -> None:
    if attack.needs_root and os.geteuid() != 0:
        pytest.skip("the proof needs root")
    assert prove(attack, scene)


def _attacks_and_tiers() -> Iterator[Any]:
    """Every attack in the default tier and in one of the others by turns; the deep tests try it in all of them."""
    others = [tier for tier in TIERS if tier is not Tier.BUBBLEWRAP]
    for number, attack in enumerate(ATTACKS):
        for tier in TIERS:
            usual = tier in (Tier.BUBBLEWRAP, others[number % len(others)])
            marks = () if usual else pytest.mark.deep
            yield pytest.param(attack, tier, marks=marks, id=f"{attack.name}-{tier.label}")


@pytest.mark.parametrize(("attack", "tier"), list(_attacks_and_tiers()))
def test_the_attack_is_contained(attack: Attack, tier: Tier, sandboxes: Sandboxes, scene: Scene) -> None:
    known = sandboxes.capabilities(tier)
    if not known.works:
        pytest.skip(f"{tier.label} does not work here: {known.why}")
    found = attempt(attack, tier, sandboxes, scene)
    if found.outcome == "not applicable":
        pytest.skip(found.how)
    assert found.outcome == "contained", found.how


@pytest.mark.deep
@pytest.mark.parametrize("attack", HOST_ATTACKS, ids=lambda attack: attack.name)
def test_a_trusting_host_falls_for_it(attack: HostAttack, tmp_path: Path) -> None:
    assert attack.proof(tmp_path)


@pytest.mark.parametrize("attack", HOST_ATTACKS, ids=lambda attack: attack.name)
def test_the_host_does_not_fall_for_it(attack: HostAttack, tmp_path: Path, sandboxes: Sandboxes) -> None:
    assert attack.contained(tmp_path, sandboxes)
