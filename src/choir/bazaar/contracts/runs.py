"""SandboxRun: a command run for the buyer, with what it wrote.

The artifact is a `RunOutput` in canonical JSON: exit code and both outputs whole. A command that the buyer calls
deterministic can be run again by the verifier, and then must give the same.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts.common import ID_CHARS_MAX, ResultStatus
from choir.bazaar.contracts.fields import Reader, read_bytes, read_value
from choir.bazaar.contracts.terms import Terms
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import canonical_bytes
from choir.foundation.words import on_screen

_WORDS_MAX = 1_000
_CPU_MILLI_MAX = 86_400_000
_EXIT_CODE_MAX = 255


@dataclass(frozen=True, slots=True)
class SandboxRunRequest:
    """What a buyer orders."""

    argv: tuple[str, ...]
    terms: Terms
    cpu_s_max: int  # the limit fixed at assignment: no more than this is ever paid
    memory_bytes_max: int | None = None
    stdin: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    deterministic: bool = False
    exit_code: int | None = None  # what it must end with, if the buyer cares

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> SandboxRunRequest:
        return read_bytes(data, policy.request_bytes_max, "The request", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> SandboxRunRequest:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> SandboxRunRequest:
        argv = tuple(
            Reader({"argv": item}).exact_text("argv", policy.text_chars_max)
            for item in reader.items("argv", _WORDS_MAX)
        )
        if not argv or not argv[0] or any("\0" in word for word in argv):
            raise reader.bad("argv", "it must name a program, and no word may have NUL")
        memory = reader.take("memory_bytes_max", None)
        code = reader.take("exit_code", None)
        return cls(
            argv=argv,
            terms=Terms.read(reader, policy),
            cpu_s_max=reader.whole("cpu_s_max", 1, policy.run_cpu_s_max, min(60, policy.run_cpu_s_max)),
            memory_bytes_max=None
            if memory is None
            else Reader({"memory_bytes_max": memory}).whole("memory_bytes_max", 4_000_000, 10**12),
            stdin=Reader({"stdin": reader.take("stdin", "")}).exact_text("stdin", policy.text_chars_max),
            environment=_read_environment(reader),
            deterministic=reader.yes("deterministic", False),
            exit_code=None if code is None else Reader({"exit_code": code}).whole("exit_code", 0, _EXIT_CODE_MAX),
        )

    def to_json(self) -> dict[str, Any]:
        return self.terms.to_json() | {
            "argv": list(self.argv),
            "cpu_s_max": self.cpu_s_max,
            "memory_bytes_max": self.memory_bytes_max,
            "stdin": self.stdin,
            "environment": dict(self.environment),
            "deterministic": self.deterministic,
            "exit_code": self.exit_code,
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class RunOutput:
    """The artifact."""

    exit_code: int
    stdout: bytes
    stderr: bytes = b""

    def __str__(self) -> str:
        """What it printed, as it fits a screen; `stdout` and `stderr` have all of it."""
        return "\n".join(on_screen(part) for part in (self.stdout, self.stderr) if part)

    def __repr__(self) -> str:
        sizes = f"{len(self.stdout)} bytes of output, {len(self.stderr)} bytes of errors"
        return f"<RunOutput: ended with code {self.exit_code}, {sizes}>"

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> RunOutput:
        most = policy.run_output_bytes_max * 3  # two outputs in base64, and the words around them
        return read_bytes(data, most, "The output", cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> RunOutput:
        return cls(
            reader.whole("exit_code", 0, _EXIT_CODE_MAX), _read_base64(reader, "stdout"), _read_base64(reader, "stderr")
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "stdout": base64.b64encode(self.stdout).decode(),
            "stderr": base64.b64encode(self.stderr).decode(),
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class SandboxRunResult:
    """What a provider claims about its run."""

    exit_code: int
    cpu_milli: int = 0  # CPU time in ms; can only lower what is paid
    status: ResultStatus = ResultStatus.SUCCESS
    error: str = ""
    trajectory_id: str = ""

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> SandboxRunResult:
        return read_bytes(data, policy.request_bytes_max, "The result", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> SandboxRunResult:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> SandboxRunResult:
        return cls(
            exit_code=reader.whole("exit_code", 0, _EXIT_CODE_MAX),
            cpu_milli=reader.whole("cpu_milli", 0, _CPU_MILLI_MAX, 0),
            status=reader.one_of("status", ResultStatus),
            error=reader.text("error", policy.text_chars_max, 0, ""),
            trajectory_id=reader.text("trajectory_id", ID_CHARS_MAX, 0, ""),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "cpu_milli": self.cpu_milli,
            "status": self.status.value,
            "error": self.error,
            "trajectory_id": self.trajectory_id,
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


def _read_base64(reader: Reader, name: str) -> bytes:
    value = reader.take(name)
    try:
        return base64.b64decode(value if isinstance(value, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise reader.bad(name, "it must be base64") from None


def _read_environment(reader: Reader) -> tuple[tuple[str, str], ...]:
    value = reader.take("environment", {})
    if not isinstance(value, dict) or len(value) > 100:
        raise reader.bad("environment", "it must be an object of at most 100 names")
    found = []
    for name, item in sorted(value.items()):
        plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
        if not plain or not isinstance(item, str) or "\0" in item or len(item) > 4_000:
            raise reader.bad("environment", "names are letters, digits and _; values are text without NUL")
        found.append((name, item))
    return tuple(found)
