"""The citation rate of each month: fixed once, from what was true when the month began, and published with its inputs.

Guarantees: a month has one rate, whoever asks first and however many at once; it never changes; everything that it
follows from is kept beside it, so that anyone can compute it again. Months are UTC.
"""

from __future__ import annotations

from dataclasses import asdict

from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.treasury import events, months
from choir.treasury.accounts import HOLDINGS, Treasury, balance_at, debt_at
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.oracle.service import Oracle
from choir.treasury.payouts import store as payout_store
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates import store
from choir.treasury.rates.model import NoRate, Rate, RateInputs, RateNotYet
from choir.treasury.rates.rules import figures_of

_SOURCE = "system:treasury"


class CitationRates:
    """All inside the caller's transaction."""

    def __init__(
        self,
        treasury: Treasury,
        oracle: Oracle,
        governed: GovernedPrice,
        outbox: Outbox,
        clock: Clock,
        policy: TreasuryPolicy,
        policy_hash: ObjectHash,
    ) -> None:
        self._treasury = treasury
        self._oracle = oracle
        self._governed = governed
        self._outbox = outbox
        self._clock = clock
        self._policy = policy
        self._policy_hash = policy_hash

    def of(self, tx: Tx, at_us: int) -> Rate:
        """The rate of the month that a moment is in; fixes it if nobody has."""
        return self.of_month(tx, months.month_of(at_us))

    def of_month(self, tx: Tx, month: str) -> Rate:
        """The rate of a month that has begun."""
        return store.get(tx, month) or self._fix(tx, month)

    def now(self, tx: Tx) -> Rate:
        """The rate of this month."""
        return self.of(tx, self._clock.now_us())

    @staticmethod
    def fixed(tx: Tx, month: str) -> Rate | None:
        """The rate of a month, if it is fixed."""
        return store.get(tx, month)

    @staticmethod
    def history(tx: Tx, *, before: str | None, limit: int) -> list[Rate]:
        """A page of all rates, the newest month first."""
        return store.newest(tx, before=before, limit=limit)

    def preview(self, tx: Tx, month: str) -> Rate | None:
        """The rate of a month that has begun, as it is fixed or would be now; None before there is a treasury.

        Writes nothing, so that whoever only looks changes nothing.
        """
        found = store.get(tx, month)
        if found is not None or not self._governed.begun(tx):
            return found
        return self._compute(tx, month)

    def _compute(self, tx: Tx, month: str) -> Rate:
        """From what was true when the month began."""
        now_us = self._clock.now_us()
        now = months.month_of(now_us)
        genesis = self._treasury.genesis(tx)
        assert genesis is not None, "a price has begun, so the treasury has"
        first = months.month_of(genesis.at_us)
        if month < min(first, now):
            raise NoRate(month=month, first=first)
        inputs = self._inputs(tx, month, max(months.start_us(month) - 1, genesis.at_us))
        figures = figures_of(inputs)
        return Rate(month, figures.rate, inputs, figures, self._policy_hash, now_us)

    def _fix(self, tx: Tx, month: str) -> Rate:
        now = months.month_of(self._clock.now_us())
        if month > now:
            raise RateNotYet(month=month, now=now)
        self._governed.begin(tx)
        rate = self._compute(tx, month)
        inputs = rate.inputs
        if not store.insert(tx, rate):
            known = store.get(tx, month)
            assert known is not None, "who fixed it first has committed"
            return known
        data = {"month": month, "rate": str(rate.micro_usdc), "inputs": _told(inputs), "policy": rate.policy}
        self._outbox.announce(tx, events.RATE_FIXED, subject=month, actor=_SOURCE, data=data, audience=(EVERYONE,))
        return rate

    def _inputs(self, tx: Tx, month: str, as_of_us: int) -> RateInputs:
        """What was true when the month began, or at the genesis if that came later."""
        policy, price = self._policy, self._oracle.price(tx, as_of_us)
        last, total, count = self._volume(tx, month)
        return RateInputs(
            as_of_us=as_of_us,
            holdings_chip=balance_at(tx, HOLDINGS, as_of_us),
            price=None if price is None else price.micro_usdc,
            price_at_us=None if price is None else price.at_us,
            price_source="" if price is None else price.source,
            price_stale=price is not None and price.stale,
            debt=debt_at(tx, as_of_us),
            owed=payout_store.owed_at(tx, as_of_us),
            last_month_ppm=last,
            months_ppm=total,
            months=count,
            capacity_bps=policy.capacity_bps,
            citation_budget_bps=policy.citation_budget_bps,
            impact_budget_bps=policy.impact_budget_bps,
            stale_price_bps=policy.stale_price_bps,
            citations_floor=policy.citations_floor,
            rate_cap=policy.rate_cap,
        )

    def _volume(self, tx: Tx, month: str) -> tuple[int, int, int]:
        """Last month's paid-weight citations, those of the last months together, and how many months there are."""
        first = store.first_month(tx)
        count = 0 if first is None else min(self._policy.volume_months, max(0, months.between(first, month)))
        last = months.before(month)
        found = store.volumes(tx, months.before(month, self._policy.volume_months), last)
        return found.get(last, 0), sum(found.values()), count


def _told(inputs: RateInputs) -> dict[str, str | bool | None]:
    """For JSON, where amounts are strings."""
    return {
        name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in asdict(inputs).items()
    }
