"""Recovery codes: shown once, used once, good for a passkey and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from choir.identity.attempts import settled
from choir.identity.model import FreshAssertionNeeded, TooManyTries
from choir.identity.passkeys import Ceremony
from tests.identity.authenticator import Authenticator
from tests.identity.town import Citizen, Town, refused

PLACE = "192.0.2.1"


def begin(town: Town, handle: str, code: str, address: str = PLACE) -> Ceremony:
    return settled(town.database, lambda tx: town.recovery.begin(tx, handle, code, address))


def finish(town: Town, ceremony: Ceremony, authenticator: Authenticator, **spoiled: Any) -> bytes:
    answer = authenticator.create(ceremony.options, **spoiled)
    return settled(town.database, lambda tx: town.recovery.finish(tx, ceremony.id, answer, "new phone")).id


def left(town: Town, ada: Citizen) -> int:
    return town.do(lambda tx: town.recovery.left(tx, ada.id)).unused


def test_a_code_gives_a_passkey_and_no_session(town: Town, ada: Citizen) -> None:
    codes = ada.codes()
    assert len(set(codes)) == 10
    new = Authenticator()
    made = finish(town, begin(town, "ada", codes[3]), new)
    assert made in ada.passkeys
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
    assert len(ada.passkeys) == 2


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
