"""What all shapes share: amounts, names, the error."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from choir.foundation.clock import format_time
from choir.foundation.errors import Invalid, Refusal, Unavailable

Amount = Annotated[
    str,
    Field(
        max_length=100,  # what is no amount is refused by the ledger, in its own words
        description="A positive number of smallest units as a decimal string.",
        examples=["1250"],
    ),
]
AccountNameText = Annotated[
    str,
    Field(
        max_length=200,
        description="<owner_kind>:<owner_id>/<role>[.<purpose>]/<ASSET>",
        examples=["person:ada/available/SAT"],
    ),
]
ShortText = Annotated[str, Field(min_length=1, max_length=2000)]


TIME_HEADER = "Choir-Time"  # on every answer: the node's time, by which signed requests are judged


class RequestTimedOut(Unavailable):
    """The time limit was reached; what a write did is unknown until it is asked for again with its key."""

    code = "http.timed_out"
    sentence = "The request took longer than {limit_s} seconds."
    hint = "Retry with the same Idempotency-Key: it has one effect."


class NodeBusy(Unavailable):
    """All places for requests are taken; nothing of this one was done."""

    code = "http.busy"
    sentence = "The node is answering {limit} requests already, which is the limit."
    hint = "Nothing was done. Retry in {retry_s} seconds; the SDK does so by itself."


class TooManyConnections(Unavailable):
    """One connection more than an address or the process may have; nothing of the request was done."""

    code = "http.too_many_connections"
    sentence = "There are too many connections to this node."
    hint = "Nothing was done. Close some, or retry in {retry_s} seconds."


class Malformed(Invalid):
    """A request that two readers could read in two ways, or that no rule of HTTP lets stand."""

    code = "http.malformed"


class NameTwice(Malformed):
    """An object of the body has a name twice: some readers take the first value, others the last."""

    code = "http.name_twice"
    sentence = "The name '{name}' appears twice in one object of the body."
    hint = "Send each name once."


class HeaderTwice(Malformed):
    """A header that can have one value came more than once."""

    code = "http.header_twice"
    sentence = "The header {header} was sent more than once."
    hint = "Send it once."


class NoHost(Malformed):
    """HTTP/1.1 needs to be told which host is meant (RFC 9112, section 3.2)."""

    code = "http.no_host"
    sentence = "The request has no Host header."


class TooManyStreams(Refusal):
    """One more stream than a principal may have."""

    code = "events.too_many_streams"
    sentence = "This principal already has {limit} event streams, which is the limit."
    hint = "Close one, or use a single stream for everything."


class StreamsFull(Unavailable):
    """This process has no room for another stream."""

    code = "events.full"
    sentence = "The node already has {limit} event streams, which is the limit."
    hint = "Retry in a moment; no event is lost."


def example(**fields: Any) -> dict[str, Any]:
    """An example of a shape, for its description."""
    return {"examples": [fields]}


class Wire(BaseModel):
    """Base of all shapes."""

    # A command needs a few of many shapes, so each is put together when it is first used.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Problem(BaseModel):
    """An error (RFC 9457) with a stable code."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    fields: dict[str, Any] = {}
    request: str = ""


def maybe_time(at_us: int | None) -> str | None:
    return None if at_us is None else format_time(at_us)
