"""Signing up: handles, gifts, limits; what holds under races, replays and kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from choir.foundation.errors import ChoirError, Invalid, Refusal
from choir.identity.credentials.model import BadCredential
from choir.identity.model import TooManyTries
from choir.identity.people.model import BadHandle, HandleAlike, HandleTaken
from choir.storage.database import Database
from tests.identity.authenticator import Authenticator
from tests.identity.town import GIFT_CHIP, GIFT_CREDIT, Citizen, Town, refused

Finish = tuple[UUID, dict[str, Any]]


def test_a_new_person_gets_the_gift_once(town: Town) -> None:
    ada = town.sign_up("ada")
    assert town.books.balance(f"{ada.owner}/available/CREDIT") == GIFT_CREDIT
    assert town.books.balance(f"{ada.owner}/available.starter/CHIP") == GIFT_CHIP
    assert town.person(ada.id).handle == "ada"
    town.check()


def test_on_a_development_node_people_can_order_with_play_money(database: Database) -> None:
    town = Town(database, production=False)
    ada = town.sign_up("ada")
    assert town.books.balance(f"{ada.owner}/available/SAT") == town.policy.gift_play_sat == 100_000_000
    assert town.books.balance("system:development/issuance/SAT") == -100_000_000  # where play money comes from
    town.check()
    town.close()


def test_a_production_node_gives_no_play_money(town: Town) -> None:
    ada = town.sign_up("ada")
    held = town.do(lambda tx: tx.rows("select name from accounts where name like %s order by name", f"{ada.owner}/%"))
    assert [name for (name,) in held] == [f"{ada.owner}/available.starter/CHIP", f"{ada.owner}/available/CREDIT"]
    assert not town.do(lambda tx: tx.rows("select 1 from accounts where name like 'system:development/%%'"))


def test_the_gift_names_nobody(town: Town) -> None:
    town.sign_up("adalovelace")
    with town.database.unit_of_work() as tx:
        written = str(tx.rows("select content, source, key from entries"))
        written += str(tx.rows("select * from identity_acts")) + str(tx.rows("select * from outbox"))
        written += str(tx.rows("select * from rate_counts")) + str(tx.rows("select reason, source from account_acts"))
    assert "adalovelace" not in written
    assert "10.0.0" not in written


@pytest.mark.parametrize("handle", ["ada", "a-b", "a_b", "_ada", "ada99", "a" * 30, "operatic", "adminton"])
def test_good_handles(town: Town, handle: str) -> None:
    assert town.begin(handle).options["user"]["name"] == handle


@pytest.mark.parametrize(
    "handle",
    [
        "", "ab", "a" * 31, "Ada", "аda", "ada ", "1ada", "-ada", "a.b", "a\0b", "adä", "a\nb", "ａda",
        "admin", "operator", "system", "choir", "_admin", "admin_", "sign_in", "__root__", "-root",
    ],
)  # fmt: skip
def test_bad_handles(town: Town, handle: str) -> None:
    with pytest.raises(BadHandle):
        town.begin(handle)


def test_a_handle_that_reads_like_anothers_is_refused(town: Town) -> None:
    late = town.begin("rnarlow")
    town.sign_up("marlow")
    with pytest.raises(HandleAlike):
        town.begin("mar1ow")
    with pytest.raises(HandleAlike):
        town.finish(late.id, Authenticator().create(late.options))
    with pytest.raises(HandleTaken):
        town.begin("marlow")
    town.sign_up("marlowe")
    town.check()


def test_a_handle_that_reads_like_an_erased_persons_is_refused(town: Town) -> None:
    late = town.begin("rnarlow")
    marlow = town.sign_up("marlow")
    town.do(lambda tx: town.erasure.erase(tx, marlow.id, actor="operator"))
    assert town.do(lambda tx: tx.rows("select handle, handle_skeleton from people")) == [(None, None)]
    for handle in ("marlow", "marl0w"):
        with pytest.raises(HandleTaken):
            town.begin(handle)
    with pytest.raises(HandleTaken):
        town.finish(late.id, Authenticator().create(late.options))


def test_a_handle_is_one_persons(town: Town) -> None:
    late = town.begin("ada")
    town.sign_up("ada")
    with pytest.raises(HandleTaken):
        town.begin("ada")
    with pytest.raises(HandleTaken):
        town.finish(late.id, Authenticator().create(late.options))
    town.check()


def test_a_challenge_makes_one_person(town: Town) -> None:
    ceremony = town.begin("ada")
    answer = Authenticator().create(ceremony.options)
    town.finish(ceremony.id, answer)
    refused(lambda: town.finish(ceremony.id, answer))
    refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options)))
    town.check()


def test_a_challenge_is_used_up_by_a_wrong_answer(town: Town) -> None:
    ceremony = town.begin("ada")
    refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options, origin="https://evil.example")))
    refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options)))
    assert town.count("people") == 0


def test_a_passkey_makes_one_person(town: Town) -> None:
    ada = town.sign_up("ada")
    ceremony = town.begin("eve")
    refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options, id_=ada.passkeys[0])))
    assert town.count("people") == 1
    town.check()


def test_a_sign_up_in_time_or_not_at_all(town: Town) -> None:
    ceremony = town.begin("ada")
    town.clock.advance(town.policy.challenge_s)
    refused(lambda: town.finish(ceremony.id, Authenticator().create(ceremony.options)))
    assert town.do(town.challenges.forget) == 1
    assert town.count("challenges") == 0


def test_a_bad_passkey_name_leaves_nobody_behind(town: Town) -> None:
    ceremony = town.begin("ada")
    with pytest.raises(Invalid):
        town.finish(ceremony.id, Authenticator().create(ceremony.options), name="  ")
    assert town.count("people") == 0
    town.check()


def test_sign_ups_from_one_place_are_limited(town_with: Callable[..., Town]) -> None:
    town = town_with(sign_ups_per_place=2)
    town.sign_up("ada", "192.0.2.1")
    town.sign_up("bob", "192.0.2.77")
    with pytest.raises(TooManyTries) as refusal:
        town.sign_up("eve", "192.0.2.9")
    town.sign_up("carol", "192.0.3.1")
    assert 0 < refusal.value.fields["retry_s"] <= 2 * 86_400
    town.clock.advance(2 * 86_400)
    town.sign_up("eve", "192.0.2.9")
    town.check()


def test_sign_ups_on_the_node_are_limited(town_with: Callable[..., Town]) -> None:
    town = town_with(sign_ups_global=2)
    town.sign_up("ada")
    town.sign_up("bob")
    with pytest.raises(TooManyTries):
        town.sign_up("eve")


def test_unfinished_sign_ups_are_limited(town_with: Callable[..., Town]) -> None:
    town = town_with(ceremonies_per_place=3)
    for n in range(3):
        town.begin(f"ada{n}", "2001:db8:1::1")
    with pytest.raises(TooManyTries):
        town.begin("ada9", "2001:db8:1:2::9")
    town.begin("ada9", "2001:db8:2::9")
    assert town.count("challenges") == 4


def test_addresses_cannot_be_traced_after_the_day(town: Town) -> None:
    town.begin("ada", "192.0.2.1")
    town.clock.advance(86_400)
    town.begin("ada", "192.0.2.1")
    assert town.count("address_salts") == 1
    labels = town.do(lambda tx: tx.rows("select distinct bucket from rate_counts where bucket like 'ceremony:%%'"))
    assert len(labels) == 2
    town.clock.advance(100 * 86_400)
    town.do(town.rates.forget)
    assert town.count("rate_counts") == town.count("address_salts") == 0


def test_many_from_one_place_are_suspected(town: Town) -> None:
    scores = [town.sign_up(f"ada{n}", "192.0.2.1").person.sybil_score for n in range(9)]
    assert scores == [0, 15, 30, 45, 60, 75, 90, 100, 100]
    assert town.sign_up("bob").person.sybil_score == 0


# Races: several processes with several threads each, all finishing the same sign-ups.


def finish_all(dsn: str, tries: list[Finish], results: Any) -> None:
    database = Database(dsn, wait_s=30).open()
    town = Town(database)

    def one(finish: Finish) -> str:
        try:
            return str(town.finish(*finish).person.id)
        except Refusal as refusal:
            return refusal.code

    with ThreadPoolExecutor(6) as pool:
        results.put(list(pool.map(one, tries)))
    town.close()
    database.close()


def in_two_processes(town: Town, tries: list[Finish]) -> list[str]:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=finish_all, args=(town.database.conninfo, tries[shift:] + tries[:shift], results))
        for shift in (0, len(tries) // 2)
    ]
    for worker in workers:
        worker.start()
    outcomes = [outcome for _ in workers for outcome in results.get(timeout=120)]
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    return outcomes


def test_races_for_gifts_are_won_once(town: Town) -> None:
    ceremonies = [town.begin(f"ada{n % 3}") for n in range(6)]  # two sign-ups want each handle
    authenticator = Authenticator()
    tries: list[Finish] = []
    for ceremony in ceremonies:
        answer = authenticator.create(ceremony.options)
        other = authenticator.create(ceremony.options)  # another passkey for the same challenge
        tries += [(ceremony.id, answer), (ceremony.id, other), (ceremony.id, answer)]
    same = town.begin("eve"), town.begin("mallory")
    for ceremony in same:  # one passkey for two people
        tries += [(ceremony.id, authenticator.create(ceremony.options, id_=b"same" * 8))] * 2
    outcomes = in_two_processes(town, tries)
    made = [outcome for outcome in outcomes if "." not in outcome]
    assert len(made) == len(set(made)) == 4
    assert {outcome for outcome in outcomes if "." in outcome} <= {BadCredential.code, HandleTaken.code}
    assert town.count("people") == 4
    assert town.count("passkeys") == 4
    assert town.count("challenges") == 0
    town.check()


def test_limits_hold_across_processes(town: Town) -> None:
    ceremonies = [town.begin(f"ada{n}", "192.0.2.1") for n in range(16)]
    tries = [(each.id, Authenticator().create(each.options)) for each in ceremonies]
    outcomes = in_two_processes(town, tries)
    assert sum("." not in outcome for outcome in outcomes) == town.policy.sign_ups_per_place
    assert town.count("people") == town.policy.sign_ups_per_place
    town.check()


def stop_before_commit(dsn: str, finish: Finish, reached: Any) -> None:
    town = Town(Database(dsn, wait_s=30).open())
    with town.database.unit_of_work() as tx:
        assert not isinstance(town.people.finish_sign_up(tx, *finish, "phone"), ChoirError)
        reached.set()
        time.sleep(60)


def test_a_kill_before_the_commit_leaves_nothing_and_can_be_repeated(town: Town) -> None:
    ceremony = town.begin("ada")
    answer = Authenticator().create(ceremony.options)
    context = multiprocessing.get_context("spawn")
    reached = context.Event()
    worker = context.Process(target=stop_before_commit, args=(town.database.conninfo, (ceremony.id, answer), reached))
    worker.start()
    assert reached.wait(60)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(30)
    assert town.count("people") == 0
    assert not town.gifts()
    town.finish(ceremony.id, answer)
    refused(lambda: town.finish(ceremony.id, answer))
    assert town.count("people") == 1
    town.check()


def test_the_audit_tells_of_it(ada: Citizen) -> None:
    assert ada.acts() == ["passkey.added", "person.signed_up", "session.started"]
