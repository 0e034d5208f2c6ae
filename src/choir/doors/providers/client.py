"""Selling work: being a provider, and working on attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.doors.jobs.shapes import AttemptOut, AttemptPage, ReceiptFileOut, SignedOut, StartedOut, VerdictOut
from choir.doors.providers.shapes import (
    BeatOut,
    BookOut,
    BookPage,
    EarningsOut,
    OutcomePage,
    Period,
    ProviderOut,
    ProviderPage,
)
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class ProvidersClient(Room[R]):
    """Who sells work; `me` and what follows it are for one's own provider."""

    @pages
    def all(self, *, limit: int = 100) -> Call[ProviderPage]:
        """Everybody who is not retired."""
        return Call("GET", "/v1/providers", ProviderPage, params={"limit": limit})

    @call
    def get(self, provider: str) -> Call[ProviderOut]:
        return Call("GET", path("/v1/providers/{id}", id=provider), ProviderOut)

    @pages
    def books(self, provider: str, type_: JobType | str, *, limit: int = 100) -> Call[BookPage]:
        """Every version of a provider's prices for a type, newest first."""
        params = {"type": str(type_), "limit": limit}
        return Call("GET", path("/v1/providers/{id}/books", id=provider), BookPage, params=params)

    @pages
    def outcomes(self, provider: str, *, limit: int = 100) -> Call[OutcomePage]:
        """What came of a provider's tries, newest first."""
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
        """Become a provider; one that retired comes back with its record."""
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
        """One's own provider."""
        return Call("GET", "/v1/providers/me", ProviderOut)

    @call
    def claim(self, *, name: str, region: str, isolation: str, model: str = "") -> Call[ProviderOut]:
        """Say something else about oneself."""
        body = {"name": name, "region": region, "isolation": isolation, "model": model}
        return Call("PUT", "/v1/providers/me/claims", ProviderOut, body)

    @call
    def change_key(self, result_key: str, proof: str) -> Call[ProviderOut]:
        """Sign results with another key from now on."""
        return Call("PUT", "/v1/providers/me/key", ProviderOut, {"result_key": result_key, "proof": proof})

    @call
    def retire(self) -> Call[None]:
        """Take no more jobs."""
        return Call("DELETE", "/v1/providers/me", type(None), again=True)

    @call
    def declare(self, types: Sequence[JobType | str], capacity: int) -> Call[ProviderOut]:
        """Say which types are sold and how many jobs at once."""
        body = {"types": [str(type_) for type_ in types], "capacity": capacity}
        return Call("PUT", "/v1/providers/me/capabilities", ProviderOut, body)

    @call
    def publish(
        self, type_: JobType | str, base: int, per_unit: int, cap: int, *, effective_at: str | None = None
    ) -> Call[BookOut]:
        """New prices for a type, in milli-satoshi."""
        prices = {"base": str(base), "per_unit": str(per_unit), "cap": str(cap)}
        body = {"type": str(type_), "effective_at": effective_at, **prices}
        return Call("POST", "/v1/providers/me/books", BookOut, body)

    @call
    def beat(self, *, healthy: bool, free_slots: int, version: str = "", running: int | None = None) -> Call[BeatOut]:
        """A sign of life; answers with the work that waits."""
        body = {"healthy": healthy, "free_slots": free_slots, "version": version, "running": running}
        return Call("POST", "/v1/providers/me/heartbeat", BeatOut, body, again=True)

    @call
    def drain(self, on: bool) -> Call[ProviderOut]:
        """Finish what is at work and take nothing new; or take work again."""
        return Call("PUT", "/v1/providers/me/draining", ProviderOut, {"draining": on})

    @call
    def earnings(self, period: Period = "week") -> Call[EarningsOut]:
        """What the work brought."""
        return Call("GET", "/v1/providers/me/earnings", EarningsOut, params={"period": period})


class AttemptsClient(Room[R]):
    """Tries at jobs: of one's own provider to work on, or at one's own jobs to read about."""

    @pages
    def mine(self, *, live: bool = True, limit: int = 100) -> Call[AttemptPage]:
        """What one's own provider is expected to work on (`live`), or all it was ever asked, newest first."""
        params = {"live": "true" if live else "false", "limit": limit}
        return Call("GET", "/v1/attempts", AttemptPage, params=params)

    @call
    def get(self, attempt: str) -> Call[AttemptOut]:
        return Call("GET", path("/v1/attempts/{id}", id=attempt), AttemptOut)

    @call
    def start(self, attempt: str, *, order: bool = False) -> Call[StartedOut]:
        """Work has begun; `order`: answer with what is to be done, too (a node of before answers without)."""
        params = {"order": "true" if order else None}
        where = path("/v1/attempts/{id}/start", id=attempt)
        return Call("POST", where, StartedOut, params=params, again=True)

    @call
    def give_back(self, attempt: str, reason: str = "", *, again: bool = False) -> Call[AttemptOut]:
        """It is not done here; the job goes to somebody else. `again`: this provider stops, and may be asked later."""
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
        """What verification found, for both sides."""
        return Call("GET", path("/v1/attempts/{id}/verdict", id=attempt), VerdictOut)

    @call
    def result(self, attempt: str) -> Call[SignedOut]:
        """What the provider said of its delivery, with its signature."""
        return Call("GET", path("/v1/attempts/{id}/result", id=attempt), SignedOut)

    @call
    def receipt(self, attempt: str) -> Call[SignedOut]:
        """The node's signed word on what was done, checked and paid."""
        return Call("GET", path("/v1/attempts/{id}/receipt", id=attempt), SignedOut)

    @call
    def receipt_file(self, attempt: str) -> Call[ReceiptFileOut]:
        """The receipt with verdict, payment and proof, for `choir_verify.py receipt`."""
        return Call("GET", path("/v1/attempts/{id}/receipt/file", id=attempt), ReceiptFileOut)

    @call
    def artifact_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """A part of the artifact: its provider always, the buyer once it is paid for."""
        return Call("GET", path("/v1/attempts/{id}/artifact", id=attempt), bytes, params={"part": n})

    @call
    def trajectory_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """A part of the trajectory, for the same readers."""
        return Call("GET", path("/v1/attempts/{id}/trajectory", id=attempt), bytes, params={"part": n})

    @call
    def hidden_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """The hidden checks, for the provider that failed them."""
        return Call("GET", path("/v1/attempts/{id}/hidden", id=attempt), bytes, params={"part": n})
