"""What all records share: how one is read from untrusted JSON and written back, and the rules for its fields.

A record is a frozen dataclass whose fields have a rule beside their type, and pydantic reads it by them. Limits come
from the policy, which is the context of a reading. A record that our own code makes is not checked: the code that
makes it has the types to answer for, and its JSON is read again wherever it arrives.

Guarantees: a field that is not known is refused, not ignored; a value has exactly the type, size and bounds that its
rule asks for; text is NFC without control characters; nothing is converted silently. A refusal is a `BadField` which
names the field. Reading what was written gives the same record. pydantic is loaded by the first reading or writing,
not with this module.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_bytes, parse_json, parse_object_hash
from choir.foundation.errors import Invalid, TooLarge

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationInfo, ValidatorFunctionWrapHandler
    from pydantic_core import CoreSchema, ErrorDetails

Limit = int | Callable[[VerificationPolicy], int]

NEEDED: Any = object()  # stands for a field that JSON must have although callers may leave it out
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # Unicode's Cc without tab and the ends of lines
_MARKS_MAX = 30  # Unicode's "stream-safe" text; to order them takes time in the square of their number
_NAME_CHARS_MAX = 60  # of a name that a stranger chose, in an error
_shapes: dict[type[Record], TypeAdapter[Any]] = {}


class BadField(Invalid):
    """A request, result or artifact with a field that is not as it must be."""

    code = "bazaar.bad_field"
    sentence = "The field '{field}' is not valid: {why}."


class Wrong(ValueError):
    """Why a rule refuses a value; it does not know the name of the field. A refusal of its own kind is told as it is.

    `at` is the name or the number of what is wrong inside the value.
    """

    def __init__(self, why: str | Invalid, *at: int | str) -> None:
        super().__init__(str(why))
        self.why = why
        self.at = at


# --- records ----------------------------------------------------------------------------------------


class Record:
    """Base of everything that is read from JSON. What is wrong first, in the order of the fields, is told."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    # fields that came later: left out of JSON at their default, so that hashes from before they existed stay
    later: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def read(cls, value: Any, context: Any) -> Self:
        """A record from a JSON value; its rules are given the context."""
        from pydantic_core import ValidationError

        try:
            return _shape(cls).validate_python(value, context=context)  # type: ignore[no-any-return]
        except ValidationError as error:
            raise _refusal(error.errors(include_url=False)[0]) from None

    def to_json(self) -> dict[str, Any]:
        return _shape(type(self)).dump_python(self, mode="json")  # type: ignore[no-any-return]

    @classmethod
    def names(cls) -> frozenset[str]:
        """The names that its JSON may have."""
        return field_names(cls)

    @classmethod
    def absent(cls, context: Any) -> dict[str, Any]:  # noqa: ARG003
        """What JSON means by leaving a field out, where it is not what a caller means by that."""
        return {}

    @classmethod
    def arrange(cls, value: dict[str, Any]) -> dict[str, Any]:
        """The JSON as the record has its fields."""
        return value

    def check(self) -> None:
        """Raise if fields that are good by themselves do not go together."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        shape = core_schema.with_info_wrap_validator_function(partial(cls._read, cls.names()), handler(source))
        if cls.later:
            written = core_schema.wrap_serializer_function_ser_schema(partial(_without_defaults, cls.later))
            shape["serialization"] = written
        return shape

    @classmethod
    def _read(
        cls, names: frozenset[str], value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo[Any]
    ) -> Self:
        if not isinstance(value, dict):
            raise Wrong("it must be an object")
        known = {name: item for name, item in value.items() if name in names}
        found: Self = read(cls.absent(info.context) | cls.arrange(known))
        found.check()
        if len(known) < len(value):  # told by one name: an error for each of millions would take all memory
            raise Wrong("unknown field", min(value.keys() - names)[:_NAME_CHARS_MAX])
        return found


def _without_defaults(later: frozenset[str], record: Any, write: Callable[[Any], Any]) -> dict[str, Any]:
    """The record's JSON without those later fields that say nothing."""
    found: dict[str, Any] = write(record)
    silent = {item.name for item in fields(record) if item.name in later and getattr(record, item.name) == item.default}
    return {name: value for name, value in found.items() if name not in silent}


class Document(Record):
    """A record that travels as bytes of its own."""

    __slots__ = ()
    what: ClassVar[str]  # what it is called where it is too large

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> Self:
        """A record from untrusted bytes."""
        most = cls.bytes_max(policy)
        if len(data) > most:
            raise TooLarge(what=cls.what, size=len(data), limit=most)
        return cls.read(parse_json(data), policy)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> Self:
        """A record from an untrusted JSON value."""
        return cls.read(value, policy)

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())

    @classmethod
    def bytes_max(cls, policy: VerificationPolicy) -> int:
        return policy.request_bytes_max


def _shape(kind: type[Record]) -> TypeAdapter[Any]:
    """What pydantic made of a class; made when it is first used, as most processes need few."""
    if kind not in _shapes:
        from pydantic import TypeAdapter

        _shapes[kind] = TypeAdapter(kind)
    return _shapes[kind]


def field_names(kind: type[Record]) -> frozenset[str]:
    return frozenset(item.name for item in fields(kind))  # type: ignore[arg-type]  # every record is a dataclass


def _refusal(error: ErrorDetails) -> Invalid:
    """pydantic's error in our words."""
    place = [part for part in error["loc"] if part != "terms"]  # whose fields stand beside the request's own
    if error["type"] == "missing" or error["input"] is NEEDED:
        return BadField(field=_path(place), why="it is missing")
    wrong = error["ctx"]["error"]
    assert isinstance(wrong, Wrong), error["msg"]
    if isinstance(wrong.why, Invalid):
        return wrong.why
    place += wrong.at
    return BadField(field=_path(place) if place else "(all of it)", why=wrong.why)


def _path(place: list[int | str]) -> str:
    """A place as people write it: `issues[3].line`."""
    first, *others = place
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in others)


# --- rules ------------------------------------------------------------------------------------------


class Rule(ABC):
    """What a field's value must be. It stands in the annotation of the field, where pydantic finds it."""

    @abstractmethod
    def read(self, value: Any, info: ValidationInfo[Any]) -> Any:
        """The value as the record holds it; raises `Wrong`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(self.read)


class CodeRule(Rule):
    """A rule for what JSON cannot hold as the record does."""

    @abstractmethod
    def write(self, value: Any) -> Any:
        """The value as JSON holds it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.with_info_plain_validator_function(self.read, serialization=written)


@dataclass(frozen=True)
class Text(Rule):
    """Text for people or programs."""

    most: Limit
    least: int = 0

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        most = limit(self.most, info)
        if not isinstance(value, str):
            raise Wrong("it must be text")
        if not self.least <= len(value) <= most:
            raise Wrong(f"it must have {self.least} to {most} characters")
        if _CONTROL.search(value):
            raise Wrong("control characters are not allowed")
        if value.isascii():
            return value
        if _marks_in_row(value) > _MARKS_MAX:
            raise Wrong(f"more than {_MARKS_MAX} marks on one letter are not allowed")
        return unicodedata.normalize("NFC", value)


@dataclass(frozen=True)
class ExactText(Rule):
    """Text that is compared with bytes elsewhere, so it is taken as it is."""

    most: Limit

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        most = limit(self.most, info)
        if not isinstance(value, str) or len(value) > most:
            raise Wrong(f"it must be text of at most {most} characters")
        return value


@dataclass(frozen=True)
class Texts(Rule):
    """A list of texts, none of them empty."""

    most: Limit
    chars: Limit

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[str, ...]:
        text = Text(self.chars, 1)
        found = []
        for place, item in enumerate(items(value, limit(self.most, info))):
            try:
                found.append(text.read(item, info))
            except Wrong as wrong:
                raise Wrong(wrong.why, place) from None
        return tuple(found)


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number."""

    low: int
    high: Limit

    def read(self, value: Any, info: ValidationInfo[Any]) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Wrong("it must be a whole number")
        high = limit(self.high, info)
        if not self.low <= value <= high:
            raise Wrong(f"it must be from {self.low} to {high}")
        return value


class Yes(Rule):
    """Yes or no."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> bool:  # noqa: ARG002
        if not isinstance(value, bool):
            raise Wrong("it must be true or false")
        return value


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few words."""

    kind: type[StrEnum]

    def read(self, value: Any, info: ValidationInfo[Any]) -> StrEnum:  # noqa: ARG002
        try:
            return self.kind(value if isinstance(value, str) else "")
        except ValueError:
            raise Wrong("it must be one of " + ", ".join(item.value for item in self.kind)) from None


class Hash(Rule):
    """The name of an object."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> ObjectHash:  # noqa: ARG002
        try:
            return parse_object_hash(value if isinstance(value, str) else "")
        except Invalid:
            raise Wrong("it must be 'sha256:' and 64 lower-case hex digits") from None


@dataclass(frozen=True)
class Base64(CodeRule):
    """Any bytes, which JSON holds in base64."""

    text: Rule | None = None  # what the base64 must be first

    def read(self, value: Any, info: ValidationInfo[Any]) -> bytes:
        text = value if self.text is None else self.text.read(value, info)
        try:
            return base64.b64decode(text if isinstance(text, str) else "!", validate=True)
        except (binascii.Error, ValueError):
            raise Wrong("it must be base64") from None

    def write(self, value: Any) -> str:
        return base64.b64encode(value).decode()


@dataclass(frozen=True)
class Records:
    """A list of records, looked at up to the first that is wrong."""

    most: Limit
    least: int = 0

    def read(self, value: Any, info: ValidationInfo[Any]) -> list[Any]:
        found = items(value, limit(self.most, info))
        if len(found) < self.least:
            raise Wrong("there must be at least one")
        return found

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic import FailFast
        from pydantic_core import core_schema

        each = handler(Annotated[source, FailFast()])
        return core_schema.with_info_before_validator_function(self.read, each)


def items(value: Any, most: int) -> list[Any]:
    """The items of what must be a list."""
    if not isinstance(value, list | tuple):
        raise Wrong("it must be a list")
    if len(value) > most:
        raise Wrong(f"it must have at most {most} items")
    return list(value)


def limit(of: Limit, info: ValidationInfo[Any]) -> int:
    return of if isinstance(of, int) else of(info.context)


def _marks_in_row(text: str) -> int:
    """The most combining marks that follow each other."""
    most = row = 0
    for sign in text:
        row = row + 1 if unicodedata.combining(sign) else 0
        most = max(most, row)
    return most
