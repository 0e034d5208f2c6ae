"""Nostr events and the requests that they authorise."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import coincurve
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.clock import MICROSECONDS
from choir.identity.agents.model import Agent, AgentRetired
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.nostr import SignedRequest
from choir.identity.delegations.model import DelegationEnded, delegation_id
from choir.identity.keys.model import KeyTaken
from choir.identity.keys.nostr_keys import checked_secret, parse_secret, public_of
from choir.identity.keys.secret_values import SecretKey
from choir.identity.model import PersonNeeded, Principal, Role, Scope, agent_owner, person_owner
from choir.nostr.events import BadEvent, NostrEvent, event_id, event_json, parse_event, serialise
from tests.identity.agency import Agency, cap, session

URL = "https://choir.example/jobs?page=2"
GET = SignedRequest("GET", URL)
KEY = SecretKey(b"\x11" * 32)

# The event in the header of https://github.com/nostr-protocol/nips/blob/master/98.md; the text above it has
# its tag renamed from "url" to "u", so that one does not verify.
NIP_98 = json.loads("""
{
  "id": "fe964e758903360f28d8424d092da8494ed207cba823110be3a57dfe4b578734",
  "pubkey": "63fe6318dc58583cfe16810f86dd09e18bfd76aabc24a0081ce2856f330504ed",
  "content": "",
  "kind": 27235,
  "created_at": 1682327852,
  "tags": [
    ["url", "https://api.snort.social/api/v1/n5sp/list"],
    ["method", "GET"]
  ],
  "sig": "5ed9d8ec958bc854f997bdc24ac337d005af372324747efe4a00e24f4c30437ff4dd8308684bed467d9d6be3e5a517bb43b1732cc7d33949a3aaf86705c22184"
}
""")  # noqa: E501


def signed(
    key: SecretKey = KEY, at_s: int = 0, kind: int = 27235, tags: list[list[str]] | None = None, content: str = ""
) -> NostrEvent:
    public = public_of(key)
    as_tuples = tuple(tuple(tag) for tag in ([["u", URL], ["method", "GET"]] if tags is None else tags))
    id_ = event_id(public, at_s, kind, as_tuples, content)
    return NostrEvent(id_, public, at_s, kind, as_tuples, content, coincurve.PrivateKey(key.reveal()).sign_schnorr(id_))


def header(event: NostrEvent | dict[str, Any]) -> str:
    value = event_json(event) if isinstance(event, NostrEvent) else event
    return "Nostr " + base64.b64encode(json.dumps(value).encode()).decode()


def now_s(agency: Agency) -> int:
    return agency.clock.now_us() // MICROSECONDS


def ask(agency: Agency, event: NostrEvent, request: SignedRequest = GET) -> Principal:
    with agency.tx() as tx:
        return agency.nostr.principal_of(tx, header(event), request)


def lone_agent(agency: Agency, key: SecretKey = KEY) -> Agent:
    with agency.tx() as tx:
        return agency.agents.stand(tx, public_of(key), "lone")


# Events


def test_a_published_event_verifies() -> None:
    event = parse_event(NIP_98)
    assert event.id == event_id(event.pubkey, event.created_at, event.kind, event.tags, event.content)
    event.verify()
    with pytest.raises(BadEvent):
        parse_event(json.loads(json.dumps(NIP_98).replace('"url"', '"u"'))).verify()


def test_text_is_written_as_nip_01_says() -> None:
    content = 'line\nquote" back\\ tab\t é 🎵 \u2028 \x7f /'
    assert serialise(b"\x11" * 32, 5, 1, (("t", "ü"),), content).decode() == (
        '[0,"' + "11" * 32 + '",5,1,[["t","ü"]],"line\\nquote\\" back\\\\ tab\\t é 🎵 \u2028 \x7f /"]'
    )


@given(st.text(), st.lists(st.lists(st.text(), min_size=1, max_size=3), max_size=3), st.integers(0, 2**32))
def test_events_come_back_as_they_went(content: str, tags: list[list[str]], at_s: int) -> None:
    try:
        event = signed(content=content, tags=tags, at_s=at_s)
    except BadEvent:
        assert any("\ud800" <= letter <= "\udfff" for letter in json.dumps([content, tags], ensure_ascii=False))
        return
    again = parse_event(json.loads(json.dumps(event_json(event))))
    assert again == event
    again.verify()


def test_any_change_is_noticed() -> None:
    event = signed(at_s=100)
    event.verify()
    for wrong in (
        replace(event, content="x"),
        replace(event, created_at=101),
        replace(event, kind=1),
        replace(event, tags=()),
        replace(event, pubkey=public_of(SecretKey(b"\x12" * 32))),
        replace(event, id=b"\0" * 32),
        replace(event, sig=event.sig[:-1] + bytes([event.sig[-1] ^ 1])),
        replace(event, sig=b"\0" * 64),
        replace(event, pubkey=b"\xff" * 32),
    ):
        with pytest.raises(BadEvent):
            wrong.verify()


@pytest.mark.parametrize(
    "change",
    [
        {"id": "AB" * 32}, {"id": 5}, {"id": None}, {"pubkey": "11" * 33}, {"sig": "11" * 63}, {"kind": -1},
        {"kind": 65536}, {"kind": 1.0}, {"kind": True}, {"created_at": "5"}, {"created_at": 2**53}, {"tags": {}},
        {"tags": ["u"]}, {"tags": [["u", 5]]}, {"content": None}, {"extra": 1},
    ],
)  # fmt: skip
def test_what_has_not_the_form_of_an_event_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadEvent):
        parse_event(event_json(signed()) | change)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_value_breaks_the_reader(value: Any) -> None:
    with pytest.raises(BadEvent):
        parse_event(value)


# Requests


def test_a_lone_agent_acts_by_its_signature(agency: Agency) -> None:
    agent = lone_agent(agency)
    who = ask(agency, signed(at_s=now_s(agency)))
    assert (who.role, who.source, who.agent, who.person) == (Role.AGENT, agent_owner(agent.id), agent.id, None)
    assert Scope.BUY in who.scopes
    assert Scope.WITHDRAW not in who.scopes
    assert who.credential == "nostr"


def test_an_event_is_good_once_even_for_many_at_a_time(agency: Agency) -> None:
    lone_agent(agency)
    event = signed(at_s=now_s(agency))
    barrier = threading.Barrier(8)

    def attempt(_: int) -> str:
        barrier.wait()
        try:
            ask(agency, event)
        except BadCredential as refusal:
            return str(refusal.fields["why"])
        return "good"

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(attempt, range(8)))
    assert answers == ["good", *["the event was already used"] * 7]


def test_used_events_are_kept_as_long_as_they_could_come_again(agency: Agency) -> None:
    lone_agent(agency)
    event = signed(at_s=now_s(agency) + 60)
    ask(agency, event)
    agency.clock.advance(120)
    with agency.tx() as tx:
        assert agency.nostr.forget_used(tx) == 0
    with pytest.raises(BadCredential, match="already used"):
        ask(agency, event)
    agency.clock.advance(1)
    with agency.tx() as tx:
        assert agency.nostr.forget_used(tx) == 1
    with pytest.raises(BadCredential, match="at most 60 seconds old"):
        ask(agency, event)


@pytest.mark.parametrize(("off_s", "good"), [(0, True), (-60, True), (60, True), (-61, False), (61, False)])
def test_an_event_is_good_for_a_short_time(agency: Agency, off_s: int, good: bool) -> None:
    lone_agent(agency)
    event = signed(at_s=now_s(agency) + off_s)
    if good:
        ask(agency, event)
    else:
        with pytest.raises(BadCredential):
            ask(agency, event)


@pytest.mark.parametrize(
    "tags",
    [
        [],
        [["u", URL]],
        [["method", "GET"]],
        [["u"], ["method", "GET"]],
        [["u", URL + "&x"], ["method", "GET"]],
        [["u", URL + "/"], ["method", "GET"]],
        [["u", URL.replace("https", "http")], ["method", "GET"]],
        [["u", URL.split("?", maxsplit=1)[0]], ["method", "GET"]],
        [["u", URL], ["method", "POST"]],
        [["u", URL], ["u", "https://other.example/"], ["method", "GET"]],
        [["u", URL], ["method", "GET"], ["method", "DELETE"]],
        [["u", URL], ["method", "GET"], ["payload", "00" * 32]],
    ],
)
def test_an_event_is_good_for_one_request_only(agency: Agency, tags: list[list[str]]) -> None:
    lone_agent(agency)
    with pytest.raises(BadCredential):
        ask(agency, signed(at_s=now_s(agency), tags=tags))


def test_a_body_must_be_the_one_that_was_signed(agency: Agency) -> None:
    lone_agent(agency)
    digest = hashlib.sha256(b"body").digest()
    base = [["u", URL], ["method", "POST"]]
    for tags in ([], [["payload", "00" * 32]], [["payload", digest.hex()], ["payload", "00" * 32]], [["payload", "é"]]):
        with pytest.raises(BadCredential, match="body"):
            ask(agency, signed(at_s=now_s(agency), tags=base + tags), SignedRequest("POST", URL, digest))
    event = signed(at_s=now_s(agency), tags=[*base, ["payload", digest.hex()]])
    ask(agency, event, SignedRequest("POST", URL, digest))


@pytest.mark.parametrize(
    "text",
    [
        "", "Nostr", "Nostr ", "Bearer x", "Nostr !!!", "Nostr " + "A" * 20_000, "Nostr bnVsbA==", "Nostr W10=",
        "Nostr " + base64.b64encode(b"[" * 5000).decode(),
        "Nostr " + base64.b64encode(b'{"id":1' + b"0" * 5000 + b"}").decode(),
        "Nostr " + base64.b64encode(b"\xff\xfe").decode(),
        "Nostr é", "\ud800",
    ],
)  # fmt: skip
def test_hostile_headers_are_refused(agency: Agency, text: str) -> None:
    with pytest.raises(BadCredential), agency.tx() as tx:
        agency.nostr.principal_of(tx, text, GET)


def test_a_wrong_signature_or_kind_or_an_unknown_key_is_refused(agency: Agency) -> None:
    lone_agent(agency)
    event = signed(at_s=now_s(agency))
    with pytest.raises(BadCredential, match="signature"):
        ask(agency, replace(event, sig=signed(at_s=5).sig))
    with pytest.raises(BadCredential, match="kind"):
        ask(agency, signed(at_s=now_s(agency), kind=1))
    with pytest.raises(BadCredential, match="no account has this key"):
        ask(agency, signed(SecretKey(b"\x12" * 32), at_s=now_s(agency)))
    ask(agency, event)  # what was refused above was not used up


def test_an_agent_of_a_person_acts_by_its_delegation_only(agency: Agency) -> None:
    person = agency.person()
    with agency.tx() as tx:
        agent = agency.agents.create(tx, person, "mine", public_of(KEY))
    with pytest.raises(BadCredential, match="no delegation"):
        ask(agency, signed(at_s=now_s(agency), content="1"))
    first = agency.grant(person, agent.id, cap(10))
    who = ask(agency, signed(at_s=now_s(agency), content="2"))
    assert (who.person, who.delegation, who.credential) == (person, first.id, "nostr")
    second = agency.grant(person, agent.id, cap(10), scopes=[Scope.READ])
    with pytest.raises(BadCredential, match="several"):
        ask(agency, signed(at_s=now_s(agency), content="3"))
    named = [["u", URL], ["method", "GET"], ["delegation", delegation_id(second.id)]]
    assert ask(agency, signed(at_s=now_s(agency), content="4", tags=named)).scopes == {Scope.READ}
    agency.revoke(second)
    with pytest.raises(DelegationEnded):
        ask(agency, signed(at_s=now_s(agency), content="5", tags=named))
    assert ask(agency, signed(at_s=now_s(agency), content="6")).delegation == first.id


def test_what_strangers_delegate_unasked_neither_stops_an_agent_nor_moves_it(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    with agency.tx() as tx:
        agent = agency.agents.create(tx, person, "mine", public_of(KEY))
    unasked = agency.grant(stranger, agent.id, scopes=[Scope.READ])
    with pytest.raises(BadCredential, match="no delegation"):
        ask(agency, signed(at_s=now_s(agency), content="1"))
    own = agency.grant(person, agent.id, cap(10))
    agency.grant(stranger, agent.id, scopes=[Scope.READ])
    who = ask(agency, signed(at_s=now_s(agency), content="2"))
    assert (who.person, who.delegation) == (person, own.id)
    named = [["u", URL], ["method", "GET"], ["delegation", delegation_id(unasked.id)]]
    assert ask(agency, signed(at_s=now_s(agency), content="3", tags=named)).person == stranger


def test_a_delegation_of_another_agent_cannot_be_named(agency: Agency) -> None:
    person = agency.person()
    lone_agent(agency)
    theirs = agency.grant(person, agency.agent(person).id)
    for value in (delegation_id(theirs.id), "delegation_x", ""):
        tags = [["u", URL], ["method", "GET"], ["delegation", value]]
        with pytest.raises(BadCredential):
            ask(agency, signed(at_s=now_s(agency), tags=tags))


def test_a_lone_agent_can_name_a_delegation_that_it_was_given(agency: Agency) -> None:
    person = agency.person()
    granted = agency.grant(person, lone_agent(agency).id, cap(5))
    tags = [["u", URL], ["method", "GET"], ["delegation", delegation_id(granted.id)]]
    assert ask(agency, signed(at_s=now_s(agency), tags=tags)).person == person


def test_the_account_key_of_a_person_never_stands_for_a_passkey(agency: Agency) -> None:
    person = agency.person()
    owner = person_owner(person)
    with agency.tx() as tx:
        key = agency.keys.bring(tx, session(person), owner, KEY)
    who = ask(agency, signed(at_s=now_s(agency)))
    assert (who.source, who.person, who.agent) == (owner, person, None)
    assert who.scopes == {Scope.READ, Scope.PUBLISH, Scope.CITE, Scope.ATTEST}
    with pytest.raises(PersonNeeded):
        who.must_be_person()
    with agency.tx() as tx:
        agency.keys.retire(tx, session(person), owner, key.public)
    with pytest.raises(BadCredential, match="no account has this key"):
        ask(agency, signed(at_s=now_s(agency), content="again"))


def test_the_account_key_of_an_agent_is_the_agents(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person)
    granted = agency.grant(person, agent.id)
    with agency.tx() as tx:
        agency.keys.bring(tx, session(person), agent_owner(agent.id), KEY)
    assert ask(agency, signed(at_s=now_s(agency))).delegation == granted.id


def test_one_key_has_one_owner(agency: Agency) -> None:
    person = agency.person()
    lone_agent(agency)
    with pytest.raises(KeyTaken), agency.tx() as tx:
        agency.keys.bring(tx, session(person), person_owner(person), KEY)
    other = checked_secret(b"\x13" * 32)
    with agency.tx() as tx:
        agency.keys.bring(tx, session(person), person_owner(person), other)
    with pytest.raises(KeyTaken):
        lone_agent(agency, other)
    with pytest.raises(KeyTaken), agency.tx() as tx:
        agency.agents.create(tx, person, "x", public_of(KEY))


def test_an_agent_stands_on_a_key_once_and_not_after_it_retired(agency: Agency) -> None:
    agent = lone_agent(agency)
    assert lone_agent(agency) == agent
    itself = ask(agency, signed(at_s=now_s(agency)))
    with agency.tx() as tx:
        agency.agents.rename(tx, itself, agent.id, "renamed")
        agency.agents.retire(tx, itself, agent.id)
    with pytest.raises(AgentRetired):
        lone_agent(agency)
    with pytest.raises(BadCredential, match="retired"):
        ask(agency, signed(at_s=now_s(agency), content="more"))


def test_a_proof_is_enough_to_stand_on_a_key(agency: Agency) -> None:
    with agency.tx() as tx:
        event = agency.nostr.proven(tx, header(signed(at_s=now_s(agency))), GET)
        assert agency.agents.stand(tx, event.pubkey).nostr_key == public_of(KEY)


def test_secret_keys_are_read_as_people_write_them() -> None:
    assert parse_secret("11" * 32) == KEY
