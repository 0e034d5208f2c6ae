"""Checking, here, a proof of what the node owes to whoever asks.

Guarantees: what `check` returns is signed by the key that this machine knows the node by, and every account in the
proof leads to the signed totals; every account of one's own that had something then, or something in its holds, is in
the proof with just that. What it cannot show: that others are given the same note. Compare notes, or look at the one
that is published.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from choir.doors.liabilities.shapes import LiabilitiesProofOut, OwedOut, OwedShareOut
from choir.doors.sdk import node_keys
from choir.foundation.errors import Broken
from choir.foundation.money import Asset
from choir.ledger.liabilities import rules, tree
from choir.ledger.liabilities.model import Leaf, Owed, OwedProof, Share
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, open_note

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


class OwedDiffers(Broken):
    code = "sdk.owed_differs"
    sentence = "The proof of what the node owes you is not valid: {why}."
    hint = "Keep the proof and its note as evidence: they are signed."


def check(client: Client, proof: LiabilitiesProofOut, *, key: str | None = None) -> LiabilitiesNote:
    """Raise unless the proof holds and has all of one's own accounts; the signed totals."""
    if key is None:
        node_keys.signing_key(client)  # raises if it is not the one that this machine knows
        key = client.node().key
    note = check_proof(proof, VerifierKey.parse(key))
    told = {item.account: (int(item.balance), int(item.held)) for item in proof.accounts}
    for account in client.me.accounts():
        then = client.balance(account.name, at_seq=note.journal.size)
        balance, held = told.get(account.name, (0, 0))
        for where, had, proven in (("", int(then.balance), balance), (" in holds", int(then.held), held)):
            if had != proven:
                before, about = (f"{Asset.of(then.asset).format(units)} {then.asset}" for units in (had, proven))
                raise OwedDiffers(why=f"{account.name} had {before}{where} but the proof covers {about}")
    return note


def check_proof(proof: LiabilitiesProofOut, trusted: VerifierKey) -> LiabilitiesNote:
    """Raise unless everything in the proof is part of the signed totals; those."""
    keys = _former_keys(trusted, proof.rotations)
    note = LiabilitiesNote.parse(open_note(proof.note, keys).text)
    journal = Checkpoint.parse(open_note(proof.checkpoint, keys).text)
    if (journal.origin, journal.size, journal.root) != (note.journal.origin, note.journal.size, note.journal.root):
        raise OwedDiffers(why="the totals and the checkpoint belong to different journals")
    names = [item.account for item in proof.accounts]
    if len(set(names)) != len(names):
        raise OwedDiffers(why="an account is in the proof twice")
    for item in proof.accounts:
        rules.check(_owed_proof(item), note)
    return note


def _former_keys(current: VerifierKey, rotations: list[str]) -> list[VerifierKey]:
    """The node's key and those before it, each vouched for by the next."""
    keys = [current]
    for text in reversed(rotations):
        rotation = KeyRotation.parse(open_note(text, [keys[-1]]).text)
        if rotation.new != keys[-1]:
            raise OwedDiffers(why="the node's key rotations do not form a chain")
        open_note(text, [rotation.old])
        keys.append(rotation.old)
    return keys


def _owed_proof(item: OwedOut) -> OwedProof:
    try:
        owed = Owed(item.account, int(item.balance), int(item.held))
        return OwedProof(owed, tuple(_share(each) for each in item.shares))
    except (ValueError, binascii.Error):
        raise OwedDiffers(why=f"the proof for {item.account} is malformed") from None


def _share(item: OwedShareOut) -> Share:
    leaf = Leaf(int(item.amount), base64.b64decode(item.salt, validate=True), item.index)
    beside = [tree.node(int(each.sum), base64.b64decode(each.hash, validate=True)) for each in item.beside]
    return Share(leaf, tuple(beside))
