"""Real projects on a whole node: ordered by the command line, mended by a provider, verified over a layer, and paid.

The provider's worker is the example that finds small slips by trying; for a language that it cannot read it knows what
to change. All that is checked is how the order fares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from choir.bazaar.environments.mirrors import FILE
from tests.bazaar.environments.conftest import MIRRORS, NPM, PYPI, need
from tests.bazaar.projects.model import Project
from tests.bazaar.projects.table import HUMANIZE, PROXY
from tests.bazaar.verification.scene import Repository, git
from tests.doors.mesh.processes import serving
from tests.doors.townsfolk import public_node
from tests.operations.nodes import NodeUnderTest

pytestmark = [pytest.mark.deep, pytest.mark.slow]
FIXER = Path(__file__).parents[3] / "examples/workers/simple_fixer.py"
QUICK = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3"}
_KNOWING = """
import sys
from pathlib import Path

place = Path(sys.argv[2]) / {file!r}
if place.exists() and {bug!r} in place.read_text():
    place.write_text(place.read_text().replace({bug!r}, {right!r}))
    sys.exit(0)
"""


@dataclass
class Market:
    """A node with one provider, both with the operator's word on how registries are reached."""

    node: NodeUnderTest
    folder: Path


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    need(*PYPI, *NPM)
    folder = tmp_path_factory.mktemp("market")
    (folder / "provider").mkdir(mode=0o700)
    worker = folder / "fixer.py"
    head, mark, rest = FIXER.read_text().partition("from __future__ import annotations\n")
    worker.write_text(head + mark + _KNOWING.format(file=PROXY.file, bug=PROXY.bug, right=PROXY.right) + rest)
    worker.chmod(0o755)
    with public_node(**QUICK) as node:
        for home in (node.home, folder / "provider"):
            (home / FILE).write_text(MIRRORS)
        with serving(node, folder / "provider", str(worker)):
            yield Market(node, folder)


@pytest.mark.parametrize("project", [HUMANIZE, PROXY], ids=lambda project: project.name)
def test_a_fix_is_ordered_verified_and_paid(project: Project, market: Market) -> None:
    folder, node = market.folder / project.name, market.node
    repository = Repository.make(folder, project.files())
    out, wanted = folder / "fix.diff", project.environment
    words = ["--setup", wanted.setup, *(word for file in wanted.setup_files for word in ("--setup-file", file))]
    words += [word for host in wanted.hosts for word in ("--host", host)]
    if project.language == "python":  # --hidden is for pytest alone
        hidden = folder / Path(project.hidden_file).name
        hidden.write_text(project.hidden_text)
        words += ["--hidden", str(hidden), "--level", "V3"]
    done = node.run(
        "job", "submit", "patch", "--repo", str(repository.folder), "--test", project.command, *words,
        "--out", str(out), "--timeout", "400",
    )  # fmt: skip
    assert done.code == 0, done
    assert "passed and paid" in done.err
    git(repository.folder, "apply", str(out))
    assert project.right in (repository.folder / project.file).read_text()
    job = node.run("job", "ls", "--json").json[0]
    assert (job["state"], job["held"]) == ("paid", "0")
    shown = node.run("job", "show", job["id"], "--json").json["job"]
    assert int(shown["attempts"][0]["paid"]) > 0
    assert node.run("job", "receipt", job["id"]).code == 0
