"""Agents: of a person, or standing on a Nostr key."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from choir.doors.agents.shapes import AgentIn, AgentOut, AgentPage, StandIn
from choir.doors.http.access import (
    AccessRoute,
    AddressDep,
    NodeDep,
    OptionalKeyDep,
    PersonDep,
    ProvenKeyDep,
    ReaderDep,
    SignedInDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, last_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.people.shapes import NameIn
from choir.identity.agents.model import agent_id, parse_agent_id
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.nostr import SignedRequest
from choir.identity.model import Principal, Role
from choir.identity.policy import DelegationsPolicy
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["agents"], route_class=AccessRoute, prefix="/agents")


@router.get("")
def list_agents(who: ReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> AgentPage:
    """List a person's agents, oldest first, including retired ones; an agent sees itself."""
    size = page_rows(limit, node.policy.of(DelegationsPolicy))
    after = last_id(cursor, parse_agent_id)
    with node.read() as tx:
        if who.role is not Role.PERSON:
            own = [] if who.agent is None else [node.agents.get(tx, who.agent)]
            return AgentPage(items=[AgentOut.of(item) for item in own])
        assert who.person is not None
        found = node.agents.of_person(tx, who.person, after=after, limit=size)
    following = agent_id(found[-1].id) if len(found) == size else None
    return AgentPage(items=[AgentOut.of(item) for item in found], next=following)


@router.post(
    "",
    status_code=201,
    responses=also(200, AgentOut, "This key had created it before.") | problems(409),
)
def create_agent(body: AgentIn, who: PersonDep, key: OptionalKeyDep, node: NodeDep, response: Response) -> AgentOut:
    """Create an agent. It can do nothing until it has a delegation."""
    person = who.must_be_person()

    def make(tx: Tx) -> UUID:
        proven = None if body.proof is None else _proven(tx, node, who, body.proof)
        return node.agents.create(tx, person, body.name, proven).id

    def create(tx: Tx) -> tuple[AgentOut, bool]:
        made, new = node.repeats.once(tx, who, key, ["agent", body.name, body.proof], lambda: make(tx))
        return AgentOut.of(node.agents.get(tx, made)), new

    shown, new = node.write(create)
    if not new:
        response.status_code = 200
    return shown


@router.post("/stand", responses=problems(409, 429))
def stand_up(body: StandIn, key: ProvenKeyDep, address: AddressDep, node: NodeDep) -> AgentOut:
    """Get the self-keyed agent of the key that signed this request; created if there is none."""
    return AgentOut.of(node.write(lambda tx: node.agents.stand(tx, key, body.name, address=address)))


@router.get("/{agent}", responses=problems(404))
def get_agent(agent: str, who: ReaderDep, node: NodeDep) -> AgentOut:
    """Get an agent. For its person and for itself."""
    with node.read() as tx:
        return AgentOut.of(node.agents.visible(tx, who, parse_agent_id(agent)))


@router.patch("/{agent}", responses=problems(404, 409))
def rename_agent(agent: str, body: NameIn, who: SignedInDep, node: NodeDep) -> AgentOut:
    """Rename an agent. For its person, or for a self-keyed agent itself."""
    id_ = parse_agent_id(agent)

    def rename(tx: Tx) -> AgentOut:
        node.agents.rename(tx, who, id_, body.name)
        return AgentOut.of(node.agents.get(tx, id_))

    return node.write(rename)


@router.delete("/{agent}", status_code=204, responses=problems(404, 409))
def retire_agent(agent: str, who: SignedInDep, node: NodeDep) -> None:
    """Retire an agent permanently, with its delegations and tokens."""
    id_ = parse_agent_id(agent)
    node.write(lambda tx: node.agents.retire(tx, who, id_))


def _proven(tx: Tx, node: Node, who: Principal, proof: str) -> bytes:
    """The agent's own key, shown to be in the caller's hands and meant for this person.

    The proof is used up together with the agent's making: a request that is sent again finds its key instead.
    """
    asked = SignedRequest("POST", f"{node.settings.public_url}/v1/agents")
    event = node.nostr_auth.proven(tx, f"Nostr {_plain(proof)}", asked)
    if event.values("owner") != [who.source]:
        raise BadCredential(why="the proof does not name you as the owner")
    return event.pubkey


def _plain(proof: str) -> str:
    """With or without the scheme before it."""
    return proof.strip().removeprefix("Nostr ").strip()
