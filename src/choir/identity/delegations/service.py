"""Delegations: how far an agent may act for a person.

Guarantees: one can be narrowed and passed on, never widened, and by nobody whose own credential reaches less far;
revoking ends it and everything narrowed from it at once, because nothing about a delegation is remembered and
each use looks at the whole chain; what was narrowed by a token ends with that token; a spend is charged to the
delegation and to all above it, in the caller's transaction, and no race can take a cap over its limit. An asset
without a cap cannot be spent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.foundation.money import checked_amount
from choir.identity import audit
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import AgentRetired, UnknownAgent, agent_id
from choir.identity.credentials import token_store
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.token_store import ApiToken
from choir.identity.delegations import rules as delegation_rules
from choir.identity.delegations import store as delegation_store
from choir.identity.delegations.model import Cap, Delegation, UnknownDelegation, delegation_id
from choir.identity.delegations.rules import NO_ID, CapState, Chain, Charge, Terms, new_id, page_size
from choir.identity.model import Principal, Role, Scope, TooMany, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Tx


class Delegations:
    """Granting, narrowing, revoking and charging; all inside the caller's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: DelegationsPolicy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def grant(
        self,
        tx: Tx,
        person: UUID,
        agent: UUID,
        *,
        scopes: Collection[Scope],
        caps: Iterable[Cap] = (),
        expires_us: int,
        name: str | None = None,
    ) -> Delegation:
        """Let an agent act for a person. Any live agent can be given one, whoever it belongs to."""
        now_us = self._clock.now_us()
        terms = Terms(frozenset(scopes), tuple(caps), expires_us, name)
        terms = delegation_rules.checked_terms(terms, now_us, self._policy)
        agent_store.lock_person(tx, person)
        self._lock_agent(tx, agent)
        return self._insert(tx, person, agent, None, terms, now_us, person_owner(person))

    def narrow(
        self,
        tx: Tx,
        by: Principal,
        delegation: UUID,
        agent: UUID,
        *,
        scopes: Collection[Scope],
        caps: Iterable[Cap] = (),
        expires_us: int,
        name: str | None = None,
    ) -> Delegation:
        """Pass a part of a delegation on to an agent; by its person, or by whoever acts under it."""
        now_us = self._clock.now_us()
        terms = Terms(frozenset(scopes), tuple(caps), expires_us, name)
        terms = delegation_rules.checked_terms(terms, now_us, self._policy)
        parent = self.get(tx, delegation)
        if not (_is_person_of(by, parent) or by.delegation == parent.id):
            raise UnknownDelegation(delegation=delegation_id(delegation))
        agent_store.lock_person(tx, parent.person)
        token = token_store.of_credential(tx, by.credential)
        if token is not None and token.revoked_us is not None:  # since the request was let in
            raise BadCredential(why="the token was revoked")
        self._lock_agent(tx, agent)
        self._locked_chain(tx, delegation)
        delegation_rules.check_narrower(parent, terms, self._policy)
        delegation_rules.check_reach(by.scopes, None if token is None else token.expires_us, terms)
        return self._insert(tx, parent.person, agent, parent, terms, now_us, by.source, token)

    def revoke(self, tx: Tx, by: Principal, delegation: UUID) -> None:
        """End a delegation at once, with all narrowed from it. Revoking twice is revoking once."""
        found = self.get(tx, delegation)
        if not self._may_revoke(tx, by, found):
            raise UnknownDelegation(delegation=delegation_id(delegation))
        if delegation_store.revoke(tx, delegation, self._clock.now_us()):
            self._record(tx, found, by.source, "delegation.revoked")

    def revoke_all(self, tx: Tx, person: UUID) -> int:
        """End everything that was ever delegated by a person; says how many were good until now."""
        return delegation_store.revoke_all(tx, person, self._clock.now_us())

    def get(self, tx: Tx, delegation: UUID) -> Delegation:
        found = delegation_store.get(tx, delegation)
        if found is None:
            raise UnknownDelegation(delegation=delegation_id(delegation))
        return found

    def of_person(self, tx: Tx, person: UUID, *, after: UUID = NO_ID, limit: int | None = None) -> list[Delegation]:
        """A page of a person's delegations, oldest first, ended ones included."""
        return delegation_store.of_person(tx, person, after, page_size(limit, self._policy))

    def of_agent(self, tx: Tx, agent: UUID, *, after: UUID = NO_ID, limit: int | None = None) -> list[Delegation]:
        """A page of what was delegated to an agent, oldest first, ended ones included."""
        return delegation_store.of_agent(tx, agent, after, page_size(limit, self._policy))

    def newest(self, tx: Tx, person: UUID, *, before: UUID | None, limit: int) -> list[Delegation]:
        """A page of a person's delegations, newest first, ended ones included."""
        return delegation_store.newest_of_person(tx, person, before, page_size(limit, self._policy))

    @staticmethod
    def spends(tx: Tx, delegations: Sequence[UUID], windows: int) -> list[Charge]:
        """What was spent under these delegations in the last windows of each cap that have any, newest first."""
        return delegation_store.spends(tx, delegations, windows)

    def usage(self, tx: Tx, *delegations: UUID) -> list[CapState]:
        """The caps of these delegations and what was spent of each in its current window."""
        windows = delegation_rules.windows(self._clock.now_us())
        states = delegation_store.cap_states(tx, list(delegations), windows)
        return sorted(states, key=lambda state: (state.delegation, state.asset, state.period))

    def visible(self, tx: Tx, by: Principal, delegation: UUID) -> Delegation:
        """The delegation, for its person, its agent, and whoever acts under one that it was narrowed from."""
        found = self.get(tx, delegation)
        of_person = by.role is Role.PERSON and by.person == found.person
        if of_person or by.agent == found.agent:
            return found
        if by.delegation is not None and delegation_store.is_above(tx, found.id, by.delegation):
            return found
        raise UnknownDelegation(delegation=delegation_id(delegation))

    def principal_of(self, tx: Tx, delegation: UUID) -> Principal:
        """Who acts by this delegation now."""
        chain = delegation_store.chain(tx, delegation)
        self._check(chain, delegation)
        return delegation_rules.delegated_principal(chain, f"delegation:{delegation_id(delegation)}")

    def spend(self, tx: Tx, principal: Principal, asset: str, amount: int) -> int:
        """Charge an amount; see `charge`. It belongs into one transaction with the entry that moves it."""
        return self.charge(tx, principal, {asset: amount})

    def lock(self, tx: Tx, principal: Principal) -> Chain:
        """The principal's delegation and all above it, good now and locked; nothing if there is none.

        From here to the commit nobody else can charge or revoke it.
        """
        return () if principal.delegation is None else self._locked_chain(tx, principal.delegation)

    def charge(self, tx: Tx, principal: Principal, amounts: Mapping[str, int]) -> int:
        """Charge amounts by asset to the principal's delegation and all above it, or refuse and write nothing.

        Returns the time that decided the windows; giving back needs it.

        A principal without a delegation has no caps: a person, or an agent with what is its own.
        """
        chain = self.lock(tx, principal)
        now_us = self._clock.now_us()
        if chain and amounts:
            ids = [link.id for link in chain]
            states = delegation_store.cap_states(tx, ids, delegation_rules.windows(now_us))
            delegation_store.charge(tx, delegation_rules.charges(chain, states, amounts, now_us))
        return now_us

    def unspend(self, tx: Tx, delegation: UUID, asset: str, amount: int, charged_us: int) -> None:
        """Give back what was charged at that time and not used, to the same windows, never below zero.

        It also works when the delegation has ended meanwhile: those above it may still be in use.
        """
        checked_amount(amount)
        chain = delegation_store.lock_chain(tx, delegation)
        ids = [link.id for link in chain]
        begins = delegation_rules.windows(charged_us)
        states = delegation_store.cap_states(tx, ids, begins, asset)
        delegation_store.give_back(
            tx,
            [Charge(state.delegation, asset, state.period, begins[state.period], amount) for state in states],
        )

    def only_live(self, tx: Tx, agent: UUID, owner: UUID) -> Principal | None:
        """Who acts by what the agent has of its own person, if exactly one is good now; None: none, or a choice.

        Anybody may delegate to an agent unasked; that must neither stop it nor change for whom it acts, so what
        it has of others takes being named.
        """
        now_us = self._clock.now_us()
        good = []
        for id_ in delegation_store.candidates(tx, agent, owner, now_us, self._policy.page_rows_max):
            chain = delegation_store.chain(tx, id_)
            if delegation_rules.why_ended(chain, now_us) is None:
                good.append(chain)
            if len(good) > 1:
                return None
        return delegation_rules.delegated_principal(good[0], "nostr") if good else None

    def _insert(
        self,
        tx: Tx,
        person: UUID,
        agent: UUID,
        parent: Delegation | None,
        terms: Terms,
        now_us: int,
        actor: str,
        token: ApiToken | None = None,
    ) -> Delegation:
        if delegation_store.live_count(tx, person, now_us) >= self._policy.per_person_max:
            raise TooMany(what="live delegations of this person", limit=self._policy.per_person_max)
        made = Delegation(
            id=new_id(now_us, self._entropy.bytes(8)),
            person=person,
            agent=agent,
            parent=None if parent is None else parent.id,
            depth=0 if parent is None else parent.depth + 1,
            scopes=terms.scopes,
            caps=terms.caps,
            expires_us=terms.expires_us,
            created_us=now_us,
            revoked_us=None,
            name=terms.name,
        )
        delegation_store.insert(tx, made, by_token=None if token is None else token.id)
        self._record(tx, made, actor, "delegation.granted" if parent is None else "delegation.narrowed")
        return made

    @staticmethod
    def _lock_agent(tx: Tx, agent: UUID) -> None:
        """An agent that can be given something, and cannot be retired meanwhile."""
        found = agent_store.lock(tx, agent)
        if found is None:
            raise UnknownAgent(agent=agent_id(agent))
        if found.retired_us is not None:
            raise AgentRetired(agent=agent_id(agent))

    def _locked_chain(self, tx: Tx, delegation: UUID) -> Chain:
        chain = delegation_store.lock_chain(tx, delegation)
        self._check(chain, delegation)
        return chain

    def _check(self, chain: Chain, delegation: UUID) -> None:
        if not chain:
            raise UnknownDelegation(delegation=delegation_id(delegation))
        delegation_rules.check_live(chain, self._clock.now_us())

    @staticmethod
    def _may_revoke(tx: Tx, by: Principal, found: Delegation) -> bool:
        """Its person, the agent that has it, or whoever acts under one that it was narrowed from."""
        if _is_person_of(by, found) or by.agent == found.agent:
            return True
        return by.delegation is not None and delegation_store.is_above(tx, found.id, by.delegation)

    def _record(self, tx: Tx, found: Delegation, actor: str, act: str) -> None:
        audit.record(
            tx,
            act,
            at_us=self._clock.now_us(),
            actor=actor,
            owner=person_owner(found.person),
            subject=delegation_id(found.id),
            agent=agent_id(found.agent),
        )


def _is_person_of(by: Principal, found: Delegation) -> bool:
    return by.role is Role.PERSON and by.must_be_person() == found.person
