"""People, agents and their authority, and one's own money.

What takes a passkey (an agent, a delegation or a token of one's own) is done in the browser: a program that
asks for it is told so with `PersonNeeded`. An agent's program passes authority on by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from choir.doors import wire
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path
from choir.foundation.money import Asset

Cap = tuple[Asset | str, str, int]  # asset, period (day, week, month or total), smallest units


class LoginAnswer(wire.Wire):
    """What became of a login so far: still waiting, or the token."""

    state: Literal["waiting"] | None = None
    interval_s: int | None = None
    token: wire.TokenOut | None = None
    secret: str | None = Field(default=None, repr=False)


class Me(Room[R]):
    """Whoever asks."""

    @call
    def who(self) -> Call[wire.MeOut]:
        """Whom the credential speaks for, and how far it reaches."""
        return Call("GET", "/v1/me", wire.MeOut)

    @pages
    def accounts(self, *, limit: int = 1000) -> Call[wire.AccountPage]:
        """One's own accounts; an agent's and its person's."""
        return Call("GET", "/v1/me/accounts", wire.AccountPage, params={"limit": limit})

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
    ) -> Call[wire.TransferOut]:
        """Send SAT or USDC to a person (by handle) or an agent (by its `owner`, `agent:…`); an agent's caps count."""
        body = {"from": from_, "to": to, "asset": _code(asset), "amount": str(amount), "memo": memo}
        return Call("POST", "/v1/transfers", wire.TransferOut, body, key=key_or_new(key))


class People(Room[R]):
    """Other people."""

    @call
    def get(self, handle: str) -> Call[wire.PersonOut]:
        """What everybody may know about a person."""
        return Call("GET", path("/v1/people/{handle}", handle=handle), wire.PersonOut)

    @call
    def erase(self, handle: str) -> Call[None]:
        """For an operator: remove everything personal about somebody; the journal stays whole."""
        return Call("DELETE", path("/v1/people/{handle}", handle=handle), type(None))

    @call
    def cluster(self, owner: str) -> Call[wire.ClusterOut]:
        """For an operator: owners that are taken for one, and why."""
        return Call("GET", "/v1/clusters", wire.ClusterOut, params={"owner": owner})


class Agents(Room[R]):
    """Agents, of a person or standing on a Nostr key."""

    @pages
    def all(self, *, limit: int = 100) -> Call[wire.AgentPage]:
        """A person's agents, oldest first, retired ones included; an agent sees itself."""
        return Call("GET", "/v1/agents", wire.AgentPage, params={"limit": limit})

    @call
    def get(self, agent: str) -> Call[wire.AgentOut]:
        return Call("GET", path("/v1/agents/{agent}", agent=agent), wire.AgentOut)

    @call
    def create(self, name: str, *, proof: str | None = None, key: str | None = None) -> Call[wire.AgentOut]:
        """A new agent of the person who asks; it can do nothing before it has a delegation."""
        return Call("POST", "/v1/agents", wire.AgentOut, {"name": name, "proof": proof}, key=key_or_new(key))

    @call
    def stand(self, name: str | None = None) -> Call[wire.AgentOut]:
        """The agent that stands on the key which signs this request, made if there is none."""
        return Call("POST", "/v1/agents/stand", wire.AgentOut, {"name": name}, again=True)

    @call
    def rename(self, agent: str, name: str) -> Call[wire.AgentOut]:
        """Call an agent something else."""
        return Call("PATCH", path("/v1/agents/{agent}", agent=agent), wire.AgentOut, {"name": name}, again=True)

    @call
    def retire(self, agent: str) -> Call[None]:
        """End an agent for good, with its delegations and tokens."""
        return Call("DELETE", path("/v1/agents/{agent}", agent=agent), type(None))


class Delegations(Room[R]):
    """How far agents may act for a person."""

    @pages
    def all(self, *, limit: int = 100) -> Call[wire.DelegationPage]:
        """What a person delegated, or what an agent was given; oldest first, ended ones included."""
        return Call("GET", "/v1/delegations", wire.DelegationPage, params={"limit": limit})

    @call
    def get(self, delegation: str) -> Call[wire.DelegationOut]:
        """One delegation, and what was spent of its caps."""
        return Call("GET", path("/v1/delegations/{delegation}", delegation=delegation), wire.DelegationOut)

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
    ) -> Call[wire.DelegationOut]:
        """Let an agent act for the person who asks, for `days` or until `expires_at`."""
        body = _terms(agent, scopes, caps, days, expires_at, name)
        return Call("POST", "/v1/delegations", wire.DelegationOut, body, key=key_or_new(key))

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
    ) -> Call[wire.DelegationOut]:
        """Pass a part of a delegation on to an agent, never more than it has."""
        where = path("/v1/delegations/{delegation}/narrow", delegation=delegation)
        body = _terms(agent, scopes, caps, days, expires_at, name)
        return Call("POST", where, wire.DelegationOut, body, key=key_or_new(key))

    @call
    def revoke(self, delegation: str) -> Call[None]:
        """End a delegation at once, with all that was narrowed from it."""
        return Call("DELETE", path("/v1/delegations/{delegation}", delegation=delegation), type(None), again=True)


class Tokens(Room[R]):
    """API tokens."""

    @pages
    def all(self, *, limit: int = 100) -> Call[wire.TokenPage]:
        """A person's tokens, and those under their delegations; oldest first, ended ones included."""
        return Call("GET", "/v1/tokens", wire.TokenPage, params={"limit": limit})

    @call
    def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        days: int | None = None,
        expires_at: str | None = None,
        delegation: str | None = None,
        key: str | None = None,
    ) -> Call[wire.NewTokenOut]:
        """Make a token, shown this once: for oneself, or for the agent of a delegation."""
        body = {"name": name, "scopes": list(scopes), "delegation": delegation, **_lasting(days, expires_at)}
        return Call("POST", "/v1/tokens", wire.NewTokenOut, body, key=key_or_new(key))

    @call
    def revoke(self, token: str) -> Call[None]:
        """End a token at once; a token may end itself."""
        return Call("DELETE", path("/v1/tokens/{token}", token=token), type(None), again=True)


class Keys(Room[R]):
    """The Nostr keys of accounts."""

    @call
    def all(self, owner: str | None = None) -> Call[wire.KeyList]:
        """A person's keys, or one of their agents'; never the secrets."""
        return Call("GET", "/v1/keys", wire.KeyList, params={"owner": owner})


class Logins(Room[R]):
    """How a program gets a token of whoever approves it in the browser (see `choir login`)."""

    @call
    def begin(self, challenge: str, *, name: str, scopes: Sequence[str], days: int) -> Call[wire.LoginStartedOut]:
        """Ask; `challenge` is the base64url SHA-256 of a verifier that only this program knows."""
        body = {"challenge": challenge, "name": name, "scopes": list(scopes), "days": days}
        return Call("POST", "/v1/logins", wire.LoginStartedOut, body)

    @call
    def token(self, login: str, verifier: str) -> Call[LoginAnswer]:
        """Fetch the token, once. No key: the answer that has it cannot be given twice."""
        return Call("POST", path("/v1/logins/{login}/token", login=login), LoginAnswer, {"verifier": verifier})


def _terms(
    agent: str, scopes: Sequence[str], caps: Sequence[Cap], days: int | None, expires_at: str | None, name: str | None
) -> dict[str, Any]:
    shown = [{"asset": _code(asset), "period": period, "cap": str(units)} for asset, period, units in caps]
    return {"agent": agent, "scopes": list(scopes), "caps": shown, "name": name, **_lasting(days, expires_at)}


def _code(asset: Asset | str) -> str:
    """What the wire calls an asset; whoever has an `Asset` at hand need not know."""
    return asset.name if isinstance(asset, Asset) else asset


def _lasting(days: int | None, expires_at: str | None) -> dict[str, Any]:
    return {"days": days, "expires_at": expires_at}
