"""Reads the sources of /work/plan.json with tree-sitter and writes what they define and use, one JSON line for each.

Called as: python3 -I -c SOURCE TOOLS. /work/sources has the files one after another; the plan says which bytes are
which language. Names, kinds and places come from queries of our own; nothing is executed. A file whose parser dies is
marked and the others go on: files are read by a process that may be lost.

Guarantees: what is written about a file depends on its bytes and language alone, not on the others, the machine or
the time, unless a file keeps the parser busy for very long; every text is short and has no control character.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
from typing import Any

NAME_CHARS_MAX = 200
TEXT_CHARS_MAX = 200
CRASHES_MAX = 100
DEPTH_MAX = 500  # what is nested deeper is left out: queries take time in proportion to the depth
SIGNS_MAX = 1_000  # in a row without a word; a query looks along such a row from each of them
FILE_CPU_S_MAX = 20

MODULES = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
}

_JAVASCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement declaration: (variable_declaration (variable_declarator name: (identifier) @name) @variable))
"""
_TYPESCRIPT = f"""{_JAVASCRIPT}
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (identifier) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(public_field_definition name: (property_identifier) @name) @field
(property_signature name: (property_identifier) @name) @field
"""
DEFINITIONS = {
    "python": """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(type_alias_statement left: (type (identifier) @name)) @type
""",
    "javascript": f"{_JAVASCRIPT}(field_definition property: (property_identifier) @name) @field",
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": """
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (_) @receiver name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(method_elem name: (field_identifier) @name) @method
(field_declaration name: (field_identifier) @name) @field
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))
""",
    "rust": """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(enum_variant name: (identifier) @name) @constant
(trait_item name: (type_identifier) @name) @trait
(impl_item type: (_) @name) @impl
(mod_item name: (identifier) @name) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(type_item name: (type_identifier) @name) @type
(field_declaration name: (field_identifier) @name) @field
(macro_definition name: (identifier) @name) @macro
""",
}

_USES_OF_JAVASCRIPT = """
[(identifier) (shorthand_property_identifier)] @use
(call_expression function: (identifier) @call)
(new_expression constructor: (identifier) @call)
(member_expression property: (property_identifier) @member)
(import_specifier name: (identifier) @import)
(import_clause (identifier) @import)
"""
_USES_OF_TYPESCRIPT = f"{_USES_OF_JAVASCRIPT}(type_identifier) @type (extends_clause value: (identifier) @type)"
_TAGS = """
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
"""
USES = {
    "python": """
(identifier) @use
(call function: (identifier) @call)
(decorator (identifier) @call)
(attribute attribute: (identifier) @member)
(type (identifier) @type)
(class_definition superclasses: (argument_list (identifier) @type))
(import_statement (dotted_name (identifier) @import))
(import_from_statement (dotted_name (identifier) @import))
(aliased_import name: (dotted_name (identifier) @import))
""",
    "javascript": f"{_USES_OF_JAVASCRIPT}{_TAGS}(class_heritage (identifier) @type)",
    "typescript": _USES_OF_TYPESCRIPT,
    "tsx": f"{_USES_OF_TYPESCRIPT}{_TAGS}",
    "go": """
(identifier) @use
(type_identifier) @type
(call_expression function: (identifier) @call)
(selector_expression field: (field_identifier) @member)
""",
    "rust": """
(identifier) @use
(type_identifier) @type
(call_expression function: (identifier) @call)
(macro_invocation macro: (identifier) @call)
(field_expression field: (field_identifier) @member)
(scoped_identifier name: (identifier) @member)
(use_declaration (identifier) @import)
(use_declaration (scoped_identifier name: (identifier) @import))
(use_list (identifier) @import)
(use_list (scoped_identifier name: (identifier) @import))
(use_as_clause path: (identifier) @import)
(use_as_clause path: (scoped_identifier name: (identifier) @import))
""",
}
RANKS = ("use", "member", "type", "call", "import")  # what says more about a place wins, and comes later
TYPES = ("class", "interface", "trait", "impl", "struct", "enum")  # a function in one of these is its method
KIND_RANKS = ("type", "variable")  # what says less about a definition than any other pattern that fits it
COMMENTS = {"go": "(comment) @c", "rust": "[(line_comment) (block_comment)] @c"}

_CONTROL = re.compile("[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_SPACE = re.compile(rb"\s+")
_SIGNS = re.compile(rb"[^\w\"'`\x80-\xff]{%d}" % SIGNS_MAX)
_MARKS = re.compile(r"^\s*(?:///?!?|/\*+!?|\*+/?|#+)\s?|\s*\*+/\s*$")


def _cursor(query: Any) -> Any:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(query)
    cursor.set_max_start_depth(DEPTH_MAX)
    return cursor


class Places:
    """Bytes to code points: every offset that is asked for, in one pass over the text."""

    def __init__(self, data: bytes, wanted: set[int]) -> None:
        self._known: dict[int, int] | None = None
        if not data.isascii():
            self._known = {}
            before = count = 0
            for offset in sorted(wanted):
                count += len(data[before:offset].decode("utf-8", "surrogateescape"))
                self._known[offset] = count
                before = offset

    def __getitem__(self, offset: int) -> int:
        return offset if self._known is None else self._known[offset]


class Reader:
    """One language."""

    def __init__(self, language: str) -> None:
        from tree_sitter import Language, Parser, Query

        module, function = MODULES[language]
        grammar = Language(getattr(importlib.import_module(module), function)())
        self.name = language
        self.parser = Parser(grammar)
        self.definitions = Query(grammar, DEFINITIONS[language])
        self.uses = Query(grammar, USES[language])
        self.comments = None if language == "python" else Query(grammar, COMMENTS.get(language, "(comment) @c"))

    def read(self, data: bytes) -> dict[str, Any]:
        """What a file defines and uses."""
        if _SIGNS.search(_SPACE.sub(b"", data)):
            return {"skipped": "parser"}
        root = self.parser.parse(data).root_node
        found = self._definitions(_cursor(self.definitions).matches(root), data)
        uses = self._uses(_cursor(self.uses).captures(root), {item["name_byte"] for item in found})
        lines = [0, *(match.end() for match in re.finditer(b"\n", data))]
        wanted = {item[key] for item in found for key in ("begin", "end", "name_byte")}
        if not data.isascii():
            wanted |= {place for place, _ in uses} | {lines[node.start_point[0]] for _, (_, node) in uses}
        places = Places(data, wanted)
        docs = {} if self.comments is None else _comments(_cursor(self.comments).captures(root).get("c", []))
        symbols = []
        for item in found:
            if item["kind"] != "impl":
                symbols.append(self._symbol(item, data, places, docs))
            docs.pop(item["node"].start_point[0], None)  # a comment speaks of the first thing below it
        return {
            "errors": root.has_error,
            "symbols": symbols,
            "references": _grouped(uses, data, places, lines),
        }

    def _definitions(self, matches: list[tuple[int, dict[str, list[Any]]]], data: bytes) -> list[dict[str, Any]]:
        """Each definition once, from the outside in, with the name of what it stands in."""
        by_name: dict[int, dict[str, Any]] = {}
        for _, match in matches:
            receiver = match.pop("receiver", None)
            name = match.pop("name")[0]
            (kind, (node, *_)), *_ = match.items()
            if self.name == "go" and kind in ("constant", "variable"):  # one may name several
                matches += [(0, {"name": [more], f"{kind}s": [node]}) for more in node.children_by_field_name("name")]
                continue
            kind = kind.removesuffix("s") if self.name == "go" and kind != "class" else kind
            text = data[name.start_byte : name.end_byte].decode("utf-8", "replace")
            if kind == "impl":
                text = re.split(r"[<\s]", text, maxsplit=1)[0].rpartition("::")[2]
            if not text or len(text) > NAME_CHARS_MAX or _CONTROL.search(text):
                continue
            known = by_name.get(name.start_byte)
            if known is not None and kind in KIND_RANKS:
                continue
            by_name[name.start_byte] = {
                "name": text, "kind": kind, "node": node, "begin": node.start_byte, "end": node.end_byte,
                "name_byte": name.start_byte, "of": "" if receiver is None else _receiver(receiver[0], data),
            }  # fmt: skip
        ordered = sorted(by_name.values(), key=lambda item: (item["begin"], -item["end"], item["name_byte"]))
        _nest(ordered)
        return ordered

    @staticmethod
    def _uses(captures: dict[str, list[Any]], defined: set[int]) -> list[tuple[int, tuple[str, Any]]]:
        found: dict[int, tuple[str, Any]] = {}
        for kind in RANKS:
            for node in captures.get(kind, ()):
                found[node.start_byte] = (kind, node)
        return sorted((item for item in found.items() if item[0] not in defined), key=lambda item: item[0])

    def _symbol(self, item: dict[str, Any], data: bytes, places: Places, docs: dict[int, tuple[int, str]]) -> Any:
        node = item["node"]
        first = node.start_point[0] + 1
        return {
            "at": places[item["name_byte"]],
            "doc": _docstring(node, data) if self.name == "python" else _above(first, docs),
            "kind": item["kind"],
            "lines": [first, node.end_point[0] + 1],
            "name": item["name"],
            "parent": item["parent"],
            "signature": _signature(node, data),
            "span": [places[item["begin"]], places[item["end"]]],
        }


def _nest(ordered: list[dict[str, Any]]) -> None:
    """Name what each definition stands in; a function in a type is a method."""
    stack: list[dict[str, Any]] = []
    for item in ordered:
        while stack and not (stack[-1]["end"] >= item["end"] and stack[-1]["begin"] <= item["begin"]):
            stack.pop()
        around = stack[-1] if stack else None
        parent = "" if around is None else around["path"]
        if item["of"]:
            parent = item["of"]
        item["parent"] = parent if len(parent) <= NAME_CHARS_MAX else ""
        item["path"] = f"{item['parent']}.{item['name']}".lstrip(".")
        if around is not None and item["kind"] == "function" and around["kind"] in TYPES:
            item["kind"] = "method"
        if item["kind"] not in ("variable", "field", "constant"):
            stack.append(item)


def _receiver(node: Any, data: bytes) -> str:
    """The type that a method of Go belongs to."""
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("()")
    found = re.search(r"(\w+)\s*(?:\[.*)?$", text, re.DOTALL)
    return found[1][:NAME_CHARS_MAX] if found else ""


def plain(text: str) -> str:
    """A text in one line."""
    return _CONTROL.sub(" ", text[: 4 * TEXT_CHARS_MAX]).strip()[:TEXT_CHARS_MAX].rstrip()


def _signature(node: Any, data: bytes) -> str:
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    text = data[node.start_byte : min(end, node.start_byte + 8 * TEXT_CHARS_MAX)].decode("utf-8", "ignore")
    if body is None:
        text = text.split("\n", 1)[0]
    return plain(text).rstrip("{: =")


def _docstring(node: Any, data: bytes) -> str:
    body = node.child_by_field_name("body")
    first = body.named_child(0) if body is not None and body.named_child_count else None
    statement = first is not None and first.type == "expression_statement" and first.named_child_count
    said = first.named_child(0) if first is not None and statement else None
    if said is None or said.type != "string":
        return ""
    text = data[said.start_byte : min(said.end_byte, said.start_byte + 16 * TEXT_CHARS_MAX)].decode("utf-8", "ignore")
    text = re.sub(r"^[A-Za-z]*(\"\"\"|'''|\"|')", "", text)
    line = next((line for line in text.split("\n") if line.strip()), "")
    return plain(re.sub(r"(\"\"\"|'''|\"|')\s*$", "", line))


def _comments(nodes: list[Any]) -> dict[int, tuple[int, str]]:
    """For each line that a comment ends on: where the comment begins, and its first line."""
    found = {}
    for node in nodes:
        text = (node.text or b"")[: 16 * TEXT_CHARS_MAX].decode("utf-8", "ignore")
        said = next((line for line in (_MARKS.sub("", row) for row in text.split("\n")) if line.strip()), "")
        last = node.end_point[0] + (1 if node.end_point[1] else 0)  # some comments end with their line's end
        found[last] = (node.start_point[0] + 1, plain(said))
    return found


def _above(line: int, docs: dict[int, tuple[int, str]]) -> str:
    """The first words of the comments that stand directly above a line; not more than a page of them is looked at."""
    said = ""
    for _ in range(TEXT_CHARS_MAX):
        known = docs.get(line - 1)
        if known is None or known[0] >= line:
            break
        line, said = known[0], known[1] or said
    return said


def _grouped(uses: list[tuple[int, tuple[str, Any]]], data: bytes, places: Places, lines: list[int]) -> list[Any]:
    """Name, kind, and line and column of each place, in the order of the names."""
    groups: dict[tuple[str, str], list[int]] = {}
    ascii_ = data.isascii()
    for begin, (kind, node) in uses:
        name = data[begin : node.end_byte].decode("utf-8", "replace")
        if not name or len(name) > NAME_CHARS_MAX or _CONTROL.search(name):
            continue
        row, column = node.start_point
        if not ascii_:
            column = places[begin] - places[lines[row]]
        groups.setdefault((name, kind), []).extend((row + 1, column + 1))
    return [[name, kind, groups[name, kind]] for name, kind in sorted(groups)]


def work(plan: list[Any], sources: bytes, start: int, out: str) -> None:
    """Read the files from one on, a line for each, written as soon as it is known."""
    readers: dict[str, Reader] = {}
    with open(out, "a", encoding="utf-8") as file:  # noqa: PTH123
        for language, begin, end in plan[start:]:
            signal.setitimer(signal.ITIMER_PROF, FILE_CPU_S_MAX)  # ends the process, which is noticed
            try:
                reader = readers.get(language) or readers.setdefault(language, Reader(language))
                said = reader.read(sources[begin:end])
            except (RecursionError, ValueError):
                said = {"skipped": "parser"}
            file.write(json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
            file.flush()


def complete(out: str) -> int:
    """How many whole lines there are; half a line at the end goes."""
    if not os.path.exists(out):  # noqa: PTH110
        return 0
    with open(out, "rb+") as file:  # noqa: PTH123
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)
    return data.count(b"\n")


def main() -> int:
    sys.path.insert(0, f"{sys.argv[1]}/site")
    out = "/work/out"
    with open("/work/plan.json", encoding="utf-8") as file:  # noqa: PTH123
        plan = json.load(file)
    with open("/work/sources", "rb") as file_:  # noqa: PTH123
        sources = file_.read()
    open(out, "wb").close()  # noqa: PTH123
    for _ in range(CRASHES_MAX):
        done = complete(out)
        if done >= len(plan):
            return 0
        child = os.fork()
        if child == 0:
            work(plan, sources, done, out)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            at = complete(out)
            with open(out, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write('{"skipped":"parser"}\n' if at < len(plan) else "")
    return 1


if __name__ == "__main__":
    sys.exit(main())
