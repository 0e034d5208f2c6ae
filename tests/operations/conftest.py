"""Nodes for tests: one of its own, or one that a module's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.operations.nodes import NodeUnderTest, new_node


@pytest.fixture
def node() -> Iterator[NodeUnderTest]:
    """A node that is not started yet."""
    with new_node() as made:
        yield made


@pytest.fixture(scope="module")
def running() -> Iterator[NodeUnderTest]:
    """A running node that the tests of a module share."""
    with new_node() as made:
        yield made.up()
