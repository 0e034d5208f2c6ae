"""Writes the reference pages that the code itself can tell: `make docs`.

The command line, the HTTP API, the events, the settings, the policy and the errors are read from the code that
implements them, and the licences from what is installed, so these pages cannot say anything else.
`--check` writes nothing and ends with code 1 if a page is not what it should be; a test runs that.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer
from sbom import licences_page

import choir
from choir.doors.cli import output
from choir.doors.http.app import make_api
from choir.doors.http.problems import status_of
from choir.feature import load_features
from choir.features import FEATURES
from choir.foundation.errors import Broken, ChoirError, Refusal, Unavailable, known_codes
from choir.foundation.policy import PolicyValue, describe
from choir.foundation.settings import RawSettings
from choir.policies import default_policy

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
_HEAD = "<!-- Written by tools/generate_docs.py. Do not edit: change the code and run `make docs`. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "cli.md": cli_page(),
        "errors.md": errors_page(),
        "events.md": events_page(),
        "http.md": http_page(),
        "licences.md": _HEAD + licences_page(),
        "policy.md": policy_page(),
        "settings.md": settings_page(),
    }


# The command line


def cli_page() -> str:
    from choir.doors.cli.main import app

    parts = [
        "# Command line",
        "Every command of `choir`. `choir COMMAND --help` says the same in a terminal.",
        "Results go to standard output, everything else to standard error. `--json` prints exactly one JSON value"
        " (`choir events` one per line); an error is then one JSON object on standard error.",
        "`up`, `down`, `doctor`, `config`, `key`, `policy`, `backup`, `restore` and `ledger verify|export|import` work"
        " on the home folder of this machine. All other commands ask a running node over HTTP.",
        "## Exit codes",
        _table(
            ["code", "meaning"],
            [
                ["0", "done"],
                [str(output.EXIT_REFUSED), "refused, or a check failed"],
                [str(output.EXIT_USAGE), "wrong usage"],
                [str(output.EXIT_NO_NODE), "no node answers"],
                [str(output.EXIT_NOT_ALLOWED), "no valid credential, or not allowed"],
                [str(output.EXIT_DIFFERENCE), "verification found a difference"],
            ],
        ),
    ]
    for path, command in _commands(typer.main.get_command(app), ["choir"]):
        if hasattr(command, "commands"):
            parts += [f"## {' '.join(path)}"]
            by_itself = command.invoke_without_command  # then it is a command as well
            parts += list(_command_parts(path, command))[1:] if by_itself else [(command.help or "").strip()]
        else:
            parts += _command_parts(path, command)
    return _page(parts)


def _commands(command: Any, path: list[str]) -> Iterator[tuple[list[str], Any]]:
    """A group before its commands; single commands before the groups beside them."""
    yield path, command
    below = getattr(command, "commands", {})
    for name, item in sorted(below.items(), key=lambda pair: hasattr(pair[1], "commands")):
        yield from _commands(item, [*path, name])


def _command_parts(path: Sequence[str], command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=" ".join(path))
    text, _, example = (command.help or "").partition("Example: ")
    example = example or (command.epilog or "").removeprefix("Example: ")
    yield f"### {' '.join(path)}"
    yield "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))
    records = [item.get_help_record(context) for item in command.params]
    rows = [[f"`{record[0]}`", record[1]] for record in records if record]
    if rows:
        yield _table(["parameter", "what it is"], rows)
    if example:
        yield f"```text\n{example.strip()}\n```"


# Events


def events_page() -> str:
    parts = [
        "# Events",
        "What a node announces, by feature. [Follow events](../how-to/follow-events.md) says how to hear of it.",
    ]
    for feature in load_features(FEATURES):
        if feature.events:
            parts += [
                f"## {feature.name}",
                _table(["type", "what happened"], [[f"`{e}`", e.doc] for e in feature.events]),
            ]
    return _page(parts)


# Errors


def errors_page() -> str:
    _import_everything()
    rows = []
    for code, cls in known_codes().items():
        blank = cls.__new__(cls)
        rows.append(
            [
                f"`{code}`",
                _category(cls),
                str(status_of(blank)),
                str(output.exit_code(blank)),
                cls.sentence,
                cls.hint,
            ]
        )
    return _page(
        [
            "# Errors",
            "Every error has a stable code, a sentence, and where there is something to do about it, a hint. Over HTTP"
            " an error is `application/problem+json` (RFC 9457) with `code`, `detail`, `hint` and `fields`; the SDK"
            " raises the same class that the node raised; the command line prints the sentence and the hint and ends"
            " with the exit code. Words in braces are the fields.",
            _table(
                ["category", "meaning"],
                [
                    ["refusal", "the rules do not allow it; nothing was changed and no idempotency key was bound"],
                    ["unavailable", "a part cannot answer now; the same request may succeed later"],
                    ["broken", "stored data is not what it should be"],
                    ["other", "none of these"],
                ],
            ),
            _table(["code", "category", "HTTP", "exit", "sentence", "hint"], rows),
        ]
    )


def _category(cls: type[ChoirError]) -> str:
    names = {Refusal: "refusal", Unavailable: "unavailable", Broken: "broken"}
    return next((name for category, name in names.items() if issubclass(cls, category)), "other")


def _import_everything() -> None:
    """Errors are known once their modules are."""
    for module in pkgutil.walk_packages(choir.__path__, "choir."):
        importlib.import_module(module.name)


# Policy and settings


def policy_page() -> str:
    parts = [
        "# Policy",
        "Every limit, window, price and weight of the system. An override outside its bounds is refused at start."
        " [How to change policy](../how-to/change-policy.md).",
        "Amounts are shown as people write them. They are set in whole smallest units: 10.000 SAT is `10000`, 500.00"
        " CREDIT is `50000`. `choir policy explain NAME` says both.",
    ]
    values = list(describe(default_policy()))
    for feature in dict.fromkeys(item.name.partition(".")[0] for item in values):
        rows = [
            [f"`{item.name}`", *item.shown(item.default), _bounds(item), item.doc, item.source]
            for item in values
            if item.name.startswith(f"{feature}.")
        ]
        parts += [f"## {feature}", _table(["name", "default", "unit", "bounds", "what it is", "source"], rows)]
    return _page(parts)


def _bounds(item: PolicyValue) -> str:
    return f"{item.shown(item.low)[0]} to {item.shown(item.high)[0]}"


def settings_page() -> str:
    rows = [
        [
            f"`{item.name}`",
            f"`CHOIR_{item.name.upper()}`",
            f"`{item.default}`" if item.default else "",
            item.metadata["doc"] + (" Secret: never shown." if item.metadata["secret"] else ""),
        ]
        for item in fields(RawSettings)
    ]
    return _page(
        [
            "# Settings",
            "Settings say where things are on this machine. A flag wins over the environment, the environment over"
            " `choir.toml` in the home folder, the file over the default. `choir config show` prints every value and"
            " where it came from. Limits and windows are not settings: they are [policy](policy.md).",
            _table(["name in choir.toml", "environment", "default", "what it is"], rows),
            "`home` cannot stand in `choir.toml`, because the file is looked for there. Where `XDG_DATA_HOME` is set,"
            " the default home is `choir` below it. A name in the file that is not in this table is refused, and so is"
            " a `CHOIR_…` name in the environment by every command that acts on the settings; commands that only ask a"
            " node say so and go on. `CHOIR_TEST_…` is for Choir's own tests; what Kubernetes sets for services"
            " (`CHOIR_SERVICE_HOST` and the like) is passed over.",
            "Keys follow `home` too: a provider's in `providers/NAME` there (or where `CHOIR_PROVIDER_HOME` says), and"
            " this machine's own buyer's in `buyers`. Logins are for any node: they are in `~/.config/choir/logins`"
            " or below `XDG_CONFIG_HOME`, and beside them in `nodes` the keys that nodes were first seen with."
            " `choir config show` names all four.",
            "Policy values stand in the same file under `[policy.<feature>]`, or in the environment as"
            " `CHOIR_POLICY__<FEATURE>__<NAME>`.",
        ]
    )


# HTTP


def http_page() -> str:
    api = make_api().openapi()
    parts = [
        "# HTTP API",
        "A running node describes itself: `/v1/openapi.json`. Each operation below says which credentials can do:"
        " *operator* (`Authorization: Bearer <operator token>`), *token* (`Authorization: Bearer choir_pat_…`),"
        " *nostr* (`Authorization: Nostr <base64>`, a request signed as NIP-98 says, under the node's public"
        " address), *session* (the cookie of a browser that is signed in; what changes something needs the node's own"
        " `Origin`). A bad"
        " `Authorization` is refused also where none is needed.",
        "Amounts are decimal strings of the asset's smallest unit. Times are ISO 8601 in UTC. Unknown fields are"
        " refused. A `POST` that moves money needs an `Idempotency-Key` header: the same key and content have one"
        " effect, however often they are sent. Making agents, delegations, tokens and keys takes one too."
        " Every answer has an `X-Request-Id`, which the log has too. Errors are [problems with a code](errors.md).",
    ]
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            parts += _operation_parts(path, method, operation)
    parts.append("## Shapes")
    for name, schema in sorted(api["components"]["schemas"].items()):
        if name not in ("HTTPValidationError", "ValidationError"):
            parts += _schema_parts(name, schema)
    return _page(parts)


def _operation_parts(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"## {method.upper()} {path}"
    yield operation.get("description", operation["summary"])
    schemes = [scheme for item in operation.get("security", []) for scheme in item]
    yield f"Credential: {', '.join(schemes)}." if schemes else "No credential is needed."
    rows = [
        [
            f"`{item['name']}`",
            item["in"],
            _type(item["schema"]),
            "yes" if item.get("required") else "",
            item.get("description", item["schema"].get("description", "")),
        ]
        for item in operation.get("parameters", [])
        if item["name"] != "authorization"
    ]
    if rows:
        yield _table(["parameter", "in", "type", "required", "what it is"], rows)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        yield f"Body: {_type(body)}."
    answers = []
    for status, answer in sorted(operation["responses"].items()):
        if status.startswith("2"):
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            answers.append(f"{status}, {_type(schema)}" if schema else status)
    yield f"Answer: {'; '.join(answers)}."
    refusals = [status for status in sorted(operation["responses"]) if status >= "4"]
    if refusals:
        yield f"Refusals: {', '.join(refusals)}."


def _schema_parts(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    if schema.get("description"):
        yield " ".join(schema["description"].split())
    required = set(schema.get("required", []))
    yield _table(
        ["field", "type", "required", "what it is"],
        [
            [f"`{field}`", _type(item), "yes" if field in required else "", item.get("description", "")]
            for field, item in schema.get("properties", {}).items()
        ],
    )


def _type(schema: dict[str, Any]) -> str:
    """A schema in a word; shapes link to their table."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(item) for item in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{item}`" for item in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return str(schema.get("type", "anything"))


# Markdown


def _page(parts: Sequence[str]) -> str:
    return _HEAD + "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """Text that a table cannot mistake for its own marks."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if "`" in plain else plain.replace("<", "&lt;")


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for name, text in pages().items():
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/reference/{name} {'is not current: run `make docs`' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
