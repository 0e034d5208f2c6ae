"""Makes ledger exports and proofs for tests, without a database and without asking whether they are right.

It hashes and signs whatever it is told, so that a test can also be a node that breaks its own rules.
Everything is computed when `records` is called: change `entries` or `acts` before, and the result is
an export with consistent hashes and true signatures.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from choir.foundation.canonical import canonical_bytes
from choir.foundation.clock import ManualClock, SeededEntropy
from choir.foundation.ids import uuid7
from choir.foundation.signing import Ed25519Signer
from choir.ledger.merkle import Frontier, consistency_proof, inclusion_proof
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, sign_note
from tests.ledger.proofs import leaf_hash

Record = dict[str, Any]

ORIGIN = "choir.example/ledger"
NO_HASH = bytes(32)
ISSUANCE = "system:main/issuance/SAT"
ALICE = "person:alice/available/SAT"
BOB = "agent:bob/available/SAT"
FEES = "treasury:main/fees.bazaar/SAT"
CAROL = "person:carol/available/SAT"


@dataclass(slots=True)
class Act:
    """An account act before it is hashed."""

    account: str
    act: str
    after: int  # how many entries there were
    at_us: int
    reason: str = "asked for by its owner"
    source: str = "system:main"


@dataclass(slots=True)
class Entry:
    """An entry before it is hashed."""

    content: Record
    at_us: int
    id: UUID


@dataclass(slots=True)
class ExportMaker:
    """A journal in the making."""

    seed: int = 1
    origin: str = ORIGIN
    name: str = ORIGIN
    acts: list[Act] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    rotations: list[tuple[Ed25519Signer, int]] = field(default_factory=list)  # the new key, entries so far
    clock: ManualClock = field(default_factory=ManualClock)
    first: Ed25519Signer = field(init=False)
    entropy: SeededEntropy = field(init=False)

    def __post_init__(self) -> None:
        self.entropy = SeededEntropy(self.seed)
        self.first = Ed25519Signer(self.entropy.bytes(32))

    # What happens in the journal

    def act(self, act: str, *accounts: str) -> None:
        for account in accounts:
            self.clock.advance(1)
            self.acts.append(Act(account, act, len(self.entries), self.clock.now_us()))

    def post(self, kind: str, *legs: tuple[str, str, int], **more: Any) -> Record:
        """Add an entry; a leg is (from, to, amount). Returns its content, to be changed at will."""
        self.clock.advance(1)
        content: Record = {
            "key": f"k{len(self.entries) + 1}",
            "kind": kind,
            "legs": [{"amount": str(units), "from": source, "to": target} for source, target, units in legs],
            "reason": "a test",
            "source": "system:main",
        }
        at_us = self.clock.now_us()
        self.entries.append(Entry(content | more, at_us, self.new_id()))
        return self.entries[-1].content

    def place(self, payer: str, units: int, captures: int = 1, lasts_s: int = 3600) -> str:
        """Place a hold; returns its id."""
        hold_id = str(self.new_id())
        terms = {"captures": captures, "expires_us": self.clock.now_us() + lasts_s * 1_000_000, "id": hold_id}
        self.post("hold.place", (payer, hold_account(hold_id), units), hold=terms)
        return hold_id

    def capture(
        self, hold_id: str, *shares: tuple[str, int], final: bool = False, rest: tuple[str, int] | None = None
    ) -> None:
        legs = [(hold_account(hold_id), target, units) for target, units in [*shares, *([rest] if rest else [])]]
        content = self.post("hold.capture", *legs, hold={"final": final, "id": hold_id})
        if rest:
            content["legs"][-1]["rest"] = True

    def give_back(self, kind: str, hold_id: str, payer: str, units: int) -> None:
        content = self.post(kind, (hold_account(hold_id), payer, units), hold={"id": hold_id})
        content["legs"][0]["rest"] = True

    def rotate(self) -> None:
        """Change the node's key."""
        self.rotations.append((Ed25519Signer(self.entropy.bytes(32)), len(self.entries)))

    def cut(self, size: int) -> None:
        """Forget everything that happened after so many entries."""
        del self.entries[size:]
        self.acts = [act for act in self.acts if act.after <= size]

    def new_id(self) -> UUID:
        return uuid7(self.clock.now_us(), len(self.entries), self.entropy.bytes(6))

    # What is signed

    @property
    def signers(self) -> list[Ed25519Signer]:
        return [self.first, *(signer for signer, _ in self.rotations)]

    @property
    def keys(self) -> list[VerifierKey]:
        return [VerifierKey(self.name, signer.public) for signer in self.signers]

    def checkpoint(self, size: int | None = None, key: int = -1, acts: int | None = None) -> str:
        """The signed checkpoint over the first entries and the acts until then.

        By default over all and with the current key.
        """
        tree = Frontier()
        for leaf in self.leaves()[:size]:
            tree.append(leaf)
        if acts is None:
            acts = sum(act.after <= tree.size for act in self.acts)
        head = bytes.fromhex(self.act_records()[acts - 1]["hash"]) if acts else NO_HASH
        return self.sign(Checkpoint(self.origin, tree.size, tree.root(), acts, head).text(), self.signers[key])

    def sign(self, text: str, *signers: Ed25519Signer) -> str:
        return sign_note(text, self.name, signers)

    def rotation_notes(self) -> list[str]:
        notes, leaves = [], self.leaves() if self.rotations else []
        for number, (_, size) in enumerate(self.rotations):
            tree = Frontier()
            for leaf in leaves[:size]:
                tree.append(leaf)
            old, new = self.keys[number : number + 2]
            text = KeyRotation(self.origin, old, new, size, tree.root()).text()
            notes.append(self.sign(text, *self.signers[number : number + 2]))
        return notes

    # What is written

    def leaves(self) -> list[bytes]:
        return [leaf_hash(preimage) for _, preimage in self._hashed_entries()]

    def entry_records(self) -> list[Record]:
        return [record for record, _ in self._hashed_entries()]

    def _hashed_entries(self) -> list[tuple[Record, bytes]]:
        result, prev = [], NO_HASH
        for seq, entry in enumerate(self.entries, 1):
            content = hashlib.sha256(canonical_bytes(entry.content)).digest()
            numbers = seq.to_bytes(8, "big") + entry.at_us.to_bytes(8, "big")
            preimage = b"choir-entry-v1" + prev + numbers + entry.id.bytes + content
            digest = hashlib.sha256(preimage).digest()
            record = {"at_us": entry.at_us, "content": entry.content, "hash": digest.hex(), "id": str(entry.id)}
            result.append((record | {"prev": prev.hex(), "seq": seq, "type": "entry"}, preimage))
            prev = digest
        return result

    def act_records(self) -> list[Record]:
        result, prev = [], NO_HASH
        for n, act in enumerate(self.acts, 1):
            content = {"account": act.account, "act": act.act, "after": act.after}
            content |= {"reason": act.reason, "source": act.source}
            numbers = n.to_bytes(8, "big") + act.at_us.to_bytes(8, "big")
            inner = hashlib.sha256(canonical_bytes(content)).digest()
            digest = hashlib.sha256(b"choir-account-v1" + prev + numbers + inner).digest()
            record = content | {"at_us": act.at_us, "hash": digest.hex(), "n": n, "prev": prev.hex()}
            result.append(record | {"type": "account"})
            prev = digest
        return result

    def records(self) -> list[Record]:
        """All lines before the trailer."""
        key = str(self.keys[0])
        header = {"format": "choir-ledger-export/1", "key": key, "origin": self.origin, "type": "header"}
        rotations = [{"note": note, "type": "rotation"} for note in self.rotation_notes()]
        return [header, *rotations, *self.journal_records()]

    def journal_records(self) -> list[Record]:
        """Entries, and behind each the acts that came after it."""
        acts, entries = self.act_records(), self.entry_records()
        return sorted([*entries, *acts], key=lambda record: (record.get("after", record.get("seq")), "n" in record))

    def trailer(self, body: bytes, acts: list[Record], checkpoint: str = "") -> Record:
        """The signed last line of an export with this body."""
        trailer = {
            "account_head": acts[-1]["hash"] if acts else NO_HASH.hex(),
            "accounts": len(acts),
            "bytes": len(body),
            "checkpoint": checkpoint or self.checkpoint(acts=len(acts)),
            "entries": len(self.entries),
            "sha256": hashlib.sha256(body).hexdigest(),
            "type": "trailer",
        }
        signature = self.signers[-1].sign(b"choir-export-trailer-v1\n" + canonical_bytes(trailer))
        return trailer | {"signature": base64.b64encode(signature).decode()}

    def export(self) -> bytes:
        body = encode(self.records())
        return body + encode([self.trailer(body, self.act_records())])

    def proof(self, seq: int, size: int | None = None, key: int = -1) -> Record:
        """A proof that an entry is in the journal."""
        return {
            "format": "choir-ledger-proof/1",
            "entry": self.entry_records()[seq - 1],
            "proof": encode_hashes(inclusion_proof(seq - 1, size or len(self.entries), self.read_node())),
            "checkpoint": self.checkpoint(size, key),
            "rotations": self.rotation_notes(),
        }

    def consistency(self, size1: int, size2: int, key1: int = 0, key2: int = -1) -> Record:
        """A proof that the journal only grew."""
        return {
            "format": "choir-ledger-consistency/1",
            "from": self.checkpoint(size1, key1),
            "to": self.checkpoint(size2, key2),
            "proof": encode_hashes(consistency_proof(size1, size2, self.read_node())),
            "rotations": self.rotation_notes(),
        }

    def read_node(self) -> Any:
        tree, nodes = Frontier(), {}
        for leaf in self.leaves():
            for level, node in enumerate(tree.append(leaf)):
                nodes[level, (tree.size >> level) - 1] = node
        return lambda level, index: nodes[level, index]


def hold_account(hold_id: str, asset: str = "SAT") -> str:
    return f"hold:{hold_id}/escrow/{asset}"


def encode(records: list[Record]) -> bytes:
    return b"".join(canonical_bytes(record) + b"\n" for record in records)


def encode_hashes(hashes: list[bytes]) -> list[str]:
    return [base64.b64encode(item).decode() for item in hashes]


def small_journal() -> ExportMaker:
    """One change of key, one hold, one freeze: small enough to damage every byte of it."""
    maker = ExportMaker()
    maker.act("open", ISSUANCE, ALICE)
    maker.post("issue", (ISSUANCE, ALICE, 1000), reason="a gift — été")
    maker.rotate()
    hold_id = maker.place(ALICE, 400)
    maker.act("freeze", ALICE)
    maker.capture(hold_id, (ISSUANCE, 150), final=True, rest=(ALICE, 250))
    return maker


def full_journal() -> ExportMaker:
    """Every kind of line, act, hold and optional field."""
    maker = ExportMaker(seed=2)
    maker.act("open", ISSUANCE, ALICE, BOB)
    some_hash = "sha256:" + "ab" * 32
    issued = maker.post("issue", (ISSUANCE, ALICE, 10_000), receipt=some_hash, policy=some_hash, memo=some_hash)
    assert issued["kind"] == "issue"
    maker.act("open", FEES, CAROL)
    maker.act("freeze", CAROL)
    maker.post("pay", (ALICE, BOB, 500), (ALICE, FEES, 5), refs=["job_1", some_hash])
    maker.rotate()
    several = maker.place(ALICE, 900, captures=2)
    maker.capture(several, (BOB, 300))
    maker.rotate()
    maker.rotate()
    maker.act("freeze", ALICE)
    maker.act("unfreeze", CAROL)
    maker.capture(several, (BOB, 300), (FEES, 10), rest=(ALICE, 290))
    maker.act("unfreeze", ALICE)
    released = maker.place(BOB, 100)
    maker.give_back("hold.release", released, BOB, 100)
    expired = maker.place(BOB, 200, lasts_s=60)
    maker.clock.advance(60)
    maker.give_back("hold.expire", expired, BOB, 200)
    whole = maker.place(BOB, 50, captures=3)
    maker.capture(whole, (FEES, 50), final=True)
    maker.place(ALICE, 70)  # still open at the end
    maker.post("correct", (FEES, BOB, 5), corrects=str(maker.entries[1].id))
    maker.act("close", CAROL)
    return maker
