"""Checking a bundle with nothing but the file: every hash, every signature, every span, every line of evidence.

Guarantees: nothing that the file says is believed where it can be computed; a check that fails says what differs. What
only the node can know (that the article was promoted, by when) is believed as far as the node's signature goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from choir.commons.articles.syntax import parse
from choir.commons.atoms.schemas import Binding, Claim, Content, Extract, Source, Synthesis, read_content
from choir.commons.bundles import format as bundle_format
from choir.commons.bundles.format import Bundle
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import rules
from choir.commons.publication.assembly import binding_names
from choir.commons.publication.referee import Document, Referee
from choir.commons.sources.model import SourceRecord
from choir.commons.verifiers.model import Outcome, Verification
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash, hash_digest, parse_canonical
from choir.foundation.errors import ChoirError
from choir.foundation.signing import verify_bip340, verify_ed25519
from choir.foundation.words import count

C = TypeVar("C", bound=Content)


@dataclass(frozen=True, slots=True)
class BundleCheck:
    """What one check of a file came to."""

    check: str
    passed: bool
    words: str


@dataclass(frozen=True, slots=True)
class BundleReport:
    """All checks of a file."""

    article: str
    title: str
    version: int
    state: str  # as the node says
    checks: tuple[BundleCheck, ...]
    bindings: tuple[tuple[str, Verification], ...]  # what our own verifiers say, by claim

    @property
    def passed(self) -> bool:
        return all(item.passed for item in self.checks)


def verify_bundle(data: bytes, referee: Referee, policy: CommonsPolicy, node_key: bytes | None = None) -> BundleReport:
    """Check a file; raises `BadBundle` if it cannot even be read."""
    bundle = bundle_format.read(data, policy.bundle_bytes_max)
    look = _Look(bundle, referee, policy, node_key)
    checks = tuple(look.run())
    manifest = bundle.manifest
    version = manifest.get("version")
    return BundleReport(
        article=str(manifest.get("article")),
        title=look.synthesis.title if look.synthesis else "",
        version=version if isinstance(version, int) else 0,
        state=str(manifest.get("state")),
        checks=checks,
        bindings=tuple(look.verifications),
    )


class _Look:
    """One pass over a file."""

    def __init__(self, bundle: Bundle, referee: Referee, policy: CommonsPolicy, node_key: bytes | None) -> None:
        self._bundle = bundle
        self._referee = referee
        self._policy = policy
        self._node_key = node_key
        self._contents: dict[ObjectHash, Content] = {}
        self.synthesis: Synthesis | None = None
        self.verifications: list[tuple[str, Verification]] = []

    def run(self) -> Iterator[BundleCheck]:
        steps: list[tuple[str, Callable[[], str]]] = [
            ("manifest", self._manifest),
            ("atoms", self._atoms),
            ("signatures", self._signatures),
            ("sources", self._sources),
            ("extracts", self._extracts),
            ("evidence", self._evidence),
            ("no-copy", self._copies),
            ("attestations", self._attestations),
        ]
        for name, step in steps:
            try:
                yield BundleCheck(name, True, step())
            except _Different as error:
                yield BundleCheck(name, False, str(error))
            except (ChoirError, KeyError, ValueError, TypeError, AttributeError) as error:
                yield BundleCheck(name, False, f"it cannot be checked: {type(error).__name__}: {error}"[:300])

    def _manifest(self) -> str:
        manifest = self._bundle.manifest
        key = bytes.fromhex(manifest["key"])
        if self._node_key is not None and key != self._node_key:
            raise _Different("it is signed by another key than the one that was given")
        verify_ed25519(key, hash_digest(canonical_hash(manifest)), self._bundle.signature)
        whose = "the key that was given" if self._node_key is not None else "a key that nobody has vouched for here"
        return f"signed for the node {manifest['node']} with {whose}: {key.hex()}"

    def _atoms(self) -> str:
        for name, data in self._bundle.atoms.items():
            self._contents[name] = read_content(parse_canonical(data))
        found = self._contents[ObjectHash(self._bundle.manifest["synthesis"])]
        if not isinstance(found, Synthesis):
            raise _Different("what it calls the article is no article")
        self.synthesis = found
        elsewhere = self._cited_articles()
        for name, content in self._contents.items():
            missing = [item for item in content.rests_on if item not in self._contents and item not in elsewhere]
            if missing:
                raise _Different(f"{name} rests on {missing[0]}, which is missing")
        cited = f"; {count(len(elsewhere), 'cited article')} with the text alone" if elsewhere else ""
        return f"{len(self._contents)} atoms, each what its name says{cited}"

    def _cited_articles(self) -> set[str]:
        """Other articles whose text is here as a source: they have bundles of their own."""
        sources = [content for content in self._contents.values() if isinstance(content, Source)]
        named = {item.origin.article for item in sources if item.origin.article is not None}
        return {name for name in named if name not in self._contents}

    def _signatures(self) -> str:
        signed = self._bundle.manifest["signatures"]
        count = 0
        for name in self._bundle.atoms:
            if not signed.get(name):
                raise _Different(f"{name} is signed by nobody")
            for item in signed[name]:
                _verify(item, name)
                count += 1
        return f"{count} signatures are right"

    def _sources(self) -> str:
        again = 0
        for name, content in self._contents.items():
            if not isinstance(content, Source):
                continue
            document = self._document(name, content)
            if len(document.data) != content.size or len(document.text) != content.chars:
                raise _Different(f"{name} has other sizes than it says")
            snapshot = self._referee.snapshot(document, again=True)
            wrong = [item for item in snapshot.findings if item.outcome is not Outcome.PASS]
            if wrong:
                raise _Different(f"{name}: {wrong[0].words}")
            again += snapshot.read_again
        total = sum(isinstance(item, Source) for item in self._contents.values())
        return f"{total} sources, {again} of them read again with the same text"

    def _extracts(self) -> str:
        count = 0
        for name, content in self._contents.items():
            if isinstance(content, Extract):
                text = self._text(ObjectHash(content.source))
                if not content.start < content.end <= len(text):
                    raise _Different(f"{name} points outside of its source")
                if bytes_hash(text[content.start : content.end].encode()) != content.span:
                    raise _Different(f"{name} does not have the words that it says")
                count += 1
        return f"{count} extracts are where they say, word for word"

    def _evidence(self) -> str:
        """The article's own lines of evidence are its bindings, and our verifiers find nothing wrong with them."""
        synthesis = self._article()
        read = parse(synthesis.text, self._policy)
        spans = {
            str(item.pointer): self._text(item.pointer.source)[item.pointer.start : item.pointer.end]
            for item in read.evidence
        }
        if set(binding_names(read, spans)) != set(synthesis.bindings):
            raise _Different("the article's text names other evidence than its bindings")
        if synthesis.article != self._bundle.manifest["article"]:
            raise _Different("its text was published as another article")
        failed = 0
        for name in synthesis.bindings:
            claim, found = self._verify(ObjectHash(name))
            self.verifications.append((claim, found))
            failed += found.failed
        if failed:
            raise _Different(f"{failed} of {len(synthesis.bindings)} bindings fail our verifiers")
        verified = sum(found.verified is not None and found.verified.value >= "L2" for _, found in self.verifications)
        needed = rules.bindings_needed(read.words, self._policy)
        if verified < needed:
            raise _Different(f"{verified} bindings are verified, and {needed} are needed for its {read.words} words")
        return f"{len(synthesis.bindings)} bindings, {verified} of them verified to L2, none failed"

    def _verify(self, name: ObjectHash) -> tuple[str, Verification]:
        binding = self._expected(name, Binding)
        claim, extract = self._expected(binding.claim, Claim), self._expected(binding.extract, Extract)
        source = ObjectHash(extract.source)
        document = self._document(source, self._expected(source, Source))
        snapshot = self._referee.snapshot(document, again=False)
        start, end = extract.start, extract.end
        found = self._referee.check(claim.text, binding.relation, document, snapshot, start, end, extract.span)
        return claim.text, found

    def _copies(self) -> str:
        read = parse(self._article().text, self._policy)
        own = self._bundle.manifest["synthesis"]
        for name, content in self._contents.items():
            if isinstance(content, Source) and content.origin.article != own:
                problems = self._referee.copied(read, self._document(name, content))
                if problems:
                    raise _Different(problems[0].words)
        return f"no run of {self._policy.copied_words} words is copied from a source"

    def _attestations(self) -> str:
        attested = set()
        key = self._bundle.manifest["key"]
        for name in self._bundle.manifest["attestations"]:
            said = parse_canonical(self._bundle.objects[ObjectHash(name)])
            signers = {item["public"] for item in self._bundle.manifest["signatures"][name]}
            for item in self._bundle.manifest["signatures"][name]:
                _verify(item, name)
            if key in signers and said["result"] == Outcome.PASS.value:
                attested.add(said["target"])
        missing = set(self._article().bindings) - attested
        if missing and self._bundle.manifest["state"] == "promoted":
            raise _Different(f"{len(missing)} bindings of a promoted article have no valid attestation")
        return f"{len(attested)} bindings are attested"

    def _article(self) -> Synthesis:
        if self.synthesis is None:
            raise _Different("there is no article to check")
        return self.synthesis

    def _text(self, source: ObjectHash) -> str:
        return self._bundle.objects[ObjectHash(self._expected(source, Source).text)].decode()

    def _expected(self, name: str, kind: type[C]) -> C:
        """An atom that must be of this kind: a node that lies may name any."""
        found = self._contents[ObjectHash(name)]
        if not isinstance(found, kind):
            raise _Different(f"{name} is a {found.kind} where a {kind.__name__.upper()} is needed")
        return found

    def _document(self, name: ObjectHash, content: Source) -> Document:
        return Document(_record(name, content), self._bundle.objects[ObjectHash(content.bytes)], self._text(name))


class _Different(Exception):
    """What is not as it must be."""


def _verify(item: dict[str, Any], name: str) -> None:
    public, signature = bytes.fromhex(item["public"]), bytes.fromhex(item["signature"])
    verify = {"bip340": verify_bip340, "ed25519": verify_ed25519}[item["scheme"]]
    try:
        verify(public, hash_digest(ObjectHash(name)), signature)
    except ChoirError:
        raise _Different(f"a signature of {name} is wrong") from None


def _record(name: ObjectHash, content: Source) -> SourceRecord:
    blank = SourceRecord(name, 0, "", None, "", name, name, 0, 0, "", "", None, "", 0)
    return replace(
        blank,
        media_type=content.media_type,
        bytes=ObjectHash(content.bytes),
        text=ObjectHash(content.text),
        size=content.size,
        chars=content.chars,
        reader=content.reader,
        origin=content.origin.type,
        title=content.title,
    )
