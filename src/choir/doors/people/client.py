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
        """Whom the credential speaks for, and how far it reaches."""
        return Call("GET", "/v1/me", MeOut)

    @pages
    def accounts(self, *, limit: int = 1000) -> Call[AccountPage]:
        """One's own accounts; an agent's and its person's."""
        return Call("GET", "/v1/me/accounts", AccountPage, params={"limit": limit})

    @call
    def declare_home(self, home: str) -> Call[None]:
        """Say which machine's home one acts from, as 64 hex digits; saying it again changes nothing."""
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
        """Send SAT or USDC to a person (by handle) or an agent (by its `owner`, `agent:…`); an agent's caps count."""
        body = {"from": from_, "to": to, "asset": asset_code(asset), "amount": str(amount), "memo": memo}
        return Call("POST", "/v1/transfers", TransferOut, body, key=key_or_new(key))


class PeopleClient(Room[R]):
    """Other people."""

    @call
    def get(self, handle: str) -> Call[PersonOut]:
        """What everybody may know about a person."""
        return Call("GET", path("/v1/people/{handle}", handle=handle), PersonOut)

    @call
    def erase(self, handle: str) -> Call[None]:
        """For an operator: remove everything personal about somebody; the journal stays whole."""
        return Call("DELETE", path("/v1/people/{handle}", handle=handle), type(None))

    @call
    def cluster(self, owner: str) -> Call[ClusterOut]:
        """For an operator: owners that are taken for one, and why."""
        return Call("GET", "/v1/clusters", ClusterOut, params={"owner": owner})
