"""Shapes about the node itself."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from choir.doors.wire.base import Wire


class NodeOut(Wire):
    id: str
    mode: str
    origin: str
    key: str = Field(description="The verifier key that signs checkpoints now.")
    version: str
    policy: str
    entries: int
    now: str


class PolicyValueOut(Wire):
    name: str
    value: int
    default: int
    unit: str
    low: int
    high: int
    source: str
    doc: str


class PolicyOut(Wire):
    hash: str
    values: list[PolicyValueOut]


class ExplainOut(Wire):
    """Which rule and which inputs produced something."""

    subject: str
    sentences: list[str]
    facts: dict[str, Any]
