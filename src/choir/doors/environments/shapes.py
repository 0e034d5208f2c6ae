"""Shapes of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.doors.shapes import Wire, example
from choir.foundation.clock import MICROSECONDS, format_time

if TYPE_CHECKING:
    from choir.sandbox.layers.shelf import KeptLayer

_LAYER: dict[str, Any] = {
    "name": f"sha256:{'3f' * 32}",
    "content": f"sha256:{'a1' * 32}",
    "bytes": 10_679_636,
    "files": 948,
    "base": "machine",
    "machine": "machine:debian:12:x86_64:python3.11",
    "setup": "pip install -r requirements.txt",
    "setup_files": ["requirements.txt"],
    "hosts": ["files.pythonhosted.org", "pypi.org"],
    "built_at": "2026-01-05T10:00:00.000000Z",
    "used_at": "2026-01-05T11:30:00.000000Z",
    "wall_ms": 3857,
    "cpu_ms": 3417,
    "downloaded_bytes": 101_605,
    "left_out": [],
    "refused": [],
}


class LayerOut(Wire, json_schema_extra=example(**_LAYER)):
    """What a set-up left, kept for the jobs that ask for the same."""

    name: str = Field(description="Hash of all that went in: base, command, files, hosts, builder.")
    content: str = Field(description="Hash of what came out, without times.")
    bytes: int
    files: int
    base: str
    machine: str
    setup: str
    setup_files: list[str]
    hosts: list[str]
    built_at: str
    used_at: str
    wall_ms: int = Field(description="How long the set-up took.")
    cpu_ms: int
    downloaded_bytes: int
    left_out: list[str] = Field(description="What it wrote that is no folder, file or link; the first few.")
    refused: list[str] = Field(description="Hosts that it asked for and the order does not name; the first few.")

    @classmethod
    def of(cls, item: KeptLayer) -> LayerOut:
        facts = item.facts
        return cls(
            name=item.name,
            content=item.content,
            bytes=item.bytes,
            files=item.files,
            base=str(facts.get("base", "")),
            machine=str(facts.get("machine", "")),
            setup=str(facts.get("setup", "")),
            setup_files=list(facts.get("setup_files", [])),
            hosts=list(facts.get("hosts", [])),
            built_at=format_time(int(facts.get("built_at_us", 0))),
            used_at=format_time(int(item.used_at_s * MICROSECONDS)),
            wall_ms=int(facts.get("wall_ms", 0)),
            cpu_ms=int(facts.get("cpu_ms", 0)),
            downloaded_bytes=int(facts.get("downloaded_bytes", 0)),
            left_out=list(facts.get("left_out", [])),
            refused=list(facts.get("refused", [])),
        )


class LayerPage(Wire, json_schema_extra=example(items=[_LAYER], bytes=10_679_636, bytes_max=20_000_000_000)):
    """All layers of a node, the one that was used last first."""

    items: list[LayerOut]
    bytes: int = Field(description="Of all together.")
    bytes_max: int = Field(description="Beyond this, those unused for longest are removed.")
