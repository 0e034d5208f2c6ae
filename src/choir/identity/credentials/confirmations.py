"""Acts of a person that a terminal asks for and a passkey confirms: an agent, a delegation, a token.

It is the way of a login (see `logins`): the terminal keeps a verifier, the person confirms in the browser, and what was
asked is done when the terminal fetches it.

Guarantees: only the person whose credential asks can confirm, with a passkey shown just now, and sees exactly what will
be done; it is done once, by the same services and rules as in the browser, and not at all if the terminal is gone; what
those rules refuse is refused before anybody is asked. A token's text reaches whoever has the verifier, once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from uuid import UUID

from choir.foundation.errors import Refusal
from choir.identity.agents.model import parse_agent_id
from choir.identity.agents.service import Agents
from choir.identity.credentials import store
from choir.identity.credentials.logins import Logins, approver_of
from choir.identity.credentials.model import ActKind, AskedAct, Login
from choir.identity.credentials.tokens import NewToken, Tokens
from choir.identity.credentials.tries import attempt
from choir.identity.delegations.model import Cap, Period, parse_delegation_id
from choir.identity.delegations.service import Delegations
from choir.identity.keys.secret_values import TokenText
from choir.identity.model import PersonNeeded, Principal, Role, Scope
from choir.identity.repeats import Repeats
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class FetchedAct:
    """What became of an act."""

    kind: ActKind
    made: UUID | None  # None: nobody has decided yet
    text: TokenText | None = None  # of a token that was made now


class _Rehearsed(Exception):
    """Carries nothing; it undoes what was only tried."""


class Confirmations:
    """Asking for an act, and fetching what it made; inside the caller's transaction."""

    def __init__(
        self, logins: Logins, agents: Agents, delegations: Delegations, tokens: Tokens, repeats: Repeats
    ) -> None:
        self._logins = logins
        self._agents = agents
        self._delegations = delegations
        self._tokens = tokens
        self._repeats = repeats
        self._makers: dict[ActKind, Callable[[Tx, Principal, AskedAct], UUID | NewToken]] = {
            ActKind.AGENT: self._agent,
            ActKind.DELEGATION: self._delegation,
            ActKind.TOKEN: self._token,
        }

    def ask(self, tx: Tx, who: Principal, challenge: bytes, act: AskedAct, *, name: str, address: str) -> Login:
        """A terminal asks in the name of a person; whatever would be refused later is refused now."""
        if who.role is not Role.PERSON or who.person is None:
            raise PersonNeeded
        opened = self._logins.open(
            tx, challenge, name=name, address=address, act=act.kind.value, terms=asdict(act), asked_by=who.person
        )
        before = None if act.key is None else self._repeats.made(tx, who, act.key, content(act))
        if before is not None:  # this key's act was confirmed once, and needs nobody again
            store.decide_login(tx, opened.id, who.person, "approved")
            store.finish_login(tx, opened.id, before)
            return replace(opened, person=who.person, state="done", made=before)
        self._rehearse(tx, approver_of(opened, who.person), act)
        return opened

    def fetch(self, tx: Tx, id_: UUID, verifier: str) -> FetchedAct | Refusal:
        """Do what was confirmed, and say what it made. A refusal is returned, so that the try is counted."""
        login = self._logins.claimed(tx, id_, verifier, act=True)
        if isinstance(login, Refusal):
            return login
        act = asked_act(login)
        if login.state in ("waiting", "done"):
            return FetchedAct(act.kind, login.made)
        done = attempt(tx, lambda: self._do(tx, login, act))
        if isinstance(done, Refusal):  # since it was asked, something changed
            store.delete_login(tx, id_)
            return done
        assert done.made is not None
        store.finish_login(tx, id_, done.made)
        return done

    def _do(self, tx: Tx, login: Login, act: AskedAct) -> FetchedAct:
        assert login.person is not None
        by = approver_of(login, login.person)
        made: list[NewToken] = []

        def make() -> UUID:
            new = self._makers[act.kind](tx, by, act)
            if isinstance(new, UUID):
                return new
            made.append(new)
            return new.token.id

        id_, _ = self._repeats.once(tx, by, act.key, content(act), make)
        return FetchedAct(act.kind, id_, made[-1].text if made else None)

    def _rehearse(self, tx: Tx, by: Principal, act: AskedAct) -> None:
        """Do it and undo it, so that nobody is asked to confirm what cannot be done."""
        with suppress(_Rehearsed), tx.savepoint():
            self._makers[act.kind](tx, by, act)
            raise _Rehearsed

    def _agent(self, tx: Tx, by: Principal, act: AskedAct) -> UUID:
        return self._agents.create(tx, by.must_be_person(), act.body["name"]).id

    def _delegation(self, tx: Tx, by: Principal, act: AskedAct) -> UUID:
        body = act.body
        caps = [Cap(cap["asset"], Period(cap["period"]), int(cap["cap"])) for cap in body["caps"]]
        made = self._delegations.grant(
            tx,
            by.must_be_person(),
            parse_agent_id(body["agent"]),
            scopes=scopes_of(act),
            caps=caps,
            expires_us=act.ends_us,
            name=body["name"],
        )
        return made.id

    def _token(self, tx: Tx, by: Principal, act: AskedAct) -> NewToken:
        name, scopes, under = act.body["name"], scopes_of(act), act.body["delegation"]
        if under is None:
            return self._tokens.for_person(tx, by, name=name, scopes=scopes, expires_us=act.ends_us)
        delegation = parse_delegation_id(under)
        return self._tokens.for_delegation(tx, by, delegation, name=name, scopes=scopes, expires_us=act.ends_us)


def asked_act(login: Login) -> AskedAct:
    """The act that a login asks for, as it was stored."""
    assert login.terms is not None
    return AskedAct(**{**login.terms, "kind": ActKind(login.terms["kind"])})


def scopes_of(act: AskedAct) -> frozenset[Scope]:
    return frozenset(Scope(scope) for scope in act.body.get("scopes", ()))


def content(act: AskedAct) -> list[object]:
    """What an idempotency key is bound to: the same as where the act's own route is asked."""
    if act.kind is ActKind.AGENT:
        return ["agent", act.body["name"], None]
    return [act.kind.value, act.body]
