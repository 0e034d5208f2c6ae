"""What must not matter to a verdict: how much pytest is asked to print, and how narrow the node's umask is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from choir.bazaar.verification.service import Verifier
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import FIXED, Repository


@pytest.mark.parametrize("words", ["", "-v", "-rA --durations=3"])
def test_a_command_may_print_what_it_likes(
    verifier: Verifier, repository: Repository, tmp_path: Path, words: str
) -> None:
    """The first line that pytest prints names versions, which have to be found."""
    order = repository.order(test_command=f"python3 -m pytest {words} tests/test_calc.py")
    diff = repository.diff({"calc.py": FIXED}, tmp_path)
    found = verifier.verify(order, repository.delivery(diff))
    assert found.passed, found.reason


def test_a_narrow_umask_hides_no_tree_from_a_sandbox(
    sandboxes: Sandboxes, repository: Repository, tmp_path: Path
) -> None:
    """A sandbox may have a user id of its own."""
    diff = repository.diff({"calc.py": FIXED, "more/deep.py": "X = 1\n"}, tmp_path)
    before = os.umask(0o077)
    try:
        with Verifier(sandboxes, folder=tmp_path) as verifier:
            found = verifier.verify(repository.order(), repository.delivery(diff))
    finally:
        os.umask(before)
    assert found.passed, found.reason
