"""Backups from before a change of the node's key: which key such a backup is of, and how it comes to today's.

Guarantees: before anything is loaded it is known that the key which signed the backup is at hand, and that of the last
published checkpoint too; a ledger that was restored from before a hand-over is handed over again, signed by both keys,
so that whoever trusted the former key can follow as before.
"""

from __future__ import annotations

from pathlib import Path

from choir.foundation.clock import SystemClock
from choir.foundation.errors import ChoirError, Refusal
from choir.foundation.node_key import NodeKeyMissing, load_node_secret, load_retired_secrets
from choir.foundation.settings import Settings
from choir.foundation.signing import NodeSecret
from choir.ledger import queries
from choir.ledger.checkpoints import Tree
from choir.ledger.keys import NodeKeys
from choir.ledger.notes import NoteUnsigned, VerifierKey, open_note
from choir.ledger.publication import read_unsigned
from choir.operations.preparation import LaterKey, entries_told
from choir.storage.database import Tx, connect


class RestoreNeedsKey(Refusal):
    """The backup belongs to a node whose key is not here."""

    code = "backup.key_missing"
    sentence = "The backup of {origin} needs the node key that signed it, which is not in {file}."
    hint = (
        "Copy that node's node.key to {file} first; backups do not contain it. If the key was rotated since, copy the"
        " former one, node.key.retired-…, next to it."
    )


def keys_at_hand(settings: Settings) -> list[NodeSecret]:
    """The node's key and the former ones that are kept beside it."""
    try:
        return [load_node_secret(settings), *load_retired_secrets(settings)]
    except NodeKeyMissing:
        return []


def key_of_backup(settings: Settings, origin: str, note: str) -> NodeSecret:
    """The key that signed a backup's checkpoint; raises unless it is here, for a node without it could not go on."""
    for secret in keys_at_hand(settings):
        if _signed(note, origin, [secret]):
            return secret
    raise RestoreNeedsKey(origin=origin, file=settings.node_key_file)


def _signed(note: str, origin: str, secrets: list[NodeSecret]) -> bool:
    try:
        open_note(note, [VerifierKey(origin, secret.signer().public) for secret in secrets])
    except NoteUnsigned:
        return False
    return True


def must_know_signer(settings: Settings, origin: str, entries: int, published: Path) -> None:
    """Raise if the last published checkpoint is of this ledger, and signed by a key that is not here."""
    try:
        note = published.read_text(encoding="utf-8", errors="replace")
        checkpoint = read_unsigned(note)
        open_note(note, [VerifierKey(origin, secret.signer().public) for secret in keys_at_hand(settings)])
    except NoteUnsigned as error:
        if checkpoint.origin != origin:
            return  # the database itself will tell
        missing = checkpoint.size > entries
        raise LaterKey(
            home=settings.home,
            covers=entries_told(checkpoint.size),
            signer=error.fields["signers"],
            place="the backup",
            entries=entries,
            why="the end of history is missing" if missing else "no entry is missing",
            file=settings.node_key_file,
        ) from None
    except (FileNotFoundError, ChoirError):
        return  # nothing was published, or it is no checkpoint at all, which is found when it is compared


def hand_over_again(settings: Settings, dsn: str, former: NodeSecret, origin: str) -> bool:
    """Record the hand-over from a restored ledger's key to today's; says whether there was one to record."""
    now = load_node_secret(settings).signer()
    with connect(dsn) as db, db.transaction():
        tx = Tx(db)
        keys = NodeKeys(origin, former.signer, SystemClock())
        if keys.current(tx).vkey.public == now.public:
            return False
        size = queries.head(tx).seq
        keys.rotate(tx, now, size, Tree(tx).root(size))
    return True
