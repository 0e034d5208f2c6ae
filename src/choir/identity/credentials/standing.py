"""Whether somebody who was let in by a signed request may stay: the request itself can be shown only once."""

from __future__ import annotations

from choir.identity.agents import store as agent_store
from choir.identity.credentials.model import BadCredential
from choir.identity.delegations.service import Delegations
from choir.identity.model import Principal
from choir.identity.people import store as people_store
from choir.storage.database import Tx


def check(tx: Tx, delegations: Delegations, who: Principal) -> None:
    """Raise once the agent is retired, its delegation over, or the person gone."""
    if who.delegation is not None:
        delegations.principal_of(tx, who.delegation)
    if who.agent is not None:
        agent = agent_store.get(tx, who.agent)
        if agent is None or agent.retired_us is not None:
            raise BadCredential(why="the agent is retired")
    if who.person is not None and not people_store.is_there(tx, who.person):
        raise BadCredential(why="the person was erased")
