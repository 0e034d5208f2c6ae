"""Notes, as a part of a node."""

from __future__ import annotations

from collections.abc import Iterator

from choir.feature import BackgroundWork, Base, EventHandler, Explanation, Feature, Gauge, RepeatingTask, Stopping
from choir.foundation.findings import Finding
from choir.foundation.settings import Settings
from choir.identity.events import ERASED, SIGNED_UP
from choir.storage.database import Tx
from choir.storage.outbox import Event
from tests.features.notes.events import KEPT
from tests.features.notes.policy import NotesPolicy
from tests.features.notes.service import Notes


def _work(base: Base, _: Stopping) -> BackgroundWork:
    notes = base.of(Notes)
    return BackgroundWork(every=(RepeatingTask("notes.drop", 60, quick=lambda tx, _: notes.drop_old(tx)),))


def _hear(_: Base, tx: Tx, event: Event) -> None:
    tx.run("insert into notes_heard values (%s)", f"{event.type} {event.subject}")


def _explain(_: Base, tx: Tx, id_: str) -> Explanation:
    return Explanation([f"{id_} is one of {tx.value('select count(*) from notes')} notes."], {})


def _check(_: Settings, tx: Tx) -> Iterator[Finding]:
    yield Finding("notes", "ok", f"{tx.value('select count(*) from notes')} kept")


FEATURE = Feature(
    name="notes",
    needs=("identity",),
    build=lambda base: (Notes(base.outbox, base.clock, base.entropy, base.policy.of(NotesPolicy)),),
    work=_work,
    events=(KEPT,),
    subscribers=(EventHandler("hear", (SIGNED_UP, ERASED, KEPT), _hear),),
    forget=lambda base, tx, owner: base.of(Notes).forget(tx, owner),
    explains={"note": _explain},
    check_database=_check,
    gauges=(Gauge("choir_notes", "Notes that are kept.", lambda base, tx: base.of(Notes).count(tx)),),
)
