"""Acts that a terminal asks for and a person confirms: by whom, once, and what is left when something goes wrong."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pytest

from choir.foundation.clock import MICROSECONDS, SystemEntropy
from choir.identity.agents.model import UnknownAgent, agent_id
from choir.identity.agents.service import Agents
from choir.identity.credentials.confirmations import Confirmations, FetchedAct
from choir.identity.credentials.logins import Logins
from choir.identity.credentials.model import (
    ActKind,
    AskedAct,
    BadCredential,
    Login,
    LoginDecided,
    LoginDenied,
    UnknownLogin,
)
from choir.identity.credentials.tokens import Tokens
from choir.identity.credentials.tries import settled
from choir.identity.delegations.model import BadTerms, DelegationWider, delegation_id
from choir.identity.delegations.service import Delegations
from choir.identity.model import FreshAssertionNeeded, KeyReused, PersonNeeded, Principal, Role, TooMany, TooManyTries
from choir.identity.people import store
from choir.identity.policy import DelegationsPolicy
from choir.identity.repeats import Repeats
from tests.identity.town import Citizen, Town

VERIFIER = "v" * 43
CHALLENGE = hashlib.sha256(VERIFIER.encode()).digest()
DAY_US = 86_400 * MICROSECONDS
AGENT = AskedAct(ActKind.AGENT, {"name": "librarian"})


@dataclass
class Desk:
    """The service and a terminal in front of it, with a token of its person."""

    town: Town

    def __post_init__(self) -> None:
        clock, entropy = self.town.clock, SystemEntropy()
        self.policy = DelegationsPolicy(logins_per_place=20, login_tries_max=20, agents_per_person_max=2)
        self.tokens = Tokens(clock, entropy, self.policy)
        self.logins = Logins(self.tokens, self.town.rates, clock, entropy, self.policy)
        self.agents = Agents(self.town.rates, clock, entropy, self.policy)
        self.delegations = Delegations(clock, entropy, self.policy)
        repeats = Repeats(clock, self.policy)
        self.service = Confirmations(self.logins, self.agents, self.delegations, self.tokens, repeats)

    def ask(self, who: Citizen, act: AskedAct = AGENT) -> Login:
        by_token = Principal(Role.PERSON, who.who.source, person=who.id, credential="token:some")
        where = self.town.address()
        return self.town.do(lambda tx: self.service.ask(tx, by_token, CHALLENGE, act, name="a terminal", address=where))

    def approve(self, who: Citizen, login: Login) -> None:
        principal = who.who
        self.town.do(lambda tx: self.logins.approve(tx, principal, login.id))

    def fetch(self, login: Login, verifier: str = VERIFIER) -> FetchedAct:
        return settled(self.town.database, lambda tx: self.service.fetch(tx, login.id, verifier))

    def token(self, key: str | None = None, name: str = "robot") -> AskedAct:
        body = {"name": name, "scopes": ["read"], "delegation": None, "days": 1, "expires_at": None}
        return AskedAct(ActKind.TOKEN, body, self.town.clock.now_us() + DAY_US, key)


@pytest.fixture
def desk(town: Town) -> Desk:
    return Desk(town)


def test_an_agent_is_made_once_when_it_is_fetched(desk: Desk, ada: Citizen) -> None:
    login = desk.ask(ada)
    assert desk.fetch(login).made is None
    desk.approve(ada, login)
    assert desk.town.count("agents") == 0  # the terminal may be gone: nothing is done for nobody
    first, again = desk.fetch(login), desk.fetch(login)
    assert first.made == again.made is not None
    assert desk.town.count("agents") == 1
    with pytest.raises(LoginDecided):
        desk.town.do(lambda tx: desk.logins.deny(tx, ada.who, login.id))


def test_a_token_is_told_once(desk: Desk, ada: Citizen) -> None:
    login = desk.ask(ada, desk.token())
    desk.approve(ada, login)
    first, again = desk.fetch(login), desk.fetch(login)
    assert first.text is not None
    assert (again.made, again.text) == (first.made, None)
    text = first.text.reveal()
    assert desk.town.do(lambda tx: desk.tokens.principal_of(tx, text)).person == ada.id


def test_many_fetches_at_once_make_one(desk: Desk, ada: Citizen) -> None:
    login = desk.ask(ada, desk.token())
    desk.approve(ada, login)
    with ThreadPoolExecutor(8) as pool:
        fetched = list(pool.map(lambda _: desk.fetch(login), range(8)))
    assert len({each.made for each in fetched}) == 1
    assert sum(each.text is not None for each in fetched) == 1
    assert desk.town.count("api_tokens") == 1


def test_nobody_else_can_see_confirm_or_deny_it(desk: Desk, ada: Citizen) -> None:
    bob, login = desk.town.sign_up("bob"), desk.ask(ada)
    for act in (desk.logins.get, desk.logins.approve, desk.logins.deny):
        with pytest.raises(UnknownLogin):
            desk.town.do(partial(act, who=bob.who, id_=login.id))
    with pytest.raises(BadCredential):
        desk.fetch(login, "w" * 43)
    stale = replace(ada.who, fresh_until_us=0)
    with pytest.raises(FreshAssertionNeeded):
        desk.town.do(lambda tx: desk.logins.approve(tx, stale, login.id))
    assert desk.fetch(login).made is None


def test_an_agent_cannot_ask_for_its_person(desk: Desk, ada: Citizen) -> None:
    agent = Principal(Role.AGENT, "agent:x", person=ada.id, credential="token:some")
    with pytest.raises(PersonNeeded):
        desk.town.do(lambda tx: desk.service.ask(tx, agent, CHALLENGE, AGENT, name="a terminal", address="::1"))


def test_a_login_and_an_act_are_not_fetched_as_each_other(desk: Desk, ada: Citizen) -> None:
    act = desk.ask(ada)
    desk.approve(ada, act)
    with pytest.raises(UnknownLogin):
        settled(desk.town.database, lambda tx: desk.logins.fetch(tx, act.id, VERIFIER))


def test_what_is_denied_or_late_is_not_done(desk: Desk, ada: Citizen) -> None:
    denied, late = desk.ask(ada), desk.ask(ada)
    desk.approve(ada, denied)
    desk.town.do(lambda tx: desk.logins.deny(tx, ada.who, denied.id))  # a second thought, before it was fetched
    with pytest.raises(LoginDenied):
        desk.fetch(denied)
    desk.approve(ada, late)
    desk.town.clock.advance(desk.policy.login_s)
    with pytest.raises(UnknownLogin):
        desk.fetch(late)
    assert desk.town.count("agents") == 0
    assert desk.town.do(desk.logins.forget) == 2


def test_what_would_be_refused_is_refused_before_anybody_is_asked(desk: Desk, ada: Citizen) -> None:
    body = {"agent": agent_id(ada.id), "scopes": ["read"], "caps": [], "name": None, "days": 1, "expires_at": None}
    ends_us = desk.town.clock.now_us() + DAY_US
    with pytest.raises(UnknownAgent):
        desk.ask(ada, AskedAct(ActKind.DELEGATION, body, ends_us))
    with pytest.raises(BadTerms):
        desk.ask(ada, replace(desk.token(), ends_us=1))
    assert desk.town.count("logins") == 0


def test_what_changed_meanwhile_is_refused_at_the_end(desk: Desk, ada: Citizen) -> None:
    logins = [desk.ask(ada) for _ in range(3)]
    for login in logins:
        desk.approve(ada, login)
    assert desk.fetch(logins[0]).made
    assert desk.fetch(logins[1]).made
    with pytest.raises(TooMany):
        desk.fetch(logins[2])
    with pytest.raises(UnknownLogin):  # it is over, and says so
        desk.fetch(logins[2])


def test_a_token_under_a_delegation_reaches_no_further(desk: Desk, ada: Citizen) -> None:
    agent = desk.ask(ada)
    desk.approve(ada, agent)
    made = desk.fetch(agent).made
    assert made is not None
    body = {
        "agent": agent_id(made), "scopes": ["read", "buy"], "caps": [{"asset": "SAT", "period": "day", "cap": "7"}],
        "name": "night", "days": 1, "expires_at": None,
    }  # fmt: skip
    grant = desk.ask(ada, AskedAct(ActKind.DELEGATION, body, desk.town.clock.now_us() + DAY_US))
    desk.approve(ada, grant)
    delegation = desk.fetch(grant).made
    assert delegation is not None
    found = desk.town.do(lambda tx: desk.delegations.get(tx, delegation))
    assert (found.name, [cap.cap for cap in found.caps]) == ("night", [7])
    wide = desk.token()
    wide = replace(wide, body=wide.body | {"delegation": delegation_id(delegation), "scopes": ["sell"]})
    with pytest.raises(DelegationWider):
        desk.ask(ada, wide)


def test_a_key_makes_one_and_asks_once(desk: Desk, ada: Citizen) -> None:
    act = desk.token(key="once")
    login = desk.ask(ada, act)
    desk.approve(ada, login)
    made = desk.fetch(login).made
    again = desk.ask(ada, act)
    assert again.state == "done"
    assert desk.fetch(again) == FetchedAct(ActKind.TOKEN, made)
    with pytest.raises(KeyReused):
        desk.ask(ada, desk.token(key="once", name="another"))
    twins = [desk.ask(ada, replace(AGENT, key="twin")) for _ in range(2)]
    for twin in twins:
        desk.approve(ada, twin)
    assert desk.fetch(twins[0]).made == desk.fetch(twins[1]).made
    assert desk.town.count("agents") == 1


def test_tries_are_limited(desk: Desk, ada: Citizen) -> None:
    login = desk.ask(ada)
    for _ in range(desk.policy.login_tries_max):
        with pytest.raises(BadCredential):
            desk.fetch(login, "w" * 43)
    with pytest.raises(TooManyTries):
        desk.fetch(login, "w" * 43)


def test_whoever_is_erased_confirms_nothing_more(desk: Desk, ada: Citizen) -> None:
    waiting, approved = desk.ask(ada), desk.ask(ada)
    desk.approve(ada, approved)
    desk.town.do(lambda tx: store.end_under_way(tx, ada.id))
    for login in (waiting, approved):
        with pytest.raises(UnknownLogin):
            desk.fetch(login)
