"""What all requests have, and what all results have.

A request has terms: a ceiling for its cost, a time limit, a key that makes it count once. In JSON they stand beside the
request's own fields. A result has a status, what the provider says it used, and who stands for it. Nothing of a
result sets a price or proves anything: it is what the provider claims, kept beside what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from choir.bazaar.contracts.base import (
    NEEDED,
    CodeRule,
    Document,
    OneOf,
    Record,
    Rule,
    Text,
    Texts,
    Whole,
    Wrong,
    field_names,
)
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.errors import Invalid
from choir.foundation.ids import parse_id

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_AMOUNT = Text(18, 1)
_KEY = Text(200, 1)
_TIME_LIMIT = Whole(1, lambda policy: policy.time_limit_s_max)
_TOKENS = Whole(0, 10**12)
_CONTEXT_TOKENS_MAX = 10**9
FREE_TEXT = Text(lambda policy: policy.text_chars_max)
ID = Text(200)


class SecondReview(StrEnum):
    """Whether somebody else reviews the work before it is paid, and what happens if nobody is found in time."""

    NONE = ""
    BEST_EFFORT = "best_effort"  # then the verdict stands without it
    REQUIRED = "required"  # then the work is not accepted


class SkillName(Rule):
    """The id of a skill, or nothing."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = ID.read(value, info)
        if not text:
            return ""
        try:
            parse_id("skill", text)
        except Invalid as error:
            raise Wrong(str(error)) from None
        return text


class Amount(CodeRule):
    """An amount, which JSON holds as a decimal string."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> int:
        text = _AMOUNT.read(value, info)
        if not (text.isascii() and text.isdigit()) or (text != "0" and text[0] == "0"):
            raise Wrong("it must be a whole number of milli-satoshi as a decimal string")
        return int(text)

    def write(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Terms(Record):
    """The terms that do not depend on the kind of work."""

    max_cost_msat: Annotated[int, Amount()]
    time_limit_s: Annotated[int, _TIME_LIMIT]
    idempotency_key: Annotated[str, _KEY]
    skill: Annotated[str, SkillName()] = ""  # that the worker is given
    second_review: Annotated[SecondReview, OneOf(SecondReview)] = SecondReview.NONE  # of a patch or a review

    later: ClassVar[frozenset[str]] = frozenset({"skill", "second_review"})

    @classmethod
    def absent(cls, context: VerificationPolicy) -> dict[str, Any]:
        return {"time_limit_s": context.time_limit_s}


_TERMS = field_names(Terms)


class AgentTool(StrEnum):
    """What an agent may do in the sandbox, in words that are the same for all agents."""

    READ = "read"  # look at files, list and search them
    EDIT = "edit"  # change and create files
    SHELL = "shell"  # run commands


class Tools(Rule):
    """Tools by name; each once."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[AgentTool, ...]:
        words = Texts(len(AgentTool), 20).read(value, info)
        known = [tool.value for tool in AgentTool]
        if len(set(words)) < len(words) or not set(words) <= set(known):
            raise Wrong(f"each must be one of {', '.join(known)}, and named once")
        return tuple(AgentTool(word) for word in words)


ALLOWED_TOOLS = Tools()
CONTEXT_TOKENS = Whole(0, _CONTEXT_TOKENS_MAX)


class RequestRecord(Document):
    """What a buyer orders."""

    __slots__ = ()
    what: ClassVar[str] = "The request"

    def to_json(self) -> dict[str, Any]:
        made = super().to_json()
        terms: dict[str, Any] = made.pop("terms")
        return terms | made

    @classmethod
    def names(cls) -> frozenset[str]:
        return field_names(cls) - {"terms"} | _TERMS

    @classmethod
    def arrange(cls, value: dict[str, Any]) -> dict[str, Any]:
        terms = {name: item for name, item in value.items() if name in _TERMS}
        return {name: item for name, item in value.items() if name not in _TERMS} | {"terms": terms}


class ResultStatus(StrEnum):
    """What a provider says of its own work. Only a success is verified; a partial success is not paid."""

    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"
    TIMEOUT = "timeout"


STATUS = OneOf(ResultStatus)


@dataclass(frozen=True, slots=True)
class TokenUsage(Record):
    """Tokens as the provider counted them."""

    input_tokens: Annotated[int, _TOKENS] = 0
    output_tokens: Annotated[int, _TOKENS] = 0
    cache_read_tokens: Annotated[int, _TOKENS] = 0
    cache_write_tokens: Annotated[int, _TOKENS] = 0


class ResultRecord(Document):
    """What a provider claims about its work."""

    __slots__ = ()
    what: ClassVar[str] = "The result"

    @classmethod
    def absent(cls, context: VerificationPolicy) -> dict[str, Any]:  # noqa: ARG003
        return {"status": NEEDED}
