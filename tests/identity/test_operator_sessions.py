"""Operators' codes and sessions: their time, and how often one may try."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from choir.foundation.clock import SystemEntropy
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.operator_sessions import (
    SESSION,
    EnteredOperator,
    OperatorSessions,
    OperatorTokenNeeded,
)
from choir.identity.credentials.tries import settled
from choir.identity.model import Principal, Role, TooManyTries
from choir.identity.policy import OperatorsPolicy
from tests.identity.town import Town

GRACE = Principal(Role.OPERATOR, "operator:grace", credential="operator")


@dataclass
class Office:
    town: Town
    marks: dict[str, bytes] = field(default_factory=lambda: {"operator:grace": b"g" * 32})

    def __post_init__(self) -> None:
        self.policy = OperatorsPolicy(enters_per_place=3)
        self.sessions = OperatorSessions(self.town.rates, self.town.clock, SystemEntropy(), self.policy)

    def code(self, who: Principal = GRACE) -> str:
        return self.town.do(lambda tx: self.sessions.new_code(tx, who, self.marks.get)).text

    def enter(self, code: str, address: str | None = None) -> EnteredOperator:
        where = address or self.town.address()
        return settled(self.town.database, lambda tx: self.sessions.enter(tx, code, self.marks.get, address=where))

    def who(self, token: str) -> Principal | None:
        return self.town.do(lambda tx: self.sessions.principal_of(tx, token, self.marks.get))


@pytest.fixture
def office(town: Town) -> Office:
    return Office(town)


def test_a_code_and_a_session_have_their_time(office: Office) -> None:
    late, code = office.code(), office.code()
    entered = office.enter(code)
    assert office.who(entered.token) == Principal(Role.OPERATOR, "operator:grace", credential=SESSION)
    office.town.clock.advance(office.policy.code_s)
    with pytest.raises(BadCredential):
        office.enter(late)
    office.town.clock.advance(office.policy.session_s)
    assert office.who(entered.token) is None
    assert office.town.do(office.sessions.forget) == 1
    assert office.town.count("operator_sessions") == 0


def test_what_is_stored_opens_nothing(office: Office) -> None:
    code = office.code()
    token = office.enter(code).token
    stored = office.town.do(lambda tx: tx.rows("select hash from operator_sessions"))
    assert all(bytes(row[0]) not in (code.encode(), token.encode()) for row in stored)
    assert office.who(bytes(stored[0][0]).hex()) is None
    assert office.who(code) is None  # a code is no session


def test_it_ends_with_the_token(office: Office) -> None:
    token = office.enter(office.code()).token
    office.marks["operator:grace"] = b"h" * 32
    assert office.who(token) is None
    del office.marks["operator:grace"]
    assert office.who(token) is None


def test_a_session_and_a_person_get_no_code(office: Office) -> None:
    for who in (Principal(Role.OPERATOR, "operator:grace", credential=SESSION), Principal(Role.PERSON, "person:x")):
        with pytest.raises(OperatorTokenNeeded):
            office.code(who)


def test_guesses_are_counted(office: Office) -> None:
    for _ in range(office.policy.enters_per_place):
        with pytest.raises(BadCredential):
            office.enter("guess", "192.0.2.7")
    with pytest.raises(TooManyTries):
        office.enter(office.code(), "192.0.2.7")
