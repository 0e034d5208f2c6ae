"""The usual set-ups are found, with the files that decide them and the registries that they need."""

from __future__ import annotations

import json

import pytest

from choir.bazaar.contracts import Environment
from choir.bazaar.environments.detection import CARGO, GO, NPM, PYPI, YARN, detect
from choir.bazaar.policy import VerificationPolicy

PROJECT = '[project]\nname = "x"\nversion = "1"\n'
NEEDY = PROJECT + 'dependencies = ["a"]\n'
PACKAGE = json.dumps({"name": "x", "version": "1.0.0"})
EDITABLE = "pip install --config-settings editable_mode=compat -e"


def found(files: dict[str, str], subdir: str = "") -> tuple[Environment | None, str]:
    return detect(files.keys(), files.__getitem__, subdir)


@pytest.mark.parametrize(
    ("files", "setup", "setup_files", "hosts"),
    [
        ({"requirements.txt": "a\n"}, "pip install -r requirements.txt", ("requirements.txt",), PYPI),
        (
            {"requirements.txt": "a\n", "requirements-dev.txt": "-r requirements.txt\n-c base.txt\n", "base.txt": ""},
            "pip install -r requirements-dev.txt -r requirements.txt",
            ("base.txt", "requirements-dev.txt", "requirements.txt"),
            PYPI,
        ),
        ({"requirements.txt": "-e .\n", "pyproject.toml": PROJECT}, "pip install -r requirements.txt", (), PYPI),
        ({"pyproject.toml": NEEDY}, f"{EDITABLE} .", (), PYPI),
        ({"pyproject.toml": PROJECT, "setup.py": ""}, f"{EDITABLE} .", (), PYPI),
        (
            {"pyproject.toml": PROJECT + '[project.optional-dependencies]\ntest = ["a"]\ndocs = ["b"]\n'},
            f"{EDITABLE} '.[test]'",
            (),
            PYPI,
        ),
        (
            {"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["a>=1", {include-group = "x"}]\n'},
            f"{EDITABLE} . 'a>=1'",
            (),
            PYPI,
        ),
        ({"setup.py": ""}, f"{EDITABLE} .", (), PYPI),
        (
            {"pyproject.toml": PROJECT, "uv.lock": "", "requirements.txt": ""},
            "pip install uv && uv sync --frozen --no-install-project --all-extras --inexact",
            ("pyproject.toml", "uv.lock"),
            PYPI,
        ),
        (
            {"pyproject.toml": PROJECT, "poetry.lock": ""},
            "pip install poetry && poetry install --no-root --no-interaction --all-extras",
            ("poetry.lock", "pyproject.toml"),
            PYPI,
        ),
        (
            {"package.json": PACKAGE, "package-lock.json": "{}", ".npmrc": ""},
            "npm ci",
            (".npmrc", "package-lock.json", "package.json"),
            NPM,
        ),
        ({"package.json": PACKAGE}, "npm install --no-package-lock", ("package.json",), NPM),
        (
            {"package.json": json.dumps({"scripts": {"prepare": "x"}}), "package-lock.json": "{}"},
            "npm ci",
            (),
            NPM,
        ),
        (
            {"package.json": PACKAGE, "yarn.lock": ""},
            "npm install -g yarn@1 && yarn install --frozen-lockfile",
            ("package.json", "yarn.lock"),
            YARN,
        ),
        ({"go.mod": "", "go.sum": ""}, "go mod download", ("go.mod", "go.sum"), GO),
        ({"Cargo.toml": "", "Cargo.lock": ""}, "cargo fetch --locked", (), CARGO),
        ({"Makefile": "all:\ndeps: x\n\tpip\n", "requirements.txt": ""}, "make deps", (), PYPI),
        (
            {"requirements.txt": "", "package.json": PACKAGE, "package-lock.json": "{}"},
            "pip install -r requirements.txt && npm ci",
            ("package-lock.json", "package.json", "requirements.txt"),
            tuple(sorted(PYPI + NPM)),
        ),
    ],
)
def test_usual_set_ups(files: dict[str, str], setup: str, setup_files: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    environment, sentence = found(files)
    assert environment == Environment(setup, setup_files, hosts)
    assert Environment.read(environment.to_json(), VerificationPolicy()) == environment
    assert f"{setup.rsplit(' && ', maxsplit=1)[-1]}`" in sentence
    assert all(host in sentence for host in hosts)


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "x"},
        {"pyproject.toml": "[tool.ruff]\n"},
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": "not = [toml"},
        {"Makefile": "deps := 3\nall:\n"},
        {"go.mod": "", "vendor/modules.txt": ""},
        {"deep/requirements.txt": "a"},
    ],
)
def test_nothing_to_set_up_is_said(files: dict[str, str]) -> None:
    environment, sentence = found(files)
    assert environment is None
    assert sentence.startswith("No set-up found")


def test_a_folder_inside_a_repository_is_looked_at_by_itself() -> None:
    files = {"a b/requirements.txt": "x\n", "package.json": PACKAGE}
    environment, _ = found(files, "a b")
    assert environment == Environment("cd 'a b' && pip install -r requirements.txt", ("a b/requirements.txt",), PYPI)


@pytest.mark.parametrize("content", ["[", "[]", '{"scripts": 3}', '{"dependencies": []}', "\0"])
def test_odd_manifests_do_no_harm(content: str) -> None:
    environment, _ = found({"package.json": content})
    assert environment is not None
    assert environment.setup_files == ()
