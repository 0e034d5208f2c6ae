"""What a run may reach outside, and the record of what it did.

Guarantees: nothing is allowed that no rule names; a credential is used on the host's side only and never
shown, not even in a record or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from choir.foundation.errors import NotAllowed


@dataclass(frozen=True, slots=True)
class Credential:
    """A header that the proxy adds; the payload never sees it."""

    header: str
    value: str = field(repr=False)


class Tap(Protocol):
    """Looks at one answer as it passes."""

    def take(self, piece: bytes) -> None: ...

    def close(self, sent_bytes: int, received_bytes: int) -> None:
        """The answer is over; called once, also for one that was cut, and not for one that was an error."""
        ...


class Meter(Protocol):
    """Counts what a run uses of a host. Called from the proxy's thread, so it must be quick."""

    def refusal(self) -> str:
        """Why no further request may be made now, or nothing."""
        ...

    def tap(self) -> Tap: ...


@dataclass(frozen=True, slots=True)
class EgressRule:
    """One host, or `*.` and a domain for everything below it, and what may be done there."""

    host: str
    ports: tuple[int, ...] = (80, 443)
    methods: tuple[str, ...] = ("GET", "HEAD")
    paths: tuple[str, ...] = ("/",)  # prefixes
    tunnel: bool = False  # CONNECT: TLS end to end, so that methods and paths cannot be looked at
    plain_tunnel: bool = False  # a tunnel need not begin with TLS; for protocols that have none
    private: bool = False  # may lead to loopback, private or link-local addresses
    upstream_tls: bool = False  # asked for as http://, fetched as https:// by the proxy
    credential: Credential | None = None
    idle_s: int | None = None  # how long an answer may be silent; None: as the policy says
    meter: Meter | None = None  # counts requests that are not tunnels, and may end them


@dataclass(frozen=True, slots=True)
class Egress:
    """Everything a run may reach. The first rule that fits decides."""

    rules: tuple[EgressRule, ...]
    requests_max: int | None = None  # None: as the policy says
    request_bytes_max: int | None = None
    response_bytes_max: int | None = None
    total_bytes_max: int | None = None  # of all answers together; stands for the limit of each


@dataclass(frozen=True, slots=True)
class EgressRecord:
    """One request, for the receipt."""

    at_us: int
    method: str
    host: str
    port: int
    path: str  # without the query, which may hold secrets
    outcome: str  # "done", "refused", "failed" or "cut"
    why: str = ""
    status: int = 0
    address: str = ""
    sent_bytes: int = 0
    received_bytes: int = 0
    ms: int = 0
    credential: bool = False  # whether the proxy added one

    def summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class EgressRefused(NotAllowed):
    """The rules do not allow this request."""

    code = "sandbox.egress_refused"


class EgressFailed(NotAllowed):
    """The request was allowed but could not be carried out."""

    code = "sandbox.egress_failed"
    sentence = "The request failed: {why}."
