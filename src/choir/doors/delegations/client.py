"""Delegations, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from choir.doors.delegations.shapes import DelegationOut, DelegationPage
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path
from choir.foundation.money import Asset

Cap = tuple[Asset | str, str, int]  # asset, period (day, week, month or total), smallest units


class DelegationsClient(Room[R]):
    """How far agents may act for a person."""

    @pages
    def all(self, *, limit: int = 100) -> Call[DelegationPage]:
        """List a person's delegations, or those given to an agent; oldest first, including ended ones."""
        return Call("GET", "/v1/delegations", DelegationPage, params={"limit": limit})

    @call
    def get(self, delegation: str) -> Call[DelegationOut]:
        """Get a delegation and the use of its caps."""
        return Call("GET", path("/v1/delegations/{delegation}", delegation=delegation), DelegationOut)

    @call
    def grant(
        self,
        agent: str,
        scopes: Sequence[str],
        *,
        caps: Sequence[Cap] = (),
        days: int | None = None,
        expires_at: str | None = None,
        name: str | None = None,
        key: str | None = None,
    ) -> Call[DelegationOut]:
        """Grant a delegation from the calling person to an agent, for `days` or until `expires_at`."""
        body = terms(agent, scopes, caps, days, expires_at, name)
        return Call("POST", "/v1/delegations", DelegationOut, body, key=key_or_new(key))

    @call
    def narrow(
        self,
        delegation: str,
        agent: str,
        scopes: Sequence[str],
        *,
        caps: Sequence[Cap] = (),
        days: int | None = None,
        expires_at: str | None = None,
        name: str | None = None,
        key: str | None = None,
    ) -> Call[DelegationOut]:
        """Narrow a delegation: grant a subset of it to an agent."""
        where = path("/v1/delegations/{delegation}/narrow", delegation=delegation)
        body = terms(agent, scopes, caps, days, expires_at, name)
        return Call("POST", where, DelegationOut, body, key=key_or_new(key))

    @call
    def revoke(self, delegation: str) -> Call[None]:
        """Revoke a delegation at once, with all that was narrowed from it."""
        return Call("DELETE", path("/v1/delegations/{delegation}", delegation=delegation), type(None), again=True)


def terms(
    agent: str, scopes: Sequence[str], caps: Sequence[Cap], days: int | None, expires_at: str | None, name: str | None
) -> dict[str, Any]:
    """The content of a request for a delegation."""
    shown = [{"asset": asset_code(asset), "period": period, "cap": str(units)} for asset, period, units in caps]
    return {"agent": agent, "scopes": list(scopes), "caps": shown, "name": name, **lasting(days, expires_at)}


def asset_code(asset: Asset | str) -> str:
    """What the wire calls an asset; whoever has an `Asset` at hand need not know."""
    return asset.name if isinstance(asset, Asset) else asset


def lasting(days: int | None, expires_at: str | None) -> dict[str, Any]:
    return {"days": days, "expires_at": expires_at}
