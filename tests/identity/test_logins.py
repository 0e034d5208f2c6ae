"""Logins of programs, and idempotency keys of what is not an entry: time, single use, and what is left behind."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

import pytest

from choir.foundation.clock import SystemEntropy
from choir.identity.credentials.logins import Logins
from choir.identity.credentials.model import BadCredential, Login, LoginDecided, UnknownLogin
from choir.identity.credentials.tokens import NewToken, Tokens
from choir.identity.credentials.tries import settled
from choir.identity.delegations.model import BadTerms
from choir.identity.model import FreshAssertionNeeded, KeyReused, Scope, TooManyTries
from choir.identity.people.model import UnknownPerson
from choir.identity.policy import DelegationsPolicy
from choir.identity.repeats import Repeats
from tests.identity.town import Citizen, Town

VERIFIER = "v" * 43
CHALLENGE = hashlib.sha256(VERIFIER.encode()).digest()


@dataclass
class Desk:
    """The service and a terminal in front of it."""

    town: Town

    def __post_init__(self) -> None:
        clock, entropy = self.town.clock, SystemEntropy()
        self.policy = DelegationsPolicy(logins_per_place=3, login_tries_max=10)
        self.tokens = Tokens(clock, entropy, self.policy)
        self.logins = Logins(self.tokens, self.town.rates, clock, entropy, self.policy)

    def begin(self, address: str | None = None, days: int = 30) -> Login:
        where = address or self.town.address()
        return self.town.do(
            lambda tx: self.logins.begin(
                tx, CHALLENGE, name="a terminal", scopes={Scope.READ}, days=days, address=where
            )
        )

    def approve(self, who: Citizen, login: Login) -> None:
        principal = who.who
        self.town.do(lambda tx: self.logins.approve(tx, principal, login.id))

    def fetch(self, login: Login, verifier: str = VERIFIER) -> NewToken | None:
        return settled(self.town.database, lambda tx: self.logins.fetch(tx, login.id, verifier)).made


@pytest.fixture
def desk(town: Town) -> Desk:
    return Desk(town)


def test_a_token_comes_once_and_speaks_for_who_approved(desk: Desk, ada: Citizen) -> None:
    login = desk.begin()
    assert desk.fetch(login) is None
    desk.approve(ada, login)
    made = desk.fetch(login)
    assert made is not None
    assert (made.token.person, made.token.scopes, made.token.name) == (ada.id, frozenset({Scope.READ}), "a terminal")
    principal = desk.town.do(lambda tx: desk.tokens.principal_of(tx, made.text.reveal()))
    assert principal.person == ada.id
    with pytest.raises(UnknownLogin):
        desk.fetch(login)
    assert desk.town.count("logins") == 0
    assert ada.acts()[-2:] == ["login.approved", "token.made"]


def test_a_login_ends_with_its_time_to_the_microsecond(desk: Desk, ada: Citizen) -> None:
    login = desk.begin()
    desk.approve(ada, login)
    desk.town.clock.advance(desk.policy.login_s - 1e-6)
    assert desk.town.do(desk.logins.forget) == 0
    desk.town.clock.advance(1e-6)
    with pytest.raises(UnknownLogin):
        desk.fetch(login)
    assert desk.town.do(desk.logins.forget) == 1


def test_an_old_passkey_approves_nothing(desk: Desk, ada: Citizen) -> None:
    login = desk.begin()
    desk.town.clock.advance(desk.town.policy.fresh_s)
    with pytest.raises(FreshAssertionNeeded):
        desk.approve(ada, login)
    ada.confirm()
    desk.approve(ada, login)
    desk.town.clock.advance(desk.policy.login_s - 1)  # the approval holds as long as the login
    with pytest.raises(UnknownLogin):
        desk.fetch(login)


def test_guesses_are_counted_although_they_fail(desk: Desk, ada: Citizen) -> None:
    login = desk.begin()
    desk.approve(ada, login)
    for _ in range(desk.policy.login_tries_max):
        with pytest.raises(BadCredential):
            desk.fetch(login, "w" * 43)
    with pytest.raises(TooManyTries):
        desk.fetch(login)


def test_a_decision_is_one_persons(desk: Desk, ada: Citizen) -> None:
    bob = desk.town.sign_up("bob")
    login = desk.begin()
    desk.approve(ada, login)
    with pytest.raises(UnknownLogin):
        desk.approve(bob, login)
    with pytest.raises(LoginDecided):
        desk.approve(ada, login)


def test_who_is_erased_leaves_no_login_and_gives_no_token(desk: Desk, ada: Citizen) -> None:
    login = desk.begin()
    desk.approve(ada, login)
    who = ada.who
    desk.town.do(lambda tx: desk.town.erasure.erase_self(tx, who))
    assert desk.town.count("logins") == 0
    with pytest.raises((UnknownLogin, UnknownPerson)):
        desk.fetch(login)


def test_logins_are_limited_by_place_and_length(desk: Desk) -> None:
    address = desk.town.address()
    for _ in range(3):
        desk.begin(address)
    with pytest.raises(TooManyTries):
        desk.begin(address)
    desk.begin()  # from elsewhere
    with pytest.raises(BadTerms):
        desk.begin(days=desk.policy.login_days_max + 1)


# Idempotency keys


def test_a_key_is_remembered_for_a_while_and_goes_with_its_person(town: Town, ada: Citizen) -> None:
    policy = DelegationsPolicy()
    repeats = Repeats(town.clock, policy)
    who = ada.who
    first = town.do(lambda tx: repeats.once(tx, who, "k", ["agent", "x"], lambda: ada.id))
    assert first == (ada.id, True)
    assert town.do(lambda tx: repeats.once(tx, who, "k", ["agent", "x"], _never)) == (ada.id, False)
    with pytest.raises(KeyReused):
        town.do(lambda tx: repeats.once(tx, who, "k", ["agent", "y"], _never))
    town.clock.advance(policy.repeat_s)
    assert town.do(repeats.forget) == 0
    town.clock.advance(1e-6)
    assert town.do(repeats.forget) == 1
    town.do(lambda tx: repeats.once(tx, who, "k", ["agent", "y"], lambda: ada.id))
    town.do(lambda tx: town.erasure.erase(tx, ada.id, actor="operator"))
    assert town.count("repeats") == 0


def test_what_fails_binds_no_key(town: Town, ada: Citizen) -> None:
    repeats = Repeats(town.clock, DelegationsPolicy())
    who = ada.who
    with pytest.raises(BadTerms):
        town.do(lambda tx: repeats.once(tx, who, "k", [], _refuse))
    assert town.do(lambda tx: repeats.once(tx, who, "k", ["other"], lambda: ada.id))[1]


def _never() -> UUID:
    raise AssertionError("it is made once")


def _refuse() -> UUID:
    raise BadTerms(why="a test")
