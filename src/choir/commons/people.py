"""In whose name somebody acts in the commons. Pure."""

from __future__ import annotations

from choir.foundation.errors import NotAllowed
from choir.identity.model import Principal, agent_owner, person_owner


class AuthorNeeded(NotAllowed):
    code = "commons.author_needed"
    sentence = "Only a person, or an agent, can do this; an operator has neither a stake nor a name in the commons."
    hint = "Log in as a person: `choir login`."


def owner_of(who: Principal) -> str:
    """Who answers for it: the person behind the credential, or an agent that stands alone."""
    if who.person is not None:
        return person_owner(who.person)
    if who.agent is None:
        raise AuthorNeeded
    return agent_owner(who.agent)
