"""A small strict subset of JSON Schema, for texts that must be JSON of some shape.

Known words: type, properties, required, additionalProperties (true or false), items, enum, minimum, maximum,
minLength, maxLength, minItems, maxItems, description. Another word is refused, so that no rule is silently ignored. No
references and no patterns, and no long lists: checking takes time in proportion to the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from choir.foundation.errors import Invalid

_NUMBER = ("minimum", "maximum")
_COUNT = ("minLength", "maxLength", "minItems", "maxItems")
_LISTS = ("enum", "required", "properties")  # what is looked through for every value of a text
_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "description", *_NUMBER, *_COUNT}
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


class BadSchema(Invalid):
    """A schema with a word that is not known, or in a wrong place."""

    code = "bazaar.bad_schema"
    sentence = "The JSON schema is not valid at '{at}': {why}."


def check_schema(schema: Any, depth: int, items: int, at: str = "$") -> None:
    """That every word of a schema is one that is really looked at, and no list in it longer than `items`."""
    if depth < 1:
        raise BadSchema(at=at, why="it is nested too deeply")
    if not isinstance(schema, dict):
        raise BadSchema(at=at, why="it must be an object")
    for word, value in schema.items():
        if word not in _WORDS:
            raise BadSchema(at=f"{at}.{word[:40]}", why="this word is not supported")
        if not _word_is_good(word, value):
            raise BadSchema(at=f"{at}.{word}", why="its value has the wrong shape")
        if word in _LISTS and len(value) > items:
            raise BadSchema(at=f"{at}.{word}", why=f"it has more than {items} items")
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, depth - 1, items, f"{at}.{name[:40]}")
    if "items" in schema:
        check_schema(schema["items"], depth - 1, items, f"{at}[]")


def _word_is_good(word: str, value: Any) -> bool:
    if word == "type":
        return isinstance(value, str) and value in _TYPES
    if word == "required":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if word in _NUMBER:
        return _TYPES["number"](value)
    if word in _COUNT:
        return _TYPES["integer"](value) and value >= 0
    shapes = {"properties": dict, "items": dict, "enum": list, "additionalProperties": bool, "description": str}
    return isinstance(value, shapes[word])


def fault(value: Any, schema: Mapping[str, Any], at: str = "$") -> str:
    """Where and why a value does not have the shape; nothing if it has. Names places, never contents."""
    kind = schema.get("type")
    if kind is not None and not _TYPES[kind](value):
        return f"{at} is not of type {kind}"
    if "enum" in schema and not any(value == item and type(value) is type(item) for item in schema["enum"]):
        return f"{at} is none of the values allowed"
    if not _is_within(value, schema):
        return f"{at} is too small or too large"
    if isinstance(value, dict):
        return _object_fault(value, schema, at)
    if isinstance(value, list) and "items" in schema:
        faults = (fault(item, schema["items"], f"{at}[{place}]") for place, item in enumerate(value))
        return next((found for found in faults if found), "")
    return ""


def _is_within(value: Any, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, str):
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))
    if isinstance(value, list):
        return bool(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)))
    if _TYPES["number"](value):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def _object_fault(value: dict[str, Any], schema: Mapping[str, Any], at: str) -> str:
    known = schema.get("properties", {})
    lacking = [name for name in schema.get("required", []) if name not in value]
    if lacking:
        return f"{at} lacks '{lacking[0][:40]}'"
    if schema.get("additionalProperties", True) is False and not set(value) <= set(known):
        return f"{at} has a name that is not allowed"
    faults = (fault(value[name], inner, f"{at}.{name[:40]}") for name, inner in known.items() if name in value)
    return next((found for found in faults if found), "")
