"""Tests that others wrote: published packages pass control in five runs of five, and most tests are held."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.bazaar.jobs.model import Strength
from choir.bazaar.verification.service import Verifier
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.real_suites import HEAD, PACKAGES, RUNS, Offline, Package, bench_verifier, measure

pytestmark = [pytest.mark.deep, pytest.mark.slow]


@pytest.fixture(scope="module")
def patient(sandboxes: Sandboxes) -> Iterator[Verifier]:
    with bench_verifier(sandboxes) as verifier:
        yield verifier


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_published_package_passes_every_time(
    package: Package, patient: Verifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        package.fetch()
    except Offline as why:
        pytest.skip(str(why))
    found = measure(package, patient, tmp_path)
    with capsys.disabled():
        sys.stdout.write(f"\n{HEAD}\n{found.row()}\n")
    assert found.noticed, "its own tests notice the fault"
    assert found.faults == (("", ""),) * RUNS
    whole = sum(found.ids.values())
    assert found.ids[Strength.NONE] <= 0.1 * whole
    assert found.ids[Strength.OUTSIDE] + found.ids[Strength.BLIND] > 0
