"""Real projects with a bug put in: the honest fix is verified, wrong and hostile deliveries are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.model import Level, Verdict
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.service import Verifier
from choir.sandbox.service import Sandboxes
from tests.bazaar.environments.conftest import NPM, PYPI, at, need
from tests.bazaar.projects.hostile import deliveries, go_listing
from tests.bazaar.projects.model import Project
from tests.bazaar.projects.table import GO, PROJECTS
from tests.bazaar.verification.scene import Repository
from tests.sandbox.conftest import started

pytestmark = [pytest.mark.deep, pytest.mark.slow]
SHORT = VerificationPolicy(test_wall_s=8)


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("projects")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture(scope="session")
def environments(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return at(sandboxes, tmp_path_factory.mktemp("home"))


class Scene:
    """A project at a buyer's, and a verifier."""

    def __init__(self, project: Project, sandboxes: Sandboxes, environments: Environments, folder: Path) -> None:
        self.project = project
        self.files = project.files()
        self.folder = folder
        self.repository = Repository.make(folder / "made", self.files)
        self.verifier = Verifier(sandboxes, None, folder, environments=environments)
        self.short = Verifier(sandboxes, SHORT, folder, environments=environments)

    def verify(self, name: str, edits: Mapping[str, str | bytes | None], *, short: bool = False) -> Verdict:
        scratch = self.folder / name
        scratch.mkdir()
        wanted = {"environment": self.project.environment, "test_command": self.project.command}
        order = self.repository.order(self.project.hidden, **wanted)
        diff = self.repository.diff(edits, scratch)
        return (self.short if short else self.verifier).verify(order, self.repository.delivery(diff))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name.split()[0])
def test_the_honest_fix_is_verified_and_all_else_is_refused(
    project: Project, sandboxes: Sandboxes, environments: Environments, tmp_path: Path
) -> None:
    if project.program and not Path(project.program).exists():
        pytest.skip(f"{project.name} needs {project.program}; tools/setup_go.sh installs it")
    need(*[host for host in project.environment.hosts if host in PYPI + NPM])
    scene = Scene(project, sandboxes, environments, tmp_path)
    good = scene.verify("honest", scene.project.with_in_place(scene.files, project.right))
    assert good.passed, [(item.name, item.reason) for item in good.checks if not item.passed]
    assert good.level is (Level.V2 if project.language == "go" else Level.V3)
    tried = deliveries(project, scene.files)
    assert len(tried) >= 10
    for place, item in enumerate(tried):
        found = scene.verify(f"hostile{place}", item.edits, short=item.sleeps)
        assert not found.passed, item.what
        assert found.reason.startswith(item.reasons), (item.what, found.reason)


@pytest.mark.xfail(strict=True, reason="tests of Go cannot be controlled: their report is the tested process's own")
def test_a_go_program_that_reports_all_of_its_own_tests_is_refused(
    sandboxes: Sandboxes, environments: Environments, tmp_path: Path
) -> None:
    """Known: such a verdict holds no test (`strengths` says none) and reaches V2 at most."""
    if not Path(GO.program).exists():
        pytest.skip(f"needs {GO.program}; tools/setup_go.sh installs it")
    scene = Scene(GO, sandboxes, environments, tmp_path)
    assert not scene.verify("listing", go_listing(GO, scene.files).edits).passed
