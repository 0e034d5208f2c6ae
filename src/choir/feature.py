"""What a feature is: everything that it brings to a node, declared in its own folder.

A feature's `feature.py` has one `FEATURE`. It says what the feature stands on, which services it builds, what it does
in the background, which events it handles and announces, what erasing a person means for it, how it explains its ids,
and what it checks and measures. Its tables are in `migrations/` beside it. `features.py` lists the features; nothing
else has to know of one.

Guarantees: features are built in their order, each on those it needs; every service of a node can be asked for by its
type; when a person is erased, every feature forgets them, those on top first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Protocol, TypeVar
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.foundation.findings import Finding
from choir.foundation.policy import Policy, effective_hash
from choir.foundation.settings import Settings
from choir.storage.database import Database, Tx
from choir.storage.identity import NodeIdentity
from choir.storage.outbox import Event, EventType, Outbox
from choir.storage.policy import NodePolicy
from choir.storage.subscribers import Subscriber, Subscribers
from choir.storage.tasks import Quick, Slow

S = TypeVar("S")

Stopping = Callable[[], bool]  # whether the process has been told to end


class Base:
    """What features stand on: the node's own things, and the services that were built so far."""

    def __init__(
        self,
        settings: Settings,
        policy: Policy,
        identity: NodeIdentity,
        clock: Clock,
        entropy: Entropy,
        database: Database,
        features: Sequence[Feature],
    ) -> None:
        self.settings = settings
        self.policy = policy
        self.policy_hash = effective_hash(policy)
        self.identity = identity
        self.clock = clock
        self.entropy = entropy
        self.database = database
        self.features = tuple(features)
        self._services: dict[type[Any], Any] = {Outbox: Outbox(clock, entropy)}
        self._build()

    def _build(self) -> None:
        built: set[str] = set()
        for feature in self.features:
            missing = set(feature.needs) - built
            assert not missing, f"{feature.name} stands on {sorted(missing)}, which must come before it"
            for service in feature.build(self):
                assert type(service) not in self._services, f"{type(service)} is built twice"
                self._services[type(service)] = service
            built.add(feature.name)

    def of(self, kind: type[S]) -> S:
        """The service of this type."""
        found: S = self._services[kind]
        return found

    @property
    def outbox(self) -> Outbox:
        return self.of(Outbox)

    def unit_of_work(self) -> AbstractContextManager[Tx]:
        """A transaction for one use case."""
        return self.database.unit_of_work()

    def read(self) -> AbstractContextManager[Tx]:
        """For what only reads: each statement by itself, in one round trip."""
        return self.database.statements()

    def write(self, work: Callable[[Tx], S]) -> S:
        """Do what writes in one transaction, again if concurrent work got in the way; so it has no other effect."""
        return self.database.run(work)

    def forget(self, tx: Tx, owner: str) -> None:
        """An owner is erased: let every feature forget them, those on top first."""
        for feature in reversed(self.features):
            if feature.forget is not None:
                feature.forget(self, tx, owner)

    def guard_hold(self, tx: Tx, hold: UUID) -> None:
        """Raise if a feature still needs a hold that somebody else wants to end."""
        for feature in self.features:
            if feature.guard_hold is not None:
                feature.guard_hold(self, tx, hold)

    @contextmanager
    def unfreezing(self, tx: Tx, account: str) -> Iterator[None]:
        """Let features settle, in the same transaction, what could not be settled while the account was frozen."""
        with ExitStack() as stack:
            for feature in self.features:
                if feature.unfreezing is not None:
                    stack.enter_context(feature.unfreezing(self, tx, account))
            yield

    def explain(self, tx: Tx, id_: str) -> Explanation | None:
        """What the feature that knows this kind of id says of it; nothing if no feature does."""
        kind = id_.partition("_")[0]
        for feature in self.features:
            if kind in feature.explains:
                return feature.explains[kind](self, tx, id_)
        return None

    def subscribers(self) -> Subscribers:
        """Who handles which events."""
        found = [
            Subscriber(f"{feature.name}.{one.name}", one.types, partial(one.handle, self))
            for feature in self.features
            for one in feature.subscribers
        ]
        return Subscribers(found, self.database, self.clock, self.policy.of(NodePolicy).outbox_keep_s)

    def close(self) -> None:
        """Give back what features opened, those on top first, and the database last."""
        for feature in reversed(self.features):
            if feature.close is not None:
                feature.close(self)
        self.database.close()


class Runner(Protocol):
    """Work with threads of its own."""

    def start(self) -> None: ...

    def halt(self) -> None:
        """Begin nothing more."""

    def stop(self) -> None:
        """End within a few seconds, and leave what is under way to whoever comes next."""


@dataclass(frozen=True, slots=True)
class RepeatingTask:
    """A repeating task: quick in the transaction that completes it, slow under a lease."""

    name: str
    seconds: int
    quick: Quick | None = None
    slow: Slow | None = None

    def __post_init__(self) -> None:
        assert (self.quick is None) != (self.slow is None), self.name


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """What a feature does in the background of a server process."""

    every: tuple[RepeatingTask, ...] = ()
    quick: Mapping[str, Quick] = field(default_factory=dict)  # tasks that something else puts on the list
    slow: Mapping[str, Slow] = field(default_factory=dict)
    wakes: Mapping[str, Callable[[set[UUID]], None]] = field(default_factory=dict)  # by the name of what is rung
    runners: tuple[Runner, ...] = ()
    schedule: Callable[[Tx, int], None] | None = None  # puts on the list what does not simply repeat; given the time


@dataclass(frozen=True, slots=True)
class EventHandler:
    """Events that a feature handles, in a transaction of their own."""

    name: str  # what it does then; its position is kept under the feature's name and this
    types: tuple[str, ...]
    handle: Callable[[Base, Tx, Event], None]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Sentences for people and facts for machines."""

    sentences: list[str]
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number that is read from the database when somebody asks for metrics."""

    name: str
    help: str
    read: Callable[[Base, Tx], int]


def _nothing(_: Base) -> Iterable[object]:
    return ()


def _no_work(_: Base, __: Stopping) -> BackgroundWork:
    return BackgroundWork()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """All that the house must know of a feature."""

    name: str
    needs: tuple[str, ...] = ()  # the features it stands on
    build: Callable[[Base], Iterable[object]] = _nothing  # its services, each of a type of its own
    close: Callable[[Base], None] | None = None
    work: Callable[[Base, Stopping], BackgroundWork] = _no_work
    events: tuple[EventType, ...] = ()  # what it announces
    subscribers: tuple[EventHandler, ...] = ()
    forget: Callable[[Base, Tx, str], None] | None = None  # an owner is erased
    guard_hold: Callable[[Base, Tx, UUID], None] | None = None  # raises if nobody else may end this hold
    # Around the unfreezing of an account: locks what it needs before the ledger's head, and settles what was left.
    unfreezing: Callable[[Base, Tx, str], AbstractContextManager[None]] | None = None
    explains: Mapping[str, Callable[[Base, Tx, str], Explanation]] = field(default_factory=dict)  # by prefix of the id
    check_machine: Callable[[Settings, Policy], Iterator[Finding]] | None = None  # for the doctor, without a database
    check_database: Callable[[Settings, Tx], Iterator[Finding]] | None = None  # for the doctor
    gauges: tuple[Gauge, ...] = ()


def load_features(packages: Sequence[str]) -> tuple[Feature, ...]:
    """The features of these packages, in the same order."""
    found = tuple(import_module(f"{package}.feature").FEATURE for package in packages)
    for package, feature in zip(packages, found, strict=True):
        assert feature.name == package.rpartition(".")[2], f"{package} calls itself {feature.name}"
    return found
