"""Exporting a published version with everything that it rests on.

Guarantee: what is exported is what everybody may read, in one read of the database; the node signs the manifest.
"""

from __future__ import annotations

from uuid import UUID

from choir.commons.articles.model import article_id
from choir.commons.atoms.model import Atom, Kind
from choir.commons.atoms.schemas import Source
from choir.commons.atoms.service import Atoms
from choir.commons.bundles import format as bundle_format
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import store as publication_store
from choir.commons.publication.model import Publication
from choir.commons.publication.service import Publications
from choir.commons.takedowns import store as takedown_store
from choir.commons.takedowns.rules import tombstone
from choir.foundation.canonical import ObjectHash, canonical_bytes, canonical_hash, hash_digest
from choir.foundation.clock import Clock, format_time
from choir.foundation.errors import TooLarge
from choir.identity.model import Principal
from choir.ledger.keys import NodeKeys
from choir.objects.model import Scheme
from choir.objects.service import Objects
from choir.storage.database import Tx


class Bundles:
    """Writes bundles; changes nothing."""

    def __init__(
        self,
        publications: Publications,
        atoms: Atoms,
        objects: Objects,
        keys: NodeKeys,
        clock: Clock,
        policy: CommonsPolicy,
    ) -> None:
        self._publications = publications
        self._atoms = atoms
        self._objects = objects
        self._keys = keys
        self._clock = clock
        self._policy = policy

    def export(self, tx: Tx, who: Principal, id_: UUID, version: int | None) -> bytes:
        """The file of a version."""
        publication = self._publications.version(tx, who, id_, version)
        found = self._publications.footing(tx, publication.synthesis)
        ids = [atom.id for atom in found]
        for hidden in sorted(takedown_store.hidden(tx, ids)):
            taken = takedown_store.of_atom(tx, hidden)
            assert taken is not None
            raise tombstone(taken)  # a bundle leaves the node, whoever asks for it
        atoms = {atom.hash: self._objects.get(tx, atom.hash) for atom in found}
        objects = self._objects_of(tx, publication, [atom.hash for atom in found if atom.kind is Kind.SOURCE], ids)
        said = self._signed(tx, publication, ids)
        manifest = {
            "format": bundle_format.FORMAT,
            "node": self._keys.origin,
            "key": self._keys.signer(tx).public.hex(),
            "article": article_id(id_),
            "version": publication.version,
            "state": publication.state.value,
            "synthesis": self._publications.synthesis_of(tx, publication),
            "atoms": sorted(atoms),
            "objects": sorted(objects),
            "states": {atom.hash: atom.state.value for atom in found},
            "signatures": self._signatures(tx, found) | {name: self._said_by_node(tx, name) for name in said},
            "attestations": self._attestations(tx, ids),
            "review": publication.review,
            "receipt": publication.receipt,
            "exported_at": format_time(self._clock.now_us()),
        }
        signature = self._keys.signer(tx).sign(hash_digest(canonical_hash(manifest)))
        assert canonical_bytes(manifest)
        return bundle_format.write(manifest, signature, atoms, objects)

    def _objects_of(
        self, tx: Tx, publication: Publication, sources: list[ObjectHash], ids: list[int]
    ) -> dict[ObjectHash, bytes]:
        """The bytes and text of every source, and what the node said of the article."""
        names: set[ObjectHash] = set(self._signed(tx, publication, ids))
        for name in sources:
            content = self._atoms.content(tx, name)
            assert isinstance(content, Source)
            names |= {ObjectHash(content.bytes), ObjectHash(content.text)}
        size = sum(self._objects.stat(tx, name).size for name in names)
        if size > self._policy.bundle_bytes_max:
            raise TooLarge(what="The bundle", size=size, limit=self._policy.bundle_bytes_max)
        return {name: self._objects.get(tx, name) for name in sorted(names)}

    def _signed(self, tx: Tx, publication: Publication, ids: list[int]) -> list[ObjectHash]:
        said = [publication.review, publication.receipt, *self._attestations(tx, ids)]
        return [ObjectHash(name) for name in said if name is not None]

    @staticmethod
    def _attestations(tx: Tx, ids: list[int]) -> list[str]:
        return sorted({item[2] for item in publication_store.attestations(tx, ids)})

    def _signatures(self, tx: Tx, atoms: list[Atom]) -> dict[ObjectHash, list[dict[str, str]]]:
        """What everybody may see; an atom whose makers want to be unknown is witnessed by the node."""
        found = self._atoms.signatures(tx, atoms)
        signer = self._keys.signer(tx)
        return {
            name: [_shown(item.scheme, item.public, item.signature) for item in items]
            or [_shown(Scheme.ED25519, signer.public, signer.sign(hash_digest(name)))]
            for name, items in found.items()
        }

    def _said_by_node(self, tx: Tx, name: ObjectHash) -> list[dict[str, str]]:
        return [_shown(item.scheme, item.public, item.signature) for item in self._objects.signatures(tx, name)]


def _shown(scheme: Scheme, public: bytes, signature: bytes) -> dict[str, str]:
    return {"scheme": scheme.value, "public": public.hex(), "signature": signature.hex()}
