"""Shapes about the node itself."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from choir.doors.shapes import Wire, example

_VALUE = {
    "name": "node.request_s_max", "value": 30, "default": 30, "unit": "seconds", "low": 1, "high": 600,
    "source": "spec: node limits", "doc": "Maximum duration of a request.",
}  # fmt: skip


class NodeOut(
    Wire,
    json_schema_extra=example(
        id="node_01j9zq4n8ve5trx0k2m3b4c5d6",
        mode="dev",
        origin="choir.example/ledger",
        key="choir.example/ledger+1f2e3d4c+AQ…",
        version="0.1.0",
        policy="sha256:" + "ab" * 32,
        entries=42,
        now="2026-11-02T09:30:00.000000Z",
    ),
):
    id: str
    mode: str
    origin: str
    key: str = Field(description="The current verifier key for checkpoints.")
    version: str
    policy: str
    entries: int
    now: str


class PolicyValueOut(Wire, json_schema_extra=example(**_VALUE)):
    name: str
    value: int
    default: int
    unit: str
    low: int
    high: int
    source: str
    doc: str


class PolicyOut(Wire, json_schema_extra=example(hash="sha256:" + "ab" * 32, values=[_VALUE])):
    hash: str
    values: list[PolicyValueOut]


class ExplainOut(
    Wire,
    json_schema_extra=example(
        subject="entry_01j9zq8e40kazxc5r7s8g9hajb", sentences=["It moved 12.500 SAT."], facts={"seq": 42}
    ),
):
    """Explain which rule and inputs produced something."""

    subject: str
    sentences: list[str]
    facts: dict[str, Any]
