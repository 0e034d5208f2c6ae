"""One running node with two server processes for each worker of a test run, reached at its own address.

Its windows are short for articles of low risk, so that tests see them promoted; those of higher risk stay in theirs.
Articles need not be new here: most tests publish the same text again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doors.http.visitors import Browser, serve
from tests.operations.nodes import NodeUnderTest, new_node

SHORT_WINDOWS = {"CHOIR_POLICY__COMMONS__WINDOW_LOW_S": "0", "CHOIR_POLICY__COMMONS__LOOK_EVERY_S": "1"}
NOTHING_NEW = {"CHOIR_POLICY__NOVELTY__SCORE_MIN": "0"}


@pytest.fixture(scope="session")
def served() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        yield serve(node, CHOIR_PROCESSES="2", **SHORT_WINDOWS, **NOTHING_NEW)


@pytest.fixture
def ada(served: NodeUnderTest) -> Browser:
    """A new person, just signed up."""
    return Browser(served).sign_up()


@pytest.fixture
def bob(served: NodeUnderTest) -> Browser:
    return Browser(served).sign_up()
