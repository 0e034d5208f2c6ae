"""Event streams: nothing is missed or told twice, nobody hears what is not for them, and they end when they must."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from choir.doors.http.streams import Streams, Subscription
from choir.foundation.clock import ManualClock, SystemClock, SystemEntropy
from choir.identity.credentials.model import BadCredential
from choir.identity.model import Scope, person_owner
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.storage.policy import NodePolicy
from tests.doors.listening import Announcer, Ear, announcer
from tests.identity.agency import Agency, session
from tests.operations.nodes import ANSWER_S_MAX, NodeUnderTest, new_node, until

KILL_FEEDS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'choir events'"
LIMITS = {
    "CHOIR_POLICY__NODE__STREAM_CHECK_S": "1",
    "CHOIR_POLICY__NODE__STREAM_HEARTBEAT_S": "1",
    "CHOIR_POLICY__NODE__STREAM_WAITING_MAX": "50",
    "CHOIR_POLICY__NODE__STREAMS_PER_PRINCIPAL_MAX": "6",
    "CHOIR_POLICY__NODE__STREAM_RETRY_MS": "50",
    "CHOIR_POLICY__NODE__REQUEST_S_MAX": "2",
}


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    """A running node whose streams live fast."""
    with new_node(**LIMITS) as node:
        yield node.up()


@pytest.fixture
def says(town: NodeUnderTest) -> Iterator[Announcer]:
    with announcer(town) as made:
        yield made


@pytest.fixture
def agency(says: Announcer) -> Agency:
    agency = Agency(says.database, clock=ManualClock(SystemClock().now_us()), seed=None)
    agency.people = random.randrange(10**9)  # handles that no other test has
    return agency


@pytest.fixture
def ears(town: NodeUnderTest) -> Iterator[list[Ear]]:
    """Streams that end with the test, so that the next one finds room."""
    opened: list[Ear] = []
    yield opened
    for ear in opened:
        ear.close()
        assert ear.ended.wait(30)


def token_of(agency: Agency, *scopes: Scope) -> tuple[str, str, dict[str, str]]:
    """A new person's owner name, the id of a token of theirs, and the header that shows it."""
    person = agency.person()
    with agency.tx() as tx:
        made = agency.tokens.for_person(
            tx, session(person), name="a test", scopes=set(scopes), expires_us=agency.later(3600)
        )
    return person_owner(person), str(made.token.id), {"Authorization": f"Bearer {made.text.reveal()}"}


def test_events_come_as_they_happen_and_longer_than_a_request_may_take(
    town: NodeUnderTest, says: Announcer, ears: list[Ear]
) -> None:
    ear = Ear(town)
    ears.append(ear)
    says.say("first")
    ear.wait_for("first")
    time.sleep(2.5)  # beyond the time limit of requests
    says.say("second")
    ear.wait_for("second")
    assert ear.subjects == ["first", "second"]
    assert "still here" in ear.comments
    assert ear.heard[0] | {"id": "", "at": ""} == {
        "event": "test.said", "id": "", "type": "test.said", "version": 1, "subject": "first", "at": "",
        "actor": "tester", "cause": None, "data": {},
    }  # fmt: skip


def test_a_stream_resumes_behind_the_last_id_also_when_that_was_a_heartbeat(
    town: NodeUnderTest, says: Announcer, ears: list[Ear]
) -> None:
    ear = Ear(town, subject="nothing")
    ears.append(ear)
    before = ear.last_id
    says.say("unheard")
    until(lambda: ear.last_id not in ("", before))
    assert ear.heard == []
    says.say("later")
    again = Ear(town, {"Authorization": f"Bearer {town.token}", "Last-Event-ID": ear.last_id}, after="0-0")
    ears.append(again)
    again.wait_for("later")


def test_filters_by_type_and_subject(town: NodeUnderTest, says: Announcer, ears: list[Ear]) -> None:
    ears += [Ear(town, type="bazaar.job"), Ear(town, subject="job_7"), Ear(town, type="bazaar", subject="job_7")]
    says.say("job_7", type_="bazaar.job.paid")
    says.say("job_7", type_="commons.cited")
    says.say("job_8", type_="bazaar.job")
    says.say("job_9", type_="bazaar.jobless")
    says.say("job_7", "job_8", type_="bazaar.job.done")
    heard = [[(event["subject"], event["type"]) for event in ear.heard] for ear in ears]
    until(lambda: [len(ear.heard) for ear in ears] == [4, 3, 2])
    heard = [[(event["subject"], event["type"]) for event in ear.heard] for ear in ears]
    assert heard[1] == [("job_7", "bazaar.job.paid"), ("job_7", "commons.cited"), ("job_7", "bazaar.job.done")]
    assert heard[2] == [("job_7", "bazaar.job.paid"), ("job_7", "bazaar.job.done")]
    assert ("job_9", "bazaar.jobless") not in heard[0]


def test_everyone_hears_what_is_addressed_to_them(
    town: NodeUnderTest, says: Announcer, agency: Agency, ears: list[Ear]
) -> None:
    ada, _, adas = token_of(agency, Scope.READ)
    bob, _, bobs = token_of(agency, Scope.READ)
    ears += [Ear(town), Ear(town, adas), Ear(town, bobs)]
    start = ears[0].last_id
    says.say("secret")
    says.say("adas", audience=[ada])
    says.say("both", audience=[ada, bob])
    says.say("public", audience=[EVERYONE])
    ears[0].wait_for("secret", "public")
    for ear in ears[1:]:
        ear.wait_for("public")
    assert [ear.subjects for ear in ears] == [
        ["secret", "adas", "both", "public"],
        ["adas", "both", "public"],
        ["both", "public"],
    ]
    past = httpx.get(
        f"{town.url}/v1/events?after={start or '0-0'}&follow=false", headers=bobs, trust_env=False, timeout=ANSWER_S_MAX
    ).text
    assert '"secret"' not in past
    assert '"adas"' not in past
    assert '"both"' in past


def test_without_the_scope_or_a_credential_there_is_no_stream(town: NodeUnderTest, agency: Agency) -> None:
    _, _, buyer = token_of(agency, Scope.BUY)
    assert httpx.get(f"{town.url}/v1/events", headers=buyer, trust_env=False, timeout=ANSWER_S_MAX).status_code == 403
    assert httpx.get(f"{town.url}/v1/events", trust_env=False, timeout=ANSWER_S_MAX).status_code == 401


@pytest.mark.parametrize("how", ["revoked", "erased", "delegation revoked"])
def test_a_credential_that_ends_takes_its_stream_along(
    town: NodeUnderTest, says: Announcer, agency: Agency, ears: list[Ear], how: str
) -> None:
    person = agency.person()
    with agency.tx() as tx:
        if how == "delegation revoked":
            agent = agency.agents.create(tx, person, "scout")
            granted = agency.delegations.grant(
                tx, person, agent.id, scopes={Scope.READ}, caps=(), expires_us=agency.later(3600)
            )
            made = agency.tokens.for_delegation(
                tx, session(person), granted.id, name="t", scopes={Scope.READ}, expires_us=agency.later(3000)
            )
        else:
            made = agency.tokens.for_person(
                tx, session(person), name="t", scopes={Scope.READ}, expires_us=agency.later(3600)
            )
    ear = Ear(town, {"Authorization": f"Bearer {made.text.reveal()}"})
    ears.append(ear)
    says.say("before", audience=[EVERYONE])
    ear.wait_for("before")
    with agency.tx() as tx:
        if how == "revoked":
            agency.tokens.revoke(tx, session(person), made.token.id)
        elif how == "erased":
            tx.run("update people set erased_us = %s, handle = null where id = %s", agency.clock.now_us(), person)
        else:
            agency.delegations.revoke(tx, session(person), granted.id)
    assert ear.ended.wait(20)
    says.say("after", audience=[EVERYONE])
    assert ear.subjects == ["before"]


def test_a_stream_that_never_comes_to_follow_ends_with_its_credential_too(says: Announcer) -> None:
    """Who reads the past slowly enough is asked again as well."""

    def ended(_: Tx) -> None:
        raise BadCredential(why="it was revoked")

    async def read() -> str:
        outbox = Outbox(SystemClock(), SystemEntropy())
        streams = Streams(says.database, outbox, NodePolicy(stream_check_s=1))
        stream = streams.open("person:x", Subscription("person:x"), ended)
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                await stream.over.wait()
        finally:
            await streams.stop()
        return stream.why

    assert asyncio.run(read()) == BadCredential.code


def test_nothing_is_lost_or_doubled_with_many_writers_and_readers_that_come_and_go(
    town: NodeUnderTest, says: Announcer
) -> None:
    """Commits end in another order than they began, and the connection that listens is killed again and again."""
    writers, each = 6, 40
    done = threading.Event()
    seen: list[str] = []
    ids: list[str] = []
    operator = {"Authorization": f"Bearer {town.token}"}
    past = httpx.get(
        f"{town.url}/v1/events?follow=false&after=0-0", headers=operator, trust_env=False, timeout=ANSWER_S_MAX
    ).text
    start = past.split("id: ")[-1].split("\n")[0]

    def write(writer: int) -> None:
        chance = random.Random(writer)
        for n in range(each):
            with says.database.unit_of_work() as tx:
                says.say_in(tx, f"{writer}-{n}", type_="storm.said")
                time.sleep(chance.choice([0, 0, 0.005, 0.05]))

    def kill() -> None:
        with psycopg.connect(town.dsn("postgres"), autocommit=True) as admin:
            while not done.wait(0.15):
                admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'choir events'"
                )

    def read() -> None:
        last = start if "-" in start else "0-0"
        chance = random.Random(99)
        while len(seen) < writers * each:
            ear = Ear(town, operator | {"Last-Event-ID": last}, type="storm")
            time.sleep(chance.uniform(0.05, 0.5))
            ear.close()
            assert ear.ended.wait(30)
            seen.extend(ear.subjects)
            ids.extend(ear.ids)
            last = ear.last_id or last

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    threads += [threading.Thread(target=read), threading.Thread(target=kill)]
    whole = Ear(town, type="storm")
    try:
        for thread in threads:
            thread.start()
        for thread in threads[:-1]:
            thread.join(180)
            assert not thread.is_alive()
        until(lambda: whole.ended.is_set() or len(whole.heard) >= writers * each)
    finally:
        done.set()
        threads[-1].join(30)
    whole.close()
    for told, told_ids in ((seen, ids), (whole.subjects, whole.ids)):
        assert sorted(told) == sorted(f"{writer}-{n}" for writer in range(writers) for n in range(each))
        positions = [tuple(map(int, id_.split("-"))) for id_ in told_ids]
        assert positions == sorted(positions)


def test_many_events_at_once_are_no_slow_reader(town: NodeUnderTest, says: Announcer, ears: list[Ear]) -> None:
    """More in one transaction than may wait for a reader."""
    ear = Ear(town, type="burst")
    ears.append(ear)
    says.say(*[str(n) for n in range(400)], type_="burst.said")
    until(lambda: ear.ended.is_set() or len(ear.heard) == 400)
    assert ear.subjects == [str(n) for n in range(400)]


def test_a_reader_that_does_not_read_is_let_go_and_others_are_not_held_up(
    town: NodeUnderTest, says: Announcer, ears: list[Ear]
) -> None:
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", town.port))
        slow.sendall(f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {town.token}\r\n\r\n".encode())
        assert slow.recv(16).startswith(b"HTTP/1.1 200")
        ear = Ear(town, type="flood.end")
        ears.append(ear)
        for _ in range(60):
            says.say(*["x" * 60_000] * 5, type_="flood.said")
        says.say("over", type_="flood.end")
        ear.wait_for("over")
        until(lambda: _streams(town) <= 1)
    assert ear.subjects == ["over"]


def _streams(node: NodeUnderTest) -> int:
    text = httpx.get(f"{node.url}/metrics", trust_env=False, timeout=ANSWER_S_MAX).text
    return sum(int(float(line.split()[-1])) for line in text.splitlines() if line.startswith("choir_http_streams"))


def test_there_are_only_so_many_streams_for_one(town: NodeUnderTest, agency: Agency, ears: list[Ear]) -> None:
    _, _, credential = token_of(agency, Scope.READ)
    ears += [Ear(town, credential) for _ in range(6)]
    refused = httpx.get(f"{town.url}/v1/events", headers=credential, trust_env=False, timeout=ANSWER_S_MAX)
    assert refused.status_code == 429
    assert refused.json()["code"] == "events.too_many_streams"
    assert int(refused.headers["retry-after"]) > 0
    ears.pop().close()
    until(
        lambda: (
            httpx.get(
                f"{town.url}/v1/events?follow=false", headers=credential, trust_env=False, timeout=ANSWER_S_MAX
            ).status_code
            == 200
        )
    )


@pytest.mark.parametrize("given", ["x", "1", "-1-1", "1-", "9" * 55, "1-" + "9" * 19, f"{2**62}-1", "0x1-1", "1 -1"])
def test_a_position_that_no_event_came_with_is_refused(town: NodeUnderTest, given: str) -> None:
    credential = {"Authorization": f"Bearer {town.token}"}
    for answer in (
        httpx.get(
            f"{town.url}/v1/events",
            headers=credential | {"Last-Event-ID": given},
            trust_env=False,
            timeout=ANSWER_S_MAX,
        ),
        httpx.get(
            f"{town.url}/v1/events", headers=credential, params={"after": given}, trust_env=False, timeout=ANSWER_S_MAX
        ),
    ):
        assert answer.status_code == 422, answer.text


def test_who_resumes_behind_forgotten_events_is_told(town: NodeUnderTest, says: Announcer, ears: list[Ear]) -> None:
    says.say("old")
    with says.database.unit_of_work() as tx:
        tx.run("update outbox_forgotten set xid = pg_snapshot_xmin(pg_current_snapshot()), n = 0")
    says.say("new")
    ears += [Ear(town, after="0-0")]
    ears[0].wait_for("new")
    assert ears[0].heard[0]["event"] == "events.missed"


def test_a_stopping_node_ends_its_streams_at_once() -> None:
    with new_node(**LIMITS) as node:
        node.up()
        ears = [Ear(node) for _ in range(3)]
        assert node.stop() == 0
        for ear in ears:
            assert ear.ended.wait(ANSWER_S_MAX)
            assert ear.comments[-1].startswith("over: ")  # it was told, not cut off when its time was over


@pytest.mark.deep
def test_streams_survive_the_database() -> None:
    with new_node(**LIMITS) as node:
        node.up()
        ear = Ear(node)
        with announcer(node) as says:
            says.say("before")
        ear.wait_for("before")
        database = node.database_pid()
        assert database is not None
        os.kill(database, signal.SIGKILL)
        until(lambda: node.database_pid() not in (None, database))
        until(node.ready)
        with announcer(node) as says:
            says.say("after")
        ear.wait_for("after")
        assert ear.subjects == ["before", "after"]
        ear.close()
