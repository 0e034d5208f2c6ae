"""Reviews, runs and texts: hostile ones are refused with their own reason, honest ones pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.jobs.model import JobType
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.verification.service import BadOrder, Verifier
from choir.bazaar.verification.texts import count_tokens
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import Invalid
from tests.bazaar.verification.other_deliveries import (
    DIFF,
    HONEST_OTHERS,
    REVIEW,
    REVIEWS,
    RUNS,
    TEXTS,
    review,
    text,
)
from tests.bazaar.verification.scene import Repository
from tests.bazaar.verification.table import Case


@pytest.mark.parametrize("case", [*REVIEWS, *RUNS, *TEXTS], ids=lambda case: case.name)
def test_a_hostile_delivery_is_refused(case: Case, repository: Repository, verifier: Verifier, tmp_path: Path) -> None:
    verdict = verifier.verify(*case.build(repository, tmp_path), rerun=case.rerun)
    assert (verdict.passed, verdict.reason, verdict.units_milli) == (False, case.reason, 0), verdict.checks


@pytest.mark.parametrize("case", HONEST_OTHERS, ids=lambda case: case.name)
def test_an_honest_delivery_passes(case: Case, repository: Repository, verifier: Verifier, tmp_path: Path) -> None:
    verdict = verifier.verify(*case.build(repository, tmp_path), rerun=case.rerun)
    assert verdict.passed, verdict.checks
    if case.units is not None:
        assert verdict.units_milli == case.units * 1000


def test_a_run_that_is_run_again_is_paid_by_what_we_measured(
    repository: Repository, verifier: Verifier, tmp_path: Path
) -> None:
    case = next(case for case in HONEST_OTHERS if case.name == "a run")
    verdict = verifier.verify(*case.build(repository, tmp_path), rerun=True)
    assert 0 < verdict.units_milli < 5_000, "not the hours that were claimed"
    assert verdict.tier == "bubblewrap"


def test_tokens_are_counted_by_our_own_measure() -> None:
    assert count_tokens("one two") == 2
    assert count_tokens("extraordinary") == 3
    assert count_tokens("1234, 文字!") == 6
    assert count_tokens(" \n\t") == 0


def test_an_order_whose_parts_do_not_belong_together_is_an_error_and_no_verdict(
    repository: Repository, verifier: Verifier, tmp_path: Path
) -> None:
    order, delivery = review(REVIEW)(repository, tmp_path)
    with pytest.raises(Invalid, match="does not match"):
        verifier.verify(replace(order, diff=DIFF + b"\n"), delivery)
    with pytest.raises(BadOrder, match="no bundle"):
        verifier.verify(Order(JobType.PATCH_GEN, repository.request()), repository.delivery(b""))
    _, other = text(b"words and words")(repository, tmp_path)
    with pytest.raises(BadOrder, match="another job type"):
        verifier.verify(order, Delivery(b"x", bytes_hash(b"x"), other.result))
