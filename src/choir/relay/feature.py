"""The relay, as a part of a node."""

from __future__ import annotations

from collections.abc import Iterator

from choir.feature import BackgroundWork, Base, Feature, Gauge, RepeatingTask, Stopping
from choir.foundation.findings import Finding
from choir.foundation.settings import Settings
from choir.identity.keys.service import AccountKeys
from choir.relay import store
from choir.relay.policy import RelayPolicy
from choir.relay.service import Relay
from choir.storage.database import Tx
from choir.storage.tasks import Task


def _work(base: Base, stopping: Stopping) -> BackgroundWork:
    relay = base.of(Relay)

    def forget(_: Task) -> None:
        """Drop what has expired or is too old, in bounded transactions."""
        more = True
        while more and not stopping():
            with base.unit_of_work() as tx:
                more = relay.forget(tx)

    return BackgroundWork(
        every=(RepeatingTask("relay.forget", base.policy.of(RelayPolicy).forget_every_s, slow=forget),)
    )


def _forget(base: Base, tx: Tx, owner: str) -> None:
    """What an erased owner's keys have on the relay goes, too; other relays may have it still."""
    base.of(Relay).forget_keys(tx, [key.public for key in base.of(AccountKeys).of_owner(tx, owner)])


def _check_database(settings: Settings, tx: Tx) -> Iterator[Finding]:
    size, most = store.size_bytes(tx), RelayPolicy().store_bytes_max
    most = int(settings.policy_overrides.get("relay.store_bytes_max", most))
    if size >= most:
        told = f"its {size // 1_000_000} MB are all that it may take, so it refuses new keys"
        yield Finding("relay", "note", told, "Raise relay.store_bytes_max, or lower relay.keep_s.")


FEATURE = Feature(
    name="relay",
    needs=("storage", "identity"),
    build=lambda base: (Relay(base.clock, base.policy.of(RelayPolicy)),),
    work=_work,
    forget=_forget,
    check_database=_check_database,
    gauges=(
        Gauge("choir_relay_events", "Events on the relay, about.", lambda _, tx: store.total(tx)),
        Gauge("choir_relay_bytes", "What the relay's events take on disk.", lambda _, tx: store.size_bytes(tx)),
    ),
)
