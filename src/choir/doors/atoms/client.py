"""Atoms, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from choir.doors.atoms.shapes import AtomDetail, AtomOut, AtomPage, KindText, StateText
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class AtomsClient(Room[R]):
    """Claims, bindings, omissions, hypertheses, conjectures and the others. Making the same again makes one."""

    @call
    def claim(self, text: str, *, scope: str | None = None) -> Call[AtomOut]:
        """Make a claim."""
        return Call("POST", "/v1/atoms/claims", AtomOut, {"text": text, "scope": scope}, again=True)

    @call
    def extract(self, pointer: str) -> Call[AtomOut]:
        """Make an extract: a pointer such as sha256:…@120-188."""
        return Call("POST", "/v1/atoms/extracts", AtomOut, {"pointer": pointer}, again=True)

    @call
    def binding(
        self, claim: str, pointer: str, *, relation: str = "supports", confidence_bps: int | None = None
    ) -> Call[AtomOut]:
        """Bind a claim to a span."""
        body = {"claim": claim, "pointer": pointer, "relation": relation, "confidence_bps": confidence_bps}
        return Call("POST", "/v1/atoms/bindings", AtomOut, body, again=True)

    @call
    def omission(self, about: str, statement: str, pointers: Sequence[str]) -> Call[AtomOut]:
        """Say what is missing about an article or a claim."""
        body = {"about": about, "statement": statement, "pointers": list(pointers)}
        return Call("POST", "/v1/atoms/omissions", AtomOut, body, again=True)

    @call
    def hyperthesis(self, statement: str, bound: str, *, about: str | None = None) -> Call[AtomOut]:
        """Disclose a blind spot."""
        body = {"statement": statement, "bound": bound, "about": about}
        return Call("POST", "/v1/atoms/hypertheses", AtomOut, body, again=True)

    @call
    def conjecture(self, claim: str, *, test: str, edge: str, expected_change: str, scope: str) -> Call[AtomOut]:
        """Make a conjecture."""
        body = {"claim": claim, "test": test, "edge": edge, "expected_change": expected_change, "scope": scope}
        return Call("POST", "/v1/atoms/conjectures", AtomOut, body, again=True)

    @pages
    def all(self, kind: KindText, *, state: StateText | None = None, limit: int = 100) -> Call[AtomPage]:
        """Iterate over atoms of a kind, newest first."""
        return Call("GET", "/v1/atoms", AtomPage, params={"kind": kind, "state": state, "limit": limit})

    @call
    def find(
        self, words: str, *, kind: KindText | None = None, state: StateText | None = None, limit: int = 20
    ) -> Call[AtomPage]:
        """Find atoms by their words, best first."""
        params = {"q": words, "kind": kind, "state": state, "limit": limit}
        return Call("GET", "/v1/atoms/found", AtomPage, params=params)

    @call
    def get(self, atom: str) -> Call[AtomDetail]:
        """Get everything about an atom."""
        return Call("GET", path("/v1/atoms/{id}", id=atom), AtomDetail)

    @call
    def offer(self, atom: str) -> Call[AtomOut]:
        """Open an atom and all that it rests on to everybody's eyes."""
        return Call("POST", path("/v1/atoms/{id}/offer", id=atom), AtomOut, again=True)
