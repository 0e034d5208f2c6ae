"""Running the buyer's commands in the sandbox, under the supervisor.

Guarantees: a run starts from a tree that we laid out; its result is what the supervisor sealed with a key that the
tested code never had. No seal means no result. Output is hashed and counted, never kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.commands import PytestCommand, parse_pytest
from choir.bazaar.environments.model import Layer
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.reports import Report, read_report
from choir.bazaar.verification.toolchain import TARGET
from choir.bazaar.verification.trees import guarded, size_of
from choir.foundation.clock import Entropy
from choir.sandbox.model import EndReason, InFile, Limits, Mount, Result, Spec

TREE = "/work/tree"
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # ids of tests may hold sets
_GRACE_S = 10  # for the supervisor to start and to say its piece
_REPORT_BYTES_PER_TEST = 800
_CODES_BYTES_MAX = 16_000_000
_NO_REPORT = {"frames": [], "report_whole": False, "stdout_sha256": "", "stated": False}


@dataclass(frozen=True, slots=True)
class Control:
    """A negative control: which tests must fail, told in a way that only their own ids reveal."""

    salt: bytes = b""
    fail: frozenset[str] = frozenset()
    disguised: bool = False


@dataclass(frozen=True, slots=True)
class Bench:
    """All that running takes."""

    runs: Runs
    tools: Mount
    policy: VerificationPolicy
    entropy: Entropy
    cancelled: Callable[[], bool]
    seen: list[Result] = field(default_factory=list)  # what ran, for the tier
    layer: Layer | None = None  # the order's environment, below every tree that runs here

    def run(
        self,
        tree: Path,
        command: str,
        subdir: str = "",
        files: Sequence[InFile] = (),
        control: Control | None = None,
    ) -> Report:
        """Run one command in one tree; a pytest command is reported test by test."""
        key = self.entropy.bytes(32)
        config = self._config(command, subdir, key, control or Control())
        result = guarded(self.runs, self._spec(tree, config, files), self.cancelled)
        self.seen.append(result)
        return self._report(result, key)

    def codes(self, tree: Path, files: Sequence[str]) -> dict[tuple[str, str], frozenset[str]]:
        """The hashes of the tests in these files, by file and name, read without running anything of the tree."""
        wanted = [name for name in files if (tree / name).is_file()]
        if not wanted:
            return {}
        spec = Spec(
            argv=("/usr/bin/python3", "-I", f"{TARGET}/reader.py"),
            stdin=json.dumps(wanted).encode(),
            limits=Limits(memory_bytes=self.policy.test_memory_bytes, output_bytes=_CODES_BYTES_MAX, wall_s=60),
            files=tuple(InFile(f"tree/{name}", source=tree / name) for name in wanted),
            mounts=(self.tools,),
        )
        result = guarded(self.runs, spec, self.cancelled)
        try:
            read = json.loads(result.stdout) if result.ok else {}
        except ValueError:
            read = {}
        return {(file, name): frozenset(codes) for file, names in read.items() for name, codes in names.items()}

    def _config(self, command: str, subdir: str, key: bytes, control: Control) -> dict[str, Any]:
        found = parse_pytest(command)
        cwd = f"{TREE}/{subdir}".rstrip("/")
        config: dict[str, Any] = {
            "key": key.hex(),
            "mode": "command" if found is None else "pytest",
            "cwd": cwd,
            "command": command,
            "environment": dict(_ENVIRONMENT),
            "wall_s": self.policy.test_wall_s,
            "output_bytes_max": self.policy.test_output_bytes_max,
            "report_bytes_max": self.policy.tests_max * _REPORT_BYTES_PER_TEST,
        }
        if found is None:  # a script may call pytest too
            config["environment"]["PYTHONPATH"] = f"{TARGET}/site"
        else:
            config["pytest"] = _pytest_config(found, cwd, control)
            if self.layer is not None:
                config["pytest"]["late"] = list(self.layer.python_path)
        return config

    def _spec(self, tree: Path, config: dict[str, Any], files: Sequence[InFile]) -> Spec:
        policy, used = self.policy, size_of(tree)
        spec = Spec(
            argv=("/usr/bin/python3", "-I", "-S", f"{TARGET}/supervisor.py"),
            stdin=json.dumps(config).encode(),
            limits=Limits(
                memory_bytes=policy.test_memory_bytes + used,  # the workspace is in memory
                disk_bytes=policy.test_disk_bytes + used,
                processes=policy.test_processes,
                wall_s=policy.test_wall_s + _GRACE_S,
                cpu_s=policy.test_wall_s + _GRACE_S,
                output_bytes=policy.tests_max * _REPORT_BYTES_PER_TEST + 1_000_000,
            ),
            folder=tree,
            folder_at="tree",
            files=tuple(files),
            mounts=(self.tools,),
        )
        return spec if self.layer is None else self.layer.over(spec, tree)

    def _report(self, result: Result, key: bytes) -> Report:
        """The last sealed statement; the tested code may have written to the same pipe, but not with the seal."""
        for line in reversed(result.stdout.split(b"\n")):
            try:
                said = json.loads(line)
                seal = hmac.new(key, said["body"].encode(), hashlib.sha256).hexdigest()
                if hmac.compare_digest(seal, said["seal"]):
                    return read_report(json.loads(said["body"]))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue
        stopped = {EndReason.TIMEOUT: "timeout", EndReason.CPU: "timeout", EndReason.OUTPUT: "flood"}.get(
            result.ended, ""
        )
        if result.out_of_memory:
            stopped = "memory"
        return read_report(_NO_REPORT | {"exit_code": result.exit_code or 1, "stopped": stopped})


def _pytest_config(found: PytestCommand, cwd: str, control: Control) -> dict[str, Any]:
    path = dict(found.environment).get("PYTHONPATH", "")
    return {
        "arguments": list(found.arguments),
        "as_module": found.as_module,
        "path": [item if item.startswith("/") else f"{cwd}/{item}" for item in path.split(":") if item],
        "environment": dict(found.environment),
        "salt": control.salt.hex(),
        "fail": sorted(control.fail),
        "disguised": control.disguised,
    }
