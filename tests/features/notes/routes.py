"""Notes over HTTP."""

from __future__ import annotations

from choir.doors.http.access import AccessRoute, NodeDep, OperatorDep
from choir.doors.http.rooms import RoomRouter
from choir.doors.shapes import Wire, example
from tests.features.notes.service import Notes

router = RoomRouter(tags=["notes"], route_class=AccessRoute, prefix="/notes")


class NoteIn(Wire, json_schema_extra=example(text="milk")):
    """What is to be kept."""

    text: str


class CountOut(Wire, json_schema_extra=example(notes=1)):
    """How many there are."""

    notes: int


@router.post("", status_code=201)
def keep_note(body: NoteIn, who: OperatorDep, node: NodeDep) -> CountOut:
    """Keep a note."""
    notes = node.of(Notes)
    node.write(lambda tx: notes.keep(tx, who.source, body.text))
    with node.read() as tx:
        return CountOut(notes=notes.count(tx))
