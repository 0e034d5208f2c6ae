"""Atoms, their makers, words, edges, states and flags in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.commons.atoms.model import Actor, Atom, Kind, State, Transition
from choir.foundation.canonical import ObjectHash, hash_digest
from choir.foundation.ids import show_id
from choir.storage.database import Tx

# What a standing takedown hides; its makers find it by its hash alone.
_UP = "not exists (select from taken_atoms h where h.atom = {}.id)"
_ATOM = (
    "a.id, a.hash, a.kind, a.state, a.made_us, exists (select from atom_flags f where f.atom = a.id and f.root <> a.id)"
)


def insert(tx: Tx, atoms: Sequence[tuple[ObjectHash, Kind]], at_us: int) -> set[int]:
    """Keep atoms unless they are there, in this order; the ids of the new ones."""
    rows = tx.rows(
        "insert into atoms (hash, kind, state, made_us) select o.hash, o.kind, %s, %s"
        " from unnest(%s::bytea[], %s::text[]) with ordinality as o (hash, kind, n) order by o.n"
        " on conflict do nothing returning id",
        State.UNTRUSTED, at_us, [hash_digest(name) for name, _ in atoms], [kind.value for _, kind in atoms],
    )  # fmt: skip
    return {row[0] for row in rows}


def add_maker(tx: Tx, atoms: Collection[int], owner: str, at_us: int) -> None:
    tx.run(
        "insert into atom_makers select unnest(%s::bigint[]), %s, %s on conflict do nothing",
        sorted(set(atoms)), owner, at_us,
    )  # fmt: skip


def add_edges(tx: Tx, edges: Collection[tuple[int, int]]) -> None:
    """Each an atom and another that it rests on."""
    pairs = sorted(set(edges))
    tx.run(
        "insert into atom_edges select * from unnest(%s::bigint[], %s::bigint[]) on conflict do nothing",
        [atom for atom, _ in pairs], [below for _, below in pairs],
    )  # fmt: skip


def add_words(tx: Tx, words: Collection[tuple[int, str, str]]) -> None:
    """Each an atom, the words that it is found by, and the hash of what it says, if it is a claim."""
    tx.run(
        "insert into atom_words (atom, words, folded) select * from unnest(%s::bigint[], %s::text[], %s::text[])"
        " on conflict do nothing",
        [item[0] for item in words], [item[1] for item in words], [item[2] for item in words],
    )  # fmt: skip


def find(tx: Tx, hashes: Collection[ObjectHash]) -> dict[ObjectHash, Atom]:
    """Those of these that are there."""
    rows = tx.rows(
        f"select {_ATOM} from atoms a where a.hash = any(%s)",  # noqa: S608 - names of columns
        [hash_digest(item) for item in hashes],
    )
    return {atom.hash: atom for atom in map(_atom, rows)}


def lock(tx: Tx, ids: Collection[int]) -> list[Atom]:
    """These, in the order in which everybody locks them."""
    rows = tx.rows(
        f"select {_ATOM} from atoms a where a.id = any(%s) order by a.id for no key update of a",  # noqa: S608
        sorted(set(ids)),
    )
    return [_atom(row) for row in rows]


def by_id(tx: Tx, id_: int) -> Atom:
    row = tx.row(f"select {_ATOM} from atoms a where a.id = %s", id_)  # noqa: S608 - names of columns
    assert row is not None
    return _atom(row)


def public_since(tx: Tx, name: ObjectHash) -> int | None:
    """When an atom was first open to everybody; None: it is not."""
    found: int | None = tx.value(
        "select min(t.at_us) from atom_transitions t join atoms a on a.id = t.atom"
        " where a.hash = %s and t.before = 'UNTRUSTED'",
        hash_digest(name),
    )
    return found


def article_of(tx: Tx, source: ObjectHash) -> str | None:
    """The article that a source is the text of, by the word of whoever published it."""
    found: UUID | None = tx.value(
        "select p.article from atoms s join atom_edges e on e.atom = s.id"
        " join publications p on p.synthesis = e.rests_on where s.hash = %s limit 1",
        hash_digest(source),
    )
    return None if found is None else show_id("article", found)


def made_by(tx: Tx, atoms: Collection[int], owners: Collection[str]) -> set[int]:
    """Those of these atoms that one of these owners made."""
    rows = tx.rows(
        "select distinct atom from atom_makers where atom = any(%s) and owner = any(%s)", list(atoms), list(owners)
    )
    return {row[0] for row in rows}


def makers(tx: Tx, atom: int) -> list[str]:
    return [row[0] for row in tx.rows("select owner from atom_makers where atom = %s order by at_us, owner", atom)]


def opened_by(tx: Tx, atoms: Collection[int]) -> dict[int, set[str]]:
    """Who opened each of these atoms or did anything to it in the open, and who published it."""
    rows = tx.rows(
        "select atom, by from atom_transitions where atom = any(%s) and before is not null"
        " union select b.atom, p.owner from publication_atoms b join publications p on p.id = b.publication"
        " where b.atom = any(%s)",
        list(atoms), list(atoms),
    )  # fmt: skip
    found: dict[int, set[str]] = {}
    for atom, name in rows:
        found.setdefault(atom, set()).add(name)
    return found


def rests_on(tx: Tx, atom: int) -> list[Atom]:
    rows = tx.rows(
        f"select {_ATOM} from atom_edges e join atoms a on a.id = e.rests_on where e.atom = %s order by a.id",  # noqa: S608
        atom,
    )
    return [_atom(row) for row in rows]


def carries(tx: Tx, atom: int, limit: int) -> list[Atom]:
    """What rests on an atom directly."""
    rows = tx.rows(
        f"select {_ATOM} from atom_edges e join atoms a on a.id = e.atom where e.rests_on = %s"  # noqa: S608
        " order by a.id limit %s",
        atom, limit,
    )  # fmt: skip
    return [_atom(row) for row in rows]


def footing(tx: Tx, atoms: Collection[int]) -> list[Atom]:
    """These, and everything that they rest on; below another article's text it does not go."""
    rows = tx.rows(
        "with recursive below (id) as (select unnest(%s::bigint[])"  # noqa: S608
        " union select e.rests_on from below b join atom_edges e on e.atom = b.id"
        " join atoms u on u.id = e.rests_on and u.kind <> 'SYNTHESIS')"
        f" select {_ATOM} from below b join atoms a on a.id = b.id order by a.id",
        sorted(set(atoms)),
    )
    return [_atom(row) for row in rows]


def set_state(tx: Tx, atoms: Collection[int], state: State) -> None:
    tx.run("update atoms set state = %s where id = any(%s)", state, sorted(atoms))


def add_transitions(
    tx: Tx,
    moves: Sequence[tuple[int, State | None, State]],
    act: str,
    actor: Actor,
    by: str,
    reason: str,
    evidence: dict[str, Any],
    at_us: int,
) -> None:
    """Each an atom, its state before and after."""
    tx.run(
        "insert into atom_transitions (atom, before, after, act, actor, by, reason, evidence, at_us)"
        " select o.atom, o.before, o.after, %s, %s, %s, %s, %s, %s"
        " from unnest(%s::bigint[], %s::text[], %s::text[]) with ordinality as o (atom, before, after, n) order by o.n",
        act, actor, by, reason, Jsonb(evidence), at_us,
        [atom for atom, _, _ in moves], [before for _, before, _ in moves], [after for _, _, after in moves],
    )  # fmt: skip


def transitions(tx: Tx, atom: int) -> list[Transition]:
    """All changes of an atom's state, oldest first."""
    rows = tx.rows(
        "select t.n, a.hash, t.before, t.after, t.act, t.actor, t.by, t.reason, t.evidence, t.at_us"
        " from atom_transitions t join atoms a on a.id = t.atom where t.atom = %s order by t.n",
        atom,
    )
    return [_transition(row) for row in rows]


def page(
    tx: Tx, kind: Kind, state: State | None, mine: Collection[str], before: int | None, limit: int
) -> list[tuple[Atom, str]]:
    """Atoms of a kind that everybody may see, or that these made, newest first, with their words.

    Looked up apart, because others' private atoms may be any number between them.
    """
    last = 2**63 - 1 if before is None else before
    rows = tx.rows(
        "with found (id) as ("  # noqa: S608 - names of columns
        f" (select id from atoms where kind = %s and state <> 'UNTRUSTED' and {_UP.format('atoms')}"
        " and (%s::text is null or state = %s)"
        " and id < %s order by id desc limit %s) union"
        " (select a.id from atom_makers m join atoms a on a.id = m.atom where m.owner = any(%s) and m.atom < %s"
        " and a.kind = %s and a.state = 'UNTRUSTED' and (%s::text is null or a.state = %s)"
        " order by m.atom desc limit %s))"
        f" select {_ATOM}, coalesce(w.words, '') from found join atoms a using (id)"
        " left join atom_words w on w.atom = a.id order by a.id desc limit %s",
        kind, state, state, last, limit, list(mine), last, kind, state, state, limit, limit,
    )  # fmt: skip
    return [(_atom(row[:6]), row[6]) for row in rows]


def search(
    tx: Tx,
    words: str,
    kinds: Collection[Kind],
    states: Collection[State],
    mine: Collection[str],
    limit: int,
    matches_max: int,
) -> list[tuple[Atom, str]]:
    """Atoms whose words fit, best first; of a word that is everywhere, some are ranked and not all."""
    rows = tx.rows(
        "with q as (select websearch_to_tsquery('english', %s) as q), w as ("  # noqa: S608
        " select w.atom, w.words, w.search from atom_words w join atoms a on a.id = w.atom, q where w.search @@ q.q"
        f" and a.kind = any(%s) and a.state = any(%s) and {_UP.format('a')} and (a.state <> 'UNTRUSTED'"
        " or exists (select from atom_makers m where m.atom = a.id and m.owner = any(%s))) limit %s)"
        f" select {_ATOM}, w.words from w join atoms a on a.id = w.atom, q"
        " order by ts_rank(w.search, q.q) desc, a.id desc limit %s",
        words, list(kinds), list(states), list(mine), matches_max, limit,
    )  # fmt: skip
    return [(_atom(row[:6]), row[6]) for row in rows]


def claims_like(tx: Tx, said: str, query: str, limit: int) -> list[tuple[Atom, str]]:
    """Promoted claims that say the very same, and some that have all of these words."""
    rows = tx.rows(
        "with found (atom) as ((select atom from atom_words where folded = %s limit %s) union"  # noqa: S608
        " (select w.atom from atom_words w join atoms a on a.id = w.atom where w.search @@ to_tsquery('english', %s)"
        " and w.folded <> '' and a.kind = 'CLAIM' and a.state = 'PROMOTED' limit %s))"
        f" select {_ATOM}, w.words from found join atom_words w using (atom) join atoms a on a.id = w.atom"
        " where a.kind = 'CLAIM' and a.state = 'PROMOTED' order by (w.folded = %s) desc, a.id limit %s",
        said, limit, query, limit, said, limit,
    )  # fmt: skip
    return [(_atom(row[:6]), row[6]) for row in rows]


def supporting(tx: Tx, claims: Collection[int]) -> dict[int, list[Atom]]:
    """The promoted bindings that rest on each of these claims."""
    rows = tx.rows(
        f"select {_ATOM}, e.rests_on from atom_edges e join atoms a on a.id = e.atom"  # noqa: S608
        " where e.rests_on = any(%s) and a.kind = 'BINDING' and a.state = 'PROMOTED' order by a.id",
        list(claims),
    )
    found: dict[int, list[Atom]] = {}
    for row in rows:
        found.setdefault(row[6], []).append(_atom(row[:6]))
    return found


# What needs another look


def flag_roots(tx: Tx, atoms: Collection[int], at_us: int) -> None:
    """Begin to flag what rests on these."""
    tx.run(
        "insert into atom_flags select a, a, %s, false from unnest(%s::bigint[]) as a"
        " on conflict (atom, root) do update set spread = false",
        at_us, sorted(atoms),
    )  # fmt: skip


def spread_flags(tx: Tx, root: int, at_us: int, limit: int) -> bool:
    """Flag what rests on some of what is flagged already; says whether there was something to do."""
    taken = [
        row[0]
        for row in tx.rows(
            "select atom from atom_flags where root = %s and not spread order by atom limit %s for update", root, limit
        )
    ]
    tx.run(
        "insert into atom_flags select distinct e.atom, %s::bigint, %s::bigint, false from atom_edges e"
        " where e.rests_on = any(%s) on conflict do nothing",
        root, at_us, taken,
    )  # fmt: skip
    tx.run("update atom_flags set spread = true where root = %s and atom = any(%s)", root, taken)
    return bool(taken)


def drop_flags(tx: Tx, roots: Collection[int]) -> int:
    return tx.run("delete from atom_flags where root = any(%s)", sorted(roots))


def flags(tx: Tx, atom: int, limit: int) -> list[Atom]:
    """What was retracted or demoted of all that an atom rests on."""
    rows = tx.rows(
        f"select {_ATOM} from atom_flags f2 join atoms a on a.id = f2.root"  # noqa: S608
        " where f2.atom = %s and f2.root <> %s order by a.id limit %s",
        atom, atom, limit,
    )  # fmt: skip
    return [_atom(row) for row in rows]


# Erasure


def forget_maker(tx: Tx, owner: str) -> tuple[list[ObjectHash], list[tuple[int, ObjectHash, ObjectHash]]]:
    """Drop who made what, and the words of what nobody else has seen.

    Says which atoms nobody needs any more; and of the sources among them, the bytes and the text.
    """
    alone = (
        "select m.atom from atom_makers m join atoms a on a.id = m.atom where m.owner = %s and a.state = 'UNTRUSTED'"
        " and not exists (select from atom_makers o where o.atom = m.atom and o.owner <> m.owner)"
        " and not exists (select from publication_atoms p where p.atom = m.atom)"
    )
    rows = tx.rows(f"select a.hash, a.id from atoms a where a.id in ({alone})", owner)  # noqa: S608 - our own text
    gone = [row[1] for row in rows]
    documents = tx.rows("select atom, bytes_hash, text_hash from sources where atom = any(%s)", gone)
    tx.run("delete from atom_words where atom = any(%s)", gone)
    tx.run("delete from passages where source = any(%s)", gone)
    tx.run("delete from source_passages where source = any(%s)", gone)
    tx.run("delete from sources where atom = any(%s)", gone)
    tx.run("update sources set owner = null where owner = %s", owner)
    tx.run("delete from atom_makers where owner = %s", owner)
    return [hash_name(row[0]) for row in rows], [(row[0], hash_name(row[1]), hash_name(row[2])) for row in documents]


def hash_name(digest: bytes) -> ObjectHash:
    return ObjectHash(f"sha256:{digest.hex()}")


def _atom(row: Sequence[Any]) -> Atom:
    id_, digest, kind, state, made_us, flagged = row
    return Atom(id_, hash_name(digest), Kind(kind), State(state), made_us, flagged)


def _transition(row: Sequence[Any]) -> Transition:
    n, digest, before, after, act, actor, by, reason, evidence, at_us = row
    return Transition(
        n,
        hash_name(digest),
        None if before is None else State(before),
        State(after),
        act,
        Actor(actor),
        by,
        reason,
        evidence,
        at_us,
    )
