"""Operators with names of their own: added and removed while the node runs, known by hashes only."""

from __future__ import annotations

import stat

import httpx

from tests.operations.nodes import ADA, NodeUnderTest


def me(node: NodeUnderTest, token: str) -> tuple[int, dict[str, object]]:
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{node.url}/v1/me", headers=headers, timeout=20, trust_env=False)
    return answer.status_code, answer.json()


def test_they_are_added_and_removed_without_a_restart(running: NodeUnderTest) -> None:
    tokens = {}
    for name in ("grace", "alan"):
        done = running.run("operator", "add", name, "--json")
        assert done.code == 0, done.err
        tokens[name] = done.json["token"]
        assert done.json["source"] == f"operator:{name}"
    file = running.home / "operators.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(token in file.read_text() for token in tokens.values())
    for token in (*tokens.values(), running.token):
        status, found = me(running, token)
        assert (status, found["role"]) == (200, "operator")
    # What they do is under their own names.
    headers = {"Authorization": f"Bearer {tokens['grace']}", "Idempotency-Key": "by-grace"}
    body = {"account": ADA, "amount": "1"}
    answer = httpx.post(f"{running.url}/v1/fund", json=body, headers=headers, trust_env=False)
    assert answer.status_code == 201, answer.text
    with running.client() as client:
        assert "operator:grace" in str(client.entry(answer.json()["id"]).content)
    assert [item["name"] for item in running.run("operator", "ls", "--json").json] == ["alan", "grace"]
    assert running.run("operator", "remove", "grace").code == 0
    assert [me(running, tokens[name])[0] for name in ("grace", "alan")] == [401, 200]
    file.write_text("{")
    assert [me(running, token)[0] for token in (tokens["alan"], running.token)] == [401, 200]
    assert running.run("operator", "ls").code == 5
    file.unlink()


def test_what_is_refused(running: NodeUnderTest) -> None:
    for name in ("Grace", "a b", "operator:x", "x" * 33, "-x"):
        refused = running.run("operator", "add", "--json", "--", name)
        assert "node.bad_operator_name" in refused.err, name
    assert running.run("operator", "add", "ada").code == 0
    again = running.run("operator", "add", "ada", "--json")
    assert (again.code, "node.operator_exists" in again.err) == (1, True)
    assert running.run("operator", "remove", "nobody").code == 1
    (running.home / "operators.json").unlink()
