"""The records of identity as they travel."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import asdict
from uuid import UUID

from choir.doors.accounts.shapes import TransferOut
from choir.doors.agents.shapes import AgentOut
from choir.doors.delegations.shapes import CapOut, DelegationOut
from choir.doors.keys.shapes import KeyOut
from choir.doors.ledger.shapes import PostedOut
from choir.doors.logins.shapes import LoginOut
from choir.doors.people.shapes import (
    ActOut,
    CeremonyOut,
    ClusterLinkOut,
    ClusterOut,
    GiftOut,
    MeOut,
    PasskeyOut,
    RecoveredOut,
    RecoveryEndedOut,
    SessionOut,
)
from choir.doors.tokens.shapes import TokenOut
from choir.foundation.clock import format_time
from choir.identity.audit import Act
from choir.identity.challenges import ceremony_id
from choir.identity.clusters import Cluster
from choir.identity.delegation_rules import CapState
from choir.identity.key_store import AccountKey
from choir.identity.logins import Login
from choir.identity.model import (
    Agent,
    Delegation,
    Principal,
    Role,
    agent_id,
    agent_owner,
    delegation_id,
    login_id,
    person_owner,
    token_id,
)
from choir.identity.nostr_keys import npub
from choir.identity.passkeys import Ceremony
from choir.identity.people_store import PasskeyRow
from choir.identity.recovery import Recovered
from choir.identity.sessions import Session
from choir.identity.token_store import ApiToken
from choir.identity.transfers import Transferred
from choir.ledger.funding import PLAY_MINT
from choir.ledger.model import Draft, account_name


def _time(at_us: int | None) -> str | None:
    return None if at_us is None else format_time(at_us)


def passkey_id(id_: bytes) -> str:
    """As browsers write it."""
    return base64.urlsafe_b64encode(id_).rstrip(b"=").decode()


def ceremony(item: Ceremony) -> CeremonyOut:
    return CeremonyOut(ceremony=ceremony_id(item.id), options=item.options)


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


def me(who: Principal, handle: str | None) -> MeOut:
    return MeOut.model_validate(
        {
            "role": who.role.value,
            "owner": who.source,
            "handle": handle,
            "person": None if who.person is None else person_owner(who.person),
            "agent": None if who.agent is None else agent_id(who.agent),
            "delegation": None if who.delegation is None else delegation_id(who.delegation),
            "scopes": sorted(who.scopes),
            "fresh_until": _time(who.fresh_until_us or None),
            "credential": who.credential.partition(":")[0],
        }
    )


def session(item: Session, current: Session) -> SessionOut:
    return SessionOut(
        id=item.id,
        passkey=passkey_id(item.passkey),
        created_at=format_time(item.created_us),
        expires_at=format_time(item.expires_us),
        asserted_at=format_time(item.asserted_us),
        current=item.id == current.id,
    )


def passkey(item: PasskeyRow, current: Session | None) -> PasskeyOut:
    return PasskeyOut(
        id=passkey_id(item.id),
        name=item.name,
        created_at=format_time(item.created_us),
        last_used_at=_time(item.last_used_us),
        backed_up=item.backed_up,
        current=current is not None and current.passkey == item.id,
    )


def recovered(item: Recovered) -> RecoveredOut:
    return RecoveredOut(passkey=passkey(item.passkey, None), ended=RecoveryEndedOut(**asdict(item.ended)))


def act(item: Act) -> ActOut:
    return ActOut(
        n=item.n,
        at=format_time(item.at_us),
        act=item.act,
        actor=item.actor,
        owner=item.owner,
        subject=item.subject,
        data=item.data,
    )


def agent(item: Agent) -> AgentOut:
    return AgentOut(
        id=agent_id(item.id),
        owner=agent_owner(item.id),
        person=None if item.owner is None else person_owner(item.owner),
        key=None if item.nostr_key is None else npub(item.nostr_key),
        name=item.name,
        created_at=format_time(item.created_us),
        retired_at=_time(item.retired_us),
    )


def delegation(item: Delegation, usage: Iterable[CapState]) -> DelegationOut:
    """`usage` may be of several delegations."""
    caps = [
        CapOut(asset=state.asset, period=state.period, cap=str(state.cap), spent=str(state.spent))
        for state in usage
        if state.delegation == item.id
    ]
    return DelegationOut(
        id=delegation_id(item.id),
        person=person_owner(item.person),
        agent=agent_id(item.agent),
        parent=None if item.parent is None else delegation_id(item.parent),
        depth=item.depth,
        scopes=sorted(item.scopes),
        caps=caps,
        name=item.name,
        created_at=format_time(item.created_us),
        expires_at=format_time(item.expires_us),
        revoked_at=_time(item.revoked_us),
    )


def token(item: ApiToken) -> TokenOut:
    return TokenOut(
        id=token_id(item.id),
        owner=_token_owner(item.person, item.agent),
        delegation=None if item.delegation is None else delegation_id(item.delegation),
        name=item.name,
        scopes=sorted(item.scopes),
        created_at=format_time(item.created_us),
        expires_at=format_time(item.expires_us),
        last_used_at=_time(item.last_used_us),
        revoked_at=_time(item.revoked_us),
    )


def _token_owner(person: UUID | None, agent_: UUID | None) -> str:
    if person is not None:
        return person_owner(person)
    assert agent_ is not None  # the table sees to it
    return agent_owner(agent_)


def key(item: AccountKey) -> KeyOut:
    return KeyOut(
        public=item.public.hex(),
        npub=npub(item.public),
        owner=item.owner,
        derivation=item.derivation,
        usable=item.usable,
        created_at=format_time(item.created_us),
        retired_at=_time(item.retired_us),
    )


def login(item: Login) -> LoginOut:
    return LoginOut.model_validate(
        {
            "id": login_id(item.id),
            "name": item.name,
            "scopes": item.scopes,
            "days": item.days,
            "code": item.code,
            "state": item.state,
            "created_at": format_time(item.created_us),
            "expires_at": format_time(item.expires_us),
        }
    )


def cluster(owner: str, item: Cluster) -> ClusterOut:
    reasons = [
        ClusterLinkOut(a=link.a, b=link.b, reason=link.reason.value, evidence=link.evidence)
        for link in sorted(item.reasons)
    ]
    return ClusterOut(owner=owner, members=sorted(item.members), reasons=reasons, complete=item.complete)


def transfer(item: Transferred, amount: int, posted: PostedOut) -> TransferOut:
    shown = {"posted": posted, "from": item.from_, "to": item.to, "amount": str(amount)}
    return TransferOut.model_validate(shown | {"asset": account_name(item.to).asset.name})


def is_person(who: Principal) -> bool:
    """Whether listings show what is the person's, and not only what is the agent's."""
    return who.role is Role.PERSON
