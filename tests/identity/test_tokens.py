"""API tokens."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.clock import MICROSECONDS, SeededEntropy
from choir.identity import audit
from choir.identity.agents.model import NotYourAgent
from choir.identity.credentials.model import BadCredential, UnknownToken
from choir.identity.credentials.tokens import TOKEN_PATTERN, NewToken, check_token, new_token_text
from choir.identity.delegations.model import (
    BadTerms,
    DelegationEnded,
    DelegationWider,
    UnknownDelegation,
    delegation_id,
)
from choir.identity.model import (
    ALL_SCOPES,
    FreshAssertionNeeded,
    PersonNeeded,
    Principal,
    Role,
    Scope,
    TooMany,
    agent_owner,
    person_owner,
)
from choir.storage.database import Database, Tx
from tests.identity.agency import DAY_S, Agency, cap, session

SOME = "choir_pat_" + "A" * 49


def person_token(agency: Agency, person: UUID, *scopes: Scope, seconds: float = DAY_S) -> NewToken:
    with agency.tx() as tx:
        return agency.tokens.for_person(
            tx, session(person), name="laptop", scopes=scopes or ALL_SCOPES, expires_us=agency.later(seconds)
        )


def agent_token(agency: Agency, delegation: UUID, by: Principal, *scopes: Scope, seconds: float = DAY_S) -> NewToken:
    with agency.tx() as tx:
        return agency.tokens.for_delegation(
            tx, by, delegation, name="bot", scopes=scopes or {Scope.BUY}, expires_us=agency.later(seconds)
        )


def by_key(agency: Agency, delegation: UUID) -> Principal:
    """The agent of a delegation, signing by its own key."""
    return replace(agency.principal(delegation), credential="nostr")


def use(agency: Agency, made: NewToken) -> Principal:
    with agency.tx() as tx:
        return agency.tokens.principal_of(tx, made.text.reveal())


def test_a_persons_token_speaks_for_the_person_within_its_scopes(agency: Agency) -> None:
    person = agency.person()
    made = person_token(agency, person, Scope.READ, Scope.BUY)
    who = use(agency, made)
    assert (who.role, who.source, who.person, who.agent) == (Role.PERSON, person_owner(person), person, None)
    assert who.scopes == {Scope.READ, Scope.BUY}
    assert who.credential.startswith("token:token_")
    with pytest.raises(PersonNeeded):
        who.must_be_person()
    with pytest.raises(FreshAssertionNeeded):
        who.must_be_fresh(agency.clock.now_us())


def test_a_token_cannot_make_tokens_or_end_others(agency: Agency) -> None:
    person = agency.person()
    first, second = person_token(agency, person), person_token(agency, person)
    by = use(agency, first)
    with pytest.raises(PersonNeeded), agency.tx() as tx:
        agency.tokens.for_person(tx, by, name="x", scopes=[Scope.READ], expires_us=agency.later(1))
    granted = agency.grant(person, agency.agent(person).id, cap(1))
    under = agent_token(agency, granted.id, session(person))
    with pytest.raises(UnknownDelegation):
        agent_token(agency, granted.id, use(agency, under))
    with pytest.raises(PersonNeeded), agency.tx() as tx:
        agency.tokens.revoke(tx, by, second.token.id)
    with agency.tx() as tx:  # but itself
        agency.tokens.revoke(tx, by, first.token.id)
    with pytest.raises(BadCredential, match="revoked"):
        use(agency, first)


def test_making_one_takes_a_fresh_passkey(agency: Agency) -> None:
    person = agency.person()
    stale = session(person, fresh_until_us=agency.clock.now_us())
    with pytest.raises(FreshAssertionNeeded), agency.tx() as tx:
        agency.tokens.for_person(tx, stale, name="x", scopes=[Scope.READ], expires_us=agency.later(1))


def test_a_token_under_a_delegation_is_that_delegation_and_ends_with_it(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(10), scopes=[Scope.READ, Scope.BUY])
    leaf = agency.narrow(root, agent, cap(10), scopes=[Scope.READ, Scope.BUY])
    made = agent_token(agency, leaf.id, session(person), Scope.BUY)
    who = use(agency, made)
    assert (who.role, who.source, who.person, who.delegation) == (Role.AGENT, agent_owner(agent), person, leaf.id)
    assert who.scopes == {Scope.BUY}
    agency.spend(who, 10)
    agency.revoke(root)
    with pytest.raises(DelegationEnded, match="revoked"):
        use(agency, made)


def test_it_ends_with_the_person_the_agent_and_its_time(agency: Agency) -> None:
    person, other = agency.person(), agency.person()
    agent = agency.agent(other)
    granted = agency.grant(person, agent.id, seconds=5 * DAY_S)
    own, under = person_token(agency, person), agent_token(agency, granted.id, by_key(agency, granted.id))
    late = person_token(agency, other, seconds=100)
    agency.clock.at_us = late.token.expires_us - 1
    use(agency, late)
    agency.clock.at_us += 1
    with pytest.raises(BadCredential, match="expired"):
        use(agency, late)
    agency.erase(person)
    with pytest.raises(BadCredential, match="erased"):
        use(agency, own)
    with pytest.raises(DelegationEnded, match="erased"):
        use(agency, under)
    second = agency.grant(other, agent.id)
    last = agent_token(agency, second.id, session(other))
    with agency.tx() as tx:
        agency.agents.retire(tx, session(other), agent.id)
    with pytest.raises(BadCredential, match="revoked"):
        use(agency, last)


def test_delegating_to_somebodys_agent_is_no_way_to_become_it(agency: Agency) -> None:
    person, thief = agency.person(), agency.person()
    with agency.tx() as tx:
        lone = agency.agents.stand(tx, bytes(31) + b"\x01").id
    for victim in (agency.agent(person).id, lone):
        root = agency.grant(thief, agency.agent(thief).id, cap(10))
        for unasked in (agency.grant(thief, victim, cap(10)), agency.narrow(root, victim, cap(10))):
            with pytest.raises(NotYourAgent):
                agent_token(agency, unasked.id, session(thief))
            with pytest.raises(UnknownDelegation):
                agent_token(agency, unasked.id, session(person))
            made = agent_token(agency, unasked.id, by_key(agency, unasked.id))  # the agent itself may
            assert use(agency, made).agent == victim


def test_a_token_reaches_no_further_than_its_delegation(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    granted = agency.grant(person, agency.agent(person).id, scopes=[Scope.READ], seconds=100)
    with pytest.raises(DelegationWider):
        agent_token(agency, granted.id, session(person), Scope.BUY, seconds=50)
    with pytest.raises(DelegationWider):
        agent_token(agency, granted.id, session(person), Scope.READ, seconds=101)
    with pytest.raises(UnknownDelegation):
        agent_token(agency, granted.id, session(stranger), Scope.READ, seconds=50)
    with pytest.raises(UnknownDelegation):
        agent_token(agency, UUID(int=9), session(person), Scope.READ, seconds=50)
    narrow = replace(session(person), scopes=frozenset({Scope.READ}))
    with pytest.raises(DelegationWider), agency.tx() as tx:
        agency.tokens.for_person(tx, narrow, name="x", scopes=[Scope.BUY], expires_us=agency.later(1))


@pytest.mark.parametrize(("seconds", "scopes"), [(0, {Scope.READ}), (367 * DAY_S, {Scope.READ}), (5, set())])
def test_odd_terms_are_refused(agency: Agency, seconds: float, scopes: set[Scope]) -> None:
    person = agency.person()
    with pytest.raises(BadTerms), agency.tx() as tx:
        agency.tokens.for_person(tx, session(person), name="x", scopes=scopes, expires_us=agency.later(seconds))


def test_tokens_are_listed_without_their_secret_and_revoked(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    granted = agency.grant(person, agency.agent(person).id)
    own = person_token(agency, person)
    agency.clock.advance(1)
    under = agent_token(agency, granted.id, session(person))
    theirs = person_token(agency, stranger)
    with agency.tx() as tx:
        assert [token.id for token in agency.tokens.of_person(tx, person)] == [own.token.id, under.token.id]
        for token in (own, under):
            with pytest.raises(UnknownToken):
                agency.tokens.revoke(tx, session(stranger), token.token.id)
        with pytest.raises(UnknownToken):
            agency.tokens.revoke(tx, session(person), UUID(int=4))
        agency.tokens.revoke(tx, session(person), under.token.id)
        assert agency.tokens.revoke_all(tx, person) == 1
    for token in (own, under):
        with pytest.raises(BadCredential, match="revoked"):
            use(agency, token)
    use(agency, theirs)


def test_what_a_token_passed_on_ends_with_it(agency: Agency) -> None:
    person = agency.person()
    agent, helper = agency.agent(person).id, agency.agent(person, "helper").id
    root = agency.grant(person, agent, cap(100))
    leaked, other = (agent_token(agency, root.id, session(person), Scope.BUY) for _ in range(2))
    passed = agency.narrow(root, helper, cap(50), by=use(agency, leaked), seconds=DAY_S)
    further = agency.narrow(passed, helper, cap(5), by=agency.principal(passed.id), seconds=60)
    stays = [
        agency.narrow(root, helper, cap(50), by=who, seconds=DAY_S)
        for who in (use(agency, other), by_key(agency, root.id), session(person))
    ]
    agency.spend(agency.principal(further.id), 1)
    with agency.tx() as tx:
        agency.tokens.revoke(tx, session(person), leaked.token.id)
    for ended in (passed, further):
        with pytest.raises(DelegationEnded, match="revoked"):
            agency.principal(ended.id)
    for each in stays:
        agency.spend(agency.principal(each.id), 1)
    with agency.tx() as tx:
        acts = [(act.act, act.subject) for act in audit.acts(tx, person_owner(person))]
        assert acts[0] == ("delegation.revoked", delegation_id(passed.id))
        assert agency.tokens.revoke_all(tx, person) == 1
        assert [agency.delegations.get(tx, each.id).revoked_us is None for each in stays] == [False, True, True]


def test_a_token_that_ended_while_it_asked_passes_nothing_on(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(100))
    made = agent_token(agency, root.id, session(person), Scope.BUY)
    late = use(agency, made)
    outcome: list[object] = []

    def narrow() -> None:
        try:
            outcome.append(agency.narrow(root, agent, cap(50), by=late, seconds=60))
        except BadCredential as refusal:
            outcome.append(refusal)

    waiting = threading.Thread(target=narrow)
    with agency.tx() as tx:
        agency.tokens.revoke(tx, session(person), made.token.id)
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
    waiting.join(30)
    assert isinstance(outcome[0], BadCredential)


def test_only_a_hash_is_stored_and_nothing_shows_the_secret(agency: Agency) -> None:
    made = person_token(agency, agency.person())
    text = made.text.reveal()
    with agency.tx() as tx:
        stored = str(tx.rows("select t::text from api_tokens t")) + str(tx.rows("select a::text from identity_acts a"))
    assert text not in f"{made} {made!r} {made.text} {made.text:>80} {stored}"
    assert text[10:30] not in stored
    with pytest.raises(TypeError):
        pickle.dumps(made)


def test_a_use_is_written_down_at_most_once_a_minute(agency: Agency) -> None:
    made = person_token(agency, agency.person())

    def last_used() -> int | None:
        with agency.tx() as tx:
            found: int | None = tx.value("select last_used_us from api_tokens where id = %s", made.token.id)
            return found

    assert last_used() is None
    use(agency, made)
    first = last_used()
    assert first == agency.clock.now_us()
    agency.clock.advance(59)
    use(agency, made)
    assert last_used() == first
    agency.clock.advance(1)
    use(agency, made)
    assert last_used() == first + 60 * MICROSECONDS


def test_nobody_waits_for_a_use_to_be_written_down(agency: Agency) -> None:
    made = person_token(agency, agency.person())
    with agency.tx() as busy:
        busy.row("select from api_tokens for update")
        use(agency, made)  # would block until the time limit of a statement


def test_it_takes_one_query_by_index(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    leaf = agency.narrow(agency.grant(person, agent), agent)
    made = agent_token(agency, leaf.id, session(person))
    use(agency, made)  # the first use is written down
    asked: list[str] = []

    def counted(name: str) -> None:
        real = getattr(Tx, name)

        def call(self: Tx, sql: str, *params: object) -> object:
            asked.append(sql)
            return real(self, sql, *params)

        monkeypatch.setattr(Tx, name, call)

    for name in ("run", "rows", "row", "all", "one_or_none"):
        counted(name)
    use(agency, made)
    monkeypatch.undo()
    assert len(asked) == 1
    with agency.tx() as tx:
        tx.run("set local enable_seqscan = off")
        plan = "\n".join(row[0] for row in tx.rows("explain " + asked[0], b"\0" * 32))
    assert "Seq Scan" not in plan


@pytest.mark.parametrize(
    "text",
    [
        "",
        "choir_pat_",
        SOME,
        SOME[:-1],
        SOME + "A",
        SOME.lower(),
        " " + SOME,
        SOME + "\n",
        "op_" + SOME,
        "ÿ" * 59,
        "\ud800",
    ],
)
def test_what_is_not_a_token_is_refused_before_the_database_is_asked(text: str) -> None:
    with pytest.raises(BadCredential) as refusal:
        check_token(text)
    assert len(text) < 20 or text not in str(refusal.value)


def test_a_wrong_token_of_the_right_form_is_unknown(agency: Agency) -> None:
    with pytest.raises(BadCredential, match="no such token"), agency.tx() as tx:
        agency.tokens.principal_of(tx, new_token_text(SeededEntropy(99)).reveal())


@given(st.integers(0, 2**32), st.integers(10, 58), st.sampled_from("09AZaz"))
def test_a_mistyped_letter_is_recognised(seed: int, place: int, letter: str) -> None:
    right = new_token_text(SeededEntropy(seed)).reveal()
    assert TOKEN_PATTERN.fullmatch(right)
    check_token(right)
    wrong = right[:place] + letter + right[place + 1 :]
    if wrong != right:
        with pytest.raises(BadCredential, match="checksum"):
            check_token(wrong)


def test_the_number_of_live_tokens_is_limited(database: Database) -> None:
    agency = Agency(database)
    agency.policy = replace(agency.policy, tokens_per_owner_max=1)
    agency.__post_init__()
    person = agency.person()
    granted = agency.grant(person, agency.agent(person).id)
    made = person_token(agency, person)
    agent_token(agency, granted.id, session(person))
    with pytest.raises(TooMany):
        person_token(agency, person)
    with pytest.raises(TooMany):
        agent_token(agency, granted.id, session(person))
    with agency.tx() as tx:
        agency.tokens.revoke(tx, session(person), made.token.id)
    person_token(agency, person)
