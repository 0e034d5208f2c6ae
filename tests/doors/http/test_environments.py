"""The operator's routes and page of layers, over layers as a node keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from choir.bazaar.environments.layers import shelf_at
from tests.doors.http.test_operator_rulings import HOSTILE, SHOWN
from tests.doors.http.test_operator_sessions import HTML, office
from tests.doors.http.visitors import done
from tests.operations.nodes import NodeUnderTest

NAME = f"sha256:{'5c' * 32}"


def _fill(into: Path) -> dict[str, Any]:
    (into / "env").mkdir()
    (into / "tree").mkdir()
    facts = {"content": f"sha256:{'1' * 64}", "bytes": 2_500_000, "files": 3, "setup": f"make {HOSTILE}"}
    return facts | {"hosts": ["pypi.org"], "setup_files": ["lock"], "built_at_us": 1_700_000_000_000_000, "wall_ms": 1}


def test_layers_are_listed_shown_and_removed(served: NodeUnderTest) -> None:
    shelf, browser = shelf_at(served.home), office(served)
    with shelf.use(NAME, _fill):
        page = browser.get("/operator/environments", headers=HTML).text
        assert (HOSTILE in page, SHOWN in page, "pypi.org" in page) == (False, True, True)
        listed = done(browser.get("/v1/environments"))
        assert [item["name"] for item in listed["items"]] == [NAME]
        assert listed["bytes"] == 2_500_000
        assert done(browser.get("/v1/environments/5c5c5c"))["setup_files"] == ["lock"]
        assert browser.delete(f"/v1/environments/{NAME}").status_code == 409  # it is in use
    assert browser.delete(f"/v1/environments/{NAME}").status_code == 204
    assert browser.get(f"/v1/environments/{NAME}").status_code == 404
    assert browser.get("/v1/environments/..%2f..").status_code in (404, 422)
    assert "No set-up has run yet" in browser.get("/operator/environments", headers=HTML).text
