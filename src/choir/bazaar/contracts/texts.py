"""TextGen: text of a bounded length, in a JSON shape if asked.

What it says is not verified: there is no objective check for it, so this job type counts for no tier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from choir.bazaar.contracts.base import CodeRule, Text, Whole, Wrong
from choir.bazaar.contracts.schemas import BadSchema, check_schema
from choir.bazaar.contracts.terms import (
    FREE_TEXT,
    ID,
    STATUS,
    RequestRecord,
    ResultRecord,
    ResultStatus,
    Terms,
    TokenUsage,
)

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_PROMPT = Text(lambda policy: policy.text_chars_max, 1)
_MAX_TOKENS = Whole(1, lambda policy: policy.text_tokens_max)
_MIN_CHARS = Whole(0, lambda policy: policy.text_bytes_max)


class Schema(CodeRule):
    """A JSON schema of which every word is really looked at."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> Any:
        try:
            check_schema(value, info.context.schema_depth_max, info.context.schema_items_max)
        except BadSchema as error:
            raise Wrong(error) from None
        return value

    def write(self, value: Any) -> dict[str, Any]:
        return dict(value)


@dataclass(frozen=True, slots=True)
class TextGenRequest(RequestRecord):
    """What a buyer orders."""

    prompt: Annotated[str, _PROMPT]
    terms: Terms
    max_tokens: Annotated[int, _MAX_TOKENS]  # no more than this is ever paid, counted by our own measure
    min_chars: Annotated[int, _MIN_CHARS] = 1
    system: Annotated[str, FREE_TEXT] = ""
    schema: Annotated[Mapping[str, Any], Schema()] | None = None  # the text must be JSON of this shape


@dataclass(frozen=True, slots=True)
class TextGenResult(ResultRecord):
    """What a provider claims about its text."""

    status: Annotated[ResultStatus, STATUS] = ResultStatus.SUCCESS
    error: Annotated[str, FREE_TEXT] = ""
    model: Annotated[str, ID] = ""
    trajectory_id: Annotated[str, ID] = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
