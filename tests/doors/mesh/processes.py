"""Providers in processes of their own, as `choir provider serve` starts them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.operations.nodes import CHOIR, NodeUnderTest, until


@contextmanager
def serving(node: NodeUnderTest, home: Path, *workers: str) -> Iterator[Path]:
    """A provider that has qualified for all that its workers do."""
    said = home.with_suffix(".said")
    named = [word for name in workers for word in ("--worker", name)]
    command = [*CHOIR, "provider", "serve", "--json", *named, "--provider-home", str(home)]
    with said.open("w") as out:
        provider = subprocess.Popen(
            command, env=node.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        until(lambda: qualified(said) == len(workers), 120)
        yield said
    finally:
        provider.kill()
        provider.wait(30)


def lines_of(said: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.read_text().splitlines() if line.startswith("{")]


def qualified(said: Path) -> int:
    return len(
        {line["type"] for line in lines_of(said) if line.get("event") == "qualification" and line["state"] == "passed"}
    )
