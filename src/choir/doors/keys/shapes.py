"""Shapes of account keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from choir.doors.agents.shapes import AGENT_OWNER, NPUB, PUBLIC
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.identity.keys.nostr_keys import npub

if TYPE_CHECKING:
    from choir.identity.keys.store import AccountKey

_PHRASE = "leader monkey parrot ring guide accident before fence cannon height naive bean"


class KeyIn(Wire, json_schema_extra=example(owner=AGENT_OWNER)):
    """The key's owner: the person or one of their agents."""

    owner: str | None = Field(default=None, max_length=80, description="Default: the calling person.")


class PhraseIn(KeyIn, json_schema_extra=example(phrase=_PHRASE, account=0)):
    """A BIP-39 phrase; its key is derived by NIP-06."""

    phrase: str = Field(min_length=1, max_length=1000, repr=False)
    account: int = Field(default=0, ge=0, le=2**31 - 1, description="Which key of the phrase.")


class BroughtKeyIn(KeyIn, json_schema_extra={"examples": [{"secret": "nsec1…"}]}):
    """An existing key to import."""

    secret: str = Field(min_length=1, max_length=200, repr=False, description="As nsec or 64 hex digits.")


_KEY = {
    "public": PUBLIC, "npub": NPUB, "owner": OWNER, "derivation": "m/44'/1237'/0'/0/0", "usable": True,
    "created_at": AT, "retired_at": None,
}  # fmt: skip


class KeyOut(Wire, json_schema_extra=example(**_KEY)):
    """An account key, without its secret."""

    public: str = Field(description="64 hex digits.")
    npub: str
    owner: str
    derivation: str | None = Field(description="Derivation path from the phrase; null: it was imported.")
    usable: bool = Field(description="Whether the node stores its secret.")
    created_at: str
    retired_at: str | None

    @classmethod
    def of(cls, item: AccountKey) -> KeyOut:
        return cls(
            public=item.public.hex(),
            npub=npub(item.public),
            owner=item.owner,
            derivation=item.derivation,
            usable=item.usable,
            created_at=format_time(item.created_us),
            retired_at=maybe_time(item.retired_us),
        )


class KeyList(Wire, json_schema_extra=example(items=[_KEY])):
    items: list[KeyOut]


class NewKeyOut(Wire, json_schema_extra=example(key=_KEY, phrase=_PHRASE)):
    """A newly created key."""

    key: KeyOut
    phrase: str | None = Field(
        repr=False,
        description="The phrase, shown only once. Null if the same Idempotency-Key created it before.",
    )
