"""TextGen: text of a bounded length, in a JSON shape if asked.

What it says is not verified: there is no objective check for it, so this job type counts for no tier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.contracts import schemas
from choir.bazaar.contracts.common import ID_CHARS_MAX, ResultStatus, TokenUsage, read_usage
from choir.bazaar.contracts.fields import Reader, read_bytes, read_value
from choir.bazaar.contracts.terms import Terms
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import canonical_bytes


@dataclass(frozen=True, slots=True)
class TextGenRequest:
    """What a buyer orders."""

    prompt: str
    terms: Terms
    max_tokens: int  # no more than this is ever paid, counted by our own measure
    min_chars: int = 1
    system: str = ""
    schema: Mapping[str, Any] | None = None  # the text must be JSON of this shape

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> TextGenRequest:
        return read_bytes(data, policy.request_bytes_max, "The request", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> TextGenRequest:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> TextGenRequest:
        schema = reader.take("schema", None)
        if schema is not None:
            schemas.check_schema(schema, policy.schema_depth_max, policy.schema_items_max)
        return cls(
            prompt=reader.text("prompt", policy.text_chars_max, 1),
            terms=Terms.read(reader, policy),
            max_tokens=reader.whole("max_tokens", 1, policy.text_tokens_max),
            min_chars=reader.whole("min_chars", 0, policy.text_bytes_max, 1),
            system=reader.text("system", policy.text_chars_max, 0, ""),
            schema=schema,
        )

    def to_json(self) -> dict[str, Any]:
        return self.terms.to_json() | {
            "prompt": self.prompt,
            "max_tokens": self.max_tokens,
            "min_chars": self.min_chars,
            "system": self.system,
            "schema": None if self.schema is None else dict(self.schema),
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class TextGenResult:
    """What a provider claims about its text."""

    status: ResultStatus = ResultStatus.SUCCESS
    error: str = ""
    model: str = ""
    trajectory_id: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> TextGenResult:
        return read_bytes(data, policy.request_bytes_max, "The result", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> TextGenResult:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> TextGenResult:
        return cls(
            status=reader.one_of("status", ResultStatus),
            error=reader.text("error", policy.text_chars_max, 0, ""),
            model=reader.text("model", ID_CHARS_MAX, 0, ""),
            trajectory_id=reader.text("trajectory_id", ID_CHARS_MAX, 0, ""),
            usage=read_usage(reader),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "error": self.error,
            "model": self.model,
            "trajectory_id": self.trajectory_id,
            "usage": self.usage.to_json(),
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())
