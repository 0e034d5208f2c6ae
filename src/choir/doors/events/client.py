"""What happens on a node, as it happens."""

from __future__ import annotations

from typing import Any

from choir.doors.sdk import answers
from choir.doors.sdk.calls import Call, R, Room, stream
from choir.doors.sdk.errors import NodeError
from choir.doors.sdk.streams import StreamEvent
from choir.doors.shapes import Wire

MISSED = "events.missed"


class Event(Wire):
    """Something that happened, or (`missed`) the news that some events were too old to be told.

    Each comes at least once; `id` makes it once for whoever looks at it. `position` is where to go on later.
    """

    position: str
    id: str
    type: str  # such as "bazaar.job.paid"
    version: int
    subject: str  # what it happened to
    at: str
    actor: str
    cause: str | None
    data: dict[str, Any]

    @property
    def missed(self) -> bool:
        return self.type == MISSED

    @classmethod
    def read(cls, told: StreamEvent) -> Event:
        value = told.value
        if not isinstance(value, dict):
            raise NodeError(detail="The node sent a malformed event.")
        if told.type == MISSED:
            nothing = {"id": "", "version": 1, "subject": "", "at": "", "actor": "", "cause": None}
            value = {**nothing, "type": MISSED, "data": value}
        return answers.read(cls, {**value, "position": told.id})


class EventsClient(Room[R]):
    """Part of the client itself."""

    @stream
    def events(
        self, *, after: str | None = None, type_: str | None = None, subject: str | None = None, follow: bool = True
    ) -> Call[Event]:
        """Stream events, after a position ("0-0": all that are kept) or from now on.

        Reconnects automatically. `type_` means that type and its subtypes; without
        `follow` it ends after past events.
        """
        params = {"type": type_, "subject": subject, "follow": None if follow else "false"}
        return Call("GET", "/v1/events", Event, params=params, after=after, ends=not follow, reads=Event.read)
