"""The signed note that says what a node owes: for each asset how many accounts, their total, and the root over them.

It names a journal by its size and root, as the checkpoint of that size does. A node signs one such note for each size:
two that differ are proof of its cheating, for everybody to see. What proofs bind is the total; of the number of
accounts they only show that it fits. It cannot pass for a checkpoint or a change of keys, whose texts begin otherwise.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from choir.foundation.errors import Invalid
from choir.ledger.liabilities.tree import HASH_BYTES, SUM_END
from choir.ledger.notes import Checkpoint, CheckpointMalformed

FORMAT = "choir-liabilities/1"

_LINE = re.compile(r"([A-Z]{1,8}) ([1-9][0-9]{0,18}) ([1-9][0-9]{0,38}) ([A-Za-z0-9+/]{43}=)", re.ASCII)


class LiabilitiesMalformed(Invalid):
    code = "ledger.note.liabilities_malformed"
    sentence = "The note is not a liabilities note: {why}."


@dataclass(frozen=True, slots=True)
class AssetTotal:
    """All that is owed of one asset."""

    asset: str
    accounts: int
    total: int
    root: bytes


@dataclass(frozen=True, slots=True)
class LiabilitiesNote:
    """What a node owes after so many entries of its journal; nothing of the assets that are not there."""

    journal: Checkpoint  # without its account acts
    totals: tuple[AssetTotal, ...]  # by name

    def text(self) -> str:
        """The text to sign."""
        lines = [f"{item.asset} {item.accounts} {item.total} {_encoded(item.root)}\n" for item in self.totals]
        return f"{FORMAT}\n{self.journal.text()}{''.join(lines)}"

    @classmethod
    def parse(cls, text: str) -> LiabilitiesNote:
        """From a note's text; who signed it is for the caller to look at."""
        lines = text.split("\n")
        if len(lines) < 5 or lines.pop() or lines[0] != FORMAT:
            raise LiabilitiesMalformed(why=f"its first line must be {FORMAT}")
        try:
            journal = Checkpoint.parse("\n".join([*lines[1:4], ""]))
        except CheckpointMalformed as error:
            raise LiabilitiesMalformed(why=error.fields["why"]) from None
        found = cls(journal, tuple(_total(line) for line in lines[4:]))
        names = [item.asset for item in found.totals]
        if names != sorted(set(names)):
            raise LiabilitiesMalformed(why="its assets must be sorted by name, each once")
        return found

    @classmethod
    def inside(cls, signed: str) -> LiabilitiesNote:
        """What a signed note of our own says; who signed it is not looked at."""
        return cls.parse(signed.rpartition("\n\n")[0] + "\n")

    def of(self, asset: str) -> AssetTotal | None:
        return next((item for item in self.totals if item.asset == asset), None)


def _total(line: str) -> AssetTotal:
    match = _LINE.fullmatch(line)
    root = base64.b64decode(match[4]) if match else b""
    if match is None or len(root) != HASH_BYTES or _encoded(root) != match[4] or int(match[3]) >= SUM_END:
        raise LiabilitiesMalformed(why="a line of an asset must be its name, two numbers and a root in base64")
    return AssetTotal(match[1], int(match[2]), int(match[3]), root)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
