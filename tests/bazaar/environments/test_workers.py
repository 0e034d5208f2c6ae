"""A provider's agent works over the same layer, and nothing of the layer becomes part of its patch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.bazaar.contracts import Environment
from choir.bazaar.environments import claims
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader
from choir.bazaar.trajectories.lines import ToolUse
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.service import Sandboxes
from tests.bazaar.environments.test_orders import COMMAND, FILES, INSTALL
from tests.bazaar.verification.scene import Repository
from tests.bazaar.workers.scene import POLICY, done_by, patch_order, shell

SETUP = INSTALL + "; mkdir -p node_modules/dep; echo dep > node_modules/dep/index.js; echo made > generated.txt"
WANTED = Environment(SETUP, ("requirements.txt",))
SEEN = (
    'test "$(git status --porcelain)" = "" && test "$(git ls-files | tr "\\n" " ")" ='
    ' "requirements.txt src/calc/__init__.py tests/test_calc.py "'
    " && cat node_modules/dep/index.js generated.txt /work/tree/requirements.txt"
    " && ls /opt/env/venv/lib/python3.11/site-packages/dep.py"
)
FIX = "sed -i 's/a - b/a + b/' src/calc/__init__.py"


@pytest.fixture(scope="module")
def shop(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    policy = WorkersPolicy(hand_in_s=0)
    with Workshop(sandboxes, tmp_path_factory.mktemp("shop"), policy, sandbox=sandboxes.policy) as found:
        yield found


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("repository"), FILES)


def test_an_agent_works_over_the_layer_and_names_it(shop: Workshop, repository: Repository) -> None:
    agent = CommandWorker(shop, shell(f"set -e; {SEEN}; {FIX}; echo new > src/calc/more.py", self_check=True))
    outcome = done_by(agent, patch_order(repository, environment=WANTED, test_command=COMMAND))
    assert outcome.error is None, outcome.trajectory.decode()
    assert b"node_modules" not in outcome.artifact
    assert b"generated.txt" not in outcome.artifact
    assert outcome.artifact.count(b"\n+++ b/") == 2
    lines = reader.parse(outcome.trajectory, POLICY).lines
    named = {line.result for line in lines if isinstance(line, ToolUse) and line.tool == claims.TOOL}
    kept = shop.environments.all()
    assert named == {claims.told({"layer": kept[0].name, "content": kept[0].content})}


def test_what_an_agent_does_to_the_layer_stays_with_it(shop: Workshop, repository: Repository) -> None:
    harm = "rm -rf node_modules/dep /opt/env/venv; echo evil > /opt/env/x; echo evil > node_modules/dep/index.js; true"
    outcome = done_by(
        CommandWorker(shop, shell(f"({harm}) 2>/dev/null; {FIX}")),
        patch_order(repository, environment=WANTED, test_command=COMMAND),
    )
    assert outcome.error is None
    layer = shop.environments.all()[0]
    assert (layer.tree / "node_modules" / "dep" / "index.js").read_text() == "dep\n"
    assert not (layer.room / "x").exists()


def test_a_set_up_that_fails_at_the_provider_is_no_delivery(shop: Workshop, repository: Repository) -> None:
    broken = Environment("true go; exit 4")
    outcome = done_by(
        CommandWorker(shop, shell(FIX)), patch_order(repository, environment=broken, test_command=COMMAND)
    )
    assert outcome.error is not None
    assert outcome.error.code == "order.setup_failed"
