"""`choir agent`: who acts for you."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.agents.options import AgentArgument, AllOption, asking, tell
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.logins.approval import NoBrowserOption, confirmed

app = typer.Typer(help="Create, list and retire agents that act for you.", no_args_is_help=True)


# Agents


@app.command("ls", epilog="Example: choir agent ls")
def agent_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List your agents."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.agents.all() if every or item.retired_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [(item.id, item.name or "", item.created_at, "retired" if item.retired_at else "active") for item in found]
    output.print_table(["agent", "name", "since", "state"], rows)


@app.command("create", epilog="Example: choir agent create 'night librarian'")
def agent_create(
    name: Annotated[str, typer.Argument(help="Name.")],
    key: KeyOption = None,
    no_browser: NoBrowserOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Create an agent; you confirm it in the browser. It can do nothing until it has a delegation."""
    output.want_json(as_json)
    made = confirmed(
        node,
        lambda client: client.agents.create(name, key=key),
        "agent",
        {"name": name},
        lambda done: done.agent,
        key=key,
        browse=not no_browser,
    )
    tell(as_json, made, f"{made.id}  {made.name}")


@app.command("rename", epilog="Example: choir agent rename agent_01h… 'day librarian'")
def agent_rename(
    agent: AgentArgument,
    name: Annotated[str, typer.Argument(help="New name.")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Rename an agent."""
    output.want_json(as_json)
    with asking(node, f"agents/{agent}") as client:
        renamed = client.agents.rename(agent, name)
    tell(as_json, renamed, f"{renamed.id}  {renamed.name}")


@app.command("retire", epilog="Example: choir agent retire agent_01h…")
def agent_retire(agent: AgentArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Retire an agent permanently, with its delegations and tokens."""
    output.want_json(as_json)
    with asking(node, f"agents/{agent}") as client:
        client.agents.retire(agent)
    tell(as_json, {"agent": agent, "retired": True}, f"{agent} is retired.")
