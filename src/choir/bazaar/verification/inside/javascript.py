"""Reads JavaScript and TypeScript test files with tree-sitter and tells which assertions could be held from outside.

Called as: python3 -I -c SOURCE TOOLS, with {"path": "text"} on standard input; writes what it found for each path.
Nothing is executed. A site is `assert.strictEqual(a, 3)`, `expect(a).toBe(3)` and their like, as a statement in the
function of a test; what stands below `try` or inside another function is left alone.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from typing import Any

GRAMMARS = {
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "cts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
OTHERS = ("tree_sitter_javascript", "language")
FUNCTIONS = {"arrow_function", "function_expression", "function", "function_declaration", "method_definition"}
ASSERT = re.compile(r"(?:assert(?:\.strict)?|t\.assert)\.(\w+)$|(strictEqual|deepStrictEqual)$")
TEST = re.compile(r"(?:test|it|t\.test|test\.test|test\.it)(?:\.only|\.concurrent)?$")
GROUP = re.compile(r"(?:describe|suite|test\.describe)(?:\.only)?$")
RELATIONS = {"equal": "loose", "strictEqual": "same", "deepEqual": "loose", "deepStrictEqual": "same"}
MATCHERS = {"toBe": "same", "toEqual": "like", "toStrictEqual": "same"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v"}
DEPTH_MAX = 300


class NoLiteral(Exception):
    """The code must be run to know its value."""


def text(node: Any) -> str:
    return node.text.decode(errors="replace") if node is not None else ""


def unescaped(body: str) -> str:
    found, place = [], 0
    pattern = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
    for match in pattern.finditer(body):
        found.append(body[place : match.start()])
        code = match[1] or match[2] or match[3]
        found.append(chr(int(code, 16)) if code else "" if match[4] == "\n" else ESCAPES.get(match[4], match[4]))
        place = match.end()
    return "".join([*found, body[place:]])


def literal(node: Any, depth: int = 0) -> Any:  # noqa: PLR0911 - one line for each type
    """A value as the observer would tell it."""
    if node is None or depth > DEPTH_MAX:
        raise NoLiteral
    kind = node.type
    if kind == "parenthesized_expression" and node.named_child_count == 1:
        return literal(node.named_children[0], depth + 1)
    if kind == "number":
        return ["j", str(float(number(text(node))))]
    if kind == "unary_expression" and text(node.children[0]) == "-" and node.children[1].type == "number":
        return ["j", str(-float(number(text(node.children[1]))))]
    plain = kind == "template_string" and not any(item.type == "template_substitution" for item in node.children)
    if kind == "string" or plain:
        return ["s", unescaped(text(node)[1:-1])]
    if kind in ("true", "false", "null", "undefined"):
        return [{"true": "y", "false": "x", "null": "n", "undefined": "u"}[kind]]
    if kind == "array" and all(child.is_named or text(child) in "[,]" for child in node.children):
        return ["l", [literal(child, depth + 1) for child in node.named_children if child.type != "comment"]]
    if kind == "object":
        return ["d", [pair(child, depth + 1) for child in node.named_children if child.type != "comment"]]
    raise NoLiteral


def is_literal(node: Any) -> bool:
    try:
        literal(node)
    except NoLiteral:
        return False
    return True


def number(said: str) -> float:
    plain = said.replace("_", "")
    if plain.lower().startswith(("0x", "0o", "0b")):
        return float(int(plain, 0))
    if plain.endswith("n"):
        raise NoLiteral
    return float(plain)


def pair(node: Any, depth: int) -> list[Any]:
    if node.type != "pair":
        raise NoLiteral
    key = node.child_by_field_name("key")
    if key.type == "property_identifier":
        name = text(key)
    elif key.type == "string":
        name = unescaped(text(key)[1:-1])
    else:
        raise NoLiteral
    if name == "__proto__":
        raise NoLiteral
    return [["s", name], literal(node.child_by_field_name("value"), depth)]


def arguments(call: Any) -> list[Any]:
    found = call.child_by_field_name("arguments")
    return [child for child in found.named_children if child.type != "comment"] if found is not None else []


def title(call: Any) -> str | None:
    """The title of a test or group, if it is a plain text."""
    given = arguments(call)
    try:
        value = literal(given[0]) if given else None
    except NoLiteral:
        return None
    return value[1] if value is not None and value[0] == "s" else None


def place_of(node: Any) -> tuple[str, bool] | None:
    """The full title of the test that a statement belongs to, and whether every run of it comes by."""
    titles: list[str] = []
    functions, block, required = 0, node.parent, False
    up = node
    while (up := up.parent) is not None:
        if up.type in ("try_statement", "catch_clause"):
            if not titles:
                return None
        elif up.type in FUNCTIONS:
            functions += 1
            if functions == 1:
                required = block is not None and up.child_by_field_name("body") == block
        elif up.type == "call_expression":
            function = text(up.child_by_field_name("function"))
            if not titles:
                if TEST.match(function) is None:
                    return None
                if functions != 1:
                    return None
            elif GROUP.match(function) is None and TEST.match(function) is None:
                return None
            name = title(up)
            if name is None:
                return None
            titles.insert(0, name)
    return (" > ".join(titles), required) if titles else None


def assertion(call: Any) -> tuple[Any, Any, str] | None:
    """What is observed, what is expected, and how they must stand to each other."""
    function, given = call.child_by_field_name("function"), arguments(call)
    found = ASSERT.match(text(function))
    if found is not None:
        relation = RELATIONS.get(found[1] or found[2])
        return (given[0], given[1], relation) if relation and len(given) >= 2 else None
    if function is None or function.type != "member_expression" or len(given) != 1:
        return None
    relation = MATCHERS.get(text(function.child_by_field_name("property")))
    expect = function.child_by_field_name("object")
    if relation is None or expect.type != "call_expression" or text(expect.child_by_field_name("function")) != "expect":
        return None
    observed = arguments(expect)
    return (observed[0], given[0], relation) if len(observed) == 1 else None


def span(node: Any) -> list[int]:
    return [node.start_byte, node.end_byte]


def site(call: Any) -> dict[str, Any] | None:
    parts, place = assertion(call), place_of(call.parent)
    if parts is None or place is None:
        return None
    observed, expected, relation = parts
    try:
        value = literal(expected)
    except NoLiteral:
        return None
    if is_literal(observed):
        return None  # both are known: nothing is tested
    waits = any(word in text(call) for word in ("await", "yield"))
    return {
        "test": place[0],
        "required": place[1],
        "whole": span(call),
        "observed": span(observed),
        "expected": span(expected),
        "value": value,
        "relation": relation,
        "waits": waits,
    }


def is_group(call: Any) -> bool:
    function = text(call.child_by_field_name("function"))
    return GROUP.match(function) is not None or TEST.match(function) is not None


def found_test(call: Any) -> dict[str, Any] | None:
    """A test, and where its body begins."""
    if TEST.match(text(call.child_by_field_name("function"))) is None or title(call) is None:
        return None
    names, up = [title(call)], call
    while (up := up.parent) is not None:
        if up.type == "call_expression" and is_group(up):
            if title(up) is None:
                return None
            names.insert(0, title(up))
    functions = [child for child in arguments(call) if child.type in FUNCTIONS]
    body = functions[-1].child_by_field_name("body") if functions else None
    if body is None or body.type != "statement_block":
        return None
    return {"name": " > ".join(str(name) for name in names), "body": body.start_byte + 1}


def walk(root: Any) -> Any:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def read(path: str, source: str, tree_sitter: Any) -> dict[str, Any]:
    module, name = GRAMMARS.get(path.rsplit(".", 1)[-1], OTHERS)
    language = tree_sitter.Language(getattr(importlib.import_module(module), name)())
    root = tree_sitter.Parser(language).parse(source.encode()).root_node
    if root.has_error:
        return {"tests": [], "sites": []}
    calls = [node for node in walk(root) if node.type == "call_expression"]
    tests = [found for call in calls if (found := found_test(call)) is not None]
    statements = [call for call in calls if call.parent.type == "expression_statement"]
    sites = [found for call in statements if (found := site(call)) is not None]
    return {"tests": tests, "sites": sites}


def main() -> None:
    sys.path.insert(0, f"{sys.argv[1]}/site")
    import tree_sitter  # type: ignore[import-not-found, unused-ignore]

    files = json.loads(sys.stdin.buffer.read())
    sys.setrecursionlimit(5_000)
    sys.stdout.write(json.dumps({path: read(path, source, tree_sitter) for path, source in files.items()}))


if __name__ == "__main__":
    main()
