"""One running node with two server processes for each worker of a test run, reached at its own address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doors.http.visitors import Browser, serve
from tests.operations.nodes import NodeUnderTest, new_node


@pytest.fixture(scope="session")
def served() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        yield serve(node, CHOIR_PROCESSES="2")


@pytest.fixture
def ada(served: NodeUnderTest) -> Browser:
    """A new person, just signed up."""
    return Browser(served).sign_up()


@pytest.fixture
def bob(served: NodeUnderTest) -> Browser:
    return Browser(served).sign_up()
