"""Sessions: how they start, what they carry, when they end."""

from __future__ import annotations

import pytest

from choir.foundation.clock import MICROSECONDS
from choir.identity import audit
from choir.identity.credentials.model import UnknownSession
from choir.identity.credentials.passkeys import ShownPasskey
from choir.identity.model import ALL_SCOPES, Act, FreshAssertionNeeded, PersonNeeded, Principal, Role
from tests.identity.authenticator import Authenticator
from tests.identity.town import Citizen, Town, refused

OPERATOR = Principal(Role.OPERATOR, "operator")


def test_a_session_speaks_for_its_person(town: Town, ada: Citizen) -> None:
    who = ada.who
    assert who == Principal(
        Role.PERSON,
        ada.owner,
        person=ada.id,
        scopes=ALL_SCOPES,
        fresh_until_us=town.clock.at_us + town.policy.fresh_s * MICROSECONDS,
        credential="session",
    )


def test_only_the_hash_is_stored(town: Town, ada: Citizen) -> None:
    assert len(ada.token) == 43  # 256 bits
    rows = town.do(lambda tx: tx.rows("select * from sessions"))
    assert ada.token not in str(rows)
    refused(lambda: town.do(lambda tx: town.sessions.principal_of(tx, rows[0][0].hex())))


@pytest.mark.parametrize("token", ["", "x", "\0", "\ud800", "A" * 43, "A" * 100_000])
def test_tokens_of_nobody(town: Town, token: str) -> None:
    refused(lambda: town.do(lambda tx: town.sessions.principal_of(tx, token)))


def test_an_unused_session_ends(town: Town, ada: Citizen) -> None:
    town.clock.advance(town.policy.session_idle_s - 1)
    assert ada.who
    town.clock.advance(town.policy.session_idle_s - 1)
    assert ada.who
    town.clock.advance(town.policy.session_idle_s)
    refused(lambda: ada.who)
    assert town.do(town.sessions.forget) == 1


def test_a_used_session_ends_too(town: Town, ada: Citizen) -> None:
    for _ in range(town.policy.session_s_max // 3600 - 1):
        town.clock.advance(3600)
        assert ada.who
    town.clock.advance(3600)
    refused(lambda: ada.who)


def test_a_use_soon_after_another_writes_nothing(town: Town, ada: Citizen) -> None:
    def expiry() -> int:
        return town.do(lambda tx: town.sessions.find(tx, ada.token)).expires_us

    before = expiry()
    town.clock.advance(town.policy.session_extend_s)
    assert ada.who
    assert expiry() == before
    town.clock.advance(1)
    assert ada.who
    assert expiry() > before


def test_freshness_ends_and_comes_back_with_the_passkey(town: Town, ada: Citizen) -> None:
    ada.who.must_be_fresh(town.clock.at_us)
    town.clock.advance(town.policy.fresh_s)
    with pytest.raises(FreshAssertionNeeded):
        ada.who.must_be_fresh(town.clock.at_us)
    ada.confirm()
    ada.who.must_be_fresh(town.clock.at_us)
    assert ada.acts()[-1] == "session.confirmed"


def test_a_session_is_confirmed_by_its_own_passkey_only(town: Town, ada: Citizen) -> None:
    eve = town.sign_up("eve")
    now_us = town.clock.at_us
    second = ada.add_passkey(Authenticator())
    for shown in (ShownPasskey(eve.id, eve.passkeys[0], now_us), ShownPasskey(ada.id, second, now_us)):
        refused(lambda s=shown: town.do(lambda tx: town.sessions.confirm(tx, ada.token, s)))  # type: ignore[misc]


def test_signing_out(town: Town, ada: Citizen) -> None:
    other = ada.sign_in()
    assert town.do(lambda tx: town.sessions.end(tx, ada.token))
    assert not town.do(lambda tx: town.sessions.end(tx, ada.token))
    refused(lambda: ada.who)
    assert town.do(lambda tx: town.sessions.principal_of(tx, other))


def test_the_listing_and_ending_one(town: Town, ada: Citizen) -> None:
    town.clock.advance(1)
    token = ada.sign_in()
    newest, oldest = town.do(lambda tx: town.sessions.of(tx, ada.id))
    assert newest.created_us > oldest.created_us
    assert newest.id not in token
    eve = town.sign_up("eve")
    theirs, own = eve.who, ada.who
    with pytest.raises(UnknownSession):
        town.do(lambda tx: town.sessions.end_one(tx, theirs, newest.id))
    town.do(lambda tx: town.sessions.end_one(tx, own, newest.id))
    refused(lambda: town.do(lambda tx: town.sessions.principal_of(tx, token)))
    assert [each.id for each in town.do(lambda tx: town.sessions.of(tx, ada.id))] == [oldest.id]


def test_ending_all_but_this_one(town: Town, ada: Citizen) -> None:
    others = [ada.sign_in() for _ in range(3)]
    eve = town.sign_up("eve")
    who = ada.who
    assert town.do(lambda tx: town.sessions.end_all(tx, who, keep=ada.token)) == 3
    for token in others:
        refused(lambda t=token: town.do(lambda tx: town.sessions.principal_of(tx, t)))  # type: ignore[misc]
    assert ada.who
    assert eve.who
    assert town.do(lambda tx: town.sessions.end_all(tx, who)) == 1
    refused(lambda: ada.who)


def test_operators_have_no_sessions(town: Town) -> None:
    with pytest.raises(PersonNeeded):
        town.do(lambda tx: town.sessions.end_all(tx, OPERATOR))


def test_the_audit_is_read_page_by_page(town: Town, ada: Citizen) -> None:
    for _ in range(5):
        ada.sign_in()
    everything = town.do(lambda tx: audit.acts(tx, ada.owner, limit=100))
    paged: list[Act] = []
    with town.database.unit_of_work() as tx:
        while page := audit.acts(tx, ada.owner, before=paged[-1].n if paged else None, limit=3):
            paged += page
    assert paged == everything
    assert len(paged) == 8
    town.sign_up("eve")
    assert town.do(lambda tx: audit.acts(tx, ada.owner, limit=100)) == everything
