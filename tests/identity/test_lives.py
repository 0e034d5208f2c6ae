"""Random lives: whatever people do in whatever order, each has one gift and the ledger verifies."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Refusal
from choir.identity.credentials.passkeys import Ceremony
from choir.identity.credentials.tries import settled
from tests.depth import times
from tests.identity.authenticator import Authenticator
from tests.identity.town import Citizen, Town

HANDLES = ["ada", "bob", "carol", "dave"]
_names = itertools.count()

acts = st.one_of(
    st.tuples(st.just("begin"), st.integers(0, 3)),
    st.tuples(st.just("finish"), st.integers(0, 9)),
    st.tuples(st.just("join"), st.integers(0, 3)),
    st.tuples(st.just("spoil"), st.integers(0, 9)),
    st.tuples(st.just("sign_in"), st.integers(0, 9)),
    st.tuples(st.just("add"), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("recover"), st.integers(0, 9)),
    st.tuples(st.just("erase"), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.integers(0, 400)),
)


class Lives:
    """What can be done, each by a number that picks who or what."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.mark = next(_names)  # handles of their own for each example on the same database
        self.begun: list[tuple[Ceremony, dict[str, Any], Authenticator]] = []
        self.citizens: list[Citizen] = []

    def begin(self, n: int) -> None:
        ceremony = self.town.begin(f"{HANDLES[n]}{self.mark}")
        authenticator = Authenticator()
        self.begun.append((ceremony, authenticator.create(ceremony.options), authenticator))

    def finish(self, n: int) -> None:
        ceremony, answer, authenticator = self.begun[n % len(self.begun)]
        done = self.town.finish(ceremony.id, answer)
        token = self.town.do(lambda tx: self.town.sessions.start(tx, done.shown)).token
        self.citizens.append(Citizen(self.town, done.person.handle or "", done.person, authenticator, token))

    def join(self, n: int) -> None:
        self.begin(n)
        self.finish(-1)

    def spoil(self, n: int) -> None:
        ceremony, answer, _ = self.begun[n % len(self.begun)]
        self.town.finish(ceremony.id, {**answer, "type": "password"})

    def sign_in(self, n: int) -> None:
        self._citizen(n).token = self._citizen(n).sign_in()

    def add(self, n: int) -> None:
        self._citizen(n).add_passkey(Authenticator())

    def remove(self, n: int) -> None:
        citizen = self._citizen(n)
        who, last = citizen.who, citizen.passkeys[-1]
        self.town.do(lambda tx: self.town.passkeys.remove(tx, who, last))

    def recover(self, n: int) -> None:
        citizen, town = self._citizen(n), self.town
        code, address = citizen.codes()[0], town.address()
        ceremony = settled(town.database, lambda tx: town.recovery.begin(tx, citizen.handle, code, address))
        answer = citizen.authenticator.create(ceremony.options)
        settled(town.database, lambda tx: town.recovery.finish(tx, ceremony.id, answer, "new"))

    def erase(self, n: int) -> None:
        who = self._citizen(n).who
        self.town.do(lambda tx: self.town.erasure.erase_self(tx, who))

    def wait(self, seconds: int) -> None:
        self.town.clock.advance(seconds)

    def _citizen(self, n: int) -> Citizen:
        return self.citizens[n % len(self.citizens)]


@pytest.mark.scaled
@settings(max_examples=times(5, 25))
@given(st.lists(acts, min_size=5, max_size=20))
def test_one_gift_each_whatever_happens(town: Town, script: list[tuple[str, int]]) -> None:
    lifecycle = Lives(town)
    lifecycle.join(0)
    lifecycle.join(1)
    for name, n in script:
        with suppress(Refusal, ZeroDivisionError):  # refused, or there is nobody yet to do it
            getattr(lifecycle, name)(n)
    town.check()
    for citizen in lifecycle.citizens:
        person = town.person(citizen.id)
        assert (person.handle is None) == (person.erased_us is not None)
        assert bool(citizen.passkeys) == (person.erased_us is None)
