"""What notes announce."""

from __future__ import annotations

from choir.storage.outbox import EventType

KEPT = EventType("notes.note.kept", "Somebody keeps a note.")
