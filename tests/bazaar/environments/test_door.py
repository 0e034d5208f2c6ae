"""`choir env` on a home folder of its own, and the operator's routes over the same layers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.contracts import Environment
from choir.bazaar.environments.layers import UnknownLayer, find, shelf_at
from choir.bazaar.environments.mirrors import BadMirrors, read_mirrors
from choir.bazaar.environments.readiness import check_machine
from choir.doors.environments.options import Asked, environment_for
from choir.doors.mesh import bundles
from choir.foundation.errors import Invalid
from choir.foundation.settings import load_settings
from choir.policies import default_policy
from tests.bazaar.verification.scene import Repository
from tests.sandbox.conftest import started

FILES = {"requirements.txt": "attrs\n", "main.py": "x = 1\n"}


class Terminal:
    """The command line with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *words: str, code: int = 0) -> str:
        command = [str(Path(sys.executable).with_name("choir")), "env", *words, "--home", str(self.home)]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("repository"), FILES)


def test_build_ls_show_and_rm(repository: Repository, tmp_path: Path) -> None:
    started(tmp_path / "probe").close()
    terminal = Terminal(tmp_path / "home")
    setup = ("--repo", str(repository.folder), "--setup", "true go; echo x > /opt/env/x", "--setup-file", "main.py")
    made = terminal.json("build", *setup)
    assert made["new"]
    assert made["environment"]["setup_files"] == ["main.py"]
    name = made["layer"]["name"]
    assert terminal.json("build", *setup)["new"] is False
    assert terminal.run("build", *setup).strip() == name
    assert [item["name"] for item in terminal.json("ls")] == [name]
    assert name[7:23] in terminal.run("ls")
    assert terminal.json("show", name[7:15])["content"] == made["layer"]["content"]
    assert "true go" in terminal.run("show", name)
    assert "order.setup_failed" not in terminal.run("show", "00000000", code=1)
    assert terminal.json("rm", name)["removed"] == [name]
    assert terminal.run("ls") == "No layers.\n"
    assert terminal.json("rm", "--all") == {"removed": [], "in_use": []}
    terminal.run("rm", code=2)
    failed = json.loads(terminal.run("build", *setup[:2], "--setup", "true go; exit 5", "--json", code=1))
    assert failed["error"]["code"] == "order.setup_failed"


def test_what_is_asked_for_and_what_is_found(repository: Repository) -> None:
    with bundles.bundle(repository.folder) as sent:
        found, sentence = environment_for(Asked(), sent)
        assert found is not None
        assert found.setup == "pip install -r requirements.txt"
        assert "requirements.txt" in sentence
        assert environment_for(Asked(none=True), sent)[0] is None
        assert environment_for(Asked(none=True, build="make"), sent)[0] == Environment(build="make")
        own = environment_for(Asked("x", ["main.py"], ["b.org", "a.org"], build="y"), sent)[0]
        assert own == Environment("x", ("main.py",), ("a.org", "b.org"), "y")
        for wrong in (Asked(files=["a"]), Asked("x", hosts=["1.2.3.4"]), Asked("x", none=True), Asked("x", base="py")):
            with pytest.raises(Invalid):
                environment_for(wrong, sent)


@pytest.mark.parametrize(
    "text", ["only = 3", "x = 1", "[mirror]\na = 1", "[[mirror]]\nhosts = ['a']", "[[mirror]]\nothers = 1", "nonsense"]
)
def test_an_operators_file_that_cannot_be_meant_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mirrors.toml"
    path.write_text(text)
    with pytest.raises(BadMirrors):
        read_mirrors(path)
    settings = load_settings({"home": str(tmp_path)})
    assert [item.state for item in check_machine(settings, default_policy())] == ["wrong"]


def test_a_layer_is_found_by_its_beginning(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path)
    with pytest.raises(UnknownLayer):
        find(shelf, "abcd1234")
    for odd in ("", "../..", "abc", "sha256:"):
        with pytest.raises(Invalid):
            find(shelf, odd)
