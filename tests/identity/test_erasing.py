"""Erasing a person: what goes, what stays, and that nobody can come back as them."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest

from choir.foundation.errors import ChoirError
from choir.identity.model import FreshAssertionNeeded, agent_owner
from choir.identity.people.erasure import Erasure
from choir.identity.people.model import HandleTaken, UnknownPerson
from choir.ledger.model import AccountFrozen, Draft, Leg
from choir.storage.database import Tx
from tests.identity.authenticator import Authenticator
from tests.identity.town import GIFT_CREDIT, Citizen, Town, refused


def erase(town: Town, ada: Citizen) -> None:
    who = ada.who
    town.do(lambda tx: town.erasure.erase_self(tx, who))


def everything(town: Town) -> str:
    """All that the database holds, as text."""
    with town.database.unit_of_work() as tx:
        names = [
            row[0]
            for row in tx.rows(
                "select table_name from information_schema.tables where table_schema = 'public'"
                " and table_name not in ('schema_migrations')"
            )
        ]
        return "\n".join(str(tx.rows(f"select * from {name}")) for name in names)


def test_nothing_that_names_the_person_is_left(town: Town) -> None:
    ada = town.sign_up("adalovelace")
    credential = ada.passkeys[0]
    ada.codes()
    ada.confirm()
    bob = town.sign_up("bob")
    pay = Leg(f"{ada.owner}/available/CREDIT", f"{bob.owner}/available/CREDIT", 100)
    town.books.post(Draft("transfer", "a payment", ada.owner, "k1", (pay,), memo="dinner with Charles"))
    back = Leg(pay.to, pay.from_, 1)
    town.books.post(Draft("transfer", "a payment", bob.owner, "k1", (back,), memo="happy birthday Ada"))
    secrets = ("adalovelace", "dinner with Charles", "happy birthday Ada", repr(credential))
    before = everything(town)
    for secret in (*secrets, repr(ada.person.user_handle)):
        assert secret in before
    erase(town, ada)
    after = everything(town)
    for secret in (*secrets, repr(ada.person.user_handle)):
        assert secret not in after
    town.check()


def test_words_beside_what_others_paid_to_them_or_their_agents_go_and_those_between_others_stay(town: Town) -> None:
    ada, bob, eve = (town.sign_up(handle) for handle in ("ada", "bob", "eve"))
    agent = uuid4()
    accounts = {who.owner: f"{who.owner}/available/CREDIT" for who in (ada, bob, eve)}
    with town.database.unit_of_work() as tx:
        tx.run("insert into agents (id, owner, name, created_us) values (%s, %s, 'helper', 0)", agent, ada.id)
        helper = f"{agent_owner(agent)}/available/CREDIT"
        town.books.accounts.open(tx, [helper], reason="a test", source="test")
    to_both = (Leg(accounts[bob.owner], accounts[eve.owner], 1), Leg(accounts[bob.owner], accounts[ada.owner], 1))
    for memo, legs in {
        "to the agent": (Leg(accounts[bob.owner], helper, 1),),
        "from the agent": (Leg(helper, accounts[eve.owner], 1),),
        "to both": to_both,
        "between others": (Leg(accounts[bob.owner], accounts[eve.owner], 1),),
    }.items():
        town.books.post(Draft("transfer", "a payment", bob.owner, memo, legs, memo=memo))
    erase(town, ada)
    assert town.do(lambda tx: tx.rows("select memo from entry_memos")) == [("between others",)]
    town.check()


def test_words_beside_what_is_paid_to_them_meanwhile_go_too(town: Town) -> None:
    ada, bob = town.sign_up("ada"), town.sign_up("bob")
    leg = Leg(f"{bob.owner}/available/CREDIT", f"{ada.owner}/available/CREDIT", 1)
    erasure = threading.Thread(target=erase, args=(town, ada))
    with town.database.unit_of_work() as tx:
        town.books.ledger.post(tx, Draft("transfer", "a payment", bob.owner, "k", (leg,), memo="just in time"))
        erasure.start()
        erasure.join(1)
        assert erasure.is_alive()  # it waits for the ledger
    erasure.join(30)
    assert town.count("entry_memos") == 0
    assert town.books.balance(leg.to) == GIFT_CREDIT + 1
    town.check()


def test_what_stands_above_is_asked_to_forget_them_too_in_the_same_transaction(town: Town, ada: Citizen) -> None:
    asked: list[str] = []

    def forget(tx: Tx, owner: str) -> None:
        assert tx.value("select erased_us from people where id = %s", ada.person.id) is None  # not yet
        asked.append(owner)
        if len(asked) == 1:
            raise UnknownPerson(person="of a feature that fails")

    erasure = Erasure(town.people, town.books.accounts, town.objects, town.outbox, town.clock, forget)
    with pytest.raises(UnknownPerson):
        town.do(lambda tx: erasure.erase(tx, ada.person.id, actor="operator"))
    assert town.do(lambda tx: erasure.erase(tx, ada.person.id, actor="operator"))
    assert asked == [ada.owner, ada.owner]
    assert not town.do(lambda tx: erasure.erase(tx, ada.person.id, actor="operator"))
    assert len(asked) == 2


def test_the_journal_and_the_balances_stay(town: Town, ada: Citizen) -> None:
    town.books.open(f"{ada.owner}/claim/SAT")
    erase(town, ada)
    with town.database.unit_of_work() as tx:
        accounts = tx.rows("select name, state from accounts where name like 'person:%%' order by name")
    assert accounts == [
        (f"{ada.owner}/available.starter/CHIP", "frozen"),
        (f"{ada.owner}/available/CREDIT", "frozen"),
        (f"{ada.owner}/claim/SAT", "open"),  # what others still owe must find a place
    ]
    assert town.books.balance(f"{ada.owner}/available/CREDIT") == GIFT_CREDIT
    bob = town.sign_up("bob")
    for legs in ((ada.owner, bob.owner), (bob.owner, ada.owner)):
        leg = Leg(f"{legs[0]}/available/CREDIT", f"{legs[1]}/available/CREDIT", 1)
        assert isinstance(town.books.refused(Draft("transfer", "x", "test", "k", (leg,))), AccountFrozen)
    town.check()


def test_nobody_comes_back(town: Town, ada: Citizen) -> None:
    codes = ada.codes()
    token = ada.sign_in()
    late = town.begin("bob")
    erase(town, ada)
    refused(lambda: town.show(ada.authenticator))
    refused(lambda: ada.who)
    refused(lambda: town.do(lambda tx: town.sessions.principal_of(tx, token)))
    begun = town.do(lambda tx: town.recovery.begin(tx, "ada", codes[0], "192.0.2.1"))
    assert isinstance(begun, ChoirError)
    with pytest.raises(HandleTaken):
        town.begin("ada")
    town.finish(late.id, Authenticator().create(late.options))
    town.check()


def test_a_sign_up_under_way_does_not_get_the_handle(town: Town) -> None:
    late = town.begin("ada")
    ada = town.sign_up("ada")
    erase(town, ada)
    with pytest.raises(HandleTaken):
        town.finish(late.id, Authenticator().create(late.options))


def test_a_sign_up_that_waits_for_the_erasure_does_not_get_the_handle(town: Town) -> None:
    late = town.begin("ada")
    answer = Authenticator().create(late.options)
    ada = town.sign_up("ada")
    outcome: list[object] = []

    def sign_up() -> None:
        try:
            outcome.append(town.finish(late.id, answer))
        except HandleTaken as refusal:
            outcome.append(refusal)

    waiting = threading.Thread(target=sign_up)
    with town.database.unit_of_work() as tx:
        town.erasure.erase(tx, ada.id, actor="operator")
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
    waiting.join(30)
    assert isinstance(outcome[0], HandleTaken)


def test_what_was_under_way_ends(town: Town, ada: Citizen) -> None:
    who = ada.who
    adding = town.do(lambda tx: town.passkeys.begin_adding(tx, who))
    answer = Authenticator().create(adding.options)
    erase(town, ada)
    refused(lambda: town.do(lambda tx: town.passkeys.finish_adding(tx, who, adding.id, answer, "late")))
    for act in (
        lambda: town.do(lambda tx: town.passkeys.begin_adding(tx, who)),
        lambda: town.do(lambda tx: town.recovery.make(tx, who)),
    ):
        with pytest.raises(UnknownPerson):
            act()
    assert town.count("passkeys") == town.count("recovery_codes") == town.count("sessions") == 0


def test_what_was_delegated_ends(town: Town, ada: Citizen) -> None:
    agent, delegation, key = uuid4(), uuid4(), uuid4()
    with town.database.unit_of_work() as tx:
        tx.run("insert into agents (id, owner, name, created_us) values (%s, %s, 'helper', 0)", agent, ada.id)
        tx.run(
            "insert into delegations (id, person, agent, depth, scopes, expires_us, created_us, name)"
            " values (%s, %s, %s, 0, '{read}', 1, 0, 'for work')",
            delegation, ada.id, agent,
        )  # fmt: skip
        for n, columns in enumerate(((ada.id, None, None), (None, agent, delegation))):
            tx.run(
                "insert into api_tokens (id, hash, person, agent, delegation, name, scopes, created_us, expires_us)"
                " values (%s, %s, %s, %s, %s, 'my token', '{read}', 0, 1)",
                uuid4(), bytes([n]) * 32, *columns,
            )  # fmt: skip
        for n, owner in enumerate((ada.owner, agent_owner(agent), "person:somebody")):
            tx.run(
                "insert into account_keys (id, owner, public, sealed, sealed_by, created_us)"
                " values (%s, %s, %s, 'secret', 'node', 0)",
                uuid4() if n else key, owner, bytes([n]) * 32,
            )  # fmt: skip
        town.books.accounts.open(tx, [f"{agent_owner(agent)}/available/SAT"], reason="a test", source="test")
    erase(town, ada)
    with town.database.unit_of_work() as tx:
        assert tx.row("select name, retired_us is not null from agents") == (None, True)
        assert tx.row("select name, revoked_us is not null from delegations") == (None, True)
        assert set(tx.rows("select name, revoked_us is not null from api_tokens")) == {("", True)}
        keys = dict(tx.rows("select owner, sealed from account_keys"))
        assert keys == {ada.owner: None, agent_owner(agent): None, "person:somebody": b"secret"}
        assert tx.value("select state from accounts where name like 'agent:%%'") == "frozen"
    town.check()


def test_claims_on_objects_are_given_up(town: Town, ada: Citizen) -> None:
    with town.database.unit_of_work() as tx:
        mine = [town.objects.put_atom(tx, {"n": n}, ada.owner).hash for n in range(5)]
        town.objects.put_atom(tx, {"n": 0}, "person:bob")
        town.objects.refer(tx, "job:1", mine[1])
    erase(town, ada)
    with town.database.unit_of_work() as tx:
        assert town.objects.usage(tx, ada.owner).used == 0
        assert town.objects.claimed(tx, ada.owner) == []
        assert town.objects.claimed(tx, "person:bob") == [mine[0]]
        assert town.objects.exists(tx, mine[1])
    town.clock.advance(town.objects.policy.unreferenced_s + 1)
    town.do(lambda tx: town.objects.collect(tx, town.clock.now_us()))
    with town.database.unit_of_work() as tx:
        assert [town.objects.exists(tx, name) for name in mine] == [False, True, False, False, False]


def test_erasing_takes_a_fresh_passkey_and_happens_once(town: Town, ada: Citizen) -> None:
    town.clock.advance(town.policy.fresh_s)
    with pytest.raises(FreshAssertionNeeded):
        erase(town, ada)
    ada.confirm()
    erase(town, ada)
    assert not town.do(lambda tx: town.erasure.erase(tx, ada.id, actor="operator"))
    assert ada.acts()[-1] == "person.erased"
    with pytest.raises(UnknownPerson):
        town.do(lambda tx: town.erasure.erase(tx, uuid4(), actor="operator"))


def test_others_are_told(town: Town, ada: Citizen) -> None:
    erase(town, ada)
    events = town.do(lambda tx: tx.rows("select type, subject from outbox order by n"))
    assert events == [("identity.person.signed_up", ada.owner), ("identity.person.erased", ada.owner)]
