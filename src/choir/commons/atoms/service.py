"""Making atoms, reading them, and changing their state.

Guarantees: an atom is signed by whoever made it, with the key that the node keeps for them or one that they brought;
the same content is one atom; only `AtomLifecycle.move` writes a state, by the table in `states`, and each change is in
the log with its actor, reason and evidence; what rests on something that was retracted or demoted is flagged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from choir.commons import events
from choir.commons.atoms import schemas, states, store
from choir.commons.atoms.model import Act, Actor, Atom, Condition, Kind, State, Transition, UnknownAtom, WrongKind
from choir.commons.atoms.rules import said_hash
from choir.commons.atoms.schemas import Content
from choir.commons.policy import CommonsPolicy, SourcesPolicy
from choir.commons.sources.text import normalise
from choir.commons.takedowns import store as takedown_store
from choir.foundation.canonical import ObjectHash, hash_digest
from choir.foundation.clock import Clock
from choir.foundation.policy import Policy
from choir.identity.keys.model import UnknownKey
from choir.identity.keys.public_keys import public_key_of, public_keys_of
from choir.identity.keys.signer import LocalSigner
from choir.identity.model import Principal, Role, told_source
from choir.ledger.keys import NodeKeys
from choir.objects.model import Scheme, Signature, SignedObject
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.storage.tasks import schedule

FLAG = "commons.flag"  # the task that flags what rests on an atom
_HOLDER = "commons:atoms"  # keeps every atom that was ever made
_FLAGS_AT_ONCE = 200
_SHOWN_MAX = 200
_UNSETTLING = frozenset({Act.DEMOTE, Act.RETRACT})
Signed = Mapping[ObjectHash, SignedObject]  # by the name of what was signed
OPEN_STATES = tuple(state for state in State if state is not State.UNTRUSTED)


@dataclass(frozen=True, slots=True)
class FoundAtom:
    """An atom with its content."""

    atom: Atom
    content: Content


def source_holder(atom: int) -> str:
    """Who keeps the bytes and the text of a source."""
    return f"commons:sources:{atom}"


class AtomLifecycle:
    """The only writer of states."""

    def __init__(self, outbox: Outbox, clock: Clock) -> None:
        self._outbox = outbox
        self._clock = clock

    def move(
        self,
        tx: Tx,
        atoms: Sequence[Atom],
        act: Act,
        actor: Actor,
        by: str,
        shown: Collection[Condition],
        *,
        reason: str,
        evidence: dict[str, Any] | None = None,
    ) -> list[Atom]:
        """Change the state of atoms that the caller has locked, or raise. All at once: an article has thousands."""
        moved = [replace(atom, state=states.step(atom.state, act, actor, shown)) for atom in atoms]
        at_us = self._clock.now_us()
        proof = {"shown": sorted(shown), **(evidence or {})}
        steps = [(old.id, old.state, new.state) for old, new in zip(atoms, moved, strict=True)]
        store.add_transitions(tx, steps, act, actor, by, reason, proof, at_us)
        for state in dict.fromkeys(atom.state for atom in moved):
            store.set_state(tx, [atom.id for atom in moved if atom.state is state], state)
        # What was demoted once and stands again unsettles nothing any more.
        store.drop_flags(tx, [atom.id for atom in moved if atom.state is State.PROMOTED])
        if act in _UNSETTLING:
            self._unsettle(tx, moved, at_us)
        news = [
            (old.hash, {"kind": old.kind, "before": old.state, "after": new.state, "act": act})
            for old, new in zip(atoms, moved, strict=True)
        ]
        self._outbox.announce_all(tx, events.MOVED, news, actor=by, audience=[EVERYONE])
        return moved

    @staticmethod
    def _unsettle(tx: Tx, atoms: Sequence[Atom], at_us: int) -> None:
        store.flag_roots(tx, [atom.id for atom in atoms], at_us)
        for atom in atoms:
            schedule(tx, FLAG, str(atom.id), at_us)

    def spread(self, tx: Tx, root: int) -> bool:
        """Flag some more of what rests on a retracted or demoted atom; says whether there may be more."""
        return store.spread_flags(tx, root, self._clock.now_us(), _FLAGS_AT_ONCE)


class Atoms:
    """Making and reading atoms; all inside the caller's transaction."""

    def __init__(
        self,
        lifecycle: AtomLifecycle,
        objects: Objects,
        signer: LocalSigner,
        keys: NodeKeys,
        clock: Clock,
        policy: Policy,
    ) -> None:
        self.lifecycle = lifecycle
        self._objects = objects
        self._signer = signer
        self._keys = keys
        self._clock = clock
        self._commons = policy.of(CommonsPolicy)
        self._sources = policy.of(SourcesPolicy)

    # Making

    def make(
        self, tx: Tx, who: Principal, contents: Sequence[Content], *, owner: str, signed: Signed | None = None
    ) -> list[Atom]:
        """Keep atoms, signed by their maker; what they rest on is there or among them.

        All at once, because an article brings thousands; what was signed before is not signed again.
        """
        for content in contents:
            schemas.check_limits(content, self._commons, self._sources)
        stored = self._objects.put_atoms(tx, [content.to_json() for content in contents], owner, _HOLDER)
        named = {item.hash: content for item, content in zip(stored, contents, strict=True)}
        self._objects.add_signatures(tx, self._signed(tx, who, owner, list(named), signed or {}))
        now_us = self._clock.now_us()
        new = store.insert(tx, [(name, schemas.kind_of(content)) for name, content in named.items()], now_us)
        made = store.find(tx, named)
        store.add_maker(tx, [atom.id for atom in made.values()], owner, now_us)
        self._describe(tx, who, {made[name].id: content for name, content in named.items()}, named, new)
        if new:
            steps = [(id_, None, State.UNTRUSTED) for id_ in sorted(new)]
            store.add_transitions(tx, steps, "make", Actor.MAKER, who.source, "made", {}, now_us)
        return [made[item.hash] for item in stored]

    def _describe(
        self,
        tx: Tx,
        who: Principal,
        contents: Mapping[int, Content],
        named: Mapping[ObjectHash, Content],
        new: Collection[int],
    ) -> None:
        """Check what atoms rest on, and keep that and the words that they are found by."""
        below = self._footing(tx, who, contents.values())
        fresh = {id_: content for id_, content in contents.items() if id_ in new}
        store.add_edges(
            tx, [(id_, below[ObjectHash(name)].id) for id_, item in fresh.items() for name in item.rests_on]
        )
        words = [(id_, self._words(tx, item, named), _said(item)) for id_, item in fresh.items()]
        store.add_words(tx, [item for item in words if item[1]])

    def _words(self, tx: Tx, content: Content, named: Mapping[ObjectHash, Content]) -> str:
        """What an atom is found by: a binding has no words of its own but those of its claim."""
        if isinstance(content, schemas.Binding):
            claim = ObjectHash(content.claim)
            return (named.get(claim) or self.content(tx, claim)).words
        return content.words

    def _footing(self, tx: Tx, who: Principal, contents: Iterable[Content]) -> dict[ObjectHash, Atom]:
        """What contents rest on, each of a kind that fits and readable to their maker."""
        wanted = [pair for content in contents for pair in _expected_kinds(content)]
        found = self.readable(tx, who, [hash_ for hash_, _ in wanted])
        for hash_, kinds in wanted:
            if found[hash_].kind not in kinds:
                raise WrongKind(atom=hash_, kind=found[hash_].kind.value, wanted=" or ".join(kinds))
        return found

    def sign(self, tx: Tx, who: Principal, owner: str, names: Sequence[ObjectHash]) -> Signed:
        """Sign what shall be made; takes a while for many, and writes nothing."""
        return {item.name: item for item in self._signed(tx, who, owner, names, {})}

    def _signed(
        self, tx: Tx, who: Principal, owner: str, names: Sequence[ObjectHash], before: Signed
    ) -> list[SignedObject]:
        """By the maker's key where the node keeps one; else the node witnesses who handed it in."""
        for signing in (who.source, owner):
            public = public_key_of(tx, signing)
            if public is None:
                continue
            missing = [name for name in names if name not in before or before[name].public != public]
            try:
                found = self._signer.sign_all(tx, signing, [hash_digest(name) for name in missing])
            except UnknownKey:  # the key is somewhere else
                continue
            new = {
                name: SignedObject(name, Scheme.BIP340, item.public, item.signature)
                for name, item in zip(missing, found, strict=True)
            }
            return [new.get(name) or before[name] for name in names]
        signer = self._keys.signer(tx)
        return [
            before[name]
            if name in before and before[name].public == signer.public
            else SignedObject(name, Scheme.ED25519, signer.public, signer.sign(hash_digest(name)))
            for name in names
        ]

    # Reading

    def readable(self, tx: Tx, who: Principal, hashes: Iterable[str]) -> dict[ObjectHash, Atom]:
        """These atoms; raises if one is not there, or private to others."""
        wanted = {ObjectHash(item) for item in hashes}
        found = store.find(tx, wanted)
        allowed = self._readable_ids(tx, who, found.values())
        for name in sorted(wanted):
            if name not in found or found[name].id not in allowed:
                raise UnknownAtom(atom=name)
        return found

    def is_readable(self, tx: Tx, who: Principal, name: ObjectHash) -> bool:
        return bool(self._readable_ids(tx, who, store.find(tx, [name]).values()))

    @staticmethod
    def is_public(tx: Tx, name: ObjectHash) -> bool:
        """Whether everybody may read an atom, or could but for a takedown."""
        return any(atom.state is not State.UNTRUSTED for atom in store.find(tx, [name]).values())

    @staticmethod
    def _readable_ids(tx: Tx, who: Principal, atoms: Collection[Atom]) -> set[int]:
        """Those that are open to everybody, or that the reader made; an operator reads all."""
        if who.role is Role.OPERATOR:
            return {atom.id for atom in atoms}
        private = {atom.id for atom in atoms if atom.state is State.UNTRUSTED}
        private |= takedown_store.hidden(tx, [atom.id for atom in atoms])
        own = store.made_by(tx, private, who.owners) if private else set()
        return {atom.id for atom in atoms if atom.id not in private or atom.id in own}

    def get(self, tx: Tx, who: Principal, name: ObjectHash, kind: Kind | None = None) -> FoundAtom:
        """An atom and its content."""
        atom = self.readable(tx, who, [name])[name]
        if kind is not None and atom.kind is not kind:
            raise WrongKind(atom=name, kind=atom.kind.value, wanted=kind.value)
        return FoundAtom(atom, self.content(tx, name))

    def content(self, tx: Tx, name: ObjectHash) -> Content:
        """The content of an atom that the caller may read."""
        return schemas.read_content(self._objects.get_atom(tx, name))

    def page(
        self, tx: Tx, who: Principal, kind: Kind, state: State | None, before: int | None, limit: int
    ) -> list[tuple[Atom, str]]:
        return store.page(tx, kind, state, who.owners, before, limit)

    def search(
        self, tx: Tx, who: Principal, words: str, kinds: Collection[Kind], state: State | None, limit: int
    ) -> list[tuple[Atom, str]]:
        """Atoms by their words, best first."""
        states = list(State) if state is None else [state]
        return store.search(tx, normalise(words), kinds, states, who.owners, limit, self._sources.search_matches_max)

    def history(self, tx: Tx, who: Principal, atom: Atom) -> list[Transition]:
        """Every change of an atom's state; who made it in private is told to nobody else."""
        found = store.transitions(tx, atom.id)
        shown = [item for item in found if item.before is not None or item.by in _names(who)]
        return [replace(item, by=told_source(who, item.by)) for item in shown]

    def rests_on(self, tx: Tx, atom: Atom) -> list[Atom]:
        return store.rests_on(tx, atom.id)

    def carries(self, tx: Tx, who: Principal, atom: Atom) -> list[Atom]:
        """What rests on an atom and the reader may read; at most so many as are shown."""
        found = store.carries(tx, atom.id, _SHOWN_MAX)
        allowed = self._readable_ids(tx, who, found)
        return [item for item in found if item.id in allowed]

    def unsettled_by(self, tx: Tx, atom: Atom) -> list[Atom]:
        """What was retracted or demoted of all that it rests on."""
        return store.flags(tx, atom.id, _SHOWN_MAX)

    def signatures(
        self, tx: Tx, atoms: Collection[Atom], who: Principal | None = None
    ) -> dict[ObjectHash, list[Signature]]:
        """Signatures of the node, of whoever opened or published an atom, and the reader's own.

        Others may have made the same in private, and nobody is told of that.
        """
        opened, own = store.opened_by(tx, [atom.id for atom in atoms]), set() if who is None else _names(who)
        keys = {name: public_keys_of(tx, name) for name in own.union(*opened.values())}
        everything = who is not None and who.role is Role.OPERATOR

        def shown(atom: Atom, item: Signature) -> bool:
            names = own | opened.get(atom.id, set())
            return everything or item.scheme is Scheme.ED25519 or any(item.public in keys[name] for name in names)

        return {
            atom.hash: [item for item in self._objects.signatures(tx, atom.hash) if shown(atom, item)] for atom in atoms
        }

    # Offering

    def offer(self, tx: Tx, who: Principal, name: ObjectHash) -> Atom:
        """Open an atom and all that it rests on to everybody's eyes."""
        atom = self.readable(tx, who, [name])[name]
        footing = store.lock(tx, [item.id for item in store.footing(tx, [atom.id])])
        private = [item for item in footing if item.state is State.UNTRUSTED]
        own = store.made_by(tx, [item.id for item in private], who.owners)
        for item in private:
            actor = Actor.MAKER if item.id in own else Actor.STRANGER
            shown = (Condition.CHECKED,)  # its schema and provenance were, when it was made
            self.lifecycle.move(tx, [item], Act.OFFER, actor, who.source, shown, reason="offered")
        return store.find(tx, [name])[name]

    def forget(self, tx: Tx, owner: str) -> None:
        """An owner is erased: what only they had seen goes; what is open stays, without saying by whom."""
        atoms, documents = store.forget_maker(tx, owner)
        held = [(_HOLDER, name) for name in atoms]
        held += [(source_holder(atom), name) for atom, *names in documents for name in names]
        for holder, name in held:
            self._objects.unrefer(tx, holder, name)
            self._objects.erase(tx, owner, name)


def _names(who: Principal) -> set[str]:
    return {who.source, *who.owners}


def _said(content: Content) -> str:
    return said_hash(content.text) if isinstance(content, schemas.Claim) else ""


def _expected_kinds(content: Content) -> list[tuple[ObjectHash, tuple[Kind, ...]]]:
    """Each atom that a content names, and of which kinds it may be."""
    if isinstance(content, schemas.Extract):
        pairs: list[tuple[str, tuple[Kind, ...]]] = [(content.source, (Kind.SOURCE,))]
    elif isinstance(content, schemas.Binding):
        pairs = [(content.claim, (Kind.CLAIM,)), (content.extract, (Kind.EXTRACT,))]
    elif isinstance(content, schemas.Omission):
        pairs = [(content.about, (Kind.SYNTHESIS, Kind.CLAIM))]
        pairs += [(item, (Kind.EXTRACT,)) for item in content.extracts]
    elif isinstance(content, schemas.Hyperthesis):
        pairs = [] if content.about is None else [(content.about, tuple(Kind))]
    elif isinstance(content, schemas.Conjecture):
        pairs = [(content.claim, (Kind.CLAIM,))]
    elif isinstance(content, schemas.Synthesis):
        pairs = [(item, (Kind.BINDING,)) for item in content.bindings]
        pairs += [(item, (Kind.EXTRACT,)) for item in content.quotes]
        pairs += [(item, (Kind.HYPERTHESIS,)) for item in content.hypertheses]
        pairs += [(item, (Kind.SYNTHESIS,)) for item in content.cites]
        pairs += [] if content.previous is None else [(content.previous, (Kind.SYNTHESIS,))]
    elif isinstance(content, schemas.Source) and content.origin.article is not None:
        pairs = [(content.origin.article, (Kind.SYNTHESIS,))]
    else:
        pairs = []
    return [(ObjectHash(name), kinds) for name, kinds in pairs]
