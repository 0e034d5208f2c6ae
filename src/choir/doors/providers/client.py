"""Selling work: being a provider, and working on attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.doors.jobs.shapes import AttemptOut, AttemptPage, ReceiptFileOut, SignedOut, StartedOut, VerdictOut
from choir.doors.providers.market_shapes import BidOut, BondOut
from choir.doors.providers.shapes import (
    BeatOut,
    BookOut,
    BookPage,
    EarningsOut,
    EarningsSeriesOut,
    OutcomePage,
    Period,
    ProviderOut,
    ProviderPage,
    QuoteOut,
    StandingOut,
    Step,
)
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


class ProvidersClient(Room[R]):
    """Who sells work; `me` and what follows it are for one's own provider."""

    @call
    def bid(self, type_: JobType | str, bid_bps: int, until: str) -> Call[BidOut]:
        """Bid so many basis points below your price book for new jobs of a type, until a time."""
        where = path("/v1/providers/me/bids/{type}", type=str(type_))
        return Call("PUT", where, BidOut, {"bid_bps": bid_bps, "until": until}, again=True)

    @call
    def end_bid(self, type_: JobType | str) -> Call[BidOut]:
        """Ask your book's prices again."""
        return Call("DELETE", path("/v1/providers/me/bids/{type}", type=str(type_)), BidOut, again=True)

    @call
    def bond(self) -> Call[BondOut]:
        """Get your provider's bond."""
        return Call("GET", "/v1/providers/me/bond", BondOut)

    @call
    def add_bond(self, amount: int, *, key: str | None = None) -> Call[BondOut]:
        """Put up a bond, or add to it, in milli-satoshi; the same key adds once."""
        return Call("POST", "/v1/providers/me/bond", BondOut, {"amount": str(amount)}, key=key_or_new(key))

    @call
    def release_bond(self) -> Call[BondOut]:
        """Ask for your bond; it goes back when nobody can need it any more."""
        return Call("POST", "/v1/providers/me/bond/release", BondOut, again=True)

    @call
    def keep_bond(self) -> Call[BondOut]:
        """Take back that you asked for your bond."""
        return Call("DELETE", "/v1/providers/me/bond/release", BondOut, again=True)

    @pages
    def all(self, *, limit: int = 100) -> Call[ProviderPage]:
        """List providers that are not retired."""
        return Call("GET", "/v1/providers", ProviderPage, params={"limit": limit})

    @call
    def get(self, provider: str) -> Call[ProviderOut]:
        return Call("GET", path("/v1/providers/{id}", id=provider), ProviderOut)

    @call
    def standing(self, provider: str) -> Call[StandingOut]:
        """Get a provider's tier, what the next one requires, its typical time and its last days."""
        return Call("GET", path("/v1/providers/{id}/standing", id=provider), StandingOut)

    @pages
    def books(self, provider: str, type_: JobType | str, *, limit: int = 100) -> Call[BookPage]:
        """List every version of a provider's prices for a type, newest first."""
        params = {"type": str(type_), "limit": limit}
        return Call("GET", path("/v1/providers/{id}/books", id=provider), BookPage, params=params)

    @pages
    def outcomes(self, provider: str, *, limit: int = 100) -> Call[OutcomePage]:
        """List outcomes of a provider's attempts, newest first."""
        return Call("GET", path("/v1/providers/{id}/outcomes", id=provider), OutcomePage, params={"limit": limit})

    @call
    def register(
        self,
        *,
        name: str,
        region: str,
        isolation: str,
        capacity: int,
        result_key: str,
        proof: str,
        model: str = "",
    ) -> Call[ProviderOut]:
        """Register as a provider; a retired one returns with its record."""
        body = {
            "name": name,
            "region": region,
            "isolation": isolation,
            "model": model,
            "capacity": capacity,
            "result_key": result_key,
            "proof": proof,
        }
        return Call("POST", "/v1/providers", ProviderOut, body)

    @call
    def me(self) -> Call[ProviderOut]:
        """Get your own provider."""
        return Call("GET", "/v1/providers/me", ProviderOut)

    @call
    def claim(self, *, name: str, region: str, isolation: str, model: str = "") -> Call[ProviderOut]:
        """Change your own provider's claims."""
        body = {"name": name, "region": region, "isolation": isolation, "model": model}
        return Call("PUT", "/v1/providers/me/claims", ProviderOut, body)

    @call
    def change_key(self, result_key: str, proof: str) -> Call[ProviderOut]:
        """Replace the key that signs results."""
        return Call("PUT", "/v1/providers/me/key", ProviderOut, {"result_key": result_key, "proof": proof})

    @call
    def retire(self) -> Call[None]:
        """Retire your provider: it takes no more jobs."""
        return Call("DELETE", "/v1/providers/me", type(None), again=True)

    @call
    def declare(self, types: Sequence[JobType | str], capacity: int) -> Call[ProviderOut]:
        """Set the job types sold and the capacity."""
        body = {"types": [str(type_) for type_ in types], "capacity": capacity}
        return Call("PUT", "/v1/providers/me/capabilities", ProviderOut, body)

    @call
    def publish(
        self, type_: JobType | str, base: int, per_unit: int, cap: int, *, effective_at: str | None = None
    ) -> Call[BookOut]:
        """Set new prices for a type, in milli-satoshi."""
        prices = {"base": str(base), "per_unit": str(per_unit), "cap": str(cap)}
        body = {"type": str(type_), "effective_at": effective_at, **prices}
        return Call("POST", "/v1/providers/me/books", BookOut, body)

    @call
    def quote(self, type_: JobType | str, base: int, per_unit: int, cap: int) -> Call[QuoteOut]:
        """Get what a typical job would cost by prices that are not published yet."""
        params = {"type": str(type_), "base": str(base), "per_unit": str(per_unit), "cap": str(cap)}
        return Call("GET", "/v1/providers/me/quote", QuoteOut, params=params)

    @call
    def beat(self, *, healthy: bool, free_slots: int, version: str = "", running: int | None = None) -> Call[BeatOut]:
        """Send a heartbeat; returns the waiting work."""
        body = {"healthy": healthy, "free_slots": free_slots, "version": version, "running": running}
        return Call("POST", "/v1/providers/me/heartbeat", BeatOut, body, again=True)

    @call
    def drain(self, on: bool) -> Call[ProviderOut]:
        """Drain: finish running attempts and take no new ones; or resume."""
        return Call("PUT", "/v1/providers/me/draining", ProviderOut, {"draining": on})

    @call
    def earnings(self, period: Period = "week") -> Call[EarningsOut]:
        """Get your own provider's earnings."""
        return Call("GET", "/v1/providers/me/earnings", EarningsOut, params={"period": period})

    @call
    def earnings_series(self, by: Step = "day") -> Call[EarningsSeriesOut]:
        """Get your own provider's earnings day by day, week by week or month by month."""
        return Call("GET", "/v1/providers/me/earnings/series", EarningsSeriesOut, params={"by": by})


class AttemptsClient(Room[R]):
    """Tries at jobs: of one's own provider to work on, or at one's own jobs to read about."""

    @pages
    def mine(self, *, live: bool = True, limit: int = 100) -> Call[AttemptPage]:
        """List your own provider's attempts, newest first: those in progress (`live`), or all."""
        params = {"live": "true" if live else "false", "limit": limit}
        return Call("GET", "/v1/attempts", AttemptPage, params=params)

    @call
    def get(self, attempt: str) -> Call[AttemptOut]:
        return Call("GET", path("/v1/attempts/{id}", id=attempt), AttemptOut)

    @call
    def start(self, attempt: str, *, order: bool = False) -> Call[StartedOut]:
        """Start the attempt; `order`: include the order in the response (older nodes ignore it)."""
        params = {"order": "true" if order else None}
        where = path("/v1/attempts/{id}/start", id=attempt)
        return Call("POST", where, StartedOut, params=params, again=True)

    @call
    def give_back(self, attempt: str, reason: str = "", *, again: bool = False) -> Call[AttemptOut]:
        """Withdraw; the job goes to another provider. `again`: this provider is stopping and may be selected later."""
        where = path("/v1/attempts/{id}/give-back", id=attempt)
        return Call("POST", where, AttemptOut, {"reason": reason, "again": again}, again=True)

    @call
    def hand_in(
        self,
        attempt: str,
        *,
        artifact: Mapping[str, str],
        claimed: str,
        result: Mapping[str, Any],
        trajectory: Mapping[str, str],
        result_signature: str,
        trajectory_signature: str,
    ) -> Call[AttemptOut]:
        """Deliver. Bytes are `{"data": base64}` or `{"hash": …}` of an upload."""
        body = {
            "artifact": dict(artifact),
            "claimed": claimed,
            "result": dict(result),
            "trajectory": dict(trajectory),
            "result_signature": result_signature,
            "trajectory_signature": trajectory_signature,
        }
        return Call("POST", path("/v1/attempts/{id}/hand-in", id=attempt), AttemptOut, body, again=True)

    @call
    def verdict(self, attempt: str) -> Call[VerdictOut]:
        """Get the verdict. For buyer and provider."""
        return Call("GET", path("/v1/attempts/{id}/verdict", id=attempt), VerdictOut)

    @call
    def result(self, attempt: str) -> Call[SignedOut]:
        """Get the provider's signed result."""
        return Call("GET", path("/v1/attempts/{id}/result", id=attempt), SignedOut)

    @call
    def receipt(self, attempt: str) -> Call[SignedOut]:
        """Get the receipt: the node's signed statement of what was done, checked and paid."""
        return Call("GET", path("/v1/attempts/{id}/receipt", id=attempt), SignedOut)

    @call
    def receipt_file(self, attempt: str) -> Call[ReceiptFileOut]:
        """Get the receipt with verdict, payment and proof, for `choir_verify.py receipt`."""
        return Call("GET", path("/v1/attempts/{id}/receipt/file", id=attempt), ReceiptFileOut)

    @call
    def artifact_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """Get a part of the artifact. For its provider always, for the buyer once it is paid."""
        return Call("GET", path("/v1/attempts/{id}/artifact", id=attempt), bytes, params={"part": n})

    @call
    def trajectory_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """Get a part of the trajectory, for the same readers."""
        return Call("GET", path("/v1/attempts/{id}/trajectory", id=attempt), bytes, params={"part": n})

    @call
    def hidden_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """Get the hidden checks, for the provider that failed them."""
        return Call("GET", path("/v1/attempts/{id}/hidden", id=attempt), bytes, params={"part": n})
