"""Errors: each has a code of its own, a sentence that can always be said, and survives a process border."""

from __future__ import annotations

import ast
import importlib
import pickle
import pkgutil
import re
import string
from pathlib import Path

import pytest

import choir
from choir.foundation.errors import ChoirError, error_class, known_codes

for module in pkgutil.walk_packages(choir.__path__, "choir."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)


def subclasses(base: type[ChoirError]) -> list[type[ChoirError]]:
    return [base, *[found for direct in base.__subclasses__() for found in subclasses(direct)]]


CLASSES = sorted(
    {cls for cls in subclasses(ChoirError) if cls.__module__.startswith("choir.")}, key=lambda cls: cls.__qualname__
)


def names_in(text: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__qualname__)
def test_every_error_says_its_sentence_and_its_advice(cls: type[ChoirError]) -> None:
    fields = dict.fromkeys(names_in(cls.sentence) | names_in(cls.hint), "{odd} \0 %s")
    error = cls(**fields)
    assert str(error)
    assert "{" not in str(error).replace("{odd}", "")
    assert isinstance(error.advice, str)
    assert cls.sentence.endswith(".") or cls.sentence.endswith("}")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(again), again.fields, str(again)) == (cls, fields, str(error))


def test_codes_are_unique_and_lead_back_to_their_class() -> None:
    own = [cls for cls in CLASSES if "code" in cls.__dict__]
    assert len({cls.code for cls in own}) == len(own)
    for cls in own:
        if cls is not ChoirError:
            assert error_class(cls.code) is cls
            assert known_codes()[cls.code] is cls
            assert set(cls.code) <= set(string.ascii_lowercase + string.digits + "._")
    assert error_class("no.such.code") is None


def test_a_code_cannot_be_used_twice() -> None:
    with pytest.raises(TypeError, match="invalid"):
        type("Another", (ChoirError,), {"code": "invalid"})


def test_what_a_caller_wrote_is_not_formatted_again() -> None:
    from choir.ledger.model import ConflictingKey

    error = ConflictingKey(key="{source.__class__}", source="{}")
    assert str(error) == "The key '{source.__class__}' was already used by {} for other content."


# An amount as people write it has its asset's name behind it ("200.000 SAT"), never the name of a smallest unit.
RAW = re.compile(r"(?<=[}0-9])\s+(units\b|milli-?satoshi|msat\b|millisats?\b)")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__qualname__)
def test_no_sentence_shows_an_amount_in_smallest_units(cls: type[ChoirError]) -> None:
    assert RAW.search(cls.sentence) is None
    assert RAW.search(cls.hint) is None


def as_written(node: ast.JoinedStr) -> str:
    """An f-string with a brace where a value stands."""
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]


def test_no_text_in_the_source_shows_an_amount_in_smallest_units() -> None:
    found = [
        f"{file.name}:{node.lineno}: {as_written(node)}"
        for file in sorted(Path(choir.__path__[0]).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr) and RAW.search(as_written(node))
    ]
    assert found == []
