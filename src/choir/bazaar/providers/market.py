"""The market as jobs see it: choosing, letting go, recording, correcting.

It joins what a job says about itself to the services of this package. Guarantees: whoever is chosen has a slot
in the caller's transaction; nobody who has tried a job is chosen for it again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from choir.bazaar.market import Chosen, Outcome, Wanted
from choir.bazaar.providers import fallback
from choir.bazaar.providers.assigning import Assigning
from choir.bazaar.providers.fallback import FallbackLimits, Try, TryState
from choir.bazaar.providers.model import OutcomeRecord
from choir.bazaar.providers.selection_rules import criteria_from
from choir.bazaar.providers.service import Providers
from choir.foundation.clock import Entropy
from choir.foundation.policy import BazaarPolicy
from choir.storage.database import Tx

_SEED_BYTES = 16


class ProviderMarket:
    """Fills the protocol `choir.bazaar.market.Market`."""

    def __init__(self, providers: Providers, entropy: Entropy, policy: BazaarPolicy) -> None:
        self._providers = providers
        self._assigning = Assigning(providers)
        self._entropy = entropy
        # The pause between attempts is kept by the job itself, which is offered again only after it.
        self._limits = FallbackLimits(policy.attempts_max, 0, policy.race_max)

    def choose(self, tx: Tx, wanted: Wanted, now_us: int) -> list[Chosen]:
        """Reserve slots of those who shall try now; nobody, if nobody fits at the moment."""
        seed = self._entropy.bytes(_SEED_BYTES)
        criteria = criteria_from(wanted.type, wanted.ceiling, wanted.criteria, wanted.tried)
        strategy = fallback.strategy_from(wanted.strategy, self._limits)
        history = [Try(provider, TryState.REFUSED) for provider in wanted.tried]
        found = self._assigning.assign(tx, wanted.job, criteria, strategy, history, now_us, seed)
        return [
            Chosen(
                one.candidate.provider,
                one.candidate.owner,
                one.candidate.terms,
                {**one.as_json(), "seed": seed.hex(), "candidates": len(found.explanation.ranked)},
            )
            for one in found.chosen
        ]

    def racing(self, strategy: dict[str, Any]) -> int:
        """How many providers may try at one time."""
        return fallback.racing(fallback.strategy_from(strategy, self._limits))

    def let_go(self, tx: Tx, provider: UUID, job: UUID) -> None:
        """Give a job's slot back."""
        self._providers.release(tx, provider, job)

    def record(self, tx: Tx, outcome: Outcome) -> None:
        """Note what came of an attempt."""
        told = OutcomeRecord(
            outcome.job,
            outcome.type,
            outcome.buyer,
            outcome.passed,
            outcome.paid,
            outcome.took_us,
            outcome.at_us,
            outcome.reason,
        )
        self._providers.record_outcome(tx, outcome.provider, told)

    def overturn(self, tx: Tx, provider: UUID, job: UUID, *, passed: bool, at_us: int) -> None:
        """A dispute has decided: what counts in the provider's record from now on."""
        self._providers.overturn(tx, provider, job, passed=passed, at_us=at_us)

    def gone(self, tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
        """Of these, the providers that no longer answer."""
        return self._providers.gone(tx, providers, now_us)
