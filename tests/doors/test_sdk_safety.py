"""What the SDK promises whichever client is used: one effect, the node's own errors, no secret anywhere."""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import pkgutil
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

import choir
from choir.doors.sdk.auth import Bearer
from choir.doors.sdk.errors import NodeError
from choir.doors.sdk.retry import Attempts
from choir.doors.sdk.transport import trust_for
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from choir.foundation.errors import Invalid, Unavailable, known_codes
from choir.identity.credentials.model import BadCredential
from choir.identity.delegations.model import CapExceeded, DelegationEnded
from choir.identity.keys.nostr_keys import nsec
from choir.identity.keys.secret_values import SecretKey
from choir.identity.model import PersonNeeded, ScopeMissing, TooManyTries
from choir.ledger.model import InsufficientFunds
from choir.sdk import Asset, AsyncClient, Client, NoNode, NostrKey
from tests.doors.servers import Script, answer, losing, problem, script
from tests.doors.townsfolk import neighbour, public_node, public_url
from tests.operations.nodes import ADA, BOB, NodeUnderTest, free_port, fund

POSTED = answer(201, '{"id": "e", "seq": 1, "at": "t", "hash": "h", "again": false}')
SECRET = "choir_pat_" + "7" * 49
KEY = "17" * 32


@pytest.fixture(scope="module")
def funded() -> Iterator[NodeUnderTest]:
    with public_node() as node:
        fund(node)
        yield node


# One effect


def test_an_answer_that_is_lost_has_one_effect(funded: NodeUnderTest) -> None:
    before = funded.entries()
    with losing(funded.port, lose=3) as proxy, Client(proxy.url, funded.token) as client:
        posted = client.transfer(ADA, BOB, 1, reason="a test")
    assert len(proxy.requests) == 4
    assert posted.again is True
    assert funded.entries() == before + 1

    async def asynchronous() -> bool:
        async with AsyncClient(again.url, funded.token) as client:
            return (await client.transfer(ADA, BOB, 1, reason="a test")).again

    with losing(funded.port, lose=2) as again:
        assert asyncio.run(asynchronous()) is True
    assert funded.entries() == before + 2


def test_what_has_no_key_is_never_sent_again_once_it_left(funded: NodeUnderTest) -> None:
    account = "person:cold/available/CREDIT"
    with funded.client() as client:
        client.open_account(account)
    with losing(funded.port, lose=1) as proxy, Client(proxy.url, funded.token) as client:
        with pytest.raises(Unavailable):
            client.freeze(account, reason="a test")
        assert len(proxy.requests) == 1
        assert client.balance(account).state == "frozen"  # it had been done


def test_what_never_left_is_sent_again_whatever_it_is() -> None:
    """A node that is just starting: nothing listens yet, so nothing can have happened twice."""
    port = free_port()
    frozen = answer(200, '{"name": "a", "asset": "CREDIT", "state": "frozen", "balance": "0"}')
    servers: list[Script] = []
    late = threading.Timer(1.0, lambda: servers.append(Script(frozen, port=port)))
    late.start()
    with Client(f"http://127.0.0.1:{port}", "x") as client:
        assert client.freeze(ADA, reason="a test").state == "frozen"
    late.join()
    servers[0].close()
    assert len(servers[0].requests) == 1


def test_calls_that_are_cancelled_have_one_effect_when_they_are_repeated(funded: NodeUnderTest) -> None:
    keys = [f"cancelled-{number}" for number in range(24)]
    before = int(funded.client().balance(BOB).balance)

    async def run() -> int:
        cancelled = 0
        async with AsyncClient(funded.url, funded.token) as client:
            tasks = [asyncio.create_task(client.transfer(ADA, BOB, 1, reason="a test", key=key)) for key in keys]
            for number, task in enumerate(tasks):
                await asyncio.sleep(0.001 * (number % 5))
                cancelled += task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for key in keys:  # the client is as good as before
                await client.transfer(ADA, BOB, 1, reason="a test", key=key)
        return cancelled

    assert asyncio.run(run()) > 0
    assert int(funded.client().balance(BOB).balance) == before + len(keys)


def test_cancelling_a_call_ends_it_at_once() -> None:
    async def run(url: str) -> float:
        begun = time.monotonic()
        async with AsyncClient(url, "x", patience_s=30) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.node(), 0.5)
        return time.monotonic() - begun

    with script(problem(503, "storage.unavailable", '{"why": "a test"}')) as server:
        assert asyncio.run(run(server.url)) < 5


# Patience


def test_retry_after_is_honoured_and_never_waited_for_in_vain() -> None:
    busy = problem(503, "storage.unavailable", '{"why": "a test"}', "Retry-After: 1")
    with script(busy, POSTED) as server, Client(server.url, "x") as client:
        begun = time.monotonic()
        client.transfer(ADA, BOB, 1, reason="a test")
        assert 1 <= time.monotonic() - begun < 5
    tired = problem(429, "identity.too_many_tries", '{"retry_s": 600}', "Retry-After: 600")
    with script(tired) as server, Client(server.url, "x") as client:
        begun = time.monotonic()
        with pytest.raises(TooManyTries):
            client.node()
        assert time.monotonic() - begun < 600  # it was told to wait that long, and that would be in vain
        assert len(server.requests) == 1
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with script(problem(429, "identity.too_many_tries", '{"retry_s": 2}', f"Retry-After: {later}"), POSTED) as server:
        with Client(server.url, "x") as client:
            client.transfer(ADA, BOB, 1, reason="a test")
        assert len(server.requests) == 2


@pytest.mark.parametrize("odd", ["", "soon", "-5", "1e9", "9" * 400, "\u0661"])
def test_an_odd_retry_after_is_no_reason_to_fail(odd: str) -> None:
    response = httpx.Response(503, headers=[(b"Retry-After", odd.encode())])
    attempts = Attempts(repeatable=True, patience_s=5, connect_s=5)
    pause_s = attempts.after_answer(response)
    assert pause_s is None or pause_s < 5


def test_pauses_grow_and_end() -> None:
    now = [0.0]
    attempts = Attempts(repeatable=True, patience_s=10, connect_s=10, now=lambda: now[0])
    pauses = []
    while (pause_s := attempts.after_error(httpx.ReadError("x"))) is not None:
        pauses.append(pause_s)
        now[0] += pause_s
    assert pauses[0] < 0.2
    assert max(pauses) <= 3
    assert 7 < sum(pauses) <= 10
    assert attempts.after_error(httpx.UnsupportedProtocol("x")) is None


# Errors


def test_every_error_of_a_node_is_known_to_a_client() -> None:
    """In a process that has loaded nothing else: each code leads to its class."""
    for module in pkgutil.walk_packages(choir.__path__, "choir."):
        importlib.import_module(module.name)
    expected = {
        code: f"{cls.__module__}.{cls.__qualname__}"
        for code, cls in known_codes().items()
        if cls.__module__.startswith("choir.") and not cls.__module__.startswith(("choir.doors.cli", "choir.bench"))
    }
    assert len(expected) > 100
    program = """
import json, sys
import choir.sdk
from choir.foundation.errors import error_class
from choir.doors.sdk import answers
found = {}
for code in json.load(sys.stdin):
    cls = error_class(code) or answers._learned(code)
    found[code] = cls and f"{cls.__module__}.{cls.__qualname__}"
print(json.dumps(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(list(expected)), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == expected


def test_a_common_refusal_needs_little_to_be_understood() -> None:
    program = """
import sys
from choir.doors.sdk import answers
error = answers.error_of("identity.scope_missing", "x", {"scope": "buy"})
assert type(error).__name__ == "ScopeMissing", error
assert "fastapi" not in sys.modules and "webauthn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_both_clients_raise_the_same(funded: NodeUnderTest) -> None:
    async def poor() -> None:
        async with AsyncClient(funded.url, funded.token) as client:
            with pytest.raises(InsufficientFunds):
                await client.transfer(BOB, ADA, 10**15, reason="a test")
            with pytest.raises(Invalid):
                await client.transfer(ADA, BOB, 0, reason="a test")

    asyncio.run(poor())

    async def gone() -> None:
        async with AsyncClient(f"http://127.0.0.1:{free_port()}", "x", patience_s=0.3) as client:
            await client.node()

    with pytest.raises(NoNode):
        asyncio.run(gone())


def test_a_part_of_a_path_cannot_lead_elsewhere(funded: NodeUnderTest) -> None:
    with funded.client() as client:
        for odd in ("../node", "..", ".", "a/b", "", "?x=1", "#x", "%2e%2e/node", "a\nb", "é"):
            for ask in (client.entry, client.get_hold, client.explain):
                with pytest.raises((Invalid, NodeError)):
                    ask(odd)


# Rooms


def test_people_agents_and_money_through_the_rooms(funded: NodeUnderTest) -> None:
    with neighbour(funded, "grace") as grace, neighbour(funded, "linus") as linus, funded.client() as operator:
        operator.fund(f"{grace.owner}/available/SAT", 5000)
        agent = grace.agent("librarian")
        delegation = grace.delegation(agent, "read", "buy", caps=[{"asset": "SAT", "period": "day", "cap": "1000"}])
        with Client(funded.url, grace.token("read", "buy", delegation=delegation)) as client:
            sent = client.me.send("linus", "SAT", 600, from_=grace.owner, key="sent-once")
            again = client.me.send("linus", Asset.SAT, 600, from_=grace.owner, key="sent-once")
            assert again.posted.id == sent.posted.id
            with pytest.raises(CapExceeded):
                client.me.send("linus", "SAT", 600, from_=grace.owner)
            [cap] = client.delegations.get(delegation).caps
            assert (cap.cap, cap.spent) == ("1000", "600")
            assert [item.id for item in client.delegations.all(limit=1)] == [delegation]
            client.delegations.revoke(delegation)
            with pytest.raises((DelegationEnded, BadCredential)):
                client.me.who()
        with Client(funded.url, linus.token("read")) as client:
            balances = {item.asset: item.balance for item in client.me.accounts(limit=1)}
            assert balances == {"CREDIT": "50000", "CHIP": "50000000", "SAT": "100000600"}
            assert client.keys.all().items == []
            with pytest.raises(PersonNeeded):
                client.agents.create("another")
            with pytest.raises(ScopeMissing):
                client.me.send("grace", "SAT", 1)
        assert operator.people.cluster(linus.owner).members == [linus.owner]
        signed = operator.checkpoint()
        assert operator.latest_checkpoint() == signed == operator.get_checkpoint(signed.size)


# Listings


def test_listings_go_through_all_pages_in_both_clients(funded: NodeUnderTest) -> None:
    with funded.client() as client:
        for number in range(5):
            client.transfer(ADA, BOB, 1, reason=f"line {number}")
        lines = list(client.statement_lines(BOB, limit=2))
        journal = [entry.seq for entry in client.journal(limit=2)]
        assert journal == list(range(1, len(journal) + 1))
        assert next(client.journal(after_seq=3)).seq == 4

    async def run() -> list[str]:
        async with AsyncClient(funded.url, funded.token) as asynchronous:
            return [line.entry async for line in asynchronous.statement_lines(BOB, limit=2)]

    assert asyncio.run(run()) == [line.entry for line in lines]


# Secrets


def test_a_token_is_in_no_repr_and_no_error(funded: NodeUnderTest) -> None:
    for auth in (None, NostrKey(KEY)):
        shown = []
        for url in (funded.url, f"http://127.0.0.1:{free_port()}", "http://127.0.0.1:1/\x00"):
            try:
                client = Client(url, None if auth else SECRET, auth=auth, patience_s=0.2)
            except Exception as error:
                shown.append("".join(traceback.format_exception(error)))
                continue
            shown.append(f"{client!r} {client.who!r} {client._transport!r} {vars(client)!r} {auth!r}")
            with pytest.raises(Exception, match=r"\w") as raised:
                client.node()
            shown.append("".join(traceback.format_exception(raised.value)) + repr(raised.value))
        assert not any(SECRET in text or KEY in text for text in shown)
    assert SECRET not in repr(Bearer(SECRET))
    with pytest.raises(Invalid) as odd:
        Client(funded.url, SECRET + "\n")
    assert SECRET not in str(odd.value)
    with pytest.raises(Invalid) as named:
        NostrKey("nsec1" + KEY)
    assert KEY not in str(named.value)


def test_a_redirect_does_not_take_the_token_along() -> None:
    with script(answer(200, "{}")) as thief:
        moved = answer(307, "{}", f"Location: {thief.url}/v1/node")
        with script(moved) as server, Client(server.url, SECRET) as client, pytest.raises(NodeError):
            client.node()
        assert thief.requests == []


# Requests signed by a Nostr key


def test_a_nostr_key_stands_up_and_acts(funded: NodeUnderTest) -> None:
    for secret in (KEY, nsec(SecretKey(bytes.fromhex("18" * 32)))):
        auth = NostrKey(secret, public_url=public_url(funded))
        with Client(funded.url, auth=auth) as client:
            agent = client.agents.stand("wanderer")
            assert agent.name == "wanderer"
            me = client.me.who()
            assert (me.role, me.agent, me.credential) == ("agent", agent.id, "nostr")
            assert client.agents.rename(agent.id, "stroller").name == "stroller"
            assert [item.name for item in client.agents.all(limit=1)] == ["stroller"]


def test_a_signed_request_that_is_repeated_is_no_replay(funded: NodeUnderTest) -> None:
    auth = NostrKey(KEY, public_url=public_url(funded))
    with losing(funded.port, lose=2) as proxy, Client(proxy.url, auth=auth) as client:
        assert client.agents.stand().key is not None
    assert len(proxy.requests) == 3
    signed = {line for request in proxy.requests for line in request.splitlines() if line.startswith(b"Authorization")}
    assert len(signed) == 3

    async def run() -> str:
        async with AsyncClient(again.url, auth=auth) as client:
            return (await client.me.who()).credential

    with losing(funded.port, lose=1) as again:
        assert asyncio.run(run()) == "nostr"


def test_a_signature_for_another_address_is_refused(funded: NodeUnderTest) -> None:
    auth = NostrKey(KEY, public_url="https://elsewhere.example")
    with Client(funded.url, auth=auth) as client, pytest.raises(BadCredential):
        client.me.who()


def _refused(ahead_s: float, *headers: str) -> bytes:
    """What a node says whose clock is that far ahead, and that does not like the signature."""
    now_us = SystemClock().now_us() + int(ahead_s * MICROSECONDS)
    return problem(
        401, "identity.bad_credential", '{"why": "the time"}', f"Choir-Time: {format_time(now_us)}", *headers
    )


def _signed_s(request: bytes) -> float:
    """The time of a request's signature, counted from now."""
    [header] = [line for line in request.splitlines() if line.startswith(b"Authorization: Nostr ")]
    return float(json.loads(base64.b64decode(header.split()[-1]))["created_at"] - time.time())


_NOTHING = dict.fromkeys(("handle", "person", "agent", "delegation", "fresh_until"))
ME = answer(200, json.dumps({"role": "agent", "owner": "agent:x", "scopes": [], "credential": "nostr", **_NOTHING}))


def test_what_is_signed_is_signed_by_the_nodes_time() -> None:
    """It is refused once, then signed by the time that the refusal told; at another node by ours, as before."""
    key = NostrKey(KEY)
    proxys = f"Date: {format_datetime(datetime.now(UTC), usegmt=True)}"  # which is not the node's

    async def run(url: str) -> str:
        async with AsyncClient(url, auth=key) as client:
            return (await client.me.who()).credential

    with script(_refused(86_400, proxys), ME) as server, Client(server.url, auth=key) as client:
        assert client.me.who().credential == "nostr"
        assert client.twin().me.who().credential == "nostr"
        assert [round(_signed_s(request) / 86_400) for request in server.requests] == [0, 1, 1]
    with script(_refused(-86_400), ME) as server:
        assert asyncio.run(run(server.url)) == "nostr"
        assert [round(_signed_s(request) / 86_400) for request in server.requests] == [0, -1]
    with script(ME) as other, Client(other.url, auth=key) as client:
        client.me.who()
        assert round(_signed_s(other.requests[0]) / 86_400) == 0


@pytest.mark.parametrize(("ahead_s", "sent"), [((0, 0), 1), ((86_400, 3 * 86_400, 9 * 86_400), 3)])
def test_a_refusal_that_is_not_for_the_time_stands(ahead_s: tuple[int, ...], sent: int) -> None:
    """Nor does a node whose time is another with each answer keep a caller busy."""
    with script(*map(_refused, ahead_s)) as server, Client(server.url, auth=NostrKey(KEY)) as client:
        with pytest.raises(BadCredential):
            client.me.who()
        assert len(server.requests) == sent
    with script(_refused(86_400)) as server, Client(server.url, SECRET) as client:  # nothing of it is signed
        with pytest.raises(BadCredential):
            client.me.who()
        assert len(server.requests) == 1


def test_nobody_is_believed_without_a_certificate() -> None:
    """A plain address asks for none; should one ever be met there, it is believed no more than a stranger's."""
    plain, secure = (trust_for(f"{scheme}://node.example") for scheme in ("http", "https"))
    for context in (plain, secure):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
    assert plain.cert_store_stats()["x509_ca"] == 0
    assert secure.cert_store_stats()["x509_ca"] > 10
