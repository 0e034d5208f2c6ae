"""Path patterns, test commands and schemas: what each says, in tables."""

from __future__ import annotations

from typing import Any

import pytest

from choir.bazaar.contracts import TextGenRequest, schemas
from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.contracts.paths import DISALLOWED, BadPattern, check_pattern, fits, fits_any
from choir.bazaar.policy import VerificationPolicy


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**", ["a", "a/b", ".env"], []),
        ("src/**", ["src/a.py", "src/a/b.py"], ["src", "source/a.py", "a/src/b.py"]),
        ("src", ["src", "src/a/b.py"], ["source", "a/src"]),
        ("src/", ["src/a.py"], ["srcs"]),
        ("*.py", ["a.py"], ["a/b.py", "a.pyc", "apy"]),
        ("**/*.py", ["a.py", "a/b/c.py"], ["a.txt"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z", "a/z/more"], ["z", "a/zz", "b/a/z"]),
        ("a/*/z", ["a/b/z"], ["a/z", "a/b/c/z"]),
        ("?.txt", ["a.txt"], [".txt", "ab.txt", "/.txt"]),
        ("a[1].txt", ["a[1].txt"], ["a1.txt"]),
        ("**/.env", [".env", "a/.env", "a/.env/b"], ["a.env", ".environment"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_a_pattern_means_one_thing(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in [*yes, *no] if fits(path, pattern)] == yes


@pytest.mark.parametrize(
    "pattern", ["", "/a", "../a", "a/../b", "a//b", "a/**b", "**a", "a\\b", "a\nb", "./a", "x" * 301]
)
def test_a_pattern_that_cannot_be_meant_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        check_pattern(pattern)


def test_the_default_disallows_secrets_in_any_case_and_gits_own_switches() -> None:
    for path in (".env", "a/.ENV", "deploy/Client_Secret.json", "sub/.gitmodules", ".github/workflows/ci.yml"):
        assert fits_any(path, DISALLOWED, fold=True), path
    for path in ("src/environment.py", ".github/README.md", "latest.py"):
        assert not fits_any(path, DISALLOWED, fold=True), path


@pytest.mark.parametrize(
    ("command", "arguments", "as_module"),
    [
        ("pytest", (), False),
        ("pytest -q tests/test_a.py", ("-q", "tests/test_a.py"), False),
        ("python3 -m pytest -q", ("-q",), True),
        ("python -m pytest", (), True),
        ("/usr/bin/python3.11 -m pytest -k 'a or b'", ("-k", "a or b"), True),
        ("PYTHONPATH=src python3 -m pytest", (), True),
        ("python3 -m unittest discover -s tests", ("discover", "-s", "tests"), True),
    ],
)
def test_a_pytest_command_is_taken_apart(command: str, arguments: tuple[str, ...], as_module: bool) -> None:
    found = parse_tests(command)
    assert found is not None
    assert (found.arguments, found.as_module) == (arguments, as_module)


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "pytest; true",
        "pytest || true",
        "pytest $(echo x)",
        "pytest > report",
        "cd a && pytest",
        "pytest 'unclosed",
        "LD_PRELOAD=x pytest",
        "PYTEST_PLUGINS=calc pytest",
        "",
        "X=1",
        "python3 pytest",
        "./pytest",
    ],
)
def test_anything_else_is_a_shell_command(command: str) -> None:
    assert parse_tests(command) is None


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3], [0, 4, 1.5, True, "1"]),
        ({"type": "number"}, [1, 1.5], [True, "1", None]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", True, 1.0]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, [[], [None]], [[1], [None, None]]),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            [{"a": ""}],
            [{}, {"a": 1}, {"a": "", "b": 1}],
        ),
    ],
)
def test_a_schema_is_looked_at_word_by_word(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    schemas.check_schema(schema, 8, 10)
    assert [schemas.fault(value, schema) for value in good] == [""] * len(good)
    assert all(schemas.fault(value, schema) for value in bad)


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["a"] * 11},
        {"required": [str(n) for n in range(11)]},
        {"items": {"properties": {str(n): {} for n in range(11)}}},
    ],
)
def test_a_schema_that_takes_long_to_look_at_is_refused(schema: dict[str, Any]) -> None:
    schemas.check_schema(schema, 8, 11)
    with pytest.raises(schemas.BadSchema):
        schemas.check_schema(schema, 8, 10)


def test_no_text_can_be_ordered_that_takes_minutes_to_check() -> None:
    policy = VerificationPolicy()
    terms = {"max_cost_msat": "1000000", "time_limit_s": 60, "idempotency_key": "k"}
    many = {"items": {"enum": list(range(50_000))}}
    with pytest.raises(schemas.BadSchema):
        TextGenRequest.from_json({"prompt": "say it", "max_tokens": 100_000, "schema": many, **terms}, policy)
