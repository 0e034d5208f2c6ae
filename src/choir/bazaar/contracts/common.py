"""What the results of all job types have: a status, what the provider says it used, who stands for it.

Nothing here sets a price or proves anything. It is what the provider claims, kept beside what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from choir.bazaar.contracts.fields import Reader

_TOKENS_MAX = 10**12
ID_CHARS_MAX = 200


class ResultStatus(StrEnum):
    """What a provider says of its own work. Only a success is verified; a partial success is not paid."""

    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @classmethod
    def read(cls, reader: Reader) -> TokenUsage:
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        return cls(**{name: reader.whole(name, 0, _TOKENS_MAX, 0) for name in names})

    def to_json(self) -> dict[str, Any]:
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
        }


def read_usage(reader: Reader) -> TokenUsage:
    """Usage is a claim that may be left out."""
    value = reader.take("usage", {})
    inner = Reader(value, reader.name("usage"))
    found = TokenUsage.read(inner)
    inner.end()
    return found
