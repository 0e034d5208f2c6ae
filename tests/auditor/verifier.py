"""Runs the auditor's file in this process, as its command line would."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "auditor" / "choir_verify.py"


def load() -> Any:
    """The file as a module. Signatures and the command line's grammar are remembered, for tests that check one file a
    thousand times."""
    spec = importlib.util.spec_from_file_location("choir_verify", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["choir_verify"] = module
    spec.loader.exec_module(module)
    module.__dict__["ed25519_is_valid"] = functools.lru_cache(maxsize=4096)(module.__dict__["ed25519_is_valid"])
    module.__dict__["build_parser"] = functools.cache(module.__dict__["build_parser"])
    return module


verify = load()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the command answered."""

    code: int
    report: dict[str, Any]

    @property
    def difference(self) -> dict[str, Any]:
        assert self.code == 5, self.report
        assert self.report["verified"] is False
        found: dict[str, Any] = self.report["difference"]
        return found


def run(command: str, file: Path, *options: str) -> Outcome:
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, encoding="utf-8")) as out:
        code = verify.main([command, str(file), "--json", *options])
        out.flush()
        text = raw.getvalue().decode()
    return Outcome(code, json.loads(text) if text else {})


def audit(folder: Path, data: bytes, *options: str) -> Outcome:
    """Verify these bytes as an export."""
    file = folder / "export.jsonl"
    file.write_bytes(data)
    return run("export", file, *options)
