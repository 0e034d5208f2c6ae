"""What the story has made so far, kept in the home, so that a story that was cut off goes on where it was.

Guarantees: each step is done once. Whoever is killed between doing a step and noting it does it again with the same
idempotency key, or in a way that makes nothing twice. The file also has the keys that the story's agents act by, so
only its owner can read it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from choir.foundation.errors import Refusal
from choir.foundation.node_key import write_secret_file

T = TypeVar("T")

_VERSION = 1
_FOLDER = "demo"
_FILE = "story.json"


class BadRecord(Refusal):
    """The file is not what this version writes."""

    code = "demo.bad_record"
    sentence = "{file} is not the record of a story of this version."
    hint = "Choose another home for the demo: choir demo --home FOLDER"


class Record:
    """The record of a home's story."""

    def __init__(self, home: Path) -> None:
        self.folder = home / _FOLDER
        self._file = self.folder / _FILE
        self._all = self._read()

    @property
    def begun(self) -> bool:
        """Whether a story was begun in this home."""
        return self._file.exists()

    @property
    def made(self) -> dict[str, Any]:
        """What was made, by what it is in the story."""
        found: dict[str, Any] = self._all["made"]
        return found

    @property
    def outcome(self) -> dict[str, Any] | None:
        """What came of the story; nothing before its end."""
        found: dict[str, Any] | None = self._all["outcome"]
        return found

    def finish(self, outcome: dict[str, Any]) -> None:
        self._all["outcome"] = outcome
        self._write()

    def key(self, role: str) -> str:
        """The secret key of whoever plays a role, made once."""
        if role not in self._all["keys"]:
            self._all["keys"][role] = secrets.token_hex(32)
            self._write()
        return str(self._all["keys"][role])

    def once(self, name: str, step: Callable[[], T]) -> T:
        """What a step made; it is done if that was not noted yet."""
        if name not in self.made:
            self.made[name] = step()
            self._write()
        found: T = self.made[name]
        return found

    def id_of(self, step: str) -> str:
        """The idempotency key of a step: the same whenever this story is played."""
        return f"demo-{self._all['story']}-{step}"

    def _read(self) -> dict[str, Any]:
        fresh = {"version": _VERSION, "story": secrets.token_hex(4), "keys": {}, "made": {}, "outcome": None}
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return fresh
        except ValueError:
            raise BadRecord(file=self._file) from None
        if not isinstance(found, dict) or found.keys() != fresh.keys() or found["version"] != _VERSION:
            raise BadRecord(file=self._file)
        return found

    def _write(self) -> None:
        write_secret_file(self._file, json.dumps(self._all, indent=1))
