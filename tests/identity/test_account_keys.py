"""Account keys at rest, and how they outlive a change of the node's key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Invalid
from choir.foundation.node_key import load_retired_secrets
from choir.foundation.settings import Settings, load_settings
from choir.foundation.signing import NodeSecret, verify_bip340
from choir.identity.agents.model import UnknownAgent
from choir.identity.delegations.rules import new_id
from choir.identity.keys.model import KeyTaken, UnknownKey
from choir.identity.keys.nostr_keys import checked_secret, public_of
from choir.identity.keys.phrases import new_phrase, nostr_secret, phrase_seed
from choir.identity.keys.seals import SealContext, Sealer, SealerRing, SealingKeyMissing, WrongSeal
from choir.identity.keys.service import AccountKeys, FormerKeyMissing
from choir.identity.model import FreshAssertionNeeded, PersonNeeded, TooMany, agent_owner, person_owner
from choir.identity.people.model import UnknownPerson
from choir.node import Node
from choir.operations.preparation import opened_node
from choir.operations.rotation import rotate_key
from tests.conftest import DatabaseFactory
from tests.identity.agency import SECRET, Agency, session

DIGEST = bytes(range(32))
NEW = NodeSecret(b"\x08" * 32)


def signs(agency: Agency, owner: str) -> bytes:
    """The key that signs for an owner; its signature is checked."""
    with agency.tx() as tx:
        made = agency.signer.sign(tx, owner, DIGEST)
    verify_bip340(made.public, DIGEST, made.signature)
    return made.public


def test_a_new_key_signs_and_its_phrase_brings_it_back(agency: Agency) -> None:
    person = agency.person()
    owner = person_owner(person)
    with agency.tx() as tx:
        made = agency.keys.create(tx, session(person), owner)
    assert signs(agency, owner) == made.key.public
    assert public_of(nostr_secret(phrase_seed(made.phrase))) == made.key.public
    assert made.key.derivation == "m/44'/1237'/0'/0/0"
    with agency.tx() as tx:  # restoring what is here changes nothing
        assert agency.keys.restore(tx, session(person), owner, made.phrase) == made.key
    agency.clock.advance(1)
    with agency.tx() as tx:
        second = agency.keys.restore(tx, session(person), owner, made.phrase, 1)
        assert [key.public for key in agency.keys.of_owner(tx, owner)] == [made.key.public, second.public]
    assert second.seed == made.key.seed


def test_a_brought_key_signs_and_the_newest_one_counts(agency: Agency) -> None:
    person = agency.person()
    owner = person_owner(person)
    first, second = checked_secret(b"\x21" * 32), checked_secret(b"\x22" * 32)
    with agency.tx() as tx:
        agency.keys.bring(tx, session(person), owner, first)
    agency.clock.advance(1)
    with agency.tx() as tx:
        agency.keys.bring(tx, session(person), owner, second)
    assert signs(agency, owner) == public_of(second)
    with agency.tx() as tx:
        agency.keys.retire(tx, session(person), owner, public_of(second))
    assert signs(agency, owner) == public_of(first)
    with pytest.raises(UnknownKey), agency.tx() as tx:
        agency.keys.retire(tx, session(person), owner, public_of(second))
    with pytest.raises(KeyTaken), agency.tx() as tx:  # a retired key stays retired
        agency.keys.bring(tx, session(person), owner, second)


def test_keys_are_made_by_their_person_with_a_fresh_passkey(agency: Agency) -> None:
    person, stranger = agency.person(), agency.person()
    agent = agency.agent(person)
    granted = agency.grant(person, agent.id)
    stale = session(person, fresh_until_us=agency.clock.now_us())
    for by, owner, refusal in (
        (stale, person_owner(person), FreshAssertionNeeded),
        (agency.principal(granted.id), person_owner(person), PersonNeeded),
        (session(stranger), person_owner(person), UnknownPerson),
        (session(stranger), agent_owner(agent.id), UnknownAgent),
        (session(person), agent_owner(UUID(int=3)), UnknownAgent),
        (session(person), "treasury:main", Invalid),
    ):
        with pytest.raises(refusal), agency.tx() as tx:
            agency.keys.create(tx, by, owner)
    with agency.tx() as tx:
        agency.keys.create(tx, session(person), agent_owner(agent.id))
    signs(agency, agent_owner(agent.id))


def test_one_key_is_not_two_accounts(agency: Agency) -> None:
    one, two = agency.person(), agency.person()
    secret = checked_secret(b"\x23" * 32)
    with agency.tx() as tx:
        agency.keys.bring(tx, session(one), person_owner(one), secret)
    with pytest.raises(KeyTaken), agency.tx() as tx:
        agency.keys.bring(tx, session(two), person_owner(two), secret)


def test_an_owner_has_only_so_many_keys(agency: Agency) -> None:
    person = agency.person()
    with agency.tx() as tx:
        for n in range(agency.policy.keys_per_owner_max):
            agency.keys.bring(tx, session(person), person_owner(person), checked_secret(bytes([n + 1]) * 32))
    with pytest.raises(TooMany), agency.tx() as tx:
        agency.keys.bring(tx, session(person), person_owner(person), checked_secret(b"\x7f" * 32))


def test_without_a_key_nothing_is_signed(agency: Agency) -> None:
    person = agency.person()
    owner = person_owner(person)
    with pytest.raises(UnknownKey):
        signs(agency, owner)
    with agency.tx() as tx:
        agency.keys.create(tx, session(person), owner)
        with pytest.raises(Invalid):
            agency.signer.sign(tx, owner, b"short")
        assert agency.keys.forget(tx, owner) == 1
        assert tx.value("select count(*) from account_keys where sealed is not null") == 0
    with pytest.raises(UnknownKey):
        signs(agency, owner)


def test_no_secret_is_in_the_database_or_in_anything_shown(agency: Agency) -> None:
    person = agency.person()
    with agency.tx() as tx:
        made = agency.keys.create(tx, session(person), person_owner(person))
        stored = "\n".join(str(row) for row in tx.rows("select k::text from account_keys k"))
        stored += str(tx.rows("select a::text from identity_acts a"))
        opened = agency.keys.open_current(tx, person_owner(person))
    secret = nostr_secret(phrase_seed(made.phrase)).reveal()
    assert opened.reveal() == secret
    shown = f"{made} {made!r} {opened} {opened!r} {vars(agency.keys)} {SECRET!r} {Sealer.of(SECRET)!r} {stored}"
    assert secret.hex() not in shown
    assert repr(secret) not in shown
    assert made.phrase.reveal() not in shown
    assert SECRET.derive("at-rest").hex() not in shown


def test_a_sealed_secret_opens_only_where_it_belongs(agency: Agency, superuser_dsn: str) -> None:
    people = [agency.person() for _ in range(2)]
    with agency.tx() as tx:
        for person in people:
            agency.keys.create(tx, session(person), person_owner(person))
    first, second = (person_owner(person) for person in people)
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        sealed: dict[str, bytes] = dict(db.execute("select owner, sealed from account_keys").fetchall())
        db.execute("update account_keys set sealed = %s where owner = %s", [sealed[first], second])
        with pytest.raises(WrongSeal):
            signs(agency, second)
        for broken in (b"", b"\x01", sealed[second][:-1], b"\x02" + sealed[second][1:], bytes(len(sealed[second]))):
            db.execute("update account_keys set sealed = %s where owner = %s", [broken, second])
            with pytest.raises(WrongSeal):
                signs(agency, second)
        db.execute("update account_keys set sealed = %s, sealed_by = 'gone' where owner = %s", [sealed[second], second])
    with pytest.raises(SealingKeyMissing, match="gone"):
        signs(agency, second)


def test_sealing_twice_gives_different_bytes() -> None:
    sealer, context = Sealer.of(SECRET), SealContext("person:x", b"\1" * 32, UUID(int=1))
    one, two = (sealer.seal(b"secret", context, SystemEntropy()) for _ in range(2))
    assert one != two
    assert sealer.open(one, context) == sealer.open(two, context) == b"secret"
    for other in (
        SealContext("person:y", b"\1" * 32, UUID(int=1)),
        SealContext("person:x", b"\2" * 32, UUID(int=1)),
        SealContext("person:x", b"\1" * 32, UUID(int=2)),
    ):
        with pytest.raises(WrongSeal):
            sealer.open(one, other)
    with pytest.raises(WrongSeal):
        Sealer.of(NEW).open(one, context)


# A new node key


def keyholders(agency: Agency, count: int) -> dict[str, bytes]:
    made = {}
    for _ in range(count):
        person = agency.person()
        with agency.tx() as tx:
            made[person_owner(person)] = agency.keys.create(tx, session(person), person_owner(person)).key.public
    return made


def test_keys_are_rewrapped_in_rounds_and_can_be_used_all_the_time(agency: Agency) -> None:
    holders = keyholders(agency, 5)
    agency.secret, agency.retired = NEW, [SECRET]
    counts: list[int] = []
    while not counts or counts[-1]:
        with agency.tx() as tx:
            counts.append(agency.keys.rewrap(tx, SECRET, NEW, 2))
        assert {owner: signs(agency, owner) for owner in holders} == holders
    assert counts == [2, 2, 1, 0]
    agency.retired = []
    agency.__post_init__()  # a process that never knew the old one
    assert {owner: signs(agency, owner) for owner in holders} == holders
    with agency.tx() as tx:
        assert agency.keys.sealed_elsewhere(tx) == set()


def test_a_round_that_is_cut_off_changes_nothing(agency: Agency) -> None:
    holders = keyholders(agency, 3)
    with agency.tx() as tx:
        agency.keys.rewrap(tx, SECRET, NEW, 2)
        tx.connection.rollback()
    assert {owner: signs(agency, owner) for owner in holders} == holders
    with agency.tx() as tx:
        assert agency.keys.rewrap(tx, SECRET, NEW, 10) == 3


def test_a_running_process_learns_of_the_new_key_by_itself(agency: Agency) -> None:
    holders = keyholders(agency, 2)
    configured = [SECRET]
    elsewhere = SealerRing(lambda: configured[0])
    keys = AccountKeys(elsewhere, agency.clock, agency.entropy, agency.policy)
    owner = next(iter(holders))
    with agency.tx() as tx:
        keys.open_current(tx, owner)
        agency.keys.rewrap(tx, SECRET, NEW, 10)
    configured[0] = NEW
    with agency.tx() as tx:
        assert public_of(keys.open_current(tx, owner)) == holders[owner]


def test_nothing_is_sealed_by_the_old_key_behind_a_rounds_back(agency: Agency) -> None:
    """A key being made holds up the round; the round then finds it."""
    person = agency.person()
    counted: list[int] = []

    def rewrap() -> None:
        with agency.tx() as tx:
            counted.append(agency.keys.rewrap(tx, SECRET, NEW, 10))

    with agency.tx() as tx:
        agency.keys.create(tx, session(person), person_owner(person))
        agency.secret, agency.retired = NEW, [SECRET]
        thread = threading.Thread(target=rewrap)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(10)
    assert counted == [1]


@pytest.fixture
def home(databases: DatabaseFactory, database_name: str, tmp_path: Path) -> Settings:
    """The settings of a node on a fresh database, re-encrypting two keys at a time."""
    environment = {
        "CHOIR_HOME": str(tmp_path),
        "CHOIR_DATABASE_URL": databases.server.dsn("choir_app", database_name),
        "CHOIR_DATABASE_OWNER_URL": databases.server.dsn("choir_owner", database_name),
        "CHOIR_POLICY__DELEGATIONS__REWRAP_KEYS_MAX": "2",
    }
    return load_settings(environment=environment)


def people_with_keys(node: Node, count: int) -> dict[str, bytes]:
    made = {}
    for n in range(count):
        id_ = new_id(node.clock.now_us(), node.entropy.bytes(8))
        with node.unit_of_work() as tx:
            tx.run(
                "insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, 0)",
                id_, f"p{n}", node.entropy.bytes(16),
            )  # fmt: skip
            made[person_owner(id_)] = node.account_keys.create(tx, session(id_), person_owner(id_)).key.public
    return made


def all_sign(node: Node, holders: dict[str, bytes]) -> bool:
    with node.unit_of_work() as tx:
        return {owner: node.account_signer.sign(tx, owner, DIGEST).public for owner in holders} == holders


@contextmanager
def retired_put_away(settings: Settings) -> Iterator[None]:
    kept = [(file, file.read_text()) for file in settings.home.glob("node.key.retired-*")]
    for file, _ in kept:
        file.unlink()
    yield
    for file, text in kept:
        file.write_text(text)


def test_rotating_the_nodes_key_rewraps_everything(home: Settings) -> None:
    with opened_node(home) as node:
        holders = people_with_keys(node, 5)
    said: list[str] = []
    rotate_key(home, said.append)
    rotate_key(home, said.append)
    assert [line.split()[0] for line in said if "account keys" in line] == ["5", "5"]
    assert len(load_retired_secrets(home)) == 2
    with retired_put_away(home), opened_node(home) as node:
        assert all_sign(node, holders)


@pytest.mark.deep
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_a_rotation_that_is_killed_goes_on_later(home: Settings, rounds: int) -> None:
    with opened_node(home) as node:
        holders = people_with_keys(node, 5)
    killed = subprocess.run(
        [sys.executable, "-c", _ROTATE_AND_DIE, str(rounds)],
        env=os.environ
        | {"CHOIR_HOME": str(home.home), "CHOIR_DATABASE_URL": home.database_url}
        | {"CHOIR_DATABASE_OWNER_URL": home.database_owner_url, "CHOIR_POLICY__DELEGATIONS__REWRAP_KEYS_MAX": "2"},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    with opened_node(home) as node:
        assert all_sign(node, holders)  # while two keys are in use
        with retired_put_away(home), pytest.raises(FormerKeyMissing):
            node.account_keys.rewrap_all(node.database)
        assert node.account_keys.rewrap_all(node.database) == 5 - 2 * rounds
    with retired_put_away(home), opened_node(home) as node:
        assert all_sign(node, holders)


_ROTATE_AND_DIE = """
import os, signal, sys
from choir.foundation.settings import load_settings
from choir.identity.keys.service import AccountKeys
from choir.operations.rotation import rotate_key

left = [int(sys.argv[1])]
real = AccountKeys.rewrap_round

def counted(self, tx):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return real(self, tx)

AccountKeys.rewrap_round = counted
rotate_key(load_settings(), lambda _: None)
"""


def test_the_phrase_is_random() -> None:
    assert new_phrase(SystemEntropy()) != new_phrase(SystemEntropy())
