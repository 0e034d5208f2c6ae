"""A buyer believes nothing: what a node says is checked, and what does not fit is an error that says so."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, RunOutput
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.doors.mesh.model import ForgedReceipt, WrongAnswer, cost_of
from choir.doors.node.shapes import NodeOut
from choir.doors.sdk import blobs, node_keys, policies
from choir.doors.sdk.blobs import WrongBytes
from choir.doors.sdk.calls import Call
from choir.doors.sdk.client import Client
from choir.doors.sdk.deadlines import LEAST_S, limited, within
from choir.doors.sdk.node_keys import NodeKeyChanged
from choir.doors.sdk.transport import _request
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import ChoirError, Invalid, TooLarge, Unavailable
from choir.foundation.policy import describe
from choir.foundation.signing import Ed25519Signer
from choir.ledger.notes import VerifierKey
from choir.policies import default_policy
from choir.sdk import AsyncMeshClient, Handle, JobFailed, MeshClient, NotDoneYet, Progress
from tests.doors.mesh.fakes import JOB, FakeNode, inline

RUN = ["python3", "-c", "print(6*7)"]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def as_client(node: FakeNode) -> Client:
    return cast("Client", node)


def bought(node: FakeNode, **options: Any) -> tuple[MeshClient, Handle]:
    mesh = MeshClient(as_client(node), **options)
    return mesh, mesh.run(RUN, key="k")


def test_an_order_becomes_a_checked_result() -> None:
    node = FakeNode(path=["open", "running", "paid"])
    node.events_told = [1, 2]  # each wakes the buyer up
    mesh, order = bought(node)
    assert order.budget == 276_000  # by the node's price table
    seen: list[str] = []
    found = mesh.await_and_verify(order, 10, on_change=lambda job: seen.append(job.state))
    assert seen == ["open", "running", "paid"]
    assert found.artifact == RunOutput(0, b"42\n")
    assert (found.state, found.price, found.receipt_hash) == ("paid", 200_000, node.receipt_hash)
    assert [check.name for check in found.checks] == ["hash", "exit code"]
    assert node.closed == 1


def test_a_result_fits_a_screen() -> None:
    for output in (b"42\n", b"\x1b[2Jx" * 100, b"line\n" * 100):
        mesh, order = bought(FakeNode(output=RunOutput(0, output)))
        found = mesh.await_and_verify(order, 10)
        assert str(found).startswith(f"{order.id}: run, exit code 0, verified and paid 200.000 of 276.000 SAT\n")
        for shown in (str(found), repr(found), str(found.artifact), repr(found.artifact)):
            assert len(shown) < 5_000
            assert len(shown.splitlines()) <= 27
            assert "\x1b" not in shown
        assert found.artifact == RunOutput(0, output)  # and nothing is lost by that
    assert str(found).endswith("line\nline\n… and 76 more lines")


def test_a_node_that_is_away_is_waited_for() -> None:
    node = FakeNode(path=["running", "paid"], away=3)
    mesh, order = bought(node)
    assert mesh.await_and_verify(order, 20).price == 200_000


def test_a_node_that_goes_away_before_its_last_answer_is_waited_for() -> None:
    node = FakeNode()
    mesh, order = bought(node)
    left = iter([True, False])

    def away(value: Any) -> Any:
        if next(left):
            raise Unavailable(what="The node", why="it is away")
        return value

    node.bend["receipt"] = away
    assert mesh.await_and_verify(order, 20).price == 200_000


def test_waiting_ends_in_time_and_is_never_busy() -> None:
    node = FakeNode(path=["running"])
    mesh, order = bought(node)
    began = time.monotonic()
    with pytest.raises(NotDoneYet) as late:
        mesh.await_and_verify(order, 1.5)
    assert time.monotonic() - began < 5
    assert node.asked.count("get") <= 5
    assert f"choir job result {JOB}" in late.value.advice


def test_a_job_that_came_to_nothing_says_why_and_what_it_cost() -> None:
    node = FakeNode(path=["closed"], passed=False)
    mesh, order = bought(node)
    with pytest.raises(JobFailed) as refused:
        mesh.await_and_verify(order, 5)
    assert str(refused.value) == f"The job {JOB} is closed: It ended with another code. It cost 0.000 SAT."
    assert refused.value.fields["reasons"] == ["It ended with another code"]
    node = FakeNode(path=["expired"])
    mesh, order = bought(node)
    with pytest.raises(JobFailed, match="no provider delivered in time"):
        mesh.await_and_verify(order, 5)


def other_key(value: dict[str, Any]) -> dict[str, Any]:
    """A receipt that somebody else signed."""
    other = Ed25519Signer(b"\1" * 32)
    signature = other.sign(bytes.fromhex(value["hash"].removeprefix("sha256:"))).hex()
    return value | {"signatures": [value["signatures"][0] | {"public": other.public.hex(), "signature": signature}]}


def bad_signature(value: dict[str, Any]) -> dict[str, Any]:
    return value | {"signatures": [value["signatures"][0] | {"signature": "00" * 64}]}


def changed(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda value: value | fields


BENT: list[tuple[str, Callable[[Any], Any], type[ChoirError], str]] = [
    ("receipt", other_key, ForgedReceipt, "the node's key did not sign it"),
    ("receipt", bad_signature, ForgedReceipt, "the signature is not valid"),
    ("receipt", changed(signatures=[]), ForgedReceipt, "the node's key did not sign it"),
    ("receipt", lambda v: v | {"value": v["value"] | {"payer": "x"}}, ForgedReceipt, "it does not match"),
    ("receipt_value", changed(payer="person:somebody"), WrongAnswer, "another 'payer'"),
    ("receipt_value", changed(job="job_2"), WrongAnswer, "another 'job'"),
    ("receipt_value", changed(outcome="failed"), WrongAnswer, "another 'outcome'"),
    ("receipt_value", changed(spent={"amount": "1", "asset": "SAT"}), WrongAnswer, "another 'spent'"),
    ("receipt_value", changed(budget={"amount": "9", "asset": "SAT"}), WrongAnswer, "another 'budget'"),
    ("receipt_value", lambda v: v | {"objects": {}}, WrongAnswer, "another 'objects'"),
    ("verdict", lambda v: v | {"verdict": v["verdict"] | {"passed": False}}, WrongAnswer, "the verdict does not match"),
    ("verdict", changed(evidence={"sha256:" + "00" * 32: {"a": 1}}), WrongAnswer, "a piece of evidence"),
    ("artifact", lambda data: data[:-1] + b" ", WrongBytes, "does not match its hash"),
    ("artifact", lambda data: b"", WrongBytes, "does not match its hash"),
    ("job", lambda v: v | {"budget": "999"}, WrongAnswer, "another 'budget'"),
    ("job", lambda v: v | {"request": "sha256:" + "00" * 32}, WrongAnswer, "another 'request'"),
    ("job", lambda v: v | {"price": "1"} if v["price"] else v, WrongAnswer, "another price"),
]


@pytest.mark.parametrize(("what", "bend", "error", "why"), BENT)
def test_whatever_a_node_bends_is_noticed(
    what: str, bend: Callable[[Any], Any], error: type[ChoirError], why: str
) -> None:
    node = FakeNode()
    mesh, order = bought(node)
    node.bend[what] = bend
    with pytest.raises(error) as refused:
        mesh.await_and_verify(order, 5)
    assert why in str(refused.value)


def test_a_price_above_the_budget_is_noticed() -> None:
    node = FakeNode()
    mesh, order = bought(node)
    node.paid = order.budget + 1
    with pytest.raises(WrongAnswer, match="more was paid"):
        mesh.await_and_verify(order, 5)


def test_a_failed_verdict_that_was_paid_is_noticed() -> None:
    node = FakeNode(passed=False)
    mesh, order = bought(node)
    with pytest.raises(WrongAnswer, match="although its verdict is failed"):
        mesh.await_and_verify(order, 5)


def test_another_job_than_ordered_is_noticed_at_once() -> None:
    node = FakeNode(bend={"job": changed(type="text_gen")})
    with pytest.raises(WrongAnswer, match="another 'type'"):
        bought(node)


def test_a_nodes_key_is_taken_on_first_use_and_kept() -> None:
    node = FakeNode(mode="production")
    mesh, order = bought(node)
    mesh.await_and_verify(order, 5)
    file = node_keys.path_of(node.url)
    assert file.stat().st_mode & 0o777 == 0o600
    node.signer = Ed25519Signer(b"\2" * 32)
    node.mode = "dev"  # what it says of itself now does not count
    with pytest.raises(NodeKeyChanged):
        MeshClient(as_client(node)).await_and_verify(order, 5)
    given = str(VerifierKey("choir/test", node.signer.public))
    assert MeshClient(as_client(node), node_key=given).await_and_verify(order, 5).price == 200_000
    file.unlink()
    assert MeshClient(as_client(node)).await_and_verify(order, 5).price == 200_000  # now as a development node
    node.signer = Ed25519Signer(b"\3" * 32)
    assert MeshClient(as_client(node)).await_and_verify(order, 5).price == 200_000


def test_large_inputs_are_sent_in_parts_until_none_is_missing(tmp_path: Path) -> None:
    node = FakeNode()
    data = bytes(range(256)) * 1_000
    file = tmp_path / "large"
    file.write_bytes(data)
    for given in (data, file):
        node.uploaded.clear()
        assert blobs.to_send(as_client(node), given) == {"hash": bytes_hash(data)}
        assert b"".join(node.uploaded["upload_1"][n] for n in range(6)) == data
    assert inline(blobs.to_send(as_client(node), b"small")) == b"small"


def test_a_patch_is_ordered_with_the_folder_and_the_hidden_checks(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    node = FakeNode(bend={"job": changed(type="patch_gen")})
    mesh = MeshClient(as_client(node))
    order = mesh.request_patch(
        tmp_path, "t", test_command="pytest -q", hidden_checks=["pytest -q h.py"], hidden_files={"h.py": b"h"}
    )
    assert order.budget == 4_800_000
    assert node.sent["criteria"] == {"min_isolation": "bubblewrap"}  # as the policy has it; nobody is too new
    hidden = HiddenChecks.from_bytes(inline(node.sent["inputs"]["hidden"]), VerificationPolicy())
    assert node.request["hidden"] == hidden.commitment
    assert hidden.salt not in str(node.request)
    assert inline(node.sent["inputs"]["repository"]).startswith(b"# v2 git bundle")
    asked = len(node.asked)
    with pytest.raises(Invalid):  # no report can be had from it, and that is said before anything is sent
        mesh.request_patch(tmp_path, "t", test_command="make test | tail")
    assert len(node.asked) == asked


def test_stronger_checks_are_ordered_and_their_price_is_in_the_budget(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    node = FakeNode(bend={"job": changed(type="patch_gen")})
    mesh = MeshClient(as_client(node))
    known = HiddenCheck("python3 h.py", "0" * 64)
    order = mesh.request_patch(
        tmp_path,
        "t",
        test_command="python3 -m unittest",
        level="v4",
        checks=[("python3 a.py", "42\n")],
        verification_commands=["true"],
        writable_paths=["build"],
        mutation_floor_bps=6_000,
        hidden_checks=["true", ("python3 g.py", b"43\n"), known],
    )
    assert order.budget == 4_800_000 + 500_000 + 500_000  # level V4 and mutation
    asked = node.request
    assert (asked["level"], asked["mutation"], asked["mutation_floor_bps"]) == ("V4", True, 6_000)
    assert asked["checks"] == [{"command": "python3 a.py", "output_sha256": hashlib.sha256(b"42\n").hexdigest()}]
    assert (asked["verification_commands"], asked["writable_paths"]) == (["true"], ["build"])
    hidden = HiddenChecks.from_bytes(inline(node.sent["inputs"]["hidden"]), VerificationPolicy())
    assert [one.output_sha256 for one in hidden.checks] == ["", hashlib.sha256(b"43\n").hexdigest(), "0" * 64]
    with pytest.raises(Invalid, match="V3 and V4 need hidden checks"):
        mesh.request_patch(tmp_path, "t", test_command="pytest -q", level="V3")
    with pytest.raises(Invalid, match="there are V1, V2, V3, V4"):
        mesh.request_patch(tmp_path, "t", level="V5")


def test_a_receipt_with_extras_adds_up() -> None:
    node = FakeNode(extras=50_000)
    mesh = MeshClient(as_client(node))
    found = mesh.await_and_verify(mesh.run(RUN), 20)
    assert (found.price, cost_of(found.job)) == (250_000, 250_000)
    lying = FakeNode(extras=50_000, bend={"job": changed(extras="40000")})
    mesh = MeshClient(as_client(lying))
    with pytest.raises(WrongAnswer, match="more was paid"):
        mesh.await_and_verify(mesh.run(RUN), 20)


def test_what_a_patch_asks_of_providers_is_policy_and_the_buyers_word_stands_above_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    node = FakeNode(bend={"job": changed(type="patch_gen")})
    mesh = MeshClient(as_client(node))
    mesh._values = {**mesh._policy(), "providers.patch_success_bps_min": 9_000, "providers.isolation_expected": 3}
    mesh.request_patch(tmp_path, "t", test_command="pytest -q")
    assert node.sent["criteria"] == {"min_isolation": "container", "min_success_bps": 9_000}
    mesh.request_patch(tmp_path, "t", test_command="pytest -q", criteria={"min_success_bps": 0, "near": "eu-west"})
    assert node.sent["criteria"] == {"min_isolation": "container", "min_success_bps": 0, "near": "eu-west"}


def test_a_review_is_priced_by_its_files() -> None:
    node = FakeNode(bend={"job": changed(type="code_review")})
    diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    mesh = MeshClient(as_client(node))
    assert mesh.request_review(diff=diff).budget == 2_460_000  # (2000 + 50) × 1.2 SAT
    assert inline(node.sent["inputs"]["diff"]) == diff
    with pytest.raises(Invalid):
        mesh.request_review(diff=b"nothing")


def test_the_same_can_be_awaited() -> None:
    async def buy() -> None:
        node = FakeNode(path=["open", "paid"])
        mesh = AsyncMeshClient(as_client(node))
        order = await mesh.run(RUN)
        assert (await mesh.await_and_verify(order, 10)).artifact == RunOutput(0, b"42\n")
        node.path = ["running"]
        waiting = asyncio.create_task(mesh.await_and_verify(order))
        await asyncio.sleep(0.2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    before = threading.active_count()
    asyncio.run(buy())  # joins its threads: a wait that went on would never let it end
    assert threading.active_count() <= before + 1


def test_who_pays_must_be_who_asked() -> None:
    node = FakeNode()
    mesh, order = bought(node)
    node.me.who = partial(SimpleNamespace, role="person", person="person:ada", owner="person:ada")
    with pytest.raises(WrongAnswer, match="another 'payer'"):
        mesh.await_and_verify(order, 5)


def test_an_error_of_the_node_that_lasts_is_not_hidden_for_ever() -> None:
    node = FakeNode(path=["running"], away=10_000)
    mesh, order = bought(node)
    with pytest.raises(Unavailable):
        mesh.await_and_verify(order, 1)


def test_no_request_outlives_the_time_that_is_left() -> None:
    call = Call("GET", "/v1/node", NodeOut)
    with httpx.Client(base_url="http://127.0.0.1:1", timeout=60.0) as http:
        assert _request(http, call, 0.0).extensions["timeout"]["read"] == 60
        with within(5), within(30):  # a wider one changes nothing
            assert _request(http, call, 0.0).extensions["timeout"]["read"] <= 5
            assert limited(15.0) <= 5
        with within(-1):
            assert _request(http, call, 0.0).extensions["timeout"]["read"] == LEAST_S
        assert limited(15.0) == 15.0


def test_a_look_is_limited_by_the_time_to_wait() -> None:
    node = FakeNode(path=["running"])
    limits: list[float] = []

    def noted(job: Any) -> Any:
        limits.append(limited(1000.0))
        return job

    node.bend["job"] = noted
    mesh, order = bought(node)
    limits.clear()
    with pytest.raises(NotDoneYet):
        mesh.await_and_verify(order, 0.5)
    assert limits
    assert max(limits) <= LEAST_S


def test_progress_tells_each_change_and_now_and_then_that_there_is_none() -> None:
    node = FakeNode(path=["open"])
    _, order = bought(node)
    now, said = [0.0], list[str]()
    explanation: dict[str, Any] = {"candidates": [], "nobody_because": {"known": 0}}
    node.jobs.select = lambda *_: SimpleNamespace(explanation=explanation)
    progress = Progress(cast("Any", node), said.append, now=lambda: now[0])
    for at, state in ((0, "open"), (10, "open"), (31, "open"), (35, "running"), (40, "running"), (3700, "running")):
        now[0] = at
        progress(node._job(state))
    told = "no provider can take it now (no provider here sells this type of work); waiting until 05:00 UTC;"
    cancel = f"cancel it with: choir job cancel {order.id}"
    assert said == [
        f"0:00  {JOB} is open: {told} {cancel}",
        f"0:31  {JOB} is still open: {told} {cancel}",
        f"0:35  {JOB} is running",
        f"1:01:40  {JOB} is still running",
    ]


def test_the_limits_are_those_of_the_node_that_is_talked_to() -> None:
    usual = VerificationPolicy()
    overrides = {
        "verification.time_limit_s": "77", "verification.run_cpu_s_max": "7", "verification.text_tokens_max": "9",
    }  # fmt: skip
    node = FakeNode(overrides=overrides)
    mesh, _ = bought(node)
    assert (node.request["time_limit_s"], node.request["cpu_s_max"]) == (77, 7)
    with pytest.raises(WrongAnswer):  # this one knows of no texts
        mesh.text("Say hello.")
    assert node.request["max_tokens"] == 9
    node.asked.clear()
    for order in (partial(mesh.run, RUN, cpu_s_max=8), partial(mesh.text, "Say hello.", max_tokens=10)):
        with pytest.raises(Invalid):
            order()
    assert node.asked == []  # refused before anything is sent, and the policy is asked for once
    more = usual.run_cpu_s_max + 1
    wider = FakeNode(overrides={"verification.run_cpu_s_max": str(more)})
    MeshClient(as_client(wider)).run(RUN, cpu_s_max=more)  # what this machine's own policy would not allow
    assert wider.request["cpu_s_max"] == more


def test_what_a_node_allows_limits_what_is_read_from_it_and_sent_to_it(tmp_path: Path) -> None:
    node = FakeNode(output=RunOutput(0, b"x" * 2_000))
    node.overrides = {"bazaar.artifact_bytes_max": "1000", "bazaar.inputs_bytes_max": "1000"}
    mesh, order = bought(node)
    with pytest.raises(TooLarge):
        mesh.await_and_verify(order, 5)
    (tmp_path / "large.txt").write_text("x" * 2_000)
    with pytest.raises(TooLarge):
        mesh.request_patch(tmp_path, "mend it")


def test_a_nodes_word_on_its_policy_stays_within_known_bounds() -> None:
    known = next(item for item in describe(default_policy()) if item.name == "bazaar.artifact_bytes_max")
    value = known.high * 1_000
    told = [SimpleNamespace(name=known.name, value=value), SimpleNamespace(name="bazaar.of_tomorrow", value=1)]
    assert policies.read(cast("Any", SimpleNamespace(values=told))).of(BazaarPolicy).artifact_bytes_max == known.high
