"""Replacing the node's key.

Guarantees: the hand-over is recorded, signed by both keys, before the new key is put in place; then what
the old key encrypted is encrypted anew, in rounds. A kill at any moment leaves a state that the next
call or the running node completes; until then both keys are kept and everything can be opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Refusal
from choir.foundation.node_key import make_key_file
from choir.foundation.settings import Settings
from choir.foundation.signing import NodeSecret
from choir.ledger import queries
from choir.ledger.checkpoints import Tree
from choir.ledger.notes import VerifierKey
from choir.ledger.publication import publish_checkpoint
from choir.operations.preparation import Progress, coming_key_file, opened_node, put_key_in_place
from choir.storage.processes import FolderLock


class KeyNotInFile(Refusal):
    """The key comes from somewhere that we cannot write to."""

    code = "key.not_in_file"
    sentence = "The node's key does not come from a file, so it cannot be rotated here."
    hint = "Put the key into a file and set CHOIR_NODE_KEY_FILE to rotate it."


class RotationUnderWay(Refusal):
    """Two hand-overs at once would each be from the same key."""

    code = "key.rotation_under_way"
    sentence = "Another process is rotating the key."


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    lock = FolderLock(settings.home / "rotation.lock")
    if not lock.acquire():
        raise RotationUnderWay
    try:
        yield
    finally:
        lock.release()


def rotate_key(settings: Settings, say: Progress) -> tuple[VerifierKey, VerifierKey]:
    """Make a new key, hand over to it and put it in place; returns the old and the new one."""
    if settings.node_key or settings.node_key_command:
        raise KeyNotInFile
    coming = coming_key_file(settings.node_key_file)
    with opened_node(settings, say) as node, _alone(settings):
        make_key_file(coming, SystemEntropy())
        new = NodeSecret.parse(coming.read_text()).signer()
        with node.unit_of_work() as tx:
            size = queries.head(tx).seq
            rotation = node.keys.rotate(tx, new, size, Tree(tx).root(size))
        put_key_in_place(settings.node_key_file, coming, rotation.old)
        with node.unit_of_work() as tx:
            checkpoint = node.checkpoints.sign(tx)
        publish_checkpoint(settings.home, checkpoint.note)
        done = node.account_keys.rewrap_all(node.database)
        if done:
            say(f"{done} account keys are encrypted under the new key; files named .retired- may be archived")
    return rotation.old, rotation.new
