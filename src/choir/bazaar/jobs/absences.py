"""When the node was away, in PostgreSQL.

Times that are written down are moved when the node is back; what is counted from a moment in the past, such as the time
in which a verdict can be doubted, is longer by the absences since.
"""

from __future__ import annotations

from choir.storage.database import Tx


def note(tx: Tx, since_us: int, until_us: int) -> bool:
    """Keep an absence; False if it was noted before."""
    return bool(
        tx.run("insert into absences (since_us, until_us) values (%s, %s) on conflict do nothing", since_us, until_us)
    )


def since(tx: Tx, at_us: int) -> int:
    """How long the node was away since then, in microseconds."""
    return int(
        tx.value(
            "select coalesce(sum(until_us - greatest(since_us, %s)), 0) from absences where until_us > %s",
            at_us, at_us,
        )
    )  # fmt: skip
