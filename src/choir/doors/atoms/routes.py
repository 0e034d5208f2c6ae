"""Atoms over HTTP: make, show, find and offer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query

from choir.commons.articles.model import Relation
from choir.commons.atoms.model import Kind
from choir.commons.atoms.schemas import Binding, Claim, Conjecture, Content, Extract, Hyperthesis, Omission, refusing
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import store as publication_store
from choir.commons.publication.assembly import name_of
from choir.commons.sources.model import parse_pointer
from choir.commons.sources.text import line, normalise
from choir.doors.atoms.shapes import (
    AtomDetail,
    AtomOut,
    AtomPage,
    AttestationOut,
    BindingIn,
    ClaimIn,
    ConjectureIn,
    ExtractIn,
    HyperthesisIn,
    KindText,
    OmissionIn,
    SignatureOut,
    StateText,
    TransitionOut,
    kind_of,
    state_of,
)
from choir.doors.http.access import AccessRoute, NodeDep, PublicDep, ReaderOrOperatorDep, ResearcherDep
from choir.doors.http.openapi import problems
from choir.doors.http.paging import Limit, NumberCursor, last_number, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.foundation.canonical import parse_object_hash
from choir.foundation.clock import format_time
from choir.identity.model import Principal
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(prefix="/atoms", tags=["atoms"], route_class=AccessRoute)


@router.post("/claims", status_code=201, responses=problems(409))
@refusing()
def make_claim(body: ClaimIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Make a claim. The same statement is the same atom."""
    content = Claim(text=_line(body.text), scope=None if body.scope is None else _line(body.scope))
    return node.write(lambda tx: _made(tx, node, who, [content]))


@router.post("/extracts", status_code=201, responses=problems(404, 409))
def make_extract(body: ExtractIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Make an extract: a pointer to a span of a source."""
    return node.write(lambda tx: _made(tx, node, who, [_extract(tx, node, who, body.pointer)]))


@router.post("/bindings", status_code=201, responses=problems(404, 409))
def make_binding(body: BindingIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Bind a claim to a span that supports, contradicts or qualifies it."""

    @refusing()
    def bind(tx: Tx) -> AtomOut:
        extract = _extract(tx, node, who, body.pointer)
        binding = Binding(
            claim=parse_object_hash(body.claim),
            extract=name_of(extract),
            relation=Relation(body.relation),
            confidence_bps=node.policy.of(CommonsPolicy).confidence_default_bps
            if body.confidence_bps is None
            else body.confidence_bps,
        )
        return _made(tx, node, who, [extract, binding])

    return node.write(bind)


@router.post("/omissions", status_code=201, responses=problems(404, 409))
def make_omission(body: OmissionIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Say what is missing about an article or a claim, with pointers to it."""

    @refusing()
    def omit(tx: Tx) -> AtomOut:
        extracts = [_extract(tx, node, who, item) for item in dict.fromkeys(body.pointers)]
        omission = Omission(
            about=parse_object_hash(body.about),
            statement=normalise(body.statement),
            extracts=tuple(name_of(item) for item in extracts),
        )
        return _made(tx, node, who, [*extracts, omission])

    return node.write(omit)


@router.post("/hypertheses", status_code=201, responses=problems(404, 409))
@refusing()
def make_hyperthesis(body: HyperthesisIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Disclose a blind spot or an exploit pattern, and how far it reaches."""
    about = None if body.about is None else parse_object_hash(body.about)
    content = Hyperthesis(statement=normalise(body.statement), bound=normalise(body.bound), about=about)
    return node.write(lambda tx: _made(tx, node, who, [content]))


@router.post("/conjectures", status_code=201, responses=problems(404, 409))
@refusing()
def make_conjecture(body: ConjectureIn, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Make a conjecture: a claim with its test, edge, expected change of observation and scope."""
    content = Conjecture(
        claim=parse_object_hash(body.claim),
        test=normalise(body.test),
        edge=normalise(body.edge),
        expected_change=normalise(body.expected_change),
        scope=normalise(body.scope),
    )
    return node.write(lambda tx: _made(tx, node, who, [content]))


@router.get("")
def list_atoms(
    who: ReaderOrOperatorDep,
    node: NodeDep,
    kind: KindText,
    state: StateText | None = None,
    cursor: NumberCursor = "",
    limit: Limit = 100,
) -> AtomPage:
    """List atoms of a kind that you may read, newest first."""
    size = page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        before = last_number(cursor)
        found = node.commons.atoms.page(tx, who, kind_of(kind), state_of(state), before, size)
    following = str(found[-1][0].id) if len(found) == size else None
    return AtomPage(items=[AtomOut.of(item, words) for item, words in found], next=following)


@router.get("/found")
def find_atoms(
    who: ReaderOrOperatorDep,
    node: NodeDep,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="Words.")],
    kind: KindText | None = None,
    state: StateText | None = None,
    limit: Limit = 20,
) -> AtomPage:
    """Find atoms by their words, best first."""
    size = page_rows(limit, node.policy.of(CommonsPolicy))
    kinds = list(Kind) if kind is None else [kind_of(kind)]
    with node.read() as tx:
        found = node.commons.atoms.search(tx, who, q, kinds, state_of(state), size)
    return AtomPage(items=[AtomOut.of(item, words) for item, words in found])


@router.get("/{atom}", responses=problems(404))
def get_atom(atom: str, who: PublicDep, node: NodeDep) -> AtomDetail:
    """Get an atom: content, signatures, every change of its state, what it rests on and what rests on it."""
    name, atoms = parse_object_hash(atom), node.commons.atoms
    with node.read() as tx:
        found = atoms.get(tx, who, name)
        return AtomDetail(
            atom=AtomOut.of(found.atom, found.content.words),
            content=found.content.to_json(),
            signatures=[SignatureOut.of(item) for item in atoms.signatures(tx, [found.atom], who)[name]],
            history=[TransitionOut.of(item) for item in atoms.history(tx, who, found.atom)],
            rests_on=[AtomOut.of(item) for item in atoms.rests_on(tx, found.atom)],
            carries=[AtomOut.of(item) for item in atoms.carries(tx, who, found.atom)],
            unsettled_by=[AtomOut.of(item) for item in atoms.unsettled_by(tx, found.atom)],
            attestations=_attestations(tx, found.atom.id),
        )


@router.post("/{atom}/offer", responses=problems(404, 409))
def offer_atom(atom: str, who: ResearcherDep, node: NodeDep) -> AtomOut:
    """Offer an atom, with all that it rests on, to everybody's eyes: it is QUARANTINED from then on."""
    name = parse_object_hash(atom)
    return AtomOut.of(node.write(lambda tx: node.commons.atoms.offer(tx, who, name)))


def _made(tx: Tx, node: Node, who: Principal, contents: Sequence[Content]) -> AtomOut:
    made = node.commons.atoms.make(tx, who, contents, owner=owner_of(who))
    return AtomOut.of(made[-1], contents[-1].words)


def _extract(tx: Tx, node: Node, who: Principal, pointer: str) -> Extract:
    return node.commons.sources.extract(tx, who, parse_pointer(pointer))


def _line(text: str) -> str:
    return line(text, len(text))


def _attestations(tx: Tx, atom: int) -> list[AttestationOut]:
    return [
        AttestationOut(
            type=type_, hash=hash_, result=result, level=level, verifier=verifier, attester=by, at=format_time(at_us)
        )
        for _, type_, hash_, result, level, verifier, by, at_us in publication_store.attestations(tx, [atom])
    ]
