"""Selling work: being a provider, and working on attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from choir.bazaar.model import JobType
from choir.doors import wire
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class Providers(Room[R]):
    """Who sells work; `me` and what follows it are for one's own provider."""

    @pages
    def all(self, *, limit: int = 100) -> Call[wire.ProviderPage]:
        """Everybody who is not retired."""
        return Call("GET", "/v1/providers", wire.ProviderPage, params={"limit": limit})

    @call
    def get(self, provider: str) -> Call[wire.ProviderOut]:
        return Call("GET", path("/v1/providers/{id}", id=provider), wire.ProviderOut)

    @pages
    def books(self, provider: str, type_: JobType | str, *, limit: int = 100) -> Call[wire.BookPage]:
        """Every version of a provider's prices for a type, newest first."""
        params = {"type": str(type_), "limit": limit}
        return Call("GET", path("/v1/providers/{id}/books", id=provider), wire.BookPage, params=params)

    @pages
    def outcomes(self, provider: str, *, limit: int = 100) -> Call[wire.OutcomePage]:
        """What came of a provider's tries, newest first."""
        return Call("GET", path("/v1/providers/{id}/outcomes", id=provider), wire.OutcomePage, params={"limit": limit})

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
    ) -> Call[wire.ProviderOut]:
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
        return Call("POST", "/v1/providers", wire.ProviderOut, body)

    @call
    def me(self) -> Call[wire.ProviderOut]:
        """One's own provider."""
        return Call("GET", "/v1/providers/me", wire.ProviderOut)

    @call
    def claim(self, *, name: str, region: str, isolation: str, model: str = "") -> Call[wire.ProviderOut]:
        """Say something else about oneself."""
        body = {"name": name, "region": region, "isolation": isolation, "model": model}
        return Call("PUT", "/v1/providers/me/claims", wire.ProviderOut, body)

    @call
    def change_key(self, result_key: str, proof: str) -> Call[wire.ProviderOut]:
        """Sign results with another key from now on."""
        return Call("PUT", "/v1/providers/me/key", wire.ProviderOut, {"result_key": result_key, "proof": proof})

    @call
    def retire(self) -> Call[None]:
        """Take no more jobs."""
        return Call("DELETE", "/v1/providers/me", type(None), again=True)

    @call
    def declare(self, types: Sequence[JobType | str], capacity: int) -> Call[wire.ProviderOut]:
        """Say which types are sold and how many jobs at once."""
        body = {"types": [str(type_) for type_ in types], "capacity": capacity}
        return Call("PUT", "/v1/providers/me/capabilities", wire.ProviderOut, body)

    @call
    def publish(
        self, type_: JobType | str, base: int, per_unit: int, cap: int, *, effective_at: str | None = None
    ) -> Call[wire.BookOut]:
        """New prices for a type, in milli-satoshi."""
        prices = {"base": str(base), "per_unit": str(per_unit), "cap": str(cap)}
        body = {"type": str(type_), "effective_at": effective_at, **prices}
        return Call("POST", "/v1/providers/me/books", wire.BookOut, body)

    @call
    def beat(
        self, *, healthy: bool, free_slots: int, version: str = "", running: int | None = None
    ) -> Call[wire.BeatOut]:
        """A sign of life; answers with the work that waits."""
        body = {"healthy": healthy, "free_slots": free_slots, "version": version, "running": running}
        return Call("POST", "/v1/providers/me/heartbeat", wire.BeatOut, body, again=True)

    @call
    def drain(self, on: bool) -> Call[wire.ProviderOut]:
        """Finish what is at work and take nothing new; or take work again."""
        return Call("PUT", "/v1/providers/me/draining", wire.ProviderOut, {"draining": on})

    @call
    def earnings(self, period: wire.Period = "week") -> Call[wire.EarningsOut]:
        """What the work brought."""
        return Call("GET", "/v1/providers/me/earnings", wire.EarningsOut, params={"period": period})


class AttemptsRoom(Room[R]):
    """Tries at jobs: of one's own provider to work on, or at one's own jobs to read about."""

    @pages
    def mine(self, *, live: bool = True, limit: int = 100) -> Call[wire.AttemptPage]:
        """What one's own provider is expected to work on (`live`), or all it was ever asked, newest first."""
        params = {"live": "true" if live else "false", "limit": limit}
        return Call("GET", "/v1/attempts", wire.AttemptPage, params=params)

    @call
    def get(self, attempt: str) -> Call[wire.AttemptOut]:
        return Call("GET", path("/v1/attempts/{id}", id=attempt), wire.AttemptOut)

    @call
    def start(self, attempt: str, *, order: bool = False) -> Call[wire.StartedOut]:
        """Work has begun; `order`: answer with what is to be done, too (a node of before answers without)."""
        params = {"order": "true" if order else None}
        where = path("/v1/attempts/{id}/start", id=attempt)
        return Call("POST", where, wire.StartedOut, params=params, again=True)

    @call
    def give_back(self, attempt: str, reason: str = "", *, again: bool = False) -> Call[wire.AttemptOut]:
        """It is not done here; the job goes to somebody else. `again`: this provider stops, and may be asked later."""
        where = path("/v1/attempts/{id}/give-back", id=attempt)
        return Call("POST", where, wire.AttemptOut, {"reason": reason, "again": again}, again=True)

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
    ) -> Call[wire.AttemptOut]:
        """Deliver. Bytes are `{"data": base64}` or `{"hash": …}` of an upload."""
        body = {
            "artifact": dict(artifact),
            "claimed": claimed,
            "result": dict(result),
            "trajectory": dict(trajectory),
            "result_signature": result_signature,
            "trajectory_signature": trajectory_signature,
        }
        return Call("POST", path("/v1/attempts/{id}/hand-in", id=attempt), wire.AttemptOut, body, again=True)

    @call
    def verdict(self, attempt: str) -> Call[wire.VerdictOut]:
        """What verification found, for both sides."""
        return Call("GET", path("/v1/attempts/{id}/verdict", id=attempt), wire.VerdictOut)

    @call
    def result(self, attempt: str) -> Call[wire.SignedOut]:
        """What the provider said of its delivery, with its signature."""
        return Call("GET", path("/v1/attempts/{id}/result", id=attempt), wire.SignedOut)

    @call
    def receipt(self, attempt: str) -> Call[wire.SignedOut]:
        """The node's signed word on what was done, checked and paid."""
        return Call("GET", path("/v1/attempts/{id}/receipt", id=attempt), wire.SignedOut)

    @call
    def receipt_file(self, attempt: str) -> Call[wire.ReceiptFileOut]:
        """The receipt with verdict, payment and proof, for `choir_verify.py receipt`."""
        return Call("GET", path("/v1/attempts/{id}/receipt/file", id=attempt), wire.ReceiptFileOut)

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
