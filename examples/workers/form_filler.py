"""A worker for texts in one file: it fills a form, without any model.

Called as: form_filler.py REQUEST.json OUTPUT

The buyer's prompt says what to fill in, a line for each field (`name: Ada`), and the JSON schema of the order says what
the form looks like. A field that the prompt does not name gets the first value that its rules allow, or a text that
says that nothing was said about it. Without a schema the text is the prompt's own lines, as a list. It understands
nothing; that is the point of an example.

`form_filler.toml` beside it is the profile to serve it with:

    choir provider serve --worker examples/workers/form_filler.toml
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOTHING = "nothing was said about this"


def said_in(prompt: str) -> dict[str, str]:
    """What the prompt says of each field."""
    pairs = (line.partition(":") for line in prompt.splitlines())
    return {name.strip(" -*").lower(): value.strip() for name, colon, value in pairs if colon and value.strip()}


def filled(schema: Mapping[str, Any], said: Mapping[str, str], name: str = "") -> Any:
    """A value of the shape that is asked for."""
    given = said.get(name.lower())
    if "enum" in schema:
        return next((item for item in schema["enum"] if str(item) == given), schema["enum"][0])
    kind = schema.get("type", "string")
    if kind == "object":
        known = schema.get("properties", {})
        wanted = [field for field in known if field in schema.get("required", ()) or field.lower() in said]
        return {field: filled(known[field], said, field) for field in wanted}
    if kind == "array":
        items = [item.strip() for item in (given or "").split(",") if item.strip()]
        items += [NOTHING] * (schema.get("minItems", 0) - len(items))
        items = items[: schema.get("maxItems", len(items))]
        return [filled(schema.get("items", {}), {**said, name.lower(): item}, name) for item in items]
    if kind in ("integer", "number"):
        return number(schema, given, whole=kind == "integer")
    if kind == "boolean":
        return (given or "").lower() in ("yes", "true")
    return None if kind == "null" else text(schema, given)


def number(schema: Mapping[str, Any], given: str | None, *, whole: bool) -> int | float:
    try:
        value = float(given or 0)
    except ValueError:
        value = 0.0
    value = min(max(value, schema.get("minimum", value)), schema.get("maximum", value))
    return round(value) if whole else value


def text(schema: Mapping[str, Any], given: str | None) -> str:
    value = given or NOTHING
    return value.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", None)]


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    said = said_in(request["prompt"])
    if request["schema"] is None:
        answer = "\n".join(f"- {name}: {value}" for name, value in said.items()) or request["prompt"].strip()
    else:
        answer = json.dumps(filled(request["schema"], said), ensure_ascii=False)
    Path(sys.argv[2]).write_text(answer, encoding="utf-8")
    print(f"{len(said)} said, {len(answer)} characters written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
