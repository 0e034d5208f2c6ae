"""`choir delegation`: what an agent may do, spend, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.delegations.shapes import CapOut, DelegationOut
from choir.doors.agents.options import (
    AgentArgument,
    AllOption,
    DaysOption,
    NameOption,
    ScopeOption,
    asking,
    end_of,
    tell,
)
from choir.doors.logins.approval import NoBrowserOption, confirmed

app = typer.Typer(help="Set what an agent may do and spend, and until when.", no_args_is_help=True)


DelegationArgument = Annotated[str, typer.Argument(help="Such as delegation_01h….", metavar="DELEGATION")]


CapOption = Annotated[
    list[str] | None,
    typer.Option("--cap", help="Spending cap per day, week, month or in total; may be repeated.",
                 metavar="ASSET/PERIOD=AMOUNT"),
]  # fmt: skip


# Delegations


@app.command("ls", epilog="Example: choir delegation ls --all")
def delegation_ls(every: AllOption = False, node: NodeOption = None, as_json: AsJson = False) -> None:
    """List your delegations; for an agent, those given to it."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = [item for item in client.delegations.all() if every or item.revoked_at is None]
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [
        (item.id, item.agent, ", ".join(item.scopes), "; ".join(map(_cap, item.caps)), end_of(item)) for item in found
    ]
    output.print_table(["delegation", "agent", "scopes", "spent of caps", "ends"], rows)


@app.command("show", epilog="Example: choir delegation show delegation_01h…")
def delegation_show(delegation: DelegationArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a delegation and the use of its caps."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.delegations.get(delegation)
    _show(found, as_json=as_json)


@app.command("grant", epilog="Example: choir delegation grant agent_01h… --scope read --scope buy --cap SAT/day=100")
def delegation_grant(
    agent: AgentArgument,
    scope: ScopeOption,
    cap: CapOption = None,
    days: DaysOption = 30,
    name: NameOption = None,
    key: KeyOption = None,
    no_browser: NoBrowserOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Grant a delegation: let an agent act for you within limits. You confirm it in the browser."""
    from choir.doors.delegations.client import terms

    output.want_json(as_json)
    caps = [_typed_cap(item) for item in cap or []]
    made = confirmed(
        node,
        lambda client: client.delegations.grant(agent, scope, caps=caps, days=days, name=name, key=key),
        "delegation",
        terms(agent, scope, caps, days, None, name),
        lambda done: done.delegation,
        key=key,
        browse=not no_browser,
    )
    _show(made, as_json=as_json)


@app.command("narrow", epilog="Example: choir delegation narrow delegation_01h… agent_01h… --scope read --days 1")
def delegation_narrow(
    delegation: DelegationArgument,
    agent: AgentArgument,
    scope: ScopeOption,
    cap: CapOption = None,
    days: DaysOption = 1,
    name: NameOption = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Narrow a delegation: grant a subset of it to another agent."""
    output.want_json(as_json)
    caps = [_typed_cap(item) for item in cap or []]
    with asking(node, "agents") as client:
        made = client.delegations.narrow(delegation, agent, scope, caps=caps, days=days, name=name, key=key)
    _show(made, as_json=as_json)


@app.command("revoke", epilog="Example: choir delegation revoke delegation_01h…")
def delegation_revoke(delegation: DelegationArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Revoke a delegation at once, with all that was narrowed from it."""
    output.want_json(as_json)
    with asking(node, "agents") as client:
        client.delegations.revoke(delegation)
    tell(as_json, {"delegation": delegation, "revoked": True}, f"{delegation} is revoked.")


# Words


def _typed_cap(text: str) -> tuple[str, str, int]:
    """A cap as a person types it: SAT/day=100."""
    terms, _, amount = text.partition("=")
    asset, _, period = terms.partition("/")
    if not amount or not period:
        raise Invalid(what=f"The cap '{text[:60]}'", why="write it like SAT/day=100")
    return asset, period, Asset.of(asset).parse(amount)


def _cap(cap: CapOut) -> str:
    asset = Asset.of(cap.asset)
    return f"{asset.format(int(cap.spent))} of {asset.format(int(cap.cap))} {cap.asset} per {cap.period.value}".replace(
        "per total", "in total"
    )


def _show(found: DelegationOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(found.id + (f"  {found.name}" if found.name else ""))
    output.print_line(f"  agent   {found.agent}")
    output.print_line(f"  scopes  {', '.join(found.scopes)}")
    for cap in found.caps:
        output.print_line(f"  spent   {_cap(cap)}")
    if found.parent:
        output.print_line(f"  from    {found.parent}")
    output.print_line(f"  ends    {end_of(found)}")
