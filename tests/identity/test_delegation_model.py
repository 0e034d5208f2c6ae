"""Delegations against a simple model: grants, narrowings, spends, refunds, revocations, time passing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from choir.foundation.clock import to_datetime
from choir.foundation.errors import ChoirError
from choir.identity.delegations.model import (
    Cap,
    CapExceeded,
    Delegation,
    DelegationEnded,
    DelegationWider,
    NoCap,
    Period,
)
from choir.identity.model import Scope
from choir.storage.database import Database
from tests.conftest import DatabaseFactory
from tests.depth import times
from tests.identity.agency import DAY_S, START_US, Agency

FACTORY: list[DatabaseFactory] = []

assets = st.sampled_from(["CREDIT", "SAT"])
caps = st.dictionaries(st.tuples(assets, st.sampled_from(Period)), st.integers(0, 100), max_size=4)
scope_sets = st.sets(st.sampled_from([Scope.READ, Scope.BUY, Scope.SELL]), min_size=1)
lifecycle = st.sampled_from([DAY_S / 2, 3 * DAY_S, 20 * DAY_S, 100 * DAY_S])
amounts = st.integers(1, 60)
steps = st.sampled_from([1, 3600, 16 * 3600, DAY_S, 3 * DAY_S, 17 * DAY_S])


def window(period: Period, at_us: int) -> str:
    """A name for the window, written in another way than the code does it."""
    at = to_datetime(at_us)
    match period:
        case Period.DAY:
            return at.strftime("%Y-%m-%d")
        case Period.WEEK:
            return at.strftime("%G-W%V")
        case Period.MONTH:
            return at.strftime("%Y-%m")
        case Period.TOTAL:
            return "ever"


@dataclass
class Modelled:
    """What a delegation should be."""

    real: Delegation
    above: Modelled | None
    caps: dict[tuple[str, Period], int]
    scopes: set[Scope]
    expires_us: int
    revoked: bool = False
    spent: dict[tuple[str, Period, str], int] = field(default_factory=dict)

    def chain(self) -> Iterator[Modelled]:
        at: Modelled | None = self
        while at is not None:
            yield at
            at = at.above

    def good(self, now_us: int) -> bool:
        return all(not one.revoked and now_us < one.expires_us for one in self.chain())

    def refusal(self, asset: str, amount: int, now_us: int) -> type[ChoirError] | None:
        if not self.good(now_us):
            return DelegationEnded
        worst: type[ChoirError] | None = None
        for one in reversed(list(self.chain())):
            of_asset = {period: cap for (name, period), cap in one.caps.items() if name == asset}
            if not of_asset:
                return worst or NoCap
            for period, cap in of_asset.items():
                if one.spent.get((asset, period, window(period, now_us)), 0) + amount > cap:
                    worst = worst or CapExceeded
        return worst

    def add(self, asset: str, amount: int, at_us: int) -> None:
        for one in self.chain():
            for name, period in one.caps:
                if name == asset:
                    key = (asset, period, window(period, at_us))
                    one.spent[key] = max(0, one.spent.get(key, 0) + amount)


@dataclass
class Spent:
    """A spend that something may come back of."""

    by: Modelled
    asset: str
    amount: int
    at_us: int


class DelegationMachine(RuleBasedStateMachine):
    delegations = Bundle("delegations")
    spends = Bundle("spends")

    def __init__(self) -> None:
        super().__init__()
        self.name = FACTORY[0].make()
        self.database = Database(FACTORY[0].server.dsn("choir_app", self.name), connections_max=1, wait_s=30).open()
        self.agency = Agency(self.database)
        self.all: list[Modelled] = []

    def teardown(self) -> None:
        self.database.close()
        FACTORY[0].drop(self.name)

    @property
    def now_us(self) -> int:
        return self.agency.clock.now_us()

    @initialize()
    def begin(self) -> None:
        self.person = self.agency.person()
        self.agents = [self.agency.agent(self.person).id for _ in range(2)]

    @rule(target=delegations, caps=caps, scopes=scope_sets, life_s=lifecycle, agent=st.integers(0, 1))
    def grant(self, caps: dict[tuple[str, Period], int], scopes: set[Scope], life_s: float, agent: int) -> Modelled:
        real = self.agency.grant(self.person, self.agents[agent], *_caps(caps), scopes=scopes, seconds=life_s)
        made = Modelled(real, None, caps, scopes, self.agency.later(life_s))
        self.all.append(made)
        return made

    @rule(
        target=delegations, above=delegations, caps=caps, scopes=scope_sets, life_s=lifecycle, agent=st.integers(0, 1)
    )
    def narrow(
        self, above: Modelled, caps: dict[tuple[str, Period], int], scopes: set[Scope], life_s: float, agent: int
    ) -> Modelled:
        # What reaches too far is cut down half of the time, so that both outcomes are met often.
        if agent:
            caps = {key: min(cap, above.caps[key]) for key, cap in caps.items() if key in above.caps}
            scopes = scopes & above.scopes or set(above.scopes)
            life_s = min(life_s, (above.expires_us - self.now_us) / 1_000_000)
        expected = self._narrowing(above, caps, scopes, life_s)
        if expected is not None:
            with pytest.raises(expected):
                self.agency.narrow(above.real, self.agents[agent], *_caps(caps), scopes=scopes, seconds=life_s)
            return above
        real = self.agency.narrow(above.real, self.agents[agent], *_caps(caps), scopes=scopes, seconds=life_s)
        made = Modelled(real, above, caps, scopes, self.agency.later(life_s))
        self.all.append(made)
        return made

    def _narrowing(
        self, above: Modelled, caps: dict[tuple[str, Period], int], scopes: set[Scope], life_s: float
    ) -> type[ChoirError] | tuple[type[ChoirError], ...] | None:
        if life_s <= 0:
            return ChoirError
        if not above.good(self.now_us):
            return DelegationEnded
        of_assets = {asset for asset, _ in above.caps}
        wider = (
            not scopes <= above.scopes
            or self.agency.later(life_s) > above.expires_us
            or any(asset not in of_assets for asset, _ in caps)
            or any(cap > above.caps.get(key, cap) for key, cap in caps.items())
            or len(list(above.chain())) > self.agency.policy.depth_max
        )
        return DelegationWider if wider else None

    @rule(target=spends, by=delegations, asset=assets, amount=amounts)
    def spend(self, by: Modelled, asset: str, amount: int) -> Spent:
        expected = by.refusal(asset, amount, self.now_us)
        done = Spent(by, asset, 0, self.now_us)
        if not by.good(self.now_us):
            with pytest.raises(DelegationEnded):
                self.agency.principal(by.real.id)
            return done
        principal = self.agency.principal(by.real.id)
        assert principal.scopes == by.scopes
        if expected is not None:
            with pytest.raises(expected):
                self.agency.spend(principal, amount, asset)
            return done
        assert self.agency.spend(principal, amount, asset) == self.now_us
        by.add(asset, amount, self.now_us)
        return Spent(by, asset, amount, self.now_us)

    @rule(spent=consumes(spends), part=st.integers(1, 60))
    def give_back(self, spent: Spent, part: int) -> None:
        amount = min(part, spent.amount)
        if amount:
            with self.agency.tx() as tx:
                self.agency.delegations.unspend(tx, spent.by.real.id, spent.asset, amount, spent.at_us)
            spent.by.add(spent.asset, -amount, spent.at_us)

    @rule(one=delegations)
    def revoke(self, one: Modelled) -> None:
        self.agency.revoke(one.real)
        one.revoked = True

    @rule(seconds=steps)
    def wait(self, seconds: int) -> None:
        self.agency.clock.advance(seconds)

    @rule()
    def wait_until_just_before_midnight(self) -> None:
        at = to_datetime(self.now_us)
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.agency.clock.advance((midnight - at).total_seconds())
        self.agency.clock.at_us -= 1

    @rule()
    def wait_a_microsecond(self) -> None:
        self.agency.clock.at_us += 1

    @invariant()
    def usage_is_as_modelled_and_within_caps(self) -> None:
        with self.agency.tx() as tx:
            for one in self.all:
                for state in self.agency.delegations.usage(tx, one.real.id):
                    expected = one.spent.get((state.asset, state.period, window(state.period, self.now_us)), 0)
                    assert (state.spent, state.cap) == (expected, one.caps[state.asset, state.period])
                    assert state.spent <= state.cap


def _caps(caps: dict[tuple[str, Period], int]) -> list[Cap]:
    return [Cap(asset, period, cap) for (asset, period), cap in caps.items()]


@pytest.mark.scaled
def test_delegations_behave_like_the_model(databases: DatabaseFactory) -> None:
    FACTORY[:] = [databases]
    DelegationMachine.TestCase.settings = settings(max_examples=times(8, 25), stateful_step_count=30, deadline=None)
    DelegationMachine.TestCase().runTest()


def test_the_model_starts_where_it_thinks() -> None:
    assert window(Period.WEEK, START_US) == "2027-W02"
