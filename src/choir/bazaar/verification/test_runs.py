"""Running the buyer's commands in the sandbox, under the supervisor.

Guarantees: a run starts from a tree that we laid out; tests cannot write to it but where the order says, and what any
other command writes is gone with its run. The result is what the supervisor sealed with a key that the tested code
never had. No seal means no result. Output is hashed and counted, never kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.commands import Runner, TestCommand, parse_tests
from choir.bazaar.environments.model import Layer
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import foreign
from choir.bazaar.verification.model import Runs
from choir.bazaar.verification.reports import Report, read_report
from choir.bazaar.verification.toolchain import TARGET
from choir.bazaar.verification.trees import Entry, entries_of, guarded, lay_out, make_folder, put, size_of
from choir.foundation.clock import Entropy
from choir.sandbox.model import EndReason, InFile, Limits, Mount, Result, Spec

TREE = "/work/tree"
_WRITABLE = "/work/writable"
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # ids of tests may hold sets
_GRACE_S = 10  # for the supervisor to start and to say its piece
_REPORT_BYTES_PER_TEST = 800
_CODES_BYTES_MAX = 16_000_000
_NO_REPORT = {"frames": [], "report_whole": False, "stdout_sha256": "", "stated": False}


@dataclass(frozen=True, slots=True)
class Control:
    """Which tests must fail after their body, told in a way that only their own names reveal."""

    salt: bytes = b""
    fail: frozenset[str] = frozenset()

    @classmethod
    def of(cls, names: Iterable[str], entropy: Entropy) -> Control:
        """Names are `file::Class::test`, without parameters."""
        salt = entropy.bytes(16)
        return cls(salt, frozenset(hashlib.sha256(salt + name.encode()).hexdigest() for name in names))


@dataclass(frozen=True, slots=True)
class Setting:
    """The world that a command finds itself in. Right code is right in any."""

    folder: str = "tree"  # below the workspace
    environment: Mapping[str, str] = field(default_factory=dict)


def _no_parsers() -> Mount:
    raise AssertionError("no parsers were given")


@dataclass(frozen=True, slots=True)
class Bench:
    """All that running takes."""

    runs: Runs
    tools: Mount
    policy: VerificationPolicy
    entropy: Entropy
    cancelled: Callable[[], bool]
    writable: tuple[str, ...] = ()  # folders of the tree that tests may write to
    parsers: Callable[[], Mount] = field(default=_no_parsers)  # lends what reads other languages
    junit: str = ""  # where a command that is no known runner writes its report
    layer: Layer | None = None  # the order's environment, below every tree that runs here
    seen: list[Result] = field(default_factory=list)  # what ran, for the tier

    def run(
        self,
        tree: Path,
        command: str,
        subdir: str = "",
        control: Control | None = None,
        setting: Setting | None = None,
    ) -> Report:
        """Run one command in one tree; tests are reported one by one."""
        setting = setting or Setting()
        key = self.entropy.bytes(32)
        config = self._config(command, subdir, key, control or Control(), setting)
        with self._shown(tree) as shown:
            spec = self._spec(config)
            if config["mode"] == "tests":
                spec = replace(spec, files=self._copied(tree), mounts=(self.tools, Mount(shown, TREE)))
                spec = spec if self.layer is None else _over_shown(self.layer, spec, tree, shown)
            else:
                spec = replace(spec, folder=tree, folder_at=setting.folder)
                spec = spec if self.layer is None else self.layer.over(spec, tree, setting.folder)
            result = guarded(self.runs, self._with_room(spec), self.cancelled)
        self.seen.append(result)
        return self._report(result, key, command)

    def run_all(self, works: Sequence[Callable[[], Report]]) -> list[Report]:
        """Side by side, as many as the policy allows."""
        with ThreadPoolExecutor(max_workers=self.policy.runs_at_once) as pool:
            return list(pool.map(lambda work: work(), works))

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

    def _config(self, command: str, subdir: str, key: bytes, control: Control, setting: Setting) -> dict[str, Any]:
        found = parse_tests(command)
        cwd = f"/work/{setting.folder}/{subdir}".rstrip("/")
        config: dict[str, Any] = {
            "key": key.hex(),
            "mode": "tests" if found is not None and found.runner.is_python else "command",
            "cwd": cwd,
            "command": command if found is None or found.runner.is_python else foreign.command_of(found),
            "folders": [f"{_WRITABLE}/{place}" for place in range(len(self.writable))],
            "report_file": self._report_file(command, setting),
            "environment": _ENVIRONMENT | dict(setting.environment),
            "wall_s": self.policy.test_wall_s,
            "output_bytes_max": self.policy.test_output_bytes_max,
            "report_bytes_max": self.policy.tests_max * _REPORT_BYTES_PER_TEST,
        }
        if config["mode"] == "command":  # a script may call pytest too
            config["environment"]["PYTHONPATH"] = f"{TARGET}/site"
            if found is not None and found.runner.is_javascript:
                config["environment"]["NODE_OPTIONS"] = f"--require={TARGET}/observer.cjs"
        else:
            assert found is not None
            config["tests"] = _tests_config(found, cwd, control)
            config["tests"]["late"] = [] if self.layer is None else list(self.layer.python_path)
        return config

    def _spec(self, config: dict[str, Any]) -> Spec:
        policy = self.policy
        return Spec(
            argv=("/usr/bin/python3", "-I", "-S", f"{TARGET}/supervisor.py"),
            stdin=json.dumps(config).encode(),
            limits=Limits(
                memory_bytes=policy.test_memory_bytes,
                disk_bytes=policy.test_disk_bytes,
                processes=policy.test_processes,
                wall_s=policy.test_wall_s + _GRACE_S,
                cpu_s=policy.test_wall_s + _GRACE_S,
                output_bytes=policy.tests_max * _REPORT_BYTES_PER_TEST + 1_000_000,
            ),
            mounts=(self.tools,),
        )

    def _copied(self, tree: Path) -> tuple[InFile, ...]:
        """The folders that tests may write to."""
        places = enumerate(self.writable)
        return tuple(item for place, path in places for item in _files_below(tree / path, f"writable/{place}"))

    def _with_room(self, spec: Spec) -> Spec:
        """What is copied into the workspace lies in memory."""
        used = sum(item.source.stat().st_size for item in spec.files if item.source is not None)
        used += size_of(spec.folder) if spec.folder is not None else 0
        limits = spec.limits
        assert limits.memory_bytes is not None
        assert limits.disk_bytes is not None
        more = replace(limits, memory_bytes=limits.memory_bytes + used, disk_bytes=limits.disk_bytes + used)
        return replace(spec, limits=more)

    @contextmanager
    def _shown(self, tree: Path) -> Iterator[Path]:
        """The tree as it is mounted: folders that may be written to are links to where they were copied."""
        if not self.writable and (self.layer is None or not self.layer.added(tree)):
            yield tree
            return
        with tempfile.TemporaryDirectory(prefix="shown-", dir=tree.parent) as folder:
            shown = lay_out(tree, Path(folder) / "tree")
            for place, path in enumerate(self.writable):
                put(shown, path, Entry(b"", link=f"{_WRITABLE}/{place}"))
            yield shown

    def kind_of(self, command: str) -> Runner | str | None:
        """Who reports on this command's tests; nobody: all that is known is how it ends."""
        found = parse_tests(command)
        return found.runner if found is not None else (foreign.JUNIT if self.junit else None)

    def _report_file(self, command: str, setting: Setting) -> str:
        kind = self.kind_of(command)
        if kind is None or (isinstance(kind, Runner) and kind.is_python):
            return ""
        return f"/work/{setting.folder}/{self.junit}" if kind == foreign.JUNIT else foreign.REPORT

    def _read(self, body: dict[str, Any], command: str) -> Report:
        kind = self.kind_of(command)
        if kind is None or (isinstance(kind, Runner) and kind.is_python):
            return read_report(body)
        return foreign.report_of(body, foreign.read(kind, str(body.get("report_text", "")), TREE))

    def _report(self, result: Result, key: bytes, command: str) -> Report:
        """The last sealed statement; the tested code may have written to the same pipe, but not with the seal."""
        for line in reversed(result.stdout.split(b"\n")):
            try:
                said = json.loads(line)
                seal = hmac.new(key, said["body"].encode(), hashlib.sha256).hexdigest()
                if hmac.compare_digest(seal, said["seal"]):
                    return self._read(json.loads(said["body"]), command)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue
        stopped = {EndReason.TIMEOUT: "timeout", EndReason.CPU: "timeout", EndReason.OUTPUT: "flood"}.get(
            result.ended, ""
        )
        if result.out_of_memory:
            stopped = "memory"
        return self._read(_NO_REPORT | {"exit_code": result.exit_code or 1, "stopped": stopped}, command)


def _tests_config(found: TestCommand, cwd: str, control: Control) -> dict[str, Any]:
    path = dict(found.environment).get("PYTHONPATH", "")
    return {
        "runner": found.runner.value,
        "arguments": list(found.arguments),
        "as_module": found.as_module,
        "path": [item if item.startswith("/") else f"{cwd}/{item}" for item in path.split(":") if item],
        "environment": dict(found.environment),
        "salt": control.salt.hex(),
        "fail": sorted(control.fail),
    }


def _over_shown(layer: Layer, spec: Spec, tree: Path, shown: Path) -> Spec:
    """The run over the layer, where the tree is mounted: what the layer adds to the tree needs a place there first."""
    laid = layer.over(spec, tree)
    prefix = f"{TREE.removeprefix('/work/')}/"
    for item in laid.files:
        if item.path.startswith(prefix):
            content = item.content if item.source is None else item.source.read_bytes()
            put(shown, item.path.removeprefix(prefix), Entry(content, item.executable, item.link))
    for mount in laid.mounts:
        if mount.target.startswith(f"{TREE}/"):
            make_folder(shown / mount.target.removeprefix(f"{TREE}/"))
    return replace(laid, files=tuple(item for item in laid.files if not item.path.startswith(prefix)))


def _files_below(folder: Path, at: str) -> list[InFile]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    entries = entries_of(folder).items()
    return [InFile(f"{at}/{name}", source=path) for name, (path, facts) in entries if stat.S_ISREG(facts.st_mode)]
