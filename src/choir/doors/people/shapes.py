"""Shapes about people: signing up and in, sessions, passkeys, recovery, who one is, the audit, clusters."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.identity.agents.model import agent_id
from choir.identity.credentials.model import ceremony_id
from choir.identity.delegations.model import delegation_id
from choir.identity.model import person_owner
from choir.ledger.model import PLAY_MINT, account_name

if TYPE_CHECKING:
    from choir.identity.clusters.service import Cluster
    from choir.identity.credentials.passkeys import Ceremony
    from choir.identity.credentials.recovery import RecoveredAccount
    from choir.identity.credentials.sessions import Session
    from choir.identity.model import Act, Principal
    from choir.identity.people.store import PasskeyRow
    from choir.ledger.model import Draft

CEREMONY = "ceremony_01j9zq4n8ve5trx0k2m3b4c5d6"
OWNER = "person:01j9zq4n8ve5trx0k2m3b4c5d6"
AT = "2026-11-02T09:30:00.000000Z"
PASSKEY = "q83vEjRWeJASNFZ4kBI0Vg"
_ANSWER = {
    "id": PASSKEY,
    "rawId": PASSKEY,
    "type": "public-key",
    "response": {"clientDataJSON": "eyJ0eXBlIjoi...", "attestationObject": "o2NmbXRkbm9uZ..."},
}

Handle = Annotated[str, Field(min_length=1, max_length=64, examples=["ada"])]
Name = Annotated[str, Field(min_length=1, max_length=1000, description="A name chosen by its owner.")]
CeremonyId = Annotated[str, Field(max_length=60, description="From the matching `begin`.")]
PasskeyAnswer = Annotated[
    dict[str, Any], Field(description="The authenticator's response: `credential.toJSON()` in a browser.")
]


class SignUpIn(Wire, json_schema_extra=example(handle="ada")):
    """The requested handle."""

    handle: Handle
    referrer: str | None = Field(
        default=None, max_length=64, description="Handle of who brought the new person here; it can be named now only."
    )


class CeremonyOut(
    Wire,
    json_schema_extra=example(
        ceremony=CEREMONY, options={"challenge": "mC3n…", "rpId": "localhost", "timeout": 300000}
    ),
):
    """Options for the browser's authenticator call."""

    ceremony: str = Field(description="Send it with the answer; valid for one answer.")
    options: dict[str, Any] = Field(
        description="For `PublicKeyCredential.parseCreationOptionsFromJSON` or `…RequestOptionsFromJSON`."
    )

    @classmethod
    def of(cls, item: Ceremony) -> CeremonyOut:
        return cls(ceremony=ceremony_id(item.id), options=item.options)


class NewPasskeyIn(Wire, json_schema_extra=example(ceremony=CEREMONY, answer=_ANSWER, name="phone")):
    """A new passkey: the authenticator's answer and a name."""

    ceremony: CeremonyId
    answer: PasskeyAnswer
    name: Name


class ShownPasskeyIn(Wire, json_schema_extra=example(ceremony=CEREMONY, answer=_ANSWER)):
    """A passkey assertion."""

    ceremony: CeremonyId
    answer: PasskeyAnswer


class RecoveryIn(Wire, json_schema_extra=example(handle="ada", code="7HXQ2-M4T9K-0B3VD-ZR8CP-5WJEN")):
    """A person's handle and one of their recovery codes."""

    handle: Handle
    code: str = Field(min_length=1, max_length=100, repr=False)


class RecoveredIn(NewPasskeyIn, json_schema_extra=example(ceremony=CEREMONY, answer=_ANSWER, name="phone")):
    """The new passkey of a recovery."""

    keep: bool = Field(
        default=False, description="Keep older passkeys, tokens and delegations. Sessions end in any case."
    )


_PERSON = {"handle": "ada", "owner": OWNER, "since": AT, "vouches": 2}


class PersonOut(Wire, json_schema_extra=example(**_PERSON)):
    """A person's public profile."""

    handle: str
    owner: str = Field(description="As an owner of accounts.")
    since: str
    vouches: int = Field(description="Number of people who vouch for them.")


class GiftOut(Wire, json_schema_extra=example(account=f"{OWNER}/available/CREDIT", asset="CREDIT", amount="50000")):
    """A new person's starting balance."""

    account: str
    asset: str
    amount: str
    play: bool = Field(default=False, description="Play money; development nodes only.")


class SignedUpOut(
    Wire,
    json_schema_extra=example(
        person=_PERSON,
        recovery_codes=["7HXQ2-M4T9K-0B3VD-ZR8CP-5WJEN"],
        gifts=[{"account": f"{OWNER}/available/CREDIT", "asset": "CREDIT", "amount": "50000"}],
    ),
):
    """A new person, logged in. The codes are shown only once."""

    person: PersonOut
    recovery_codes: list[str] = Field(repr=False)
    gifts: list[GiftOut]


_ME = {
    "role": "person",
    "owner": OWNER,
    "handle": "ada",
    "person": OWNER,
    "agent": None,
    "delegation": None,
    "scopes": ["buy", "read"],
    "fresh_until": AT,
    "credential": "session",
}


class MeOut(Wire, json_schema_extra=example(**_ME)):
    """The caller's principal and scopes."""

    role: Literal["person", "agent", "operator"]
    owner: str = Field(description="As entries and acts name it: `person:…`, `agent:…` or `operator`.")
    handle: str | None = Field(description="Handle of the person behind it.")
    person: str | None = Field(description="The person behind it, as an owner of accounts.")
    agent: str | None
    delegation: str | None
    scopes: list[str]
    fresh_until: str | None = Field(description="Until when sensitive actions need no new passkey check.")
    credential: Literal["session", "token", "nostr", "operator"]
    referrer: str | None = Field(default=None, description="Handle of who brought the person here, named at sign-up.")
    referrer_until: str | None = Field(
        default=None, description="Until when the referrer has a share in what the person pays for work."
    )

    @classmethod
    def of(cls, who: Principal, handle: str | None, referral: tuple[str, int] | None = None) -> MeOut:
        return cls.model_validate(
            {
                "role": who.role.value,
                "owner": who.source,
                "handle": handle,
                "person": None if who.person is None else person_owner(who.person),
                "agent": None if who.agent is None else agent_id(who.agent),
                "delegation": None if who.delegation is None else delegation_id(who.delegation),
                "scopes": sorted(who.scopes),
                "fresh_until": maybe_time(who.fresh_until_us or None),
                "credential": who.credential.partition(":")[0],
                "referrer": None if referral is None else referral[0],
                "referrer_until": None if referral is None else maybe_time(referral[1]),
            }
        )


_SESSION_ID = "4f1c2a9b7d3e5f60718293a4b5c6d7e8"


_SESSION: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=_SESSION_ID, passkey=PASSKEY, created_at=AT, expires_at=AT, asserted_at=AT, current=True
)


class SessionOut(Wire, json_schema_extra=example(**_SESSION)):
    """A browser session."""

    id: str
    passkey: str = Field(description="The passkey it was started with; removing that ends it.")
    created_at: str
    expires_at: str
    asserted_at: str = Field(description="When its passkey was last used.")
    current: bool = Field(description="Whether it is the calling session.")

    @classmethod
    def of(cls, item: Session, current: Session) -> SessionOut:
        return cls(
            id=item.id,
            passkey=passkey_id(item.passkey),
            created_at=format_time(item.created_us),
            expires_at=format_time(item.expires_us),
            asserted_at=format_time(item.asserted_us),
            current=item.id == current.id,
        )


class SessionList(Wire, json_schema_extra=example(items=[_SESSION])):
    items: list[SessionOut]


class EndedOut(Wire, json_schema_extra=example(ended=2)):
    ended: int = Field(description="Number of sessions ended.")


_PASSKEY: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=PASSKEY, name="phone", created_at=AT, last_used_at=AT, backed_up=True, current=True
)


class PasskeyOut(Wire, json_schema_extra=example(**_PASSKEY)):
    """A passkey of the person."""

    id: str
    name: str
    created_at: str
    last_used_at: str | None
    backed_up: bool = Field(description="Whether it is synced (backed up by its vendor).")
    current: bool = Field(description="Whether the calling session was started with it.")

    @classmethod
    def of(cls, item: PasskeyRow, current: Session | None) -> PasskeyOut:
        return cls(
            id=passkey_id(item.id),
            name=item.name,
            created_at=format_time(item.created_us),
            last_used_at=maybe_time(item.last_used_us),
            backed_up=item.backed_up,
            current=current is not None and current.passkey == item.id,
        )


class PasskeyList(Wire, json_schema_extra=example(items=[_PASSKEY])):
    items: list[PasskeyOut]


_ENDED = {"passkeys": 1, "sessions": 2, "tokens": 1, "delegations": 0}


class RecoveryEndedOut(Wire, json_schema_extra=example(**_ENDED)):
    """Number of credentials and delegations that ended."""

    passkeys: int
    sessions: int
    tokens: int = Field(description="Of the person, and under their delegations.")
    delegations: int


class RecoveredOut(Wire, json_schema_extra=example(passkey=_PASSKEY, ended=_ENDED)):
    """The new passkey, and what ended with the recovery."""

    passkey: PasskeyOut
    ended: RecoveryEndedOut

    @classmethod
    def of(cls, item: RecoveredAccount) -> RecoveredOut:
        return cls(passkey=PasskeyOut.of(item.passkey, None), ended=RecoveryEndedOut(**asdict(item.ended)))


class NameIn(Wire, json_schema_extra=example(name="old phone")):
    name: Name


class CodesLeftOut(Wire, json_schema_extra=example(unused=9)):
    unused: int = Field(description="How many recovery codes are left.")


class CodesOut(Wire, json_schema_extra=example(codes=["7HXQ2-M4T9K-0B3VD-ZR8CP-5WJEN"])):
    """New recovery codes, shown only once; earlier ones stop working."""

    codes: list[str] = Field(repr=False)


_ACT: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    n=7, at=AT, act="passkey.added", actor=OWNER, owner=OWNER, subject="9f2c4e11ab03d7f8", data={}
)


class ActOut(Wire, json_schema_extra=example(**_ACT)):
    """A change to an identity."""

    n: int
    at: str
    act: str
    actor: str
    owner: str
    subject: str | None
    data: dict[str, Any]

    @classmethod
    def of(cls, item: Act) -> ActOut:
        return cls(
            n=item.n,
            at=format_time(item.at_us),
            act=item.act,
            actor=item.actor,
            owner=item.owner,
            subject=item.subject,
            data=item.data,
        )


class ActPage(Wire, json_schema_extra=example(items=[_ACT], next=None)):
    items: list[ActOut]
    next: str | None = None


class ClusterLinkOut(
    Wire, json_schema_extra=example(a="agent:01j9zq5a1wf6vsy1m3n4c5d6e7", b=OWNER, reason="owner", evidence="agent:…")
):
    a: str
    b: str
    reason: str
    evidence: str


class HomeIn(Wire, json_schema_extra=example(home="5f" * 32)):
    """A machine home, by a hash that only it can know."""

    home: str = Field(pattern=r"^[0-9a-f]{64}$")


class ClusterOut(Wire, json_schema_extra=example(owner=OWNER, members=[OWNER], reasons=[], complete=True)):
    """Owners that are treated as one, and why."""

    owner: str
    members: list[str]
    reasons: list[ClusterLinkOut]
    complete: bool = Field(description="False: the list may be incomplete.")

    @classmethod
    def of(cls, owner: str, item: Cluster) -> ClusterOut:
        reasons = [
            ClusterLinkOut(a=link.a, b=link.b, reason=link.reason.value, evidence=link.evidence)
            for link in sorted(item.reasons)
        ]
        return cls(owner=owner, members=sorted(item.members), reasons=reasons, complete=item.complete)


def passkey_id(id_: bytes) -> str:
    """As browsers write it."""
    return base64.urlsafe_b64encode(id_).rstrip(b"=").decode()


def gifts(draft: Draft) -> list[GiftOut]:
    return [
        GiftOut(
            account=leg.to,
            asset=account_name(leg.to).asset.name,
            amount=str(leg.amount),
            play=leg.from_.startswith(f"{PLAY_MINT}/"),
        )
        for leg in draft.legs
    ]
