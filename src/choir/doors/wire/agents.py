"""Shapes about acting for somebody: agents, delegations, tokens, account keys, logins, transfers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from choir.doors.wire.base import Amount, Wire, example
from choir.doors.wire.ledger import PostedOut
from choir.doors.wire.people import AT, OWNER, Name
from choir.identity.model import OFFERED_SCOPES, Period, Scope

AGENT = "agent_01j9zq5a1wf6vsy1m3n4c5d6e7"
AGENT_OWNER = "agent:01j9zq5a1wf6vsy1m3n4c5d6e7"
DELEGATION = "delegation_01j9zq5m9xg7wtz2n4p5d6e7f8"
TOKEN = "token_01j9zq6c2yh8xva3p5q6e7f8g9"  # noqa: S105 - an id
LOGIN = "login_01j9zq7d3zj9ywb4q6r7f8g9ha"
NPUB = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
PUBLIC = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
_PHRASE = "leader monkey parrot ring guide accident before fence cannon height naive bean"
_SECRET = "choir_pat_" + "0" * 49

Id = Annotated[str, Field(max_length=60)]
# Every scope is valid; the description names those that something asks for.
_Offered = Annotated[Scope, WithJsonSchema({"type": "string", "enum": [scope.value for scope in OFFERED_SCOPES]})]
Scopes = Annotated[list[_Offered], Field(min_length=1, max_length=10, description="What it may be used for.")]
Days = Annotated[int, Field(ge=1, le=3660, description="How many days it lasts from now.")]


class Lasting(Wire):
    """How long something is to last: exactly one of the two."""

    days: Days | None = None
    expires_at: str | None = Field(default=None, max_length=40, description="Instead of `days`: its end, ISO 8601.")


class AgentIn(Wire, json_schema_extra=example(name="night librarian")):
    """A new agent of the person who asks."""

    name: Name
    proof: str | None = Field(
        default=None,
        max_length=20_000,
        description="For an agent with a Nostr key of its own: a NIP-98 event by that key in base64, for this method"
        " and address, without payload, and with the tag `owner` naming the person's owner.",
    )


class StandIn(Wire, json_schema_extra=example(name="wanderer")):
    """What an agent on its own key would like to be called."""

    name: Name | None = None


_AGENT: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=AGENT, owner=AGENT_OWNER, person=OWNER, key=None, name="night librarian", created_at=AT, retired_at=None
)


class AgentOut(Wire, json_schema_extra=example(**_AGENT)):
    """An agent."""

    id: str
    owner: str = Field(description="As the owner of accounts.")
    person: str | None = Field(description="Whose agent it is; none: it stands on its key.")
    key: str | None = Field(description="Its Nostr key, as npub.")
    name: str | None
    created_at: str
    retired_at: str | None


class AgentPage(Wire, json_schema_extra=example(items=[_AGENT], next=None)):
    items: list[AgentOut]
    next: str | None = None


class CapIn(Wire, json_schema_extra=example(asset="SAT", period="day", cap="10000")):
    """At most this much of an asset in a period; an asset without a cap cannot be spent."""

    asset: str = Field(max_length=20, examples=["SAT"])
    period: Period
    cap: str = Field(
        pattern=r"^(0|[1-9][0-9]{0,18})$", description="Smallest units as a decimal string.", examples=["10000"]
    )


_TERMS = {
    "scopes": ["read", "buy"],
    "caps": [{"asset": "SAT", "period": "day", "cap": "10000"}],
    "days": 30,
    "name": "the night shift",
}


class DelegationIn(Lasting, json_schema_extra=example(agent=AGENT, **_TERMS)):
    """What an agent may do for the person who asks, or by a part of what the asker has."""

    agent: Id
    scopes: Scopes
    caps: list[CapIn] = Field(default=[], max_length=24)
    name: Name | None = None


class CapOut(Wire, json_schema_extra=example(asset="SAT", period="day", cap="10000", spent="250")):
    """A cap, and what was spent of it in the current window."""

    asset: str
    period: Period
    cap: str
    spent: str


_DELEGATION: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=DELEGATION,
    person=OWNER,
    agent=AGENT,
    parent=None,
    depth=0,
    scopes=["buy", "read"],
    caps=[{"asset": "SAT", "period": "day", "cap": "10000", "spent": "250"}],
    name="the night shift",
    created_at=AT,
    expires_at=AT,
    revoked_at=None,
)


class DelegationOut(Wire, json_schema_extra=example(**_DELEGATION)):  # fmt: skip
    """An agent's authority."""

    id: str
    person: str = Field(description="Whose authority it is.")
    agent: str
    parent: str | None = Field(description="The wider one it was narrowed from.")
    depth: int
    scopes: list[str]
    caps: list[CapOut]
    name: str | None
    created_at: str
    expires_at: str
    revoked_at: str | None


class DelegationPage(Wire, json_schema_extra=example(items=[_DELEGATION], next=None)):
    items: list[DelegationOut]
    next: str | None = None


class TokenIn(Lasting, json_schema_extra=example(name="laptop", scopes=["read"], days=90)):
    """A token for one's own programs, or for an agent under a delegation."""

    name: Name
    scopes: Scopes
    delegation: Id | None = Field(default=None, description="For the agent of this delegation.")


_TOKEN = {
    "id": TOKEN, "owner": OWNER, "delegation": None, "name": "laptop", "scopes": ["read"],
    "created_at": AT, "expires_at": AT, "last_used_at": None, "revoked_at": None,
}  # fmt: skip


class TokenOut(Wire, json_schema_extra=example(**_TOKEN)):
    """A token, without its secret."""

    id: str
    owner: str = Field(description="Whom it speaks for.")
    delegation: str | None
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None


class TokenPage(Wire, json_schema_extra=example(items=[_TOKEN], next=None)):
    items: list[TokenOut]
    next: str | None = None


class NewTokenOut(Wire, json_schema_extra=example(token=_TOKEN, secret=_SECRET)):
    """A token that was just made."""

    token: TokenOut
    secret: str | None = Field(
        repr=False,
        description="The token itself, shown this once. Null when the same Idempotency-Key made it before: nobody"
        " knows it any more, so revoke it and make another one.",
    )


class KeyIn(Wire, json_schema_extra=example(owner=AGENT_OWNER)):
    """Whose key it is to be: the person's own, or one of their agents'."""

    owner: str | None = Field(default=None, max_length=80, description="Default: the person who asks.")


class PhraseIn(KeyIn, json_schema_extra=example(phrase=_PHRASE, account=0)):
    """A BIP-39 phrase; its key is derived by NIP-06."""

    phrase: str = Field(min_length=1, max_length=1000, repr=False)
    account: int = Field(default=0, ge=0, le=2**31 - 1, description="Which key of the phrase.")


class BroughtKeyIn(KeyIn, json_schema_extra={"examples": [{"secret": "nsec1…"}]}):
    """A key that its owner brings along."""

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
    derivation: str | None = Field(description="Its path from the phrase; none: it was brought along.")
    usable: bool = Field(description="Whether its secret is here.")
    created_at: str
    retired_at: str | None


class KeyList(Wire, json_schema_extra=example(items=[_KEY])):
    items: list[KeyOut]


class NewKeyOut(Wire, json_schema_extra=example(key=_KEY, phrase=_PHRASE)):
    """A key that was just made."""

    key: KeyOut
    phrase: str | None = Field(
        repr=False,
        description="Its words, shown this once. Null when the same Idempotency-Key made it before.",
    )


class LoginIn(
    Wire,
    json_schema_extra=example(
        challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", name="choir on laptop", scopes=["read"], days=30
    ),
):
    """A program asks for a token of whoever approves in the browser."""

    challenge: str = Field(
        pattern=r"^[A-Za-z0-9_-]{43}$",
        description="SHA-256 of a random verifier that the program keeps, in base64url without padding.",
    )
    name: Name
    scopes: Scopes
    days: Days


class LoginStartedOut(
    Wire,
    json_schema_extra=example(
        login=LOGIN, code="7HXQ-2M4T", url=f"http://localhost:8420/login/{LOGIN}", expires_at=AT, interval_s=2
    ),
):
    """Where the person approves, and what they compare."""

    login: str
    code: str = Field(description="Shown in the terminal and on the page; the person compares the two.")
    url: str
    expires_at: str
    interval_s: int = Field(description="How long to wait between two tries to fetch the token.")


class VerifierIn(Wire, json_schema_extra=example(verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")):
    """What only the program knows that asked for the login."""

    verifier: str = Field(repr=False, pattern=r"^[A-Za-z0-9._~-]{43,128}$")


class LoginWaitingOut(Wire, json_schema_extra=example(state="waiting", interval_s=2)):
    state: Literal["waiting"] = "waiting"
    interval_s: int


class LoginOut(
    Wire,
    json_schema_extra=example(
        id=LOGIN, name="choir on laptop", scopes=["read"], days=30, code="7HXQ-2M4T", state="waiting",
        created_at=AT, expires_at=AT,
    ),
):  # fmt: skip
    """A login as the person sees it who is to approve it."""

    id: str
    name: str = Field(description="What the program calls itself; anybody can write anything here.")
    scopes: list[str]
    days: int
    code: str
    state: Literal["waiting", "approved", "denied"]
    created_at: str
    expires_at: str


class TransferIn(Wire, json_schema_extra=example(to="grace", asset="SAT", amount="21000", memo="thank you")):
    """Something that moves between people or agents. The `Idempotency-Key` header is its key."""

    from_: str | None = Field(
        default=None,
        alias="from",
        max_length=80,
        description="Whose it is, as an owner of accounts. Default: the one who asks.",
    )
    to: str = Field(min_length=1, max_length=80, description="A handle, or an owner of accounts such as `agent:…`.")
    asset: str = Field(max_length=20, examples=["SAT"])
    amount: Amount
    memo: str | None = Field(default=None, max_length=2000, description="Words beside it; they can be erased.")

    model_config = ConfigDict(populate_by_name=True)


class TransferOut(
    Wire,
    json_schema_extra=example(
        posted={"id": "entry_01j9zq8e40kazxc5r7s8g9hajb", "seq": 42, "at": AT, "hash": "ab" * 32, "again": False},
        **{"from": f"{OWNER}/available/SAT"},
        to="person:01j9zq9f51mb0yd6s8t9hajbkc/available/SAT",
        asset="SAT",
        amount="21000",
    ),
):
    """What moved."""

    posted: PostedOut
    from_: str = Field(alias="from")
    to: str
    asset: str
    amount: str

    model_config = ConfigDict(populate_by_name=True)
