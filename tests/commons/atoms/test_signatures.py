"""Whose signatures a reader is shown."""

from __future__ import annotations

from choir.commons.atoms import store
from choir.commons.atoms.model import Atom
from choir.commons.atoms.schemas import Claim
from choir.identity.model import Principal
from tests.commons.desk import CLAIMS, OPERATOR, Desk


def signer(desk: Desk, chip: int = 0) -> tuple[Principal, bytes]:
    who = desk.person(chip=chip)
    with desk.tx() as tx:
        return who, desk.node.account_keys.create(tx, who, who.source).key.public


def keys_shown(desk: Desk, atom: Atom, who: Principal | None) -> set[bytes]:
    with desk.tx() as tx:
        return {item.public for item in desk.commons.atoms.signatures(tx, [atom], who)[atom.hash]}


def test_who_made_the_same_in_private_is_shown_to_nobody_else(desk: Desk) -> None:
    (ada, hers), (bob, his), (eve, _) = signer(desk, chip=100), signer(desk), signer(desk)
    claim = Claim(text=CLAIMS["c1"][0])
    desk.write(lambda tx: desk.commons.atoms.make(tx, bob, [claim], owner=bob.source))
    publication = desk.published(ada)
    with desk.tx() as tx:
        below = store.rests_on(tx, desk.bindings(publication)[0].id)
    shared = next(atom for atom in below if atom.kind == "CLAIM")
    assert keys_shown(desk, shared, eve) == {hers}
    assert keys_shown(desk, shared, None) == {hers}  # as in an exported bundle
    assert keys_shown(desk, shared, bob) == {hers, his}
    assert keys_shown(desk, shared, OPERATOR) == {hers, his}
