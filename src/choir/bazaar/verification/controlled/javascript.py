"""Controlled tests in JavaScript and TypeScript: test files read in a sandbox, and written for a run.

The parser is a program in C that reads a stranger's file, so it runs where strangers' code runs. What it tells is read
strictly. The same draws and the same judging hold as for Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from choir.bazaar.verification import indexing
from choir.bazaar.verification.controlled.rewriting import Forms
from choir.bazaar.verification.controlled.sites import Change, Form, FoundTest, Observation, Site, Span, Suite
from choir.bazaar.verification.controlled.values import Opaque, Relation, decode
from choir.bazaar.verification.foreign import clean
from choir.bazaar.verification.test_runs import Bench
from choir.bazaar.verification.trees import guarded
from choir.sandbox.model import Limits, Spec

SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
LANGUAGE = "javascript"
_HELPER = "globalThis.__choir__"
_HELPER_IN_JEST = "require('/opt/choir/observer.cjs')"  # jest gives tests a world of their own
_PROGRAM = Path(__file__).parent.parent / "inside" / "javascript.py"
_FILE_BYTES_MAX = 1_000_000
_WALL_S = 60
_RELATIONS = {"same": Relation.SAME, "like": Relation.LIKE, "loose": Relation.LOOSE}


def read_suites(bench: Bench, tree: Path, files: Iterable[str]) -> dict[str, Suite]:
    """The test files, read in a sandbox; what cannot be read has nothing to hold."""
    sources = {}
    for path in files:
        if path.endswith(SUFFIXES) and (tree / path).is_file() and (tree / path).stat().st_size <= _FILE_BYTES_MAX:
            sources[path] = (tree / path).read_bytes()
    if not sources or indexing.lacking():
        return {}
    told = _told(bench, sources)
    return {path: _suite(source, told.get(path)) for path, source in sources.items()}


def _told(bench: Bench, sources: Mapping[str, bytes]) -> Mapping[str, Any]:
    python, mounts = indexing.interpreter()
    texts = {path: source.decode(errors="replace") for path, source in sources.items()}
    spec = Spec(
        argv=(python, "-I", "-c", _PROGRAM.read_text(encoding="utf-8"), indexing.TARGET),
        stdin=json.dumps(texts).encode(),
        limits=Limits(memory_bytes=bench.policy.test_memory_bytes, wall_s=_WALL_S, output_bytes=16_000_000),
        mounts=(bench.parsers(), *mounts),
    )
    result = guarded(bench.runs, spec, bench.cancelled)
    try:
        found = json.loads(result.stdout) if result.ok else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _suite(source: bytes, told: Any) -> Suite:
    try:
        source.decode()
        tests = tuple(FoundTest(clean(str(item["name"])), True, _place(item["body"], source)) for item in told["tests"])
        sites = tuple(_site(number, item, source) for number, item in enumerate(told["sites"]))
    except (TypeError, KeyError, ValueError, IndexError, Opaque, UnicodeDecodeError):
        return Suite(source, language=LANGUAGE)
    pool = tuple(site.observation.value for site in sites if site.observation is not None)
    return Suite(source, tests, sites, pool=pool, language=LANGUAGE)


def _place(said: Any, source: bytes) -> int:
    if not isinstance(said, int) or not 0 <= said <= len(source):
        raise ValueError("a place outside of the file")
    return said


def _span(said: Any, source: bytes) -> Span:
    start, end = (_place(item, source) for item in said)
    if start > end:
        raise ValueError("a span that ends before it begins")
    return Span(start, end)


def _site(number: int, said: Mapping[str, Any], source: bytes) -> Site:
    value, whole, expected = decode(said["value"]), _span(said["whole"], source), _span(said["expected"], source)
    observation = Observation(_span(said["observed"], source), _RELATIONS[said["relation"]], value)
    changes = () if said["waits"] else (Change(expected, value, is_certain=True),)
    return Site(
        number,
        clean(str(said["test"])),
        whole,
        Form.CALL,
        whole,
        observation=observation,
        changes=changes,
        required=bool(said["required"]),
    )


# --- for a run ---


def rewrite(suite: Suite, forms: Forms, first: int, failing: frozenset[str], *, in_jest: bool) -> bytes:
    """The file for one run; tests that must fail throw at once."""
    helper = _HELPER_IN_JEST if in_jest else _HELPER
    edits = [(test.body, test.body, b" throw new Error('control');") for test in suite.tests if test.name in failing]
    for site in suite.sites:
        form = forms.forms.get(site.number)
        if form is not None:
            head = f"{helper}.{form.value}({first + site.number}, "
            edits.append((site.whole.start, site.whole.end, _written(suite, site, form, forms, head)))
    found, at = bytearray(), 0
    for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
        found += suite.source[at:start] + text
        at = end
    return bytes(found + suite.source[at:])


def _written(suite: Suite, site: Site, form: Form, forms: Forms, head: str) -> bytes:
    if form is Form.SEE:
        assert site.observation is not None
        span = site.observation.span
        text = head.encode() + b"(" + suite.source[span.start : span.end] + b"))"
    else:
        text = head.encode() + b"() => { " + _with_values(suite, site, forms) + b"; })"
    missing = suite.source.count(b"\n", site.whole.start, site.whole.end) - text.count(b"\n")
    return text[:-1] + b"\n" * max(0, missing) + b")"


def _with_values(suite: Suite, site: Site, forms: Forms) -> bytes:
    at, found = site.whole.start, bytearray()
    for change in site.changes:
        if change.span in forms.values:
            found += suite.source[at : change.span.start] + literal(forms.values[change.span]).encode()
            at = change.span.end
    return bytes(found + suite.source[at : site.whole.end])


def literal(value: Any) -> str:
    """A value as JavaScript writes it."""
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) else repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)}: {literal(item)}" for key, item in value.items()) + " }"
    if value is ...:
        return "undefined"
    return json.dumps(value)
