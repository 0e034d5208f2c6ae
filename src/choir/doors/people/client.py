"""People, and whoever asks.

What takes a passkey is done in the browser: a program that asks for it is refused.
"""

from __future__ import annotations

from choir.doors.accounts.shapes import TransferOut
from choir.doors.delegations.client import asset_code
from choir.doors.ledger.shapes import AccountPage
from choir.doors.people.shapes import ClusterOut, MeOut, PersonOut
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path
from choir.foundation.money import Asset


class MeClient(Room[R]):
    """Whoever asks."""

    @call
    def who(self) -> Call[MeOut]:
        """Get the caller's principal and scopes."""
        return Call("GET", "/v1/me", MeOut)

    @pages
    def accounts(self, *, limit: int = 1000) -> Call[AccountPage]:
        """List your own accounts; for an agent, also its person's."""
        return Call("GET", "/v1/me/accounts", AccountPage, params={"limit": limit})

    @call
    def declare_home(self, home: str) -> Call[None]:
        """Declare the machine home you act from, as 64 hex digits. Idempotent."""
        return Call("PUT", "/v1/me/home", type(None), {"home": home}, again=True)

    @call
    def send(
        self,
        to: str,
        asset: Asset | str,
        amount: int,
        *,
        memo: str | None = None,
        from_: str | None = None,
        key: str | None = None,
    ) -> Call[TransferOut]:
        """Transfer SAT or USDC to a person (by handle) or an agent (by `owner`, `agent:…`); an agent's caps apply."""
        body = {"from": from_, "to": to, "asset": asset_code(asset), "amount": str(amount), "memo": memo}
        return Call("POST", "/v1/transfers", TransferOut, body, key=key_or_new(key))


class PeopleClient(Room[R]):
    """Other people."""

    @call
    def get(self, handle: str) -> Call[PersonOut]:
        """Get a person's public profile."""
        return Call("GET", path("/v1/people/{handle}", handle=handle), PersonOut)

    @call
    def erase(self, handle: str) -> Call[None]:
        """For operators: erase a person's data; the journal stays intact."""
        return Call("DELETE", path("/v1/people/{handle}", handle=handle), type(None))

    @call
    def cluster(self, owner: str) -> Call[ClusterOut]:
        """For operators: list owners that are treated as one, and why."""
        return Call("GET", "/v1/clusters", ClusterOut, params={"owner": owner})
