"""Trials: small made-up orders by which a newcomer shows that it can do a type of job at all.

Each has fresh random parts, so that nobody else's answer fits it. They are easy on purpose: what a tool without a
model can do must be enough. Whoever passes is let in; how good they are shows in real jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.contracts import (
    CodeReviewRequest,
    HiddenCheck,
    HiddenChecks,
    HiddenFile,
    PatchGenRequest,
    RepoIndexRequest,
    SandboxRunRequest,
    Terms,
    TextGenRequest,
)
from choir.bazaar.jobs.model import JobType
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.sampling import defects as planting
from choir.bazaar.sampling.planted import Planted
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.clock import Entropy

_NUMBER_LOW = 1_000  # a number that Python does not keep ready, so that `is` and `==` differ
_NUMBERS = 8_000


@dataclass(frozen=True, slots=True)
class Trial:
    """An order as it is given out, with its inputs. What is hidden goes to the verifier alone."""

    request: dict[str, Any]
    shown: Mapping[str, bytes] = field(default_factory=dict)
    hidden: bytes | None = None
    commitment: ObjectHash | None = None


class Chance:
    """Random parts of a trial."""

    def __init__(self, entropy: Entropy) -> None:
        self.entropy = entropy

    def number(self) -> int:
        return _NUMBER_LOW + int.from_bytes(self.entropy.bytes(8)) % _NUMBERS

    def word(self) -> str:
        """Eight letters, good for a name in code."""
        return "".join(chr(ord("a") + byte % 26) for byte in self.entropy.bytes(8))

    def hex(self, count: int = 16) -> str:
        return self.entropy.bytes(count).hex()


def make(type_: JobType, chance: Chance, terms: Terms) -> Trial:
    """A trial of this type."""
    makers: dict[JobType, Callable[[Chance, Terms], Trial]] = {
        JobType.PATCH_GEN: _patch,
        JobType.CODE_REVIEW: _review,
        JobType.SANDBOX_RUN: _run,
        JobType.TEXT_GEN: _text,
        JobType.REPO_INDEX: _index,
    }
    return makers[type_](chance, terms)


def _run(chance: Chance, terms: Terms) -> Trial:
    """A number that nobody knows before it is computed."""
    program = (
        "import hashlib\n"
        f"value = bytes.fromhex('{chance.hex()}')\n"
        f"for _ in range({chance.number()}):\n"
        "    value = hashlib.sha256(value).digest()\n"
        "print(value.hex())\n"
    )
    request = SandboxRunRequest(("python3", "-c", program), terms, cpu_s_max=10, deterministic=True, exit_code=0)
    return Trial(request.to_json())


def _text(chance: Chance, terms: Terms) -> Trial:
    """An object of a given shape with a word that must come back."""
    word = chance.hex()
    schema = {
        "type": "object",
        "properties": {"echo": {"type": "string", "enum": [word]}, "text": {"type": "string", "minLength": 10}},
        "required": ["echo", "text"],
        "additionalProperties": False,
    }
    prompt = (
        "Answer with a JSON object and nothing else. It has two members:"
        f' "echo", which is the text {word}, and "text", one sentence of yours about any subject.'
    )
    return Trial(TextGenRequest(prompt, terms, max_tokens=400, schema=schema).to_json())


def _index(chance: Chance, terms: Terms) -> Trial:
    """A tiny repository in three languages, with names that nobody has seen."""
    one, two, three, most = chance.word(), chance.word(), chance.word(), chance.number()
    bundle = bundle_of(
        {
            f"{one}.py": f"MOST = {most}\n\n\ndef {two}(count):\n    return min(count, MOST)\n".encode(),
            f"web/{two}.js": f"export class {three.title()} {{\n  {one}(n) {{ return {two}(n); }}\n}}\n".encode(),
            f"tool/{three}.go": f"package tool\n\nfunc {one.title()}() int {{ return {most} }}\n".encode(),
            "README.md": f"# {one}\n".encode(),
        }
    )
    return Trial(RepoIndexRequest(bundle.commit, terms).to_json(), {"repository": bundle.data})


def _patch(chance: Chance, terms: Terms) -> Trial:
    """A tiny repository with a slip that linters know: a number is compared by identity."""
    module, most = f"shelf_{chance.word()}", chance.number()
    bundle = bundle_of(
        {
            f"{module}.py": _SHELF.format(most=most).encode(),
            f"test_{module}.py": _SHELF_TEST.format(module=module, most=most, less=most - 1).encode(),
            "README.md": f"# {module}\n\nA shelf with room for {most} boxes.\n".encode(),
        }
    )
    check = HiddenFile(
        f"hidden/test_{module}_more.py",
        _SHELF_HIDDEN.format(module=module, most=most, some=chance.number() % most).encode(),
    )
    hidden = HiddenChecks(chance.hex(), (HiddenCheck(f"python3 -m pytest -q {check.path}"),), (check,))
    request = PatchGenRequest(
        title="The shelf never notices that it is full",
        body=f"`is_full` in {module}.py says no where it should say yes. Make the tests pass.",
        base_commit=bundle.commit,
        test_command="python3 -m pytest -q",
        terms=terms,
        hidden=hidden.commitment,
    )
    return Trial(request.to_json(), {"repository": bundle.data}, hidden.to_bytes(), hidden.commitment)


_SHELF = '''"""A shelf of boxes."""


def is_full(count):
    """Whether so many boxes fill the shelf."""
    return count is {most}


def put(count, boxes):
    """How many boxes there are after putting some there, one by one, until it is full."""
    for _ in range(boxes):
        if is_full(count):
            break
        count += 1
    return count
'''
_SHELF_TEST = """from {module} import is_full, put


def test_it_is_full():
    assert is_full(int("{most}"))


def test_it_is_not_full():
    assert not is_full(int("{less}"))


def test_no_more_boxes_than_fit():
    assert put(int("{less}"), 5) == int("{most}")
"""
_SHELF_HIDDEN = """from {module} import is_full, put


def test_every_full_shelf_is_full():
    assert is_full(sum([{most} - {some}, {some}]))
    assert not is_full({some})


def test_a_full_shelf_takes_nothing():
    assert put(int("{most}"), {some}) == int("{most}")
"""


def _review(chance: Chance, terms: Terms) -> Trial:
    """A new file in which three lines are wrong, each in a way that people and linters know."""
    made = planting.make(chance.entropy)
    if made is not None:
        return Trial(_asked(made.diff, terms), {"diff": made.diff}, made.planted.to_bytes())
    name, most = chance.word(), chance.number()
    path = f"{name}/store.py"
    lines = _STORE.format(name=name, most=most).splitlines()
    marks = ("shell=True", "except:", f" is {most}")
    planted = tuple((path, place) for place, line in enumerate(lines, 1) if any(mark in line for mark in marks))
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    diff = f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}".encode()
    return Trial(_asked(diff, terms), {"diff": diff}, Planted(planted, len(lines), chance.hex()).to_bytes())


def _asked(diff: bytes, terms: Terms) -> dict[str, Any]:
    return CodeReviewRequest(bytes_hash(diff), terms, instructions="Say what is wrong, and on which lines.").to_json()


_STORE = '''"""Boxes of {name}, kept in files."""

import json
import subprocess
from pathlib import Path

FOLDER = Path("boxes")


def unpack(archive):
    """Unpack an archive that somebody sent."""
    FOLDER.mkdir(exist_ok=True)
    subprocess.run("tar -xf " + archive + " -C boxes", shell=True, check=True)
    return sorted(FOLDER.iterdir())


def load(name):
    """The contents of a box, empty if there is none."""
    path = FOLDER / name
    try:
        return json.loads(path.read_text())
    except:
        return {{}}


def save(name, contents):
    """Keep the contents of a box."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / name
    path.write_text(json.dumps(contents, sort_keys=True))
    return path


def is_full(name):
    """Whether a box holds as much as it can."""
    contents = load(name)
    return len(contents) is {most}


def names():
    """The names of all boxes."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_file())
'''
