"""The documentation is true: its commands run, its output is what comes, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer

from choir.doors.cli.main import app
from tests.docs.pages import ROOT, Command, File, Names, markdown_files, steps, used_objects
from tests.docs.shell import Shell
from tests.identity.authenticator import Authenticator
from tests.operations import prepared
from tests.places import throw_away

_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_REFUSED = ("choir: ", "refused: ")

PAGES = [page for page in markdown_files() if any(isinstance(step, Command) for step in steps(page))]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Removed at once, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="choir-docs-", dir=throw_away()) as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_page_does_what_it_says(page: Path, folder: Path) -> None:
    """Every command of the page, in order, on a node of its own."""
    todo = steps(page)
    commands = [step for step in todo if isinstance(step, Command)]
    with Shell(folder) as shell:
        names = Names(shell.port, used_objects(todo))
        if _needs_a_node(commands):
            prepared.fill(folder / "home", {})
            assert shell.run("choir up --background")[1] == 0
        if any("$SESSION" in step.text for step in commands):
            assert shell.run(f"SESSION={_session(shell.port)}")[1] == 0
        for step, following in zip(todo, [*todo[1:], None], strict=True):
            if isinstance(step, File):
                (folder / step.name).write_text(names.real(step.text), encoding="utf-8")
                continue
            output, code = shell.run(names.real(step.text))
            where = f"{_name(page)}, line {step.line}: $ {step.text}\n" + "\n".join(output)
            if step.output:
                difference = names.compare(step.output, output)
                assert difference is None, f"{where}\n\n{difference}"
            if not (isinstance(following, Command) and following.text == "echo $?"):
                refused = any(line.startswith(_REFUSED) for line in step.output)
                assert (code != 0) == refused, f"{where}\n\nit ended with code {code}"


def _needs_a_node(commands: list[Command]) -> bool:
    """Whether the page leaves it to `make run` to start one."""
    starts = any(step.text.startswith("choir up") for step in commands)
    return not starts and not all("choir policy" in step.text for step in commands)


def _session(port: int) -> str:
    """What a reader's browser has after they signed up as ada; a software authenticator stands in for a phone."""
    origin = f"http://localhost:{port}"
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Origin": origin}, trust_env=False) as http:
        begun = http.post("/v1/sign-up/begin", json={"handle": "ada"}).json()
        answer = Authenticator().create(begun["options"], origin=origin)
        body = {"ceremony": begun["ceremony"], "answer": answer, "name": "phone"}
        return http.post("/v1/sign-up/finish", json=body).cookies["choir_session"]


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", markdown_files(), ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.is_relative_to(ROOT), f"{target} leads out of the project"
        assert found.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in _anchors(found), f"{target} has no such heading"


def _anchors(page: Path) -> set[str]:
    """The headings of a page as their links call them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for command in _all_commands(typer.main.get_command(app), "choir"):
        assert f"### {command}\n" in page


def _all_commands(command: object, path: str) -> Iterator[str]:
    below: dict[str, object] | None = getattr(command, "commands", None)
    if below is None:
        yield path
        return
    for name, item in below.items():
        yield from _all_commands(item, f"{path} {name}")


@pytest.mark.parametrize("page", markdown_files(), ids=_name)
def test_no_example_moves_what_people_may_not(page: Path) -> None:
    """CREDIT and CHIP never move between people, AID between agents alone, USD not at all; see identity.transfers."""
    found = re.findall(r"person:[\w-]+/available/([A-Z]+)", page.read_text(encoding="utf-8"))
    assert set(found) <= {"SAT", "USDC"}


def test_every_page_can_be_reached() -> None:
    """From the README, by links."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = [target.partition("#")[0] for target in _LINK.findall(page.read_text(encoding="utf-8"))]
        waiting += [(page.parent / target).resolve() for target in targets if target and "://" not in target]
    assert set(markdown_files()) <= seen
