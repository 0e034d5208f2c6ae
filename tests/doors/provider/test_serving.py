"""The provider's loop against a stand-in node: what happens when the node, or the work, does not go as hoped."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from choir.bazaar.contracts import PatchGenRequest, SandboxRunRequest, SandboxRunResult, Terms
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, WorkersPolicy
from choir.bazaar.providers.model import ProviderRetired
from choir.bazaar.trajectories import reader as trajectories
from choir.bazaar.trajectories.reader import ExpectedTrajectory, SignedTrajectory
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers.fulfilment import Fulfilment
from choir.bazaar.workers.model import BrokeDown, IsCancelled, NotDone, Stopped, WorkOrder, WorkProduct
from choir.bazaar.workers.pool import WorkerPool
from choir.doors.events.client import MISSED, Event
from choir.doors.provider.carrier import INLINE_BYTES_MAX, Carrier, reason_of
from choir.doors.provider.clocks import NodeClock
from choir.doors.provider.loop import ProviderLoop
from choir.doors.provider.news import Listener
from choir.doors.provider.orders import OrderFetcher
from choir.doors.provider.report import Journal
from choir.doors.provider.view import Board
from choir.doors.sdk.client import Client
from choir.doors.sdk.errors import NoNode
from choir.foundation.canonical import bytes_hash, canonical_hash, hash_digest
from choir.foundation.errors import NotAllowed
from choir.foundation.signing import verify_bip340
from choir.identity.keys.nostr_keys import checked_secret
from choir.policies import default_policy
from tests.doors.provider.fake_node import FakeJob, FakeNode

KEY = checked_secret(b"\x09" * 32)
POLICY = default_policy().replaced(
    WorkersPolicy(capacity=2, hand_in_s=1, stuck_s=2, drain_s=20),
    BazaarPolicy(inputs_bytes_max=1_000_000),
)
BIG = b"x" * (INLINE_BYTES_MAX + 150_000)


class Scripted:
    """A worker that does what the order's command says."""

    name = "scripted"
    types = frozenset({JobType.SANDBOX_RUN, JobType.PATCH_GEN})

    def __init__(self) -> None:
        self.go = threading.Event()
        self.began: list[str] = []
        self.stopped: list[str] = []
        self.repositories: list[bytes] = []

    def problem(self) -> str:
        return ""

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        self.began.append(order.job)
        if order.repository is not None:
            self.repositories.append(order.repository.read_bytes())
        what = order.request.argv[0] if isinstance(order.request, SandboxRunRequest) else ""
        if what == "refuse":
            raise NotDone(why="it is too hard")
        while what == "wait" and not self.go.is_set():
            if cancelled():
                self.stopped.append(order.job)
                raise Stopped
            time.sleep(0.01)
        trajectory.answer("done")
        return WorkProduct(BIG if what == "big" else b"done", SandboxRunResult(0), "done")


class Scene:
    """A provider that serves a stand-in node."""

    def __init__(self, node: FakeNode, folder: Path) -> None:
        self.node = node
        self.worker = Scripted()
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.clock = NodeClock()
        client = cast("Client", node)
        fulfils = Fulfilment(KEY, self.clock, POLICY.of(WorkersPolicy))
        self.pool = WorkerPool([self.worker], fulfils, POLICY.of(WorkersPolicy))
        fetcher = OrderFetcher(client, self.worker.types, POLICY)
        carrier = Carrier(client, self.pool, fetcher, folder, self.tell)
        self.loop = ProviderLoop(client, self.pool, carrier, self.clock, POLICY.of(WorkersPolicy), self.tell)
        self.loop.begin_counting()
        node.heard = self.loop.wake
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.loop.run()
        except BaseException as error:
            self.error = error

    def tell(self, what: str, **facts: Any) -> None:
        self.told.append((what, facts))

    def facts(self, what: str) -> list[dict[str, Any]]:
        return [facts for name, facts in self.told if name == what]

    def until(self, true: Callable[[], object], seconds: float = 15) -> None:
        until = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < until, (self.told, self.error)
            time.sleep(0.02)

    def until_told(self, what: str, times: int = 1) -> dict[str, Any]:
        self.until(lambda: len(self.facts(what)) >= times)
        return self.facts(what)[times - 1]

    def close(self) -> None:
        self.node.away = False
        self.node.refuses = None
        self.worker.go.set()
        self.loop.stop_now()
        self.thread.join(20)
        assert not self.thread.is_alive(), self.told
        self.pool.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(FakeNode(), tmp_path)
    made.thread.start()
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []  # of no order anything is left


def check_signed(scene: Scene, job: FakeJob) -> None:
    """What was handed in is whole, signed by the provider's key, and told by a trajectory of this job."""
    handed = job.handed
    assert handed is not None
    artifact, trajectory = (scene.node.bytes_of(handed[name]) for name in ("artifact", "trajectory"))
    assert handed["claimed"] == bytes_hash(artifact)
    public = trajectories.provider_of(KEY)
    expected = ExpectedTrajectory(job.attempt.job, public, job.type)
    signed = SignedTrajectory(bytes_hash(trajectory), bytes.fromhex(handed["trajectory_signature"]))
    trajectories.check(trajectory, expected, signed, POLICY.of(WorkersPolicy))
    assert handed["result"]["trajectory_id"] == signed.hash
    result = SignedTrajectory(canonical_hash(handed["result"]), bytes.fromhex(handed["result_signature"]))
    verify_bip340(public, hash_digest(result.hash), result.signature)


def test_work_is_handed_in_signed_and_its_outcome_told(scene: Scene) -> None:
    small, big = scene.node.offer("true"), scene.node.offer("big")
    scene.until(lambda: small.handed and big.handed)
    check_signed(scene, small)
    check_signed(scene, big)
    assert big.handed is not None
    assert scene.node.bytes_of(big.handed["artifact"]) == BIG
    assert "hash" in big.handed["artifact"]  # in parts, for it is too much for one request
    scene.node.end(small, "passed", paid=200_000)
    first = scene.until_told("outcome")
    scene.node.end(big, "failed", reason="run.output_differs")
    second = scene.until_told("outcome", 2)
    assert (first["state"], first["type"], first["earned"]) == ("passed", "sandbox_run", "180000")
    assert (second["state"], second["reason"]) == ("failed", "run.output_differs")
    totals = scene.loop.totals
    assert (totals.passed, totals.failed, totals.earned) == (1, 1, 180_000)
    assert scene.worker.began.count(small.attempt.job) == 1  # never taken again


def test_never_more_at_once_than_there_are_places(scene: Scene) -> None:
    jobs = [scene.node.offer("wait") for _ in range(4)]
    scene.until(lambda: len(scene.worker.began) == 2)
    time.sleep(1.5)  # more than a beat
    assert len(scene.worker.began) == 2
    assert scene.node.beats[-1]["free_slots"] == 0
    assert scene.node.beats[-1]["running"] == 2
    scene.worker.go.set()
    scene.until(lambda: all(job.handed for job in jobs))
    assert sorted(scene.worker.began) == sorted(job.attempt.job for job in jobs)


def test_work_is_found_by_signs_of_life_alone(scene: Scene) -> None:
    scene.node.heard = lambda _job: None  # no event comes through
    job = scene.node.offer("true")
    scene.until(lambda: job.handed)
    scene.node.end(job, "passed")
    scene.until_told("outcome")


def test_a_provider_that_hears_no_events_looks_often(scene: Scene) -> None:
    scene.node.heard = lambda _job: None
    scene.node.next_s = 600
    beats = len(scene.node.beats)
    scene.until(lambda: len(scene.node.beats) > beats)  # the last one for a long time
    scene.loop.no_events()
    job = scene.node.offer("true")
    scene.until(lambda: job.handed)
    scene.node.end(job, "failed")
    scene.until_told("outcome")


def test_a_job_that_is_called_off_is_stopped_and_not_given_back(scene: Scene) -> None:
    job, other = scene.node.offer("wait"), scene.node.offer("wait")
    scene.until_told("started", 2)
    scene.node.end(job, "cancelled")
    scene.until_told("cancelled")
    assert scene.worker.stopped == [job.attempt.job]
    assert job.given_back is None
    scene.worker.go.set()
    scene.until(lambda: other.handed)
    assert job.handed is None


def test_what_cannot_be_done_is_given_back_with_the_reason(scene: Scene) -> None:
    job = scene.node.offer("refuse")
    scene.until(lambda: job.given_back)
    assert job.given_back == "The work was not done: it is too hard."


def test_a_reason_tells_nothing_of_the_machine() -> None:
    failed = "The provider's machine failed"
    assert reason_of(NotDone(why="git failed at /root/providers/x")) == f"{failed}: the work was not done."
    assert reason_of(BrokeDown(why="OSError")) == f"{failed}: its worker crashed."
    assert len(reason_of(NotDone(why="x" * 10_000))) <= 200


def test_a_delivery_that_comes_too_late_is_told_and_forgotten(scene: Scene) -> None:
    job = scene.node.offer("true")
    scene.node.before_hand_in = lambda found: scene.node.end(found, "timed_out")
    assert "timed_out" in scene.until_told("late")["why"]
    assert job.handed is None
    after = scene.node.offer("true")
    scene.node.before_hand_in = lambda _job: None
    scene.until(lambda: after.handed)


def test_work_goes_on_while_the_node_is_away_and_is_handed_in_when_it_is_back(scene: Scene) -> None:
    job = scene.node.offer("wait")
    scene.until_told("started")
    scene.node.away = True
    scene.until_told("away")
    scene.worker.go.set()
    time.sleep(1)
    assert job.handed is None
    scene.node.away = False
    scene.until(lambda: job.handed)
    check_signed(scene, job)
    scene.until_told("back")
    assert len(scene.facts("away")) == 1  # told once, not with every try


def test_a_provider_that_was_killed_takes_its_work_up_again(scene: Scene) -> None:
    running = scene.node.offer("true", state="running")
    late = scene.node.offer("true", state="running", seconds=0.5)
    scene.until(lambda: running.handed and late.given_back)
    assert late.given_back == "Too little time is left for it."
    assert [facts["again"] for facts in scene.facts("taken")] == [True]


def test_draining_finishes_what_runs_and_takes_nothing_new(scene: Scene) -> None:
    job = scene.node.offer("wait")
    scene.until_told("started")
    scene.loop.drain()
    scene.until_told("draining")
    refused = scene.node.offer("true")
    scene.until(lambda: refused.given_back)
    assert refused.given_back == "The provider is stopping."
    scene.worker.go.set()
    scene.thread.join(10)
    assert not scene.thread.is_alive()
    assert job.handed is not None
    assert scene.node.drained == [True]
    assert scene.error is None


def test_the_second_signal_gives_back_what_is_at_work(scene: Scene) -> None:
    job = scene.node.offer("wait")
    scene.until_told("started")
    scene.loop.drain()
    scene.loop.stop_now()
    scene.thread.join(10)
    assert not scene.thread.is_alive()
    assert job.given_back == "The provider is stopping."
    assert scene.worker.stopped == [job.attempt.job]
    assert scene.loop.summary() == {"passed": 0, "failed": 0, "given_back": 1, "unjudged": 0, "left": 0}


def test_a_provider_that_the_node_no_longer_wants_ends_and_says_so(scene: Scene) -> None:
    scene.until(lambda: scene.node.beats)
    scene.node.retired_at = scene.node.time()
    scene.thread.join(10)
    assert isinstance(scene.error, ProviderRetired)
    assert "retired" in scene.until_told("refused")["why"]


def test_the_live_view_shows_who_what_and_how_it_went(scene: Scene) -> None:
    board = Board()
    assert "Getting ready" in drawn(board)
    board.loop = scene.loop
    tell = Journal([board])
    tell("seller", who="agent_1 \x1b[2J", owner="agent:1", node="http://node")
    job = scene.node.offer("wait")
    scene.until_told("started")
    shown = drawn(board)
    for expected in ("agent_1", "http://node", "online", "run passed", "1 of 3 slots", job.attempt.job, "1000.000 SAT"):
        assert expected in shown
    assert "\x1b[2J" not in shown
    scene.node.away = True
    scene.until_told("away")
    assert "the node is unreachable for" in drawn(board)
    tell("outcome", job="job_9", type="sandbox_run", state="failed", reason="run.exit_code", paid="0", earned=None)
    assert "job_9 (run) failed: the command's exit code" in drawn(board)


def drawn(board: Board) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    console.print(board.draw())
    return cast("io.StringIO", console.file).getvalue()


class Stream:
    """A client whose events come from a list; an error in it is raised."""

    def __init__(self, events: list[object]) -> None:
        self._events = events

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def events(self, *, type_: str) -> Iterator[object]:
        assert type_ == "bazaar.job"
        while self._events:
            event = self._events.pop(0)
            if isinstance(event, Exception):
                raise event
            yield event


def event(subject: str, type_: str = "bazaar.job.assigned") -> Event:
    return Event(position="1-1", id="x", type=type_, version=1, subject=subject, at="", actor="", cause=None, data={})


def test_events_wake_and_a_broken_stream_is_taken_up_again() -> None:
    woken: list[str | None] = []
    deaf = threading.Event()
    told: list[str] = []
    events: list[object] = [event("job_1"), NoNode(url="x"), event("job_2"), event("", MISSED), NotAllowed(why="no")]
    listener = Listener(
        lambda: cast("Client", Stream(events)), woken.append, deaf.set, lambda what, **_: told.append(what)
    )
    listener.start()
    assert deaf.wait(10)
    assert events == []
    assert woken == ["job_1", None, "job_2", None]  # nothing named: something may have been missed
    assert told == ["deaf"]


# --- hostile nodes ---


def patch_request() -> dict[str, Any]:
    return PatchGenRequest("t", "b", "a" * 40, "python3 -m pytest -q", Terms(1_000_000, 60, "k")).to_json()


def endless(_data: bytes) -> Iterator[bytes]:
    while True:
        yield b"x" * 100_000


def test_what_a_hostile_node_sends_never_reaches_a_worker(scene: Scene) -> None:
    node = scene.node
    patch = {"type_": JobType.PATCH_GEN, "request": patch_request()}
    other_type = node.offer("true", type_=JobType.CODE_REVIEW)
    wrong_request = node.offer("true")
    wrong_request.named = "sha256:" + "0" * 64
    of_another = node.offer("true", type_=JobType.PATCH_GEN)  # a run's request under a patch's name
    wrong_input = node.offer(**patch, repository=b"bundle")  # type: ignore[arg-type]
    wrong_input.input_hashes["repository"] = "sha256:" + "0" * 64
    bad = [other_type, wrong_request, of_another, wrong_input]
    scene.until(lambda: all(job.given_back for job in bad))
    assert "not offered here" in str(other_type.given_back)
    assert "request does not match the job's hash" in str(wrong_request.given_back)
    assert "repository does not match the job's hash" in str(wrong_input.given_back)
    node.parts_of = endless
    oversized = node.offer(**patch, repository=b"bundle")  # type: ignore[arg-type]
    scene.until(lambda: oversized.given_back)
    assert "larger than 1000000 bytes" in str(oversized.given_back)
    assert scene.worker.began == []


def test_a_node_that_does_not_tell_the_order_at_the_beginning_is_asked_for_it(scene: Scene) -> None:
    scene.node.tells_orders = False
    bad, job = scene.node.offer("true"), scene.node.offer("true")
    bad.named = "sha256:" + "0" * 64
    scene.until(lambda: job.handed and bad.given_back)
    assert "request does not match the job's hash" in str(bad.given_back)


def test_an_input_comes_whole_in_parts(scene: Scene) -> None:
    data = bytes(range(256)) * 1_000
    job = scene.node.offer(type_=JobType.PATCH_GEN, request=patch_request(), repository=data)
    scene.until(lambda: job.handed)
    assert scene.worker.repositories == [data]


def test_a_machine_whose_clock_is_wrong_works_by_the_nodes_time(tmp_path: Path) -> None:
    node = FakeNode()
    node.ahead_s = 3_600.0
    scene = Scene(node, tmp_path)
    scene.thread.start()
    try:
        assert 3_598 < scene.until_told("skew")["ahead_s"] < 3_602
        job, late = node.offer("true", seconds=30), node.offer("true", seconds=-30)
        scene.until(lambda: job.handed and late.given_back)
        assert 25 <= scene.facts("taken")[0]["left_s"] <= 30
        assert job.handed is not None
        told = trajectories.parse(node.bytes_of(job.handed["trajectory"]), POLICY.of(WorkersPolicy))
        assert abs(told.header.started_us - scene.clock.now_us()) < 60_000_000
    finally:
        scene.close()


@pytest.mark.parametrize("nonsense", [{"deadline_at": "soon"}, {"ceiling": "a lot"}])
def test_an_answer_that_makes_no_sense_does_not_end_the_work_that_goes_on(
    scene: Scene, nonsense: dict[str, str]
) -> None:
    good = scene.node.offer("wait")
    scene.until_told("started")
    bad = scene.node.offer("true")
    bad.attempt = bad.attempt.model_copy(update=nonsense)
    scene.until_told("away")
    assert scene.thread.is_alive()
    assert good.given_back is None
    bad.attempt = bad.attempt.model_copy(update={"state": "withdrawn"})
    scene.until_told("back")
    scene.worker.go.set()
    scene.until(lambda: good.handed)


def test_an_answer_about_another_attempt_does_not_end_it_either(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    job = scene.node.offer("true")
    scene.until_told("handed_in")
    other = job.attempt.model_copy(update={"id": "attempt_of_another", "state": "passed"})
    monkeypatch.setattr(scene.node, "_attempts_get", lambda _: other)
    scene.loop.wake(job.attempt.job)
    scene.until_told("away")
    monkeypatch.undo()
    scene.node.end(job, "passed")
    scene.until_told("outcome")
