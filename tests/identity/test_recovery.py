"""Recovery codes: shown once, used once, good for a passkey and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from choir.identity import audit
from choir.identity.credentials.model import BadCredential, TooManyPasskeys
from choir.identity.credentials.passkeys import Ceremony
from choir.identity.credentials.recovery import EndedCredentials, RecoveredAccount
from choir.identity.credentials.tries import settled
from choir.identity.delegations.model import DelegationEnded
from choir.identity.model import FreshAssertionNeeded, Principal, Scope, TooManyTries
from tests.identity.agency import Agency
from tests.identity.authenticator import Authenticator
from tests.identity.town import Citizen, Town, refused

PLACE = "192.0.2.1"


def begin(town: Town, handle: str, code: str, address: str = PLACE) -> Ceremony:
    return settled(town.database, lambda tx: town.recovery.begin(tx, handle, code, address))


def recover(
    town: Town, ceremony: Ceremony, authenticator: Authenticator, *, keep: bool = False, **spoiled: Any
) -> RecoveredAccount:
    answer = authenticator.create(ceremony.options, **spoiled)
    return settled(town.database, lambda tx: town.recovery.finish(tx, ceremony.id, answer, "new phone", keep=keep))


def finish(town: Town, ceremony: Ceremony, authenticator: Authenticator, **spoiled: Any) -> bytes:
    return recover(town, ceremony, authenticator, **spoiled).passkey.id


def left(town: Town, ada: Citizen) -> int:
    return town.do(lambda tx: town.recovery.left(tx, ada.id)).unused


def test_a_code_gives_a_passkey_and_no_session(town: Town, ada: Citizen) -> None:
    codes = ada.codes()
    assert len(set(codes)) == 10
    new = Authenticator()
    made = finish(town, begin(town, "ada", codes[3]), new)
    assert ada.passkeys == [made]
    refused(lambda: ada.who)  # sessions ended, so that a recovery does not go unnoticed
    assert town.count("sessions") == 0
    assert town.show(new).person == ada.id
    assert left(town, ada) == 9
    assert ada.acts()[-2:] == ["passkey.added", "recovery.code_used"]


def test_a_code_works_once(town: Town, ada: Citizen) -> None:
    code = ada.codes()[0]
    first, second = begin(town, "ada", code), begin(town, "ada", code)
    finish(town, first, Authenticator())
    refused(lambda: finish(town, second, Authenticator()))
    refused(lambda: begin(town, "ada", code))
    assert len(ada.passkeys) == 1


@dataclass
class Intruded:
    """A person whose account others could act for in every way there is, and somebody whom that is no concern of."""

    town: Town
    ada: Citizen

    def __post_init__(self) -> None:
        town, ada = self.town, self.ada
        ada.add_passkey(Authenticator())
        ada.sign_in()
        self.agency = agency = Agency(town.database, town.clock)
        who, self.eve = ada.who, town.sign_up("eve")
        agent = agency.agent(ada.id).id
        self.granted = agency.grant(ada.id, agent)
        self.passed = agency.narrow(self.granted, agency.agent(self.eve.id).id, by=who)
        self.foreign = agency.grant(self.eve.id, agent)  # of somebody else, to an agent of this person
        ends_us = agency.later(60)
        with agency.tx() as tx:
            own = agency.tokens.for_person(tx, who, name="laptop", scopes=[Scope.READ], expires_us=ends_us)
            under = agency.tokens.for_delegation(
                tx, who, self.granted.id, name="bot", scopes=[Scope.READ], expires_us=ends_us
            )
            login = uuid4()
            tx.run(
                "insert into logins (id, challenge, code, name, scopes, days, created_us, expires_us, person, state)"
                " values (%s, %s, 'x', 'a terminal', '{read}', 1, 0, %s, %s, 'approved')",
                login, b"c" * 32, ends_us, ada.id,
            )  # fmt: skip
        self.tokens = [own.text.reveal(), under.text.reveal()]

    def uses(self) -> list[bool]:
        """Which tokens and delegations of the person still work."""
        tokens = [self._works(partial(self._by_token, text)) for text in self.tokens]
        return tokens + [self._works(partial(self.agency.principal, each.id)) for each in (self.granted, self.passed)]

    def _by_token(self, text: str) -> Principal:
        return self.town.do(lambda tx: self.agency.tokens.principal_of(tx, text))

    @staticmethod
    def _works(use: Callable[[], Principal]) -> bool:
        try:
            return bool(use())
        except (BadCredential, DelegationEnded):
            return False


def test_a_recovery_ends_all_that_could_act_for_the_person_and_says_what(town: Town, ada: Citizen) -> None:
    intruded = Intruded(town, ada)
    who = ada.who
    adding = town.do(lambda tx: town.passkeys.begin_adding(tx, who))
    assert intruded.uses() == [True] * 4
    done = recover(town, begin(town, "ada", ada.codes()[0]), Authenticator())
    assert done.ended == EndedCredentials(passkeys=2, sessions=2, tokens=2, delegations=2)
    assert ada.passkeys == [done.passkey.id]
    assert intruded.uses() == [False] * 4
    refused(lambda: town.show(ada.authenticator))
    assert town.count("logins") == 0  # what was approved and not fetched yet would still have become a token
    late = Authenticator().create(adding.options)
    refused(lambda: town.do(lambda tx: town.passkeys.finish_adding(tx, who, adding.id, late, "late")))
    told = town.do(lambda tx: audit.acts(tx, ada.owner, limit=1))[0]
    assert (told.act, told.data) == (
        "recovery.code_used", {"passkeys": 2, "sessions": 2, "tokens": 2, "delegations": 2}
    )  # fmt: skip
    assert intruded.eve.who.person == intruded.eve.id
    assert intruded.agency.principal(intruded.foreign.id)


def test_who_recovers_may_keep_the_rest(town: Town, ada: Citizen) -> None:
    intruded = Intruded(town, ada)
    done = recover(town, begin(town, "ada", ada.codes()[0]), Authenticator(), keep=True)
    assert done.ended == EndedCredentials(passkeys=0, sessions=2, tokens=0, delegations=0)
    assert len(ada.passkeys) == 3
    assert intruded.uses() == [True] * 4
    assert town.count("sessions") == 1  # of somebody else


def test_a_person_with_all_the_passkeys_they_may_have_recovers(town_with: Callable[..., Town]) -> None:
    town = town_with(passkeys_max=2)
    ada = town.sign_up("ada")
    ada.add_passkey(Authenticator())
    codes = ada.codes()
    with pytest.raises(TooManyPasskeys):
        recover(town, begin(town, "ada", codes[0]), Authenticator(), keep=True)
    assert recover(town, begin(town, "ada", codes[0]), Authenticator()).ended.passkeys == 2


def test_a_failed_ceremony_costs_no_code(town: Town, ada: Citizen) -> None:
    code = ada.codes()[0]
    ceremony = begin(town, "ada", code)
    refused(lambda: finish(town, ceremony, Authenticator(), origin="https://evil.example"))
    assert left(town, ada) == 10
    refused(lambda: finish(town, ceremony, Authenticator()))
    finish(town, begin(town, "ada", code), Authenticator())


def test_codes_as_people_type_them(town: Town, ada: Citizen) -> None:
    code = ada.codes()[0]
    assert [len(group) for group in code.split("-")] == [5] * 5
    typed = code.lower().replace("0", "o").replace("1", "l").replace("-", " ")
    assert begin(town, "ada", f" {typed} ")


def test_new_codes_replace_the_old_ones(town: Town, ada: Citizen) -> None:
    old = ada.codes()
    under_way = begin(town, "ada", old[0])
    new = ada.codes()
    assert not set(old) & set(new)
    refused(lambda: begin(town, "ada", old[1]))
    refused(lambda: finish(town, under_way, Authenticator()))
    assert begin(town, "ada", new[0])


def test_codes_are_stored_hashed(town: Town, ada: Citizen) -> None:
    codes = ada.codes()
    stored = str(town.do(lambda tx: tx.rows("select * from recovery_codes")))
    assert not any(code in stored or code.replace("-", "") in stored for code in codes)


@pytest.mark.parametrize(
    ("handle", "code"), [("ada", "x"), ("ada", ""), ("eve", None), ("nobody", None), ("\0", None), ("ada", "\ud800")]
)
def test_wrong_codes(town: Town, ada: Citizen, handle: str, code: str | None) -> None:
    town.sign_up("eve")
    good = ada.codes()[0]
    refusal = refused(lambda: begin(town, handle, good if code is None else code))
    assert refusal.fields == {"why": "the recovery code could not be verified"}


def test_guesses_are_counted_though_they_fail(town_with: Callable[..., Town]) -> None:
    town = town_with(recovery_tries_per_place=3)
    code = town.sign_up("ada").codes()[0]
    for _ in range(3):
        refused(lambda: begin(town, "ada", "wrong"))
    with pytest.raises(TooManyTries):
        begin(town, "ada", code)
    assert begin(town, "ada", code, "192.0.9.1")  # nobody locks a person out from elsewhere
    town.clock.advance(2 * town.policy.recovery_window_s)
    assert begin(town, "ada", code)


def test_making_codes_needs_a_fresh_passkey(town: Town, ada: Citizen) -> None:
    town.clock.advance(town.policy.fresh_s)
    with pytest.raises(FreshAssertionNeeded):
        ada.codes()
