"""Account keys, as a program asks for them."""

from __future__ import annotations

from choir.doors.keys.shapes import KeyList
from choir.doors.sdk.calls import Call, R, Room, call


class KeysClient(Room[R]):
    """The Nostr keys of accounts."""

    @call
    def all(self, owner: str | None = None) -> Call[KeyList]:
        """List keys of a person or one of their agents; never the secrets."""
        return Call("GET", "/v1/keys", KeyList, params={"owner": owner})
