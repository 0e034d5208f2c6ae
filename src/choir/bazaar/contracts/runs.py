"""SandboxRun: a command run for the buyer, with what it wrote.

The artifact is a `RunOutput` in canonical JSON: exit code and both outputs whole. A command that the buyer calls
deterministic can be run again by the verifier, and then must give the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from choir.bazaar.contracts.base import (
    NEEDED,
    Base64,
    CodeRule,
    Document,
    ExactText,
    Rule,
    Whole,
    Wrong,
    Yes,
    items,
)
from choir.bazaar.contracts.terms import FREE_TEXT, ID, STATUS, RequestRecord, ResultRecord, ResultStatus, Terms
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.words import on_screen

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_WORDS_MAX = 1_000
_CPU_S = 60
_VARIABLES_MAX = 100
_VARIABLE_CHARS_MAX = 4_000
_CPU_S_MAX = Whole(1, lambda policy: policy.run_cpu_s_max)
_CPU_MILLI = Whole(0, 86_400_000)
_MEMORY_BYTES = Whole(4_000_000, 10**12)
_EXIT_CODE = Whole(0, 255)
_EXACT_TEXT = ExactText(lambda policy: policy.text_chars_max)


class Argv(Rule):
    """A program and its words."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[str, ...]:
        words = tuple(_EXACT_TEXT.read(item, info) for item in items(value, _WORDS_MAX))
        if not words or not words[0] or any("\0" in word for word in words):
            raise Wrong("it must name a program, and no word may have NUL")
        return words


class Environment(CodeRule):
    """Variables by name, which JSON holds as an object."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[tuple[str, str], ...]:  # noqa: ARG002
        if not isinstance(value, dict) or len(value) > _VARIABLES_MAX:
            raise Wrong(f"it must be an object of at most {_VARIABLES_MAX} names")
        for name, item in value.items():
            plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
            if not plain or not isinstance(item, str) or "\0" in item or len(item) > _VARIABLE_CHARS_MAX:
                raise Wrong("names are letters, digits and _; values are text without NUL")
        return tuple(sorted(value.items()))

    def write(self, value: Any) -> dict[str, str]:
        return dict(value)


@dataclass(frozen=True, slots=True)
class SandboxRunRequest(RequestRecord):
    """What a buyer orders."""

    argv: Annotated[tuple[str, ...], Argv()]
    terms: Terms
    cpu_s_max: Annotated[int, _CPU_S_MAX]  # the limit fixed at assignment: no more than this is ever paid
    memory_bytes_max: Annotated[int, _MEMORY_BYTES] | None = None
    stdin: Annotated[str, _EXACT_TEXT] = ""
    environment: Annotated[tuple[tuple[str, str], ...], Environment()] = ()
    deterministic: Annotated[bool, Yes()] = False
    exit_code: Annotated[int, _EXIT_CODE] | None = None  # what it must end with, if the buyer cares

    @classmethod
    def absent(cls, context: VerificationPolicy) -> dict[str, Any]:
        return {"cpu_s_max": min(_CPU_S, context.run_cpu_s_max)}


@dataclass(frozen=True, slots=True)
class RunOutput(Document):
    """The artifact."""

    what: ClassVar[str] = "The output"

    exit_code: Annotated[int, _EXIT_CODE]
    stdout: Annotated[bytes, Base64()]
    stderr: Annotated[bytes, Base64()] = b""

    def __str__(self) -> str:
        """What it printed, as it fits a screen; `stdout` and `stderr` have all of it."""
        return "\n".join(on_screen(part) for part in (self.stdout, self.stderr) if part)

    def __repr__(self) -> str:
        sizes = f"{len(self.stdout)} bytes of output, {len(self.stderr)} bytes of errors"
        return f"<RunOutput: ended with code {self.exit_code}, {sizes}>"

    @classmethod
    def bytes_max(cls, policy: VerificationPolicy) -> int:
        return policy.run_output_bytes_max * 3  # two outputs in base64, and the words around them

    @classmethod
    def absent(cls, context: VerificationPolicy) -> dict[str, Any]:  # noqa: ARG003
        return {"stderr": NEEDED}


@dataclass(frozen=True, slots=True)
class SandboxRunResult(ResultRecord):
    """What a provider claims about its run."""

    exit_code: Annotated[int, _EXIT_CODE]
    cpu_milli: Annotated[int, _CPU_MILLI] = 0  # CPU time in ms; can only lower what is paid
    status: Annotated[ResultStatus, STATUS] = ResultStatus.SUCCESS
    error: Annotated[str, FREE_TEXT] = ""
    trajectory_id: Annotated[str, ID] = ""
