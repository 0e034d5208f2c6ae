"""Bringing money into being: for operators, who agree with one another first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from choir.doors.issuances.shapes import IssuanceOut, IssuancePage
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


class IssuancesClient(Room[R]):
    """Issuances: one operator proposes, another approves, and the entry is posted."""

    @call
    def propose(
        self, legs: Sequence[tuple[str, str, int]], *, reason: str, key: str | None = None
    ) -> Call[IssuanceOut]:
        """Ask the other operators; each leg is (from, to, amount), from an issuance or external account."""
        shown = [{"from": payer, "to": payee, "amount": str(amount)} for payer, payee, amount in legs]
        return Call("POST", "/v1/issuances", IssuanceOut, {"reason": reason, "legs": shown}, key=key_or_new(key))

    @pages
    def all(self, *, state: Literal["open"] | None = None, limit: int = 100) -> Call[IssuancePage]:
        """All of them, or those that are open, the newest first; `limit` is how many are asked for at once."""
        return Call("GET", "/v1/issuances", IssuancePage, params={"state": state, "limit": limit})

    @call
    def get(self, issuance: str) -> Call[IssuanceOut]:
        """One issuance, and who has agreed to it."""
        return Call("GET", path("/v1/issuances/{id}", id=issuance), IssuanceOut)

    @call
    def approve(self, issuance: str) -> Call[IssuanceOut]:
        """Agree to it; it is posted as soon as enough operators do."""
        return Call("POST", path("/v1/issuances/{id}/approve", id=issuance), IssuanceOut, again=True)

    @call
    def withdraw(self, issuance: str) -> Call[IssuanceOut]:
        """Let nothing come of it."""
        return Call("POST", path("/v1/issuances/{id}/withdraw", id=issuance), IssuanceOut, again=True)
