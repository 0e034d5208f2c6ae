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
        """Propose an issuance; each leg is (from, to, amount), from an issuance or external account."""
        shown = [{"from": payer, "to": payee, "amount": str(amount)} for payer, payee, amount in legs]
        return Call("POST", "/v1/issuances", IssuanceOut, {"reason": reason, "legs": shown}, key=key_or_new(key))

    @pages
    def all(self, *, state: Literal["open"] | None = None, limit: int = 100) -> Call[IssuancePage]:
        """Iterate over issuances, all or open, newest first; `limit` is the page size."""
        return Call("GET", "/v1/issuances", IssuancePage, params={"state": state, "limit": limit})

    @call
    def get(self, issuance: str) -> Call[IssuanceOut]:
        """Get an issuance and its approvals."""
        return Call("GET", path("/v1/issuances/{id}", id=issuance), IssuanceOut)

    @call
    def approve(self, issuance: str) -> Call[IssuanceOut]:
        """Approve an issuance; it is posted once enough operators approve."""
        return Call("POST", path("/v1/issuances/{id}/approve", id=issuance), IssuanceOut, again=True)

    @call
    def withdraw(self, issuance: str) -> Call[IssuanceOut]:
        """Withdraw an issuance."""
        return Call("POST", path("/v1/issuances/{id}/withdraw", id=issuance), IssuanceOut, again=True)
