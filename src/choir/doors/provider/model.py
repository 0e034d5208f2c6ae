"""What the provider's process is told, what it tells, and what it cannot go on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.foundation.errors import Invalid, NotAllowed, Refusal, Unavailable
from choir.sandbox.model import Tier

_TYPES = (JobType.SANDBOX_RUN, JobType.CODE_REVIEW, JobType.PATCH_GEN, JobType.REPO_INDEX, JobType.TEXT_GEN)
Tell = Callable[..., None]  # tell("taken", job=…, attempt=…)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a provider is to serve, as its owner asked."""

    workers: tuple[str, ...]
    isolation: Tier
    capacity: int
    types: tuple[JobType, ...] = ()  # none named: all that the workers can do
    name: str | None = None  # None: as it was, or the default
    region: str | None = None
    model: str = ""
    api: str = "anthropic"
    drain_s: float | None = None  # None: as policy says
    endpoint: str = ""  # where the model is, if not at the API's own address
    key_variable: str = ""  # the variable that holds its key, if not the usual one
    agent_folder: Path | None = None  # where an agent is installed, if not below /usr


@dataclass(frozen=True, slots=True)
class ProviderReport:
    """Something that happened here."""

    at: str
    what: str  # "taken", "handed_in", "outcome" …
    facts: Mapping[str, Any] = field(default_factory=dict)


def job_type(text: str) -> JobType:
    """A type by the name that people use or by its own."""
    found = JobType.named("patch" if text.strip().lower() == "fix" else text)  # "fix" is a worker that makes patches
    if found is None:
        raise Invalid(what=f"The type '{text[:40]}'", why=f"there are {', '.join(kind.word for kind in _TYPES)}")
    return found


def short_type(kind: JobType | str) -> str:
    """What people call a type."""
    return JobType(kind).word


class AlreadyServing(Refusal):
    code = "provider.already_serving"
    sentence = "A provider is already running from {home} ({holder})."
    hint = "Stop it, or run another one with --name NAME."


class ServedElsewhere(Refusal):
    code = "provider.served_elsewhere"
    sentence = "The provider {provider} is online with another result key: it is running on another machine."
    hint = "Stop it there and wait a minute, copy its folder here, or sell as another agent with --key."


class KeyOfAnother(Refusal):
    code = "provider.key_of_another"
    sentence = "The result key in {home} already belongs to another account or provider."
    hint = "Use another folder, with --name or --provider-home; it gets its own key."


class UnsafeKey(Refusal):
    code = "provider.unsafe_key"
    sentence = "The key file {path} cannot be used: {why}."
    hint = "A key file must be a regular file of yours with mode 0600 that contains 64 hex digits or an nsec."


class HomeUnusable(Unavailable):
    code = "provider.home_unusable"
    sentence = "The provider's folder {home} cannot be used: {why}."
    hint = "Choose another one with --provider-home or CHOIR_PROVIDER_HOME."


class CannotSell(NotAllowed):
    code = "provider.cannot_sell"
    sentence = "The configured credential cannot sell work: {why}."
    hint = "Use one with the scope 'sell', or none (`unset CHOIR_TOKEN`) to sell as a self-keyed agent."


class AddressNotSigned(NotAllowed):
    code = "provider.address_not_signed"
    sentence = "The node does not accept requests signed for {address}: {why}."
    hint = "If the node has another public URL, set it with --public-url; if clocks differ, correct yours."


class NoSuchWork(Refusal):
    code = "provider.no_such_work"
    sentence = "No worker here does {type}; they do {able}."
    hint = "Name another worker with --worker, or other types with --types."


class NobodyWell(Unavailable):
    code = "provider.nobody_well"
    sentence = "No worker can run now: {why}."
    hint = "Install what is missing, or name another worker with --worker."


class IsolationMissing(Unavailable):
    code = "provider.isolation_missing"
    sentence = "The isolation {tier} cannot be offered here: {why}"
    hint = "Tiers for untrusted code that work here: {works}. {more}`choir sandbox doctor` explains."


class NotServedYet(Refusal):
    code = "provider.not_served_yet"
    sentence = "You have no provider at {url} yet; looked in {home}."
    hint = "Start one with `choir provider serve`, or select one with --name, --provider-home or --key."


class BadOrder(Refusal):
    """What the node sent cannot be worked on; the work is given back with these words."""

    code = "provider.bad_order"
    sentence = "The order cannot be worked on: {why}."
