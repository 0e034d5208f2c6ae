"""Finds the usual set-ups in a tree. Pure: names and texts in, an environment and one sentence out.

What was found is a proposal that the buyer sees before it is ordered. It prefers lock files; it lets a set-up see only
the files that decide it where the tool needs no more, so that its layer serves many commits; and it names only the
registries that the tool needs.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from choir.bazaar.contracts.environments import Environment

PYPI = ("files.pythonhosted.org", "pypi.org")
NPM = ("registry.npmjs.org",)
YARN = ("registry.npmjs.org", "registry.yarnpkg.com")
GO = ("proxy.golang.org", "sum.golang.org")
CARGO = ("crates.io", "index.crates.io", "static.crates.io")
_TEST_EXTRAS = ("test", "tests", "testing", "dev", "develop")
_REQUIREMENTS = re.compile(r"requirements([-_.](dev|test|tests|testing|ci))?\.txt\Z")
_INCLUDED = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)[ =]?\s*(\S+)", re.MULTILINE)
_LOCAL = re.compile(r"^\s*(?:-e\s|\.\s*$|\./|\.\[)", re.MULTILINE)
_DEPS = re.compile(r"^deps\s*:(?!=)", re.MULTILINE)
_ROOT_SCRIPTS = frozenset({"preinstall", "install", "postinstall", "prepare", "prepublish"})
_TEXT_CHARS_MAX = 1_000_000

Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Found:
    """One set-up, with what it rests on."""

    what: str  # for the sentence
    command: str
    files: tuple[str, ...]  # all it needs to see; none: the whole tree
    hosts: tuple[str, ...]


def detect(paths: Collection[str], read: Read, subdir: str = "") -> tuple[Environment | None, str]:
    """The environment that a tree seems to need, and a sentence about it.

    `read` gives a file's text. Only the top of the tree is looked at, or of the folder where the commands run.
    """
    prefix = f"{subdir}/" if subdir else ""
    names = {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}

    def text(name: str) -> str:
        return read(prefix + name)[:_TEXT_CHARS_MAX]

    found = [item for find in (_make, _python, _node, _go, _cargo) for item in find(names, text)]
    if any(item.what.startswith("Makefile") for item in found):  # it says itself what is to be done
        hosts = tuple(sorted({host for item in found for host in item.hosts}))
        found = [Found(found[0].what, found[0].command, (), hosts)]
    if not found:
        return None, "No set-up found: the tests run with the tools of the sandbox alone."
    return _joined(found, prefix, subdir), _sentence(found)


def _joined(found: list[Found], prefix: str, subdir: str) -> Environment:
    command = " && ".join(item.command for item in found)
    whole = any(not item.files for item in found)
    files = () if whole else tuple(sorted({prefix + name for item in found for name in item.files}))
    hosts = tuple(sorted({host for item in found for host in item.hosts}))
    return Environment(f"cd {shlex.quote(subdir)} && {command}" if subdir else command, files, hosts)


def _sentence(found: list[Found]) -> str:
    told = "; ".join(f"{item.what}: `{item.command}`" for item in found)
    hosts = sorted({host for item in found for host in item.hosts})
    return f"Found {told}" + (f", which may reach {', '.join(hosts)}." if hosts else ".")


# --- Python ---


def _python(names: Collection[str], text: Read) -> list[Found]:
    if "uv.lock" in names and "pyproject.toml" in names:
        command = "pip install uv && uv sync --frozen --no-install-project --all-extras --inexact"
        return [Found("uv.lock", command, ("pyproject.toml", "uv.lock"), PYPI)]
    if "poetry.lock" in names and "pyproject.toml" in names:
        command = "pip install poetry && poetry install --no-root --no-interaction --all-extras"
        return [Found("poetry.lock", command, ("poetry.lock", "pyproject.toml"), PYPI)]
    requirements = sorted(name for name in names if _REQUIREMENTS.match(name))
    if requirements:
        return [_requirements(requirements, names, text)]
    project = _project(names, text)
    if project is None and not {"setup.py", "setup.cfg"} & set(names):
        return []
    extras, more = _tests_of(project or {})
    if project is not None and "setup.py" not in names and not (extras or more or _needs(project)):
        return []  # its tests need nothing that the sandbox does not have
    target = f".[{','.join(extras)}]" if extras else "."
    words = " ".join(shlex.quote(item) for item in (target, *more))
    name = "pyproject.toml" if project is not None else "setup.py" if "setup.py" in names else "setup.cfg"
    return [Found(name, f"pip install --config-settings editable_mode=compat -e {words}", (), PYPI)]


def _requirements(requirements: list[str], names: Collection[str], text: Read) -> Found:
    """Together with what they include. One that installs the project itself needs the whole tree."""
    files, whole = set(requirements), False
    for name in requirements:
        content = text(name)
        included = {str(PurePosixPath(item)) for item in _INCLUDED.findall(content)}
        files |= included & set(names)
        whole = whole or bool(included - set(names)) or bool(_LOCAL.search(content))
    words = " ".join(f"-r {name}" for name in requirements)
    return Found(" and ".join(requirements), f"pip install {words}", () if whole else tuple(sorted(files)), PYPI)


def _project(names: Collection[str], text: Read) -> dict[str, Any] | None:
    """What pyproject.toml says, if it is of a package."""
    if "pyproject.toml" not in names:
        return None
    try:
        told = tomllib.loads(text("pyproject.toml"))
    except ValueError:
        return None
    return told if "project" in told or "build-system" in told or "poetry" in told.get("tool", {}) else None


def _needs(project: dict[str, Any]) -> bool:
    """Whether a package has dependencies, or may have: what is dynamic is told by nobody before it is built."""
    table = project.get("project", {})
    poetry = project.get("tool", {}).get("poetry", {}).get("dependencies", {})
    dynamic = "dependencies" in table.get("dynamic", [])
    return bool(table.get("dependencies")) or dynamic or bool(set(poetry) - {"python"}) or "project" not in project


def _tests_of(project: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The extras that are for tests, and what a group of that name lists."""
    extras = project.get("project", {}).get("optional-dependencies", {})
    groups = project.get("dependency-groups", {})
    named = [name for name in _TEST_EXTRAS if isinstance(extras, dict) and name in extras][:2]
    group: Any = next((groups[name] for name in _TEST_EXTRAS if isinstance(groups, dict) and name in groups), [])
    return named, [item for item in group if isinstance(item, str)] if isinstance(group, list) else []


# --- others ---


def _node(names: Collection[str], text: Read) -> list[Found]:
    if "package.json" not in names:
        return []
    scripts = _scripts(text("package.json"))
    own = tuple(name for name in (".npmrc",) if name in names)
    for lock, command, hosts in (
        ("package-lock.json", "npm ci", NPM),
        ("npm-shrinkwrap.json", "npm ci", NPM),
        ("pnpm-lock.yaml", "npm install -g pnpm && pnpm install --frozen-lockfile", NPM),
        ("yarn.lock", "npm install -g yarn@1 && yarn install --frozen-lockfile", YARN),
    ):
        if lock in names:
            files = () if scripts else ("package.json", lock, *own)
            return [Found(f"package.json with {lock}", command, files, hosts)]
    files = () if scripts else ("package.json", *own)
    return [Found("package.json without a lock file", "npm install --no-package-lock", files, NPM)]


def _scripts(content: str) -> bool:
    """Whether an install runs scripts of the project itself, or installs packages of the tree; then it needs all."""
    try:
        told = json.loads(content)
        scripts = told.get("scripts", {})
        named = [*told.get("dependencies", {}).values(), *told.get("devDependencies", {}).values()]
        local = "workspaces" in told or any(str(item).startswith(("file:", "link:")) for item in named)
        return local or bool(_ROOT_SCRIPTS & set(scripts))
    except (ValueError, AttributeError, TypeError):
        return True


def _go(names: Collection[str], text: Read) -> list[Found]:  # noqa: ARG001
    if "go.mod" not in names or "vendor/modules.txt" in names:
        return []
    files = tuple(name for name in ("go.mod", "go.sum") if name in names)
    return [Found("go.mod", "go mod download", files, GO)]


def _cargo(names: Collection[str], text: Read) -> list[Found]:  # noqa: ARG001
    if "Cargo.toml" not in names:
        return []
    locked = " --locked" if "Cargo.lock" in names else ""
    return [Found("Cargo.toml", f"cargo fetch{locked}", (), CARGO)]  # cargo wants to see every crate of the tree


def _make(names: Collection[str], text: Read) -> list[Found]:
    name = next((item for item in ("Makefile", "makefile", "GNUmakefile") if item in names), None)
    if name is None or not _DEPS.search(text(name)):
        return []
    return [Found(f"{name} with a target deps", "make deps", (), ())]
