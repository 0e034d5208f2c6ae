"""Passkeys: hostile answers, counters, several of them, the last one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.identity.credentials.challenges import NOT_VERIFIED
from choir.identity.credentials.model import BadCredential, LastPasskey, TooManyPasskeys, UnknownPasskey
from choir.identity.credentials.passkeys import RelyingParty, relying_party
from choir.identity.credentials.tries import settled
from choir.identity.model import FreshAssertionNeeded, TooManyTries
from tests.identity.authenticator import BS, UP, UV, Authenticator, b64, unb64
from tests.identity.town import Citizen, Town, refused

EVIL = "https://evil.example"


def test_a_passkey_signs_in(town: Town, ada: Citizen) -> None:
    shown = town.show(ada.authenticator)
    assert (shown.person, shown.passkey) == (ada.id, ada.passkeys[0])


@pytest.mark.parametrize(
    "spoiled",
    [
        {"origin": EVIL},
        {"origin": "http://localhost"},
        {"origin": "https://localhost:8420"},
        {"rp_id": "evil.example"},
        {"type_": "webauthn.create"},
        {"type_": "payment.get"},
        {"challenge": b"\x00" * 32},
        {"flags": UP},
        {"flags": UV},
        {"flags": 0},
        {"flags": UP | UV | BS},  # backed up without being able to be
        {"user_handle": b"\x01" * 32},
        {"with_user_handle": False},
        {"client_data": {"crossOrigin": True}},
        {"client_data": {"topOrigin": EVIL}},
        {"client_data": {"crossOrigin": "yes"}},
    ],
    ids=str,
)
def test_hostile_assertions(town: Town, ada: Citizen, spoiled: dict[str, Any]) -> None:
    refusal = refused(lambda: town.show(ada.authenticator, **spoiled))
    assert refusal.fields == {"why": NOT_VERIFIED}
    assert type(refusal).code == "identity.bad_credential"
    town.show(ada.authenticator)  # and nothing is spoiled for good


def test_a_signature_by_another_key(town: Town, ada: Citizen) -> None:
    other = town.sign_up("eve").authenticator.credentials[0]
    refused(lambda: town.show(ada.authenticator, signed_by=other))


def test_a_stolen_answer_counts_for_nobody_else(town: Town, ada: Citizen) -> None:
    """Eve sends Ada's answer to Ada's challenge with her own credential id, and Ada's with hers."""
    eve = town.sign_up("eve")
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))
    answer = ada.authenticator.get(ceremony.options)
    answer["id"] = answer["rawId"] = b64(eve.passkeys[0])
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer)))


def test_an_answer_counts_once(town: Town, ada: Citizen) -> None:
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))
    answer = ada.authenticator.get(ceremony.options)

    def finish() -> object:
        return settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer))

    finish()
    refused(finish)
    again = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, again.id, answer)))


def test_a_wrong_answer_uses_the_challenge_up(town: Town, ada: Citizen) -> None:
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))

    def finish(answer: dict[str, Any]) -> object:
        return settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer))

    refused(lambda: finish(ada.authenticator.get(ceremony.options, origin=EVIL)))
    refused(lambda: finish(ada.authenticator.get(ceremony.options)))


def test_an_answer_in_time_or_not_at_all(town: Town, ada: Citizen) -> None:
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))
    answer = ada.authenticator.get(ceremony.options)
    town.clock.advance(town.policy.challenge_s)
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer)))


def test_a_challenge_is_for_one_purpose_and_person(town: Town, ada: Citizen) -> None:
    eve = town.sign_up("eve")
    passkey = ada.passkeys[0]
    confirming = town.do(lambda tx: town.passkeys.begin_confirming(tx, ada.id, passkey))
    answer = ada.authenticator.get(confirming.options)
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, confirming.id, answer)))
    refused(
        lambda: settled(
            town.database, lambda tx: town.passkeys.finish_confirming(tx, eve.id, passkey, confirming.id, answer)
        )
    )
    refused(lambda: town.finish(confirming.id, Authenticator().create({**confirming.options, "user": {"id": "AA"}})))
    sign_up = town.begin("bob")
    fits = ada.authenticator.get(sign_up.options)
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, sign_up.id, fits)))
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, uuid4(), fits)))


def test_confirming_takes_the_sessions_own_passkey(town: Town, ada: Citizen) -> None:
    other = Authenticator()
    ada.add_passkey(other)
    ada.confirm()
    ada.authenticator, own = other, ada.authenticator
    refused(ada.confirm)
    ada.authenticator = own
    refused(lambda: ada.confirm(flags=UP))
    ada.confirm(with_user_handle=False)  # the passkey was asked for by its id


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_a_counter_that_does_not_grow_is_refused_and_written_down(town: Town, ada: Citizen, count: int) -> None:
    town.show(ada.authenticator, count=5)
    refusal = refused(lambda: town.show(ada.authenticator, count=count))
    assert refusal.fields == {"why": NOT_VERIFIED}
    assert ada.acts()[-1] == "passkey.counter_behind"
    town.show(ada.authenticator, count=6)


def test_an_authenticator_that_does_not_count(town: Town, ada: Citizen) -> None:
    ada.authenticator.counting = False
    town.show(ada.authenticator)
    town.show(ada.authenticator)


def test_a_forged_counter_is_not_written_down(town: Town, ada: Citizen) -> None:
    town.show(ada.authenticator, count=5)
    stranger = town.sign_up("eve").authenticator.credentials[0]
    refused(lambda: town.show(ada.authenticator, count=1, signed_by=stranger))
    assert "passkey.counter_behind" not in ada.acts()


def _drop(answer: dict[str, Any], name: str) -> None:
    answer["response"].pop(name)


MALFORMED: list[Callable[[dict[str, Any]], object]] = [
    lambda a: a.pop("id"),
    lambda a: a.pop("rawId"),
    lambda a: a.pop("response"),
    lambda a: a.update(type="password"),
    lambda a: a.update(response=None),
    lambda a: a.update(response=[]),
    lambda a: a.update(id=7, rawId=7),
    lambda a: a.update(rawId="*"),
    lambda a: a.update(id="", rawId=""),
    lambda a: a.update(rawId="\0"),
    lambda a: a["response"].update(clientDataJSON=b64(b"not json")),
    lambda a: a["response"].update(clientDataJSON=b64(b"[]")),
    lambda a: a["response"].update(clientDataJSON=b64(b"{}")),
    lambda a: a["response"].update(clientDataJSON=b64(b"[" * 10_000)),
    lambda a: a["response"].update(clientDataJSON=b64(b"\xff\xfe")),
    lambda a: a["response"].update(clientDataJSON="A" * 1_000_000),
    lambda a: a["response"].update(clientDataJSON=7),
    lambda a: _drop(a, "clientDataJSON"),
]


@pytest.mark.parametrize("spoil", MALFORMED)
def test_malformed_assertions(town: Town, ada: Citizen, spoil: Callable[[dict[str, Any]], object]) -> None:
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1"))
    answer = ada.authenticator.get(ceremony.options)
    spoil(answer)
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer)))


@pytest.mark.parametrize("spoil", MALFORMED)
def test_malformed_registrations(town: Town, spoil: Callable[[dict[str, Any]], object]) -> None:
    ceremony = town.begin("ada")
    answer = Authenticator().create(ceremony.options)
    spoil(answer)
    refused(lambda: town.finish(ceremony.id, answer))
    assert town.count("people") == 0


@given(
    field=st.sampled_from(["clientDataJSON", "authenticatorData", "signature", "userHandle"]),
    at=st.integers(0, 10_000),
    bit=st.integers(0, 7),
)
def test_no_changed_bit_goes_through(town: Town, field: str, at: int, bit: int) -> None:
    authenticator = _remembered(town)
    address = town.address()
    ceremony = town.do(lambda tx: town.passkeys.begin_sign_in(tx, address))
    answer = authenticator.get(ceremony.options)
    data = bytearray(unb64(answer["response"][field]))
    data[at % len(data)] ^= 1 << bit
    answer["response"][field] = b64(bytes(data))
    refused(lambda: settled(town.database, lambda tx: town.passkeys.finish_sign_in(tx, ceremony.id, answer)))


def _remembered(town: Town) -> Authenticator:
    """One citizen's authenticator, the same for all examples on one database."""
    if "remembered" not in town.__dict__:
        town.__dict__["remembered"] = town.sign_up("bob").authenticator
    remembered: Authenticator = town.__dict__["remembered"]
    return remembered


@pytest.mark.parametrize(
    "spoiled",
    [
        {"origin": EVIL},
        {"rp_id": "evil.example"},
        {"type_": "webauthn.get"},
        {"challenge": b"\x00" * 32},
        {"flags": UP},
        {"flags": UV},
        {"id_": b"short"},
        {"id_": b"x" * 1024},
        {"claimed_id": b"another id, long enough"},
        {"fmt": "tpm"},
        {"fmt": "fido-u2f"},
        {"fmt": "android-safetynet"},
        {"fmt": "packed"},  # with an empty statement
        {"cose": {1: 2, 3: -7, -1: 1, -2: b"\x01" * 32, -3: b"\x01" * 32}},  # not on the curve
        {"cose": {1: 2, 3: -47, -1: 8, -2: b"\x01" * 32, -3: b"\x01" * 32}},  # an algorithm not asked for
        {"cose": {}},
        {"client_data": {"crossOrigin": True}},
    ],
    ids=str,
)
def test_hostile_registrations(town: Town, spoiled: dict[str, Any]) -> None:
    ceremony = town.begin("ada")
    refusal = refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options, **spoiled)))
    assert refusal.fields == {"why": NOT_VERIFIED}
    assert town.count("people") == 0


def test_what_the_browser_is_asked_for(town: Town, ada: Citizen) -> None:
    creation = town.begin("bob").options
    assert creation["rp"] == {"name": "Choir", "id": "localhost"}
    assert creation["authenticatorSelection"]["residentKey"] == "required"
    assert creation["authenticatorSelection"]["userVerification"] == "required"
    assert creation["attestation"] == "none"
    request = town.do(lambda tx: town.passkeys.begin_sign_in(tx, "192.0.2.1")).options
    assert request["userVerification"] == "required"
    assert request["allowCredentials"] == []
    adding = town.do(lambda tx: town.passkeys.begin_adding(tx, ada.who)).options
    assert [unb64(each["id"]) for each in adding["excludeCredentials"]] == ada.passkeys
    json.dumps([creation, request, adding])


@pytest.mark.parametrize(
    ("url", "party"),
    [
        ("http://localhost:8420", RelyingParty("localhost", "http://localhost:8420")),
        ("https://Choir.Example/", RelyingParty("choir.example", "https://choir.example")),
        ("https://choir.example:443/x", RelyingParty("choir.example", "https://choir.example")),
        ("http://[::1]:81", RelyingParty("::1", "http://[::1]:81")),
    ],
)
def test_the_relying_party(url: str, party: RelyingParty) -> None:
    assert relying_party(url) == party


@pytest.mark.parametrize("url", ["", "choir.example", "ftp://choir.example", "http://", "http://x:y"])
def test_no_relying_party(url: str) -> None:
    with pytest.raises(Invalid):
        relying_party(url)


# Several passkeys


def test_several_passkeys(town: Town, ada: Citizen) -> None:
    laptop = Authenticator()
    added = ada.add_passkey(laptop, "laptop")
    assert town.show(laptop).passkey == added
    who = ada.who
    town.do(lambda tx: town.passkeys.rename(tx, who, added, "old laptop"))
    assert [row.name for row in town.do(lambda tx: town.passkeys.of(tx, ada.id))] == ["phone", "old laptop"]
    token = ada.sign_in()  # with the phone
    town.do(lambda tx: town.passkeys.remove(tx, who, added))
    refused(lambda: town.show(laptop))
    town.do(lambda tx: town.sessions.principal_of(tx, token))
    assert ada.acts()[-3:] == ["passkey.renamed", "session.started", "passkey.removed"]


def test_removing_a_passkey_ends_its_sessions(town: Town, ada: Citizen) -> None:
    laptop = Authenticator()
    ada.add_passkey(laptop)
    shown = town.show(laptop)
    token = town.do(lambda tx: town.sessions.start(tx, shown)).token
    first, who = ada.passkeys[0], ada.who
    town.do(lambda tx: town.passkeys.remove(tx, who, first))
    refused(lambda: ada.who)
    assert town.do(lambda tx: town.sessions.principal_of(tx, token)).person == ada.id


def test_the_last_passkey_stays(town: Town, ada: Citizen) -> None:
    ada.codes()
    who, only = ada.who, ada.passkeys[0]
    with pytest.raises(LastPasskey):
        town.do(lambda tx: town.passkeys.remove(tx, who, only))


def test_nobody_touches_anothers_passkey(town: Town, ada: Citizen) -> None:
    eve = town.sign_up("eve")
    eve.add_passkey(Authenticator())
    who, target = eve.who, ada.passkeys[0]
    with pytest.raises(UnknownPasskey):
        town.do(lambda tx: town.passkeys.remove(tx, who, target))
    with pytest.raises(UnknownPasskey):
        town.do(lambda tx: town.passkeys.rename(tx, who, target, "mine"))


def test_changing_keys_needs_a_fresh_passkey(town: Town, ada: Citizen) -> None:
    town.clock.advance(town.policy.fresh_s)
    who, only = ada.who, ada.passkeys[0]
    with pytest.raises(FreshAssertionNeeded):
        town.do(lambda tx: town.passkeys.begin_adding(tx, who))
    with pytest.raises(FreshAssertionNeeded):
        town.do(lambda tx: town.passkeys.remove(tx, who, only))
    ada.confirm()
    ada.add_passkey(Authenticator())


def test_a_passkey_of_somebody_cannot_be_added(town: Town, ada: Citizen) -> None:
    eve = town.sign_up("eve")
    who = eve.who
    ceremony = town.do(lambda tx: town.passkeys.begin_adding(tx, who))
    answer = Authenticator().create(ceremony.options, id_=ada.passkeys[0])
    refused(
        lambda: settled(town.database, lambda tx: town.passkeys.finish_adding(tx, who, ceremony.id, answer, "mine"))
    )


def test_passkeys_are_limited(town_with: Callable[..., Town]) -> None:
    town = town_with(passkeys_max=2)
    ada = town.sign_up("ada")
    ada.add_passkey(Authenticator())
    with pytest.raises(TooManyPasskeys):
        ada.add_passkey(Authenticator())


def test_ceremonies_of_a_person_are_limited(town_with: Callable[..., Town]) -> None:
    town = town_with(ceremonies_per_person=2)
    ada = town.sign_up("ada")
    ada.confirm()
    ada.confirm()
    with pytest.raises(TooManyTries):
        ada.confirm()


def test_one_refusal_looks_like_another(town: Town, ada: Citizen) -> None:
    unknown = Authenticator()
    unknown.create(town.begin("bob").options)
    refusals = {
        str(refused(lambda: town.show(unknown))),
        str(refused(lambda: town.show(ada.authenticator, origin=EVIL))),
        str(refused(lambda: town.show(ada.authenticator, count=0, user_handle=b"x"))),
    }
    assert refusals == {str(BadCredential(why=NOT_VERIFIED))}
